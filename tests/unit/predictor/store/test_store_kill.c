/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kill -9 at any instant: a writer is killed a hundred times while it commits, and each time every transaction that it had
 * acknowledged is there whole, of the one under way nothing or all, and the file is sound. And a log that was cut short or
 * overwritten, as power loss may leave it: what is there is a beginning of what was written.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "predictor/store/keep.h"
#include "predictor/store/runs.h"
#include "tests/unit/store_fixture.h"

#define ROUNDS	   100
#define BALLAST	   40 /* rows a transaction, so that it has many pages */
#define CHECK_EACH 10
#define READY	   UINT32_MAX

static void key_of(uint32_t round, uint32_t i, uint32_t row, char key[33])
{
	/* rows of one transaction lie far from each other in the trees */
	snprintf(key, 33, "%08x%08x%08x%08x", row * 2654435761u, round, i, row);
}

/* One transaction: programs with estimates, probes and runs that belong together. */
static int transaction(struct store *s, uint32_t round, uint32_t i)
{
	struct errbuf e;

	if (store_begin(s, &e) < 0)
		return -1;
	for (uint32_t row = 0; row < BALLAST; row++) {
		char key[33];
		struct store_estimate est = {.candidate = "fast", .e = {1, 1, 1, ESTIMATE_BLEND, i}, .updated = NOW};
		struct store_run r = {.jobid = i * BALLAST + row, .submit_time = NOW + round, .end_state = "COMPLETED"};
		struct store_program p;

		key_of(round, i, row, key);
		p = program(key, PROGRAM_READY, NOW);
		strcpy(r.key, key);
		if (store_program_put(s, &p, &e) < 0 || store_estimate_put(s, key, &est, &e) < 0 || store_run_put(s, &r, &e) < 0)
			return -1;
	}
	return store_commit(s, &e);
}

static void write_for_ever(uint32_t round, int ack)
{
	const uint32_t ready = READY;
	struct errbuf e;
	struct store *s;

	if (store_open(path, STORE_WRITE | STORE_WAIT, &s, &e) < 0 || write(ack, &ready, sizeof(ready)) != sizeof(ready))
		_exit(1);
	for (uint32_t i = 0;; i++)
		if (transaction(s, round, i) < 0 || write(ack, &i, sizeof(i)) != sizeof(i))
			_exit(2);
}

/* How many transactions of the round are there; fails where one is there in part, or one after a gap. */
static uint32_t transactions_found(struct store *s, uint32_t round, uint32_t up_to)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i <= up_to; i++) {
		uint32_t rows = 0;

		for (uint32_t row = 0; row < BALLAST; row++) {
			struct store_lookup l;
			char key[33];
			int rv;

			key_of(round, i, row, key);
			rv = store_lookup(s, key, &l, &err);
			ok(rv);
			rows += rv == 1;
			assert_true(rv == 0 || (l.n_estimates == 1 && l.estimates[0].e.n == i));
		}
		assert_true(rows == 0 || rows == BALLAST);
		assert_true(rows == 0 || found == i);
		found += rows > 0;
	}
	return found;
}

/* Kill the writer after that long; how many transactions it had acknowledged. */
static uint32_t kill_writer(uint32_t round, long after_ns)
{
	struct timespec wait = {0, after_ns};
	uint32_t i, acknowledged = 0;
	int ack[2], status;
	pid_t pid;
	ssize_t got;

	assert_int_equal(pipe(ack), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ack[0]);
		write_for_ever(round, ack[1]);
	}
	close(ack[1]);
	/* killed while it opens the store, in its first transaction, or in any later one */
	for (uint32_t n = 0; n < round % 4; n++) {
		assert_int_equal(read(ack[0], &i, sizeof(i)), sizeof(i));
		acknowledged = i == READY ? 0 : i + 1;
	}
	nanosleep(&wait, NULL);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while ((got = read(ack[0], &i, sizeof(i))) == sizeof(i))
		acknowledged = i == READY ? 0 : i + 1;
	assert_int_equal(got, 0);
	close(ack[0]);
	return acknowledged;
}

static void test_kill_loop(void **state)
{
	uint32_t total = 0, amid = 0;

	(void)state;
	store_close(must_open(STORE_WRITE));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t acknowledged = kill_writer(round, (long)(random_next() % 15000000)), found;
		struct store *s = must_open(STORE_READ);

		found = transactions_found(s, round, acknowledged + 1);
		if (found < acknowledged || found > acknowledged + 1)
			fail_msg("round %u: %u transactions were acknowledged, %u are there", round, acknowledged, found);
		if (round % CHECK_EACH == CHECK_EACH - 1)
			ok(store_check(s, &err));
		store_close(s);
		total += acknowledged;
		amid += found > acknowledged;
	}
	assert_true(total >= ROUNDS / 4 * 3); /* otherwise this says nothing */
	print_message("# %u transactions in %u rounds, %u committed but not yet acknowledged\n", total, ROUNDS, amid);
}

/* ---- torn logs ---- */

static void copy_file(const char *from, const char *to, off_t keep, bool garble)
{
	char junk[512], buf[65536];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	off_t done = 0;
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while (done < keep && (n = read(in, buf, sizeof(buf))) > 0) {
		n = n < keep - done ? n : (ssize_t)(keep - done);
		assert_int_equal(write(out, buf, (size_t)n), n);
		done += n;
	}
	memset(junk, 0x5a, sizeof(junk));
	if (garble)
		assert_int_equal(write(out, junk, sizeof(junk)), (ssize_t)sizeof(junk));
	close(in);
	close(out);
}

static void test_torn_log(void **state)
{
	char wal[128], kept[128], kept_wal[128];
	struct stat st;
	struct store *s;
	uint32_t least = UINT32_MAX, most = 0;

	(void)state;
	snprintf(wal, sizeof(wal), "%s-wal", path);
	snprintf(kept, sizeof(kept), "%s/kept", dir);
	snprintf(kept_wal, sizeof(kept_wal), "%s/kept-wal", dir);
	s = must_open(STORE_WRITE);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(transaction(s, 0, i), 0);
	copy_file(path, kept, INT64_MAX, false);
	copy_file(wal, kept_wal, INT64_MAX, false);
	store_close(s);
	assert_int_equal(stat(kept_wal, &st), 0);
	for (int round = 0; round < 60; round++) {
		off_t keep = 32 + (off_t)(random_next() % (uint64_t)(st.st_size - 32));
		uint32_t found;

		snprintf(wal, sizeof(wal), "%s-shm", path);
		unlink(wal);
		snprintf(wal, sizeof(wal), "%s-wal", path);
		copy_file(kept, path, INT64_MAX, false);
		copy_file(kept_wal, wal, keep, round & 1);
		s = must_open(STORE_WRITE);
		found = transactions_found(s, 0, 6);
		ok(store_check(s, &err));
		assert_int_equal(transaction(s, 1, 0), 0); /* and it goes on */
		store_close(s);
		least = found < least ? found : least;
		most = found > most ? found : most;
	}
	assert_true(least < 2 && most > 3 && most < 6);
	unlink(kept);
	unlink(kept_wal);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_kill_loop),
		T(test_torn_log),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store_kill", tests, NULL, NULL);
}
