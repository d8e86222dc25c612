/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that can be wrong with the store's file gets its fault and one sentence: missing, empty,
 * foreign, corrupt, newer, older, locked, not permitted, killed in mid-transaction. And readers beside
 * writers.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <sqlite3.h>

#include "tests/unit/store_fixture.h"
#include "tests/unit/skip.h"
#include "predictor/store/keep.h"

static void must_refuse(unsigned flags, enum store_fault fault, const char *says)
{
	struct store *s = (struct store *)&s;

	err.text[0] = '\0';
	assert_int_equal(store_open(path, flags, &s, &err), -1);
	assert_null(s);
	if (store_last_fault() != fault || !strstr(err.text, says) || !strstr(err.text, path))
		fail_msg("fault %d, '%s' instead of %d, '%s'", (int)store_last_fault(), err.text, (int)fault,
			 says);
}

static void sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void write_file(const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static void test_missing(void **state)
{
	char saved[sizeof(path)];

	(void)state;
	must_refuse(STORE_READ, STORE_MISSING, "is precedentd running?");
	assert_int_equal(access(path, F_OK), -1); /* a reader creates nothing */
	strcpy(saved, path);
	snprintf(path, sizeof(path), "%s/none/precedent.db", dir);
	must_refuse(STORE_WRITE, STORE_MISSING, "no such directory");
	strcpy(path, saved);
	write_file("", 0);
	must_refuse(STORE_READ, STORE_MISSING, "still empty");
	store_close(must_open(STORE_WRITE));
	store_close(must_open(STORE_READ));
}

static void test_not_a_file(void **state)
{
	char saved[sizeof(path)];

	(void)state;
	strcpy(saved, path);
	strcpy(path, dir);
	must_refuse(STORE_READ, STORE_CORRUPT, "is not a regular file");
	must_refuse(STORE_WRITE, STORE_CORRUPT, "is not a regular file");
	strcpy(path, saved);
}

static void test_foreign(void **state)
{
	char junk[8192];

	(void)state;
	memset(junk, 'j', sizeof(junk));
	write_file(junk, sizeof(junk));
	must_refuse(STORE_READ, STORE_CORRUPT, "move the file away");
	must_refuse(STORE_WRITE, STORE_CORRUPT, "move the file away");
	unlink(path);
	sql("CREATE TABLE people(name); INSERT INTO people VALUES('x')");
	must_refuse(STORE_READ, STORE_CORRUPT, "another program");
	must_refuse(STORE_WRITE, STORE_CORRUPT, "another program");
	sql("INSERT INTO people VALUES('y')"); /* it was left as it was */
}

static void test_newer(void **state)
{
	(void)state;
	store_close(must_open(STORE_WRITE));
	sql("PRAGMA user_version = 99");
	must_refuse(STORE_READ, STORE_NEWER, "upgrade precedent");
	must_refuse(STORE_WRITE, STORE_NEWER, "its schema is version 99");
	sql("PRAGMA user_version = 0");
	must_refuse(STORE_READ, STORE_OLDER, "restart precedentd");
}

static void test_corrupt(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p;
	struct store_lookup l;
	char key[33], junk[4096];
	int fd, bad = 0;
	off_t size;

	(void)state;
	ok(store_begin(s, &err));
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "%032x", i);
		p = program(key, PROGRAM_READY, NOW);
		ok(store_program_put(s, &p, &err));
	}
	ok(store_commit(s, &err));
	store_close(s);
	sql("PRAGMA wal_checkpoint(TRUNCATE)");
	memset(junk, 0xa5, sizeof(junk));
	fd = open(path, O_WRONLY);
	size = lseek(fd, 0, SEEK_END);
	assert_true(size > 80 * 4096);
	for (off_t at = 40 * 4096; at + 4096 <= size; at += 2 * 4096)
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), (ssize_t)sizeof(junk));
	close(fd);
	s = must_open(STORE_READ); /* its first pages are sound */
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "%032x", i);
		if (store_lookup(s, key, &l, &err) < 0) {
			assert_int_equal(store_last_fault(), STORE_CORRUPT);
			assert_non_null(strstr(err.text, "move the file away"));
			bad++;
		}
	}
	assert_true(bad > 0);
	assert_int_equal(store_check(s, &err), -1);
	assert_int_equal(store_last_fault(), STORE_CORRUPT);
	store_close(s);
}

static void test_truncated(void **state)
{
	(void)state;
	store_close(must_open(STORE_WRITE));
	sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
	assert_int_equal(truncate(path, 5000), 0);
	must_refuse(STORE_READ, STORE_CORRUPT, path);
}

static void test_locked(void **state)
{
	struct store *s = must_open(STORE_WRITE), *r, *other;
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);
	struct store_lookup l;

	(void)state;
	ok(store_program_put(s, &p, &err));
	r = must_open(STORE_READ);
	other = must_open(STORE_WRITE);
	ok(store_begin(s, &err));
	p.state = PROGRAM_READY;
	ok(store_program_put(s, &p, &err));
	/* a writer at work disturbs no reader, and no second writer waits */
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.program.state, PROGRAM_NEW);
	assert_int_equal(store_program_put(other, &p, &err), -1);
	assert_int_equal(store_last_fault(), STORE_LOCKED);
	assert_non_null(strstr(err.text, "locked by another process"));
	must_refuse(STORE_WRITE, STORE_LOCKED, "locked");
	ok(store_commit(s, &err));
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.program.state, PROGRAM_READY);
	store_close(other);
	store_close(r);
	store_close(s);
}

/* Somebody holds the whole file, as VACUUM or a foreign tool may: readers say so at once. */
static void test_locked_exclusively(void **state)
{
	sqlite3 *db;

	(void)state;
	store_close(must_open(STORE_WRITE));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; PRAGMA user_version = 1",
			 NULL, NULL, NULL),
	    SQLITE_OK);
	must_refuse(STORE_READ, STORE_LOCKED, "locked");
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(db);
	store_close(must_open(STORE_READ));
}

/* In a child without root's powers; 77: cannot become another user. */
static int as_nobody(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(77);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int open_denied(void)
{
	struct store *s;

	if (store_open(path, STORE_READ, &s, &err) == 0 || store_last_fault() != STORE_DENIED)
		return 1;
	if (store_open(path, STORE_WRITE, &s, &err) == 0 || store_last_fault() != STORE_DENIED)
		return 2;
	return strstr(err.text, "must belong to SlurmUser") ? 0 : 3;
}

static int read_in_read_only_directory(void)
{
	struct store_lookup l;
	struct store *s;

	if (store_open(path, STORE_READ, &s, &err) < 0)
		return 1;
	if (store_lookup(s, KEY1, &l, &err) != 1)
		return 2;
	store_close(s);
	if (store_open(path, STORE_WRITE, &s, &err) == 0 || store_last_fault() != STORE_DENIED)
		return 3;
	return 0;
}

static void test_permissions(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);
	char shm[128];

	(void)state;
	ok(store_program_put(s, &p, &err));
	chmod(dir, 0555);
	if (geteuid() != 0)
		SKIP("the rest needs a second user");
	assert_int_equal(as_nobody(open_denied), 0);
	/* readable file in a directory that is not writable, while precedentd runs and after it ended */
	chmod(path, 0644);
	snprintf(shm, sizeof(shm), "%s-shm", path);
	chmod(shm, 0644);
	snprintf(shm, sizeof(shm), "%s-wal", path);
	chmod(shm, 0644);
	assert_int_equal(as_nobody(read_in_read_only_directory), 0);
	store_close(s);
	assert_int_equal(as_nobody(read_in_read_only_directory), 0);
	chmod(dir, 0700);
	assert_int_equal(as_nobody(open_denied), 0);
}

/*
 * Writers that are killed in mid-transaction: what was committed is there, the rest is not, the file is
 * sound.
 */
static void test_kill(void **state)
{
	struct store *s;
	struct store_counts c;

	(void)state;
	store_close(must_open(STORE_WRITE));
	for (unsigned round = 1; round <= 5; round++) {
		int pipe_fd[2], status;
		char key[33], byte;
		pid_t pid;

		assert_int_equal(pipe(pipe_fd), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			struct store_program p;

			if (store_open(path, STORE_WRITE, &s, &err) < 0)
				_exit(1);
			for (unsigned i = 0; i < 100; i++) {
				if (i == 0 && store_begin(s, &err) < 0)
					_exit(2);
				snprintf(key, sizeof(key), "%016x%016x", round, i);
				p = program(key, PROGRAM_NEW, NOW);
				if (store_program_put(s, &p, &err) < 0)
					_exit(3);
				if (i == 49 && (store_commit(s, &err) < 0 || store_begin(s, &err) < 0))
					_exit(4);
			}
			if (write(pipe_fd[1], "x", 1) != 1)
				_exit(5);
			for (;;)
				pause();
		}
		close(pipe_fd[1]);
		assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
		close(pipe_fd[0]);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		s = must_open(STORE_READ);
		ok(store_counts(s, &c, &err));
		assert_int_equal(c.programs, 50 * round);
		ok(store_check(s, &err));
		store_close(s);
	}
}

struct writer {
	volatile bool stop;
	int failed;
	unsigned rounds;
};

static void *write_pairs(void *arg)
{
	struct writer *w = arg;
	struct errbuf e;
	struct store *s;

	if (store_open(path, STORE_WRITE | STORE_WAIT, &s, &e) < 0) {
		w->failed = 1;
		return NULL;
	}
	/* Program and estimate always change together. */
	while (!w->stop && !w->failed) {
		struct store_program p = program(KEY1, PROGRAM_READY, NOW);
		struct store_estimate est = {.candidate = "fast", .e = {1, 1, 1, ESTIMATE_BLEND, 0}, .node_class = "", .updated = NOW, .scale = 1};

		p.source_job = ++w->rounds;
		est.e.n = w->rounds;
		if (store_begin(s, &e) < 0 || store_program_put(s, &p, &e) < 0 ||
		    store_estimate_put(s, KEY1, &est, &e) < 0 || store_commit(s, &e) < 0)
			w->failed = 2;
	}
	store_close(s);
	return NULL;
}

static void test_concurrent(void **state)
{
	struct writer w = {0};
	struct store *s;
	struct store_lookup l;
	pthread_t t;
	unsigned found = 0, last = 0;

	(void)state;
	store_close(must_open(STORE_WRITE));
	s = must_open(STORE_READ);
	assert_int_equal(pthread_create(&t, NULL, write_pairs, &w), 0);
	for (int i = 0; i < 2000000 && found < 300 && !w.failed; i++) {
		int rv = store_lookup(s, KEY1, &l, &err);

		ok(rv);
		if (rv != 1 || l.program.source_job == last)
			continue;
		/* one snapshot, and never back in time */
		assert_int_equal(l.n_estimates, 1);
		assert_int_equal(l.estimates[0].e.n, l.program.source_job);
		assert_true(l.program.source_job > last);
		last = l.program.source_job;
		found++;
	}
	w.stop = true;
	pthread_join(t, NULL);
	assert_int_equal(w.failed, 0);
	assert_true(found > 10);
	store_close(s);
}

static void test_second_connection_keeps_locks(void **state)
{
	struct store *s = must_open(STORE_WRITE), *r;
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW);

	(void)state;
	/* Opening and closing more of them in this process must not let go of the first one's locks. */
	for (int i = 0; i < 20; i++) {
		r = must_open(STORE_READ);
		ok(store_program_put(s, &p, &err));
		store_close(r);
	}
	ok(store_check(s, &err));
	store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_missing),	 T(test_not_a_file),
	    T(test_foreign),	 T(test_newer),
	    T(test_corrupt),	 T(test_truncated),
	    T(test_locked),	 T(test_locked_exclusively),
	    T(test_permissions), T(test_kill),
	    T(test_concurrent),	 T(test_second_connection_keeps_locks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store_faults", tests, NULL, NULL);
}
