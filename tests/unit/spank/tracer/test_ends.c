/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a process after MPI_Finalize. The traced process fills in its own number once, in the file that was
 * written and in no other file. The tracer is built without sanitizers; its code is also compiled into this test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "spank/tracer/ends.c"
#include "tests/unit/synthetic.h"

#define RANKS 3

static char dir[] = "/tmp/precedent-test-XXXXXX";
static char path[64], other[64];

/* How a process behaves after MPI_Finalize. */
enum way { EXITS, BY_UNDERSCORE, NEVER_FINALIZED, IN_A_CHILD };

static void write_trace(void)
{
	struct syn *s = syn_ring(RANKS, 4);

	syn_write(s, path);
	syn_destroy(s);
}

/* Bytes of a file; the caller frees them. */
static uint8_t *bytes_of(const char *name, size_t *n)
{
	FILE *f = fopen(name, "rb");
	uint8_t *b;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	*n = (size_t)ftell(f);
	rewind(f);
	b = malloc(*n + 1);
	assert_int_equal(fread(b, 1, *n, f), *n);
	fclose(f);
	return b;
}

static void put_bytes(const char *name, const void *b, size_t n)
{
	FILE *f = fopen(name, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(b, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* The copy made by fork also ends, and first. */
static void child_ends(void)
{
	pid_t pid = fork();

	if (pid == 0)
		exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		abort();
}

/* Run a process of that rank, after_ns past MPI_Finalize. Returns its exit status. */
static int process_ends(const struct ends_file *f, uint32_t rank, uint64_t after_ns, enum way way)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		ends_begin(f, rank, RANKS);
		if (way != NEVER_FINALIZED) {
			ends_finalized();
			ends.from_ns -= after_ns;
			ends_finalized(); /* the first call counts */
		}
		if (way == IN_A_CHILD)
			child_ends();
		if (way == BY_UNDERSCORE || way == IN_A_CHILD)
			_exit(0);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_told(void **state)
{
	static const uint64_t after[RANKS] = {2500000000, 100000000, 86400000000000};
	static const uint32_t order[RANKS] = {1, 2, 0};
	struct errbuf err = {{0}};
	struct ends_file f;
	struct trace *t;
	uint64_t begun;

	(void)state;
	write_trace();
	ends_file_of(path, &f);
	begun = clock_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < RANKS; i++)
		assert_int_equal(process_ends(&f, order[i], after[order[i]], EXITS), 0);
	begun = clock_ns(CLOCK_MONOTONIC) - begun;
	t = trace_open(path, &err);
	assert_non_null(t);
	assert_int_equal(trace_n_damage(t), 0);
	assert_false(trace_is_partial(t));
	for (uint32_t r = 0; r < RANKS; r++) {
		uint64_t told = trace_get_rank(t, r)->defs.proc.after_ns;

		assert_true(told >= after[r] - 1000 && told <= after[r] + begun);
	}
	trace_close(t);
}

/* The file must be unchanged. */
static void assert_untold(const struct ends_file *f, enum way way, uint64_t after_ns, const char *name)
{
	size_t n, m;
	uint8_t *before = bytes_of(name, &n), *now;

	assert_int_equal(process_ends(f, 1, after_ns, way), 0);
	now = bytes_of(name, &m);
	assert_int_equal(n, m);
	assert_memory_equal(before, now, n);
	free(before);
	free(now);
}

static void test_not_told(void **state)
{
	struct ends_file f;

	(void)state;
	write_trace();
	ends_file_of(path, &f);
	assert_untold(&f, BY_UNDERSCORE, 2500000000, path);
	assert_untold(&f, NEVER_FINALIZED, 0, path);
	assert_untold(&f, IN_A_CHILD, 2500000000, path);
}

/* The test cannot control how long the end takes: the time is noted if it is long enough. */
static void test_soon(void **state)
{
	struct errbuf err = {{0}};
	struct ends_file f;
	struct trace *t;
	uint64_t told;

	(void)state;
	write_trace();
	ends_file_of(path, &f);
	assert_int_equal(process_ends(&f, 1, 0, EXITS), 0);
	t = trace_open(path, &err);
	assert_non_null(t);
	told = trace_get_rank(t, 1)->defs.proc.after_ns;
	assert_true(told == 0 || told >= LEAST_NS);
	trace_close(t);
}

/* The file was replaced: another file of the same length, a link to the file, a longer file, a pipe, no file. */
static void test_other_file(void **state)
{
	struct ends_file f;
	struct stat st;
	size_t n;
	uint8_t *b;

	(void)state;
	write_trace();
	ends_file_of(path, &f);
	b = bytes_of(path, &n);
	assert_int_equal(rename(path, other), 0);
	put_bytes(path, b, n);
	assert_untold(&f, EXITS, 2500000000, path);
	assert_untold(&f, EXITS, 2500000000, other);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_untold(&f, EXITS, 2500000000, other);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(process_ends(&f, 1, 2500000000, EXITS), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(process_ends(&f, 1, 2500000000, EXITS), 0);
	assert_int_equal(lstat(path, &st), -1);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(truncate(path, (off_t)n + 1), 0);
	assert_untold(&f, EXITS, 2500000000, path);
	assert_int_equal(truncate(path, (off_t)n), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_untold(&f, EXITS, 2500000000, path);
		assert_int_equal(chown(path, 0, 0), 0);
	}
	/* The original file still works. */
	assert_int_equal(process_ends(&f, 1, 2500000000, EXITS), 0);
	free(b);
	b = bytes_of(path, &n);
	assert_int_not_equal(b[n - TRACE_TRAILER - 2 * TRACE_END_BYTES + 2], 0);
	free(b);
}

/* A file that is too short for the write, and a path that is too long. */
static void test_no_room(void **state)
{
	char longer[sizeof(((struct ends_file *)0)->path) + 2];
	struct ends_file f;
	uint8_t small[TRACE_TRAILER + RANKS * TRACE_END_BYTES - 1] = {0};

	(void)state;
	put_bytes(path, small, sizeof(small));
	ends_file_of(path, &f);
	assert_int_equal(f.size, sizeof(small));
	assert_untold(&f, EXITS, 2500000000, path);
	memset(longer, '/', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ends_file_of(longer, &f);
	assert_int_equal(f.written, 1);
	assert_int_equal(f.size, 0);
	assert_int_equal(process_ends(&f, 1, 2500000000, EXITS), 0);
	ends_file_of("/nonexistent/x", &f);
	assert_int_equal(f.size, 0);
	assert_int_equal(process_ends(&f, 1, 2500000000, EXITS), 0);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/trace", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	unlink(path);
	unlink(other);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_told, remove_files),	  cmocka_unit_test_teardown(test_not_told, remove_files),
		cmocka_unit_test_teardown(test_soon, remove_files),	  cmocka_unit_test_teardown(test_other_file, remove_files),
		cmocka_unit_test_teardown(test_no_room, remove_files),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
