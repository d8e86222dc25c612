/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The index beside the store: whatever is written, undone, forgotten, rebuilt, killed or damaged, a reader that heeds it finds what
 * a reader that asks SQLite alone finds.
 */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "predictor/store/index_file.h"
#include "predictor/store/keep.h"
#include "predictor/store/kin.h"
#include "predictor/store/trials.h"
#include "tests/unit/store_fixture.h"

static char index_path[128];

static int index_setup(void **state)
{
	if (setup(state) < 0)
		return -1;
	snprintf(index_path, sizeof(index_path), "%s" STORE_INDEX_SUFFIX, path);
	return 0;
}

static int index_teardown(void **state)
{
	char tmp[sizeof(index_path) + 4];

	unlink(index_path);
	/* What a writer that was killed leaves; the next one takes it away. */
	snprintf(tmp, sizeof(tmp), "%s.tmp", index_path);
	unlink(tmp);
	return teardown(state);
}

static void key_of(unsigned n, char key[IDENTITY_KEY_LEN + 1])
{
	snprintf(key, IDENTITY_KEY_LEN + 1, "%08x%024x", n * 2654435761u, n);
}

static void put_program(struct store *s, unsigned n)
{
	char key[IDENTITY_KEY_LEN + 1];
	struct store_program p;

	key_of(n, key);
	p = program(key, PROGRAM_READY, NOW);
	ok(store_program_put(s, &p, &err));
}

static void put_family(struct store *s, unsigned n)
{
	struct store_family f = {.candidate = "fast", .e = {1, 1, 1, ESTIMATE_FAMILY, n}, .updated = NOW};

	key_of(n, f.family);
	key_of(n / 2, f.kin);
	ok(store_family_put(s, &f, &err));
}

static void put_model(struct store *s, unsigned n)
{
	struct store_model m = {.candidate = "fast", .runs = n, .reason = "why", .updated = NOW};

	key_of(n, m.kin);
	ok(store_model_put(s, &m, &err));
}

/* A program that is kept from being traced, or was; readers ask for the former alone. */
static void put_trial(struct store *s, unsigned n, enum trial_guard guard)
{
	struct store_trial t = {.guard = guard, .end_state = "FAILED", .updated = NOW};

	key_of(n, t.name);
	key_of(n, t.key);
	ok(store_trial_put(s, &t, &err));
}

/* What there is of number n: a bit for each kind. */
static unsigned found(struct store *s, unsigned n)
{
	static struct store_lookup l;
	static struct store_family f[STORE_ESTIMATES_MAX];
	static struct store_model m[STORE_ESTIMATES_MAX];
	char key[IDENTITY_KEY_LEN + 1], kin[IDENTITY_KEY_LEN + 1];
	struct store_trial t;
	int a, b, c, d;

	key_of(n, key);
	key_of(n / 2, kin);
	a = store_lookup(s, key, &l, &err);
	b = store_family_lookup(s, key, kin, f, STORE_ESTIMATES_MAX, &err);
	c = store_model_lookup(s, key, m, STORE_ESTIMATES_MAX, &err);
	ok(a);
	ok(b);
	ok(c);
	d = store_trial_withholds(s, key, key, &t, &err);
	ok(d);
	return (a > 0) | (b > 0) << 1 | (c > 0) << 2 | (d > 0) << 3;
}

static bool heeded(struct store *s)
{
	int rv = store_index_check(s, &err);

	ok(rv);
	return rv;
}

static void renew(struct store *s)
{
	ok(store_index_renew(s, &err));
}

/* ---- against SQLite alone ---- */

#define NUMBERS 400

static void write_something(struct store *s)
{
	unsigned n = (unsigned)(random_next() % NUMBERS);
	char key[IDENTITY_KEY_LEN + 1];

	key_of(n, key);
	switch (random_next() % 10) {
	case 0:
	case 1:
		put_program(s, n);
		break;
	case 2:
		put_family(s, n);
		break;
	case 3:
		put_model(s, n);
		break;
	case 4:
		ok(store_program_forget(s, key, &err));
		break;
	case 5:
		ok(store_heartbeat_set(s, NOW + (int64_t)(random_next() % 1000), &err));
		break;
	case 7:
	case 8:
		put_trial(s, n, random_next() % 4 ? TRIAL_DOUBT : TRIAL_FREE);
		break;
	case 6: /* a part that is undone within what lasts */
		ok(store_begin(s, &err));
		put_program(s, n);
		put_model(s, n);
		put_trial(s, n, TRIAL_DOUBT);
		store_rollback(s);
		break;
	default:
		ok(store_prune(s, random_next() % 20 ? NOW - 1 : NOW + 1, &err));
	}
}

static void test_oracle(void **state)
{
	struct store *one, *other, *heeding, *plain;
	unsigned seen = 0, counted = 0;

	(void)state;
	one = must_open(STORE_WRITE);
	other = must_open(STORE_WRITE | STORE_WAIT); /* precedentd answers queries on a connection of its own */
	heeding = must_open(STORE_READ);
	plain = must_open(STORE_READ);
	for (unsigned round = 0; round < 3000; round++) {
		struct store *s = random_next() % 4 ? one : other;
		bool whole = random_next() % 2;

		if (random_next() % 100 == 0)
			unlink(index_path);
		if (random_next() % 25 == 0)
			renew(s);
		/* That it lost its file is found out here, within a second. */
		if (random_next() % 5 == 0 || access(index_path, F_OK) < 0)
			counted += heeded(heeding);
		if (whole)
			ok(store_begin(s, &err));
		for (unsigned i = 0; i < 1 + random_next() % 4; i++)
			write_something(s);
		if (whole && random_next() % 3 == 0)
			store_rollback(s);
		else if (whole)
			ok(store_commit(s, &err));
		for (unsigned i = 0; i < 10; i++) {
			unsigned n = (unsigned)(random_next() % NUMBERS), is = found(plain, n);

			if (found(heeding, n) != is)
				fail_msg("round %u: number %u: with the index %u, without %u", round, n, found(heeding, n), is);
			seen |= 1u << is;
		}
	}
	assert_true(counted > 100);	 /* otherwise this says nothing */
	assert_int_equal(seen, 0xffff); /* all sixteen cases */
	store_close(one);
	store_close(other);
	store_close(heeding);
	store_close(plain);
}

/* ---- whose it is ---- */

/* SQLite is not asked: the row is in the store, the index was made to lack it. */
static bool hides(struct store *reader, unsigned n)
{
	return found(reader, n) == 0;
}

/* As an older Precedent would, or an administrator with sqlite3. */
static void raw(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void raw_copy(unsigned from, unsigned to)
{
	char sql[400], key[IDENTITY_KEY_LEN + 1], copy[IDENTITY_KEY_LEN + 1];

	key_of(from, key);
	key_of(to, copy);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO programs SELECT x'%s', family, uid, state, reason, name, source_job, source_candidate, source_elapsed_s,"
		 " n_traces, mpi_s, nodes, tasks, created, updated, retrace_at, shape FROM programs WHERE key = x'%s'",
		 copy, key);
	raw(sql);
}

static void test_others_write(void **state)
{
	struct store *w = must_open(STORE_WRITE), *r = must_open(STORE_READ);

	(void)state;
	put_program(w, 1);
	assert_false(heeded(r)); /* nobody has built one */
	assert_true(found(r, 1) & 1);
	ok(store_heartbeat_set(w, NOW, &err));
	renew(w);
	assert_true(heeded(r));
	raw_copy(1, 2);
	assert_true(hides(r, 2)); /* the index is what answers */
	raw("UPDATE meta SET value = value + 10 WHERE name = 'heartbeat'");
	assert_false(heeded(r));
	assert_true(found(r, 2) & 1);
	/* built anew when precedentd is one that knows of it again */
	renew(w);
	assert_true(heeded(r));
	assert_true(found(r, 2) & 1);
	assert_int_equal(store_index_renew(w, &err), 0);
	store_close(w);
	store_close(r);
}

/* A reader that has not looked again since: the old file says "ask" from the new one's first moment on. */
static void test_rebuilt_under_reader(void **state)
{
	struct store *w = must_open(STORE_WRITE), *r = must_open(STORE_READ), *w2;

	(void)state;
	renew(w);
	assert_true(heeded(r));
	raw("UPDATE meta SET value = '' WHERE name = 'index'");
	renew(w);
	put_program(w, 1);
	assert_true(found(r, 1) & 1);
	assert_true(heeded(r));
	for (unsigned n = 2; n < 40002; n++) { /* until it is too full */
		if (n % 1000 == 2)
			ok(store_begin(w, &err));
		put_program(w, n);
		if (n % 1000 == 1)
			ok(store_commit(w, &err));
	}
	assert_int_equal(store_index_renew(w, &err), 1);
	w2 = must_open(STORE_WRITE | STORE_WAIT);
	put_program(w2, 50000);
	assert_true(found(r, 50000) & 1);
	put_program(w, 50001);
	assert_true(found(r, 50001) & 1);
	store_close(w);
	store_close(w2);
	store_close(r);
}

static void test_store_replaced(void **state)
{
	struct store *w = must_open(STORE_WRITE), *r;
	char copy[128], wal[128];

	(void)state;
	snprintf(copy, sizeof(copy), "%s/backup", dir);
	put_program(w, 1);
	renew(w);
	put_program(w, 2);
	ok(store_backup(path, copy, &err));
	ok(store_program_forget(w, "9e3779b1000000000000000000000001", &err));
	put_program(w, 3);
	store_close(w);
	for (int i = 0; i < 2; i++) {
		snprintf(wal, sizeof(wal), "%s%s", path, i ? "-wal" : "-shm");
		unlink(wal);
	}
	/* an older state with the id of the index: what it has, the index has */
	assert_int_equal(rename(copy, path), 0);
	w = must_open(STORE_WRITE);
	r = must_open(STORE_READ);
	assert_true(heeded(r));
	assert_true(found(r, 1) & 1);
	assert_true(found(r, 2) & 1);
	assert_false(found(r, 3) & 1);
	store_close(r);
	store_close(w);
	/* another store */
	unlink(path);
	for (int i = 0; i < 2; i++) {
		snprintf(wal, sizeof(wal), "%s%s", path, i ? "-wal" : "-shm");
		unlink(wal);
	}
	w = must_open(STORE_WRITE);
	put_program(w, 7);
	r = must_open(STORE_READ);
	assert_false(heeded(r));
	assert_true(found(r, 7) & 1);
	store_close(r);
	store_close(w);
}

/* ---- damage ---- */

static void overwrite(off_t at, const void *p, size_t n)
{
	int fd = open(index_path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, p, n, at), (ssize_t)n);
	close(fd);
}

static void file_put(const char *from, const char *to)
{
	char buf[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0640);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	close(in);
	close(out);
}

static void damage(int how)
{
	static const unsigned char junk[4096] = {1, 2, 3};
	static char other[160];
	struct stat st;

	assert_int_equal(stat(index_path, &st), 0);
	snprintf(other, sizeof(other), "%s/other", dir);
	switch (how) {
	case 0:
		unlink(index_path);
		break;
	case 1:
		assert_int_equal(truncate(index_path, 0), 0);
		break;
	case 2:
		assert_int_equal(truncate(index_path, st.st_size / 2), 0);
		break;
	case 3:
		for (off_t at = INDEX_HEADER; at < st.st_size; at += INDEX_BLOCK)
			overwrite(at, junk, INDEX_BLOCK);
		break;
	case 4: /* zeros behind a sound header: a sparse file */
		assert_int_equal(truncate(index_path, INDEX_HEADER), 0);
		assert_int_equal(truncate(index_path, st.st_size), 0);
		break;
	case 5:
		overwrite(0, "PRECIDX9", 8);
		break;
	case 6: /* of another boot */
		overwrite(24, junk, 8);
		break;
	case 7:
		overwrite(64, junk, 8); /* beat */
		break;
	case 8:
		assert_int_equal(chmod(index_path, 0666), 0);
		break;
	case 9: /* a link to what would be sound */
		file_put(index_path, other);
		unlink(index_path);
		assert_int_equal(symlink(other, index_path), 0);
		break;
	case 10:
		unlink(index_path);
		assert_int_equal(mkfifo(index_path, 0600), 0);
		break;
	default:
		unlink(index_path);
		assert_int_equal(mkdir(index_path, 0700), 0);
	}
}
#define DAMAGES 12

static void clear_damage(void)
{
	char other[160];

	rmdir(index_path);
	unlink(index_path);
	snprintf(other, sizeof(other), "%s/other", dir);
	unlink(other);
}

static void test_damaged(void **state)
{
	(void)state;
	for (int how = 0; how < DAMAGES; how++) {
		struct store *w = must_open(STORE_WRITE), *before = must_open(STORE_READ), *after = must_open(STORE_READ);

		for (unsigned n = 0; n < 200; n++)
			put_program(w, n);
		ok(store_heartbeat_set(w, NOW, &err));
		renew(w);
		assert_true(heeded(before));
		damage(how);
		for (unsigned n = 0; n < 200; n++)
			assert_true(found(before, n) & 1);
		print_message("# damage %d: a reader that opens it %s it, one that had it open %s\n", how, heeded(after) ? "heeds" : "leaves",
			      heeded(before) ? "heeds it" : "leaves it");
		for (unsigned n = 200; n < 300; n++) {
			put_program(w, n);
			assert_true(found(after, n) & 1);
			assert_true(found(before, n) & 1);
		}
		assert_false(found(before, 300) & 1);
		if (how != 11) /* a folder is for its administrator to move */
			renew(w);
		else
			assert_int_equal(store_index_renew(w, &err), -1);
		assert_int_equal(heeded(after), how != 11);
		for (unsigned n = 0; n < 300; n++)
			assert_true(found(after, n) & 1);
		store_close(w);
		store_close(before);
		store_close(after);
		clear_damage();
	}
}

/* ---- a reader's copy ---- */

static bool may_hold(struct index_file *f, const char *name)
{
	return index_file_may_hold(f, 1, name, strlen(name));
}

static void add(struct index_file *f, const char *name)
{
	assert_int_equal(index_file_add(f, 1, name, strlen(name)), 0);
}

static struct index_file *open_index(bool write)
{
	struct index_file *f;

	ok(index_file_open(index_path, geteuid(), write, &f, &err));
	return f;
}

static void index_of(const char *name, size_t room)
{
	struct index_build *b = index_build_create(room);
	uint64_t id;

	assert_non_null(b);
	index_build_add(b, 1, name, strlen(name));
	ok(index_build_publish(b, index_path, 1, 0644, geteuid(), getegid(), &id, &err));
	index_build_destroy(b);
}

/* It is what answers, to the next look that finds the file changed, and from then on the file does. */
static void test_copy(void **state)
{
	struct index_file *r, *w;
	struct stat st;

	(void)state;
	index_of("first", 1000);
	r = open_index(false);
	w = open_index(true);
	index_file_remember(r);
	index_file_look(r);
	assert_true(may_hold(r, "first"));
	assert_false(may_hold(r, "second"));
	add(w, "second");
	assert_false(may_hold(r, "second")); /* from the copy */
	index_file_look(r);
	assert_true(may_hold(r, "second"));
	assert_false(may_hold(r, "third"));
	add(w, "third"); /* the copy is out of date: no look is needed */
	assert_true(may_hold(r, "third"));
	index_file_remember(r);
	index_file_look(r);
	assert_true(may_hold(r, "third"));
	assert_false(may_hold(r, "fourth"));
	/* What cannot be written is no reason to go on with a copy. */
	assert_int_equal(stat(index_path, &st), 0);
	assert_int_equal(truncate(index_path, INDEX_HEADER), 0);
	assert_int_equal(index_file_add(w, 1, "fourth", 6), -1);
	index_file_look(r);
	assert_true(may_hold(r, "fourth"));
	/* Nothing is left to be copied. */
	index_file_remember(r);
	index_file_look(r);
	assert_true(may_hold(r, "first"));
	assert_true(may_hold(r, "fifth"));
	assert_int_equal(truncate(index_path, 0), 0);
	index_file_look(r);
	index_file_remember(r);
	assert_true(may_hold(r, "fifth"));
	index_file_close(r);
	index_file_close(w);
}

/* An older state of the file put over it: what is then added is found, also when it was added as often as before. */
static void test_copy_put_back(void **state)
{
	struct index_file *r, *w;
	char old[160];

	(void)state;
	snprintf(old, sizeof(old), "%s/old", dir);
	index_of("first", 1000);
	file_put(index_path, old);
	r = open_index(false);
	w = open_index(true);
	for (int round = 0; round < 8; round++) {
		char name[2][16];

		for (int i = 0; i < 2; i++) {
			snprintf(name[i], sizeof(name[i]), "round %d %d", round, i);
			add(w, name[i]);
		}
		index_file_remember(r);
		index_file_look(r);
		assert_true(may_hold(r, name[0]) && may_hold(r, name[1]));
		file_put(old, index_path);
		for (int i = 0; i < 2; i++) {
			snprintf(name[i], sizeof(name[i]), "other %d %d", round, i);
			add(w, name[i]);
		}
		index_file_look(r);
		assert_true(may_hold(r, name[0]) && may_hold(r, name[1]));
		file_put(old, index_path);
		index_file_remember(r);
	}
	index_file_close(r);
	index_file_close(w);
	unlink(old);
}

/* One that is too large to be copied is read as it is. */
static void test_copy_too_large(void **state)
{
	struct index_file *r, *w;
	struct stat st;

	(void)state;
	index_of("first", (INDEX_MEMORY_MAX / INDEX_BLOCK + 10) * 30ul);
	assert_int_equal(stat(index_path, &st), 0);
	assert_true(st.st_size > INDEX_MEMORY_MAX + INDEX_HEADER);
	r = open_index(false);
	w = open_index(true);
	index_file_remember(r);
	index_file_look(r);
	assert_true(may_hold(r, "first"));
	assert_false(may_hold(r, "second"));
	add(w, "second");
	assert_true(may_hold(r, "second"));
	index_file_close(r);
	index_file_close(w);
}

/* ---- kill -9 ---- */

#define ROUNDS 60

static void write_for_ever(unsigned first, int ack)
{
	struct errbuf e;
	struct store *s;

	if (store_open(path, STORE_WRITE | STORE_WAIT, &s, &e) < 0)
		_exit(1);
	for (unsigned n = first;; n++) {
		if (n % 7 == 0)
			raw("UPDATE meta SET value = '' WHERE name = 'index'"); /* so that it is built again and again */
		if (n % 7 < 2)
			renew(s);
		put_program(s, n);
		put_model(s, n);
		if (write(ack, &n, sizeof(n)) != sizeof(n))
			_exit(2);
	}
}

static void test_kill(void **state)
{
	struct store *during = NULL;
	unsigned next = 0, heeding = 0;

	(void)state;
	store_close(must_open(STORE_WRITE));
	for (int round = 0; round < ROUNDS; round++) {
		struct timespec wait = {0, (long)(random_next() % 10000000)};
		unsigned n, first = next;
		struct store *after;
		int ack[2];
		pid_t pid;

		assert_int_equal(pipe(ack), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid)
			write_for_ever(first, ack[1]);
		close(ack[1]);
		during = must_open(STORE_READ | STORE_WAIT);
		assert_int_equal(read(ack[0], &n, sizeof(n)), sizeof(n));
		heeding += heeded(during);
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		do
			next = n + 1;
		while (read(ack[0], &n, sizeof(n)) == sizeof(n));
		close(ack[0]);
		after = must_open(STORE_READ);
		heeding += heeded(after);
		heeded(during);
		for (n = 0; n < next; n++) {
			assert_int_equal(found(after, n), 5);
			assert_int_equal(found(during, n), 5);
		}
		next++; /* it may be half there */
		store_close(after);
		after = must_open(STORE_WRITE);
		put_program(after, next - 1);
		put_model(after, next - 1);
		store_close(after);
		store_close(during);
	}
	assert_true(heeding > ROUNDS / 4);
	print_message("# %u programs, %u of %u readers heeded the index\n", next, heeding, 2 * ROUNDS);
}

/* ---- no room ---- */

/* A new one for which there is no room: the old one stays as it was, and nothing lies about. */
static void test_no_room(void **state)
{
	struct rlimit was, now;
	struct index_build *small = index_build_create(1000), *large = index_build_create(1000000);
	struct index_file *f;
	uint64_t id, other;
	char tmp[sizeof(index_path) + 4];

	(void)state;
	snprintf(tmp, sizeof(tmp), "%s.tmp", index_path);
	assert_non_null(small);
	assert_non_null(large);
	index_build_add(small, 0, "known", 5);
	ok(index_build_publish(small, index_path, 1, 0644, geteuid(), getegid(), &id, &err));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	now = was;
	now.rlim_cur = 1 << 20;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(index_build_publish(large, index_path, 1, 0644, geteuid(), getegid(), &other, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_non_null(strstr(err.text, strerror(EFBIG)));
	assert_int_equal(access(tmp, F_OK), -1);
	ok(index_file_open(index_path, geteuid(), false, &f, &err));
	assert_true(index_file_id(f) == id);
	assert_true(index_file_may_hold(f, 0, "known", 5));
	assert_false(index_file_may_hold(f, 0, "unknown", 7));
	index_file_close(f);
	index_build_destroy(small);
	index_build_destroy(large);
}

#define T(f) cmocka_unit_test_setup_teardown(f, index_setup, index_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_oracle),
		T(test_others_write),
		T(test_rebuilt_under_reader),
		T(test_store_replaced),
		T(test_damaged),
		T(test_copy),
		T(test_copy_put_back),
		T(test_copy_too_large),
		T(test_kill),
		T(test_no_room),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store_index", tests, NULL, NULL);
}
