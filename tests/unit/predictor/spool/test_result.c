/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result records: what is read back, and everything that must be refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/spool/result.h"

#define GOOD_HEAD "precedent-result 1\njob 42\ncandidate fast\nstatus ok\n"
#define GOOD_CLASS "node_class 0123456789abcdef 2 x Example CPU\nstartup_s 0.25\n"
#define GOOD_TRACE "trace 0 mpi_s 10.5 skel_s 10.25 lo_s 10 hi_s 11 ran_s 1.5 events 1000 confidence 0.9\n"
#define GOOD_PARTIAL "partial 0 whole_s 11 lo_s 10 hi_s 12 ran_s 1\n"
#define NO_SKELETON "trace 0 mpi_s 10.5 skel_s 0 lo_s 0 hi_s 0 ran_s 0 events 1000 confidence 0\n"
#define GOOD_TAIL "kernel stream 1.5\nhash fedcba9876543210\nend\n"
#define GOOD GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_TAIL

static int parse(const char *s, struct result *r, struct errbuf *e)
{
	memset(e, 0, sizeof(*e));
	return result_parse(s, strlen(s), r, e);
}

static void test_good(void **state)
{
	struct errbuf e;
	struct result r;

	(void)state;
	assert_int_equal(parse(GOOD, &r, &e), 0);
	assert_int_equal(r.job_id, 42);
	assert_string_equal(r.candidate, "fast");
	assert_true(r.ok);
	assert_string_equal(r.class_hex, "0123456789abcdef");
	assert_string_equal(r.class_text, "2 x Example CPU");
	assert_int_equal(r.traces_n, 1);
	assert_true(r.traces[0].mpi_s == 10.5 && r.traces[0].hi_s == 11);
	assert_int_equal(r.traces[0].events, 1000);
	assert_int_equal(r.kernels_n, 1);
	assert_string_equal(r.kernels[0].name, "stream");
	assert_string_equal(r.hash_hex, "fedcba9876543210");
}

static void test_computation(void **state)
{
	struct errbuf e;
	struct result r, back;
	struct buf out = {0};

	(void)state;
	assert_int_equal(parse(GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 0 traced_s 10.5 skel_s 8.25\n" GOOD_TAIL, &r, &e), 0);
	assert_true(r.traces[0].compute.present && r.traces[0].compute.traced_s == 10.5 && r.traces[0].compute.skel_s == 8.25);
	assert_int_equal(result_format(&r, &out, &e), 0);
	assert_int_equal(result_parse((const char *)out.data, out.len, &back, &e), 0);
	assert_true(back.traces[0].compute.present && back.traces[0].compute.skel_s == 8.25);
	assert_false(back.traces[0].partial.compute.present);
	buf_free(&out);
	assert_int_equal(parse(GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_PARTIAL "partial_compute 0 traced_s 9.5 whole_s 8\n" GOOD_TAIL, &r,
			       &e), 0);
	out = (struct buf){0};
	assert_int_equal(result_format(&r, &out, &e), 0);
	assert_int_equal(result_parse((const char *)out.data, out.len, &back, &e), 0);
	assert_true(back.traces[0].partial.compute.present && back.traces[0].partial.compute.traced_s == 9.5 &&
		    back.traces[0].partial.compute.skel_s == 8 && !back.traces[0].compute.present);
	buf_free(&out);
	assert_int_equal(parse(GOOD, &r, &e), 0);
	assert_false(r.traces[0].compute.present);
}

static void test_failed(void **state)
{
	struct errbuf e;
	struct result r;

	(void)state;
	assert_int_equal(parse("precedent-result 1\njob 1\ncandidate a\nstatus failed\nreason no mpicc\nend\n",
			       &r, &e), 0);
	assert_false(r.ok);
	assert_string_equal(r.reason, "no mpicc");
	assert_int_equal(parse("precedent-result 1\njob 1\ncandidate a\nstatus failed\nend\n", &r, &e), -1);
	assert_non_null(strstr(e.text, "reason"));
}

/* Records of earlier versions have a field that is read and not written again. */
static void test_without_own(void **state)
{
	struct buf out = {0};
	struct errbuf e;
	struct result r;

	(void)state;
	assert_int_equal(parse(GOOD_HEAD GOOD_CLASS GOOD_TRACE "without_own no AVX2 here\n" GOOD_TAIL, &r, &e), 0);
	assert_string_equal(r.interpreted, "");
	assert_int_equal(result_format(&r, &out, &e), 0);
	assert_null(memmem(out.data, out.len, "without_own", strlen("without_own")));
	buf_free(&out);
}

static void test_every_cut_is_refused(void **state)
{
	const char *good = GOOD;
	struct errbuf e;
	struct result r;

	(void)state;
	for (size_t n = 0; n < strlen(good); n++)
		assert_int_equal(result_parse(good, n, &r, &e), -1);
}

static const char *const bad[] = {
	"",
	"end\n",
	"precedent-result 2\n",
	"precedent-result 1\nend\n",
	GOOD "x",
	GOOD "end\n",
	GOOD "\n",
	" " GOOD,
	GOOD_HEAD "unknown 1\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD "\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD "job 42\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD "reason all is well\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TAIL,
	GOOD_HEAD GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "end\n",
	GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "kernel a/b 1\nhash fedcba9876543210\nend\n",
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "kernel a 1 2\nhash fedcba9876543210\nend\n",
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "hash fedcba987654321\nend\n",
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "hash FEDCBA9876543210\nend\n",
	GOOD_HEAD "node_class 0123456789abcdef\nstartup_s 1\n" GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD "node_class 0123456789abcdef a\tb\nstartup_s 1\n" GOOD_TRACE GOOD_TAIL,
	"precedent-result 1\njob -1\ncandidate fast\nstatus ok\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	"precedent-result 1\njob 4294967296\ncandidate fast\nstatus ok\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	"precedent-result 1\njob 1\ncandidate ../x\nstatus ok\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	"precedent-result 1\njob 1\ncandidate .x\nstatus ok\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	"precedent-result 1\njob 1\ncandidate fast\nstatus okay\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	"precedent-result 1\njob 1\nstatus ok\n" GOOD_CLASS GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS "compute 0 traced_s 1 skel_s 1\n" GOOD_TRACE GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "without_own a\nwithout_own b\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "without_own \n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 1 traced_s 1 skel_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 0 traced_s 1 skel_s 1\ncompute 0 traced_s 1 skel_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 0 traced_s 10.6 skel_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 0 traced_s 1 skel_s 10.3\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 0 traced_s nan skel_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 0 traced_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "compute 0 traced_s 1 skel_s 1 x\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "partial_compute 0 traced_s 1 whole_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "partial_compute 0 traced_s 1 whole_s 1\n" GOOD_PARTIAL GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_PARTIAL "partial_compute 0 traced_s 1 skel_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_PARTIAL "partial_compute 0 traced_s 1 whole_s 11.1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_PARTIAL "partial_compute 0 traced_s 10.6 whole_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_PARTIAL "partial_compute 1 traced_s 1 whole_s 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_PARTIAL "partial_compute 0 traced_s 1 whole_s 1\npartial_compute 0 traced_s 1 whole_s 1\n"
		GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS NO_SKELETON "unskeleton CUDA\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE GOOD_PARTIAL "unskeleton CUDA\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS NO_SKELETON GOOD_PARTIAL "unskeleton \n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS NO_SKELETON GOOD_PARTIAL "unskeleton a\nunskeleton b\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2,1 0 0.1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2,1 nan 0.1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2,1 1e10 0.1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2,1 1 -0.1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2,1 1 1001\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2,1 1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2,1 1 0.1 x\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 2;1 1 0.1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point  1 0.1\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "point 1 1 0.1\nunpoint no model\n" GOOD_TAIL,
	GOOD_HEAD GOOD_CLASS GOOD_TRACE "unpoint a\nunpoint b\n" GOOD_TAIL,
	"precedent-result 1\njob 1\ncandidate fast\nstatus failed\nreason x\npoint 2,1 1 0.1\nend\n",
};

static void test_points(void **state)
{
	char text[8192] = GOOD_HEAD GOOD_CLASS GOOD_TRACE, line[200];
	struct errbuf e;
	struct result r, back;
	struct buf out = {0};

	(void)state;
	for (int i = 0; i < RESULT_MAX_POINTS; i++) {
		snprintf(line, sizeof(line), "point 2,1,1,0,%d,1.5e-07,-3 %d.5 0.25\n", i, i);
		strcat(text, line);
	}
	strcat(text, GOOD_TAIL);
	assert_int_equal(parse(text, &r, &e), 0);
	assert_int_equal(r.points_n, RESULT_MAX_POINTS);
	assert_int_equal(result_format(&r, &out, &e), 0);
	assert_int_equal(result_parse((const char *)out.data, out.len, &back, &e), 0);
	assert_memory_equal(r.points, back.points, sizeof(r.points));
	assert_string_equal(back.points[31].vars, "2,1,1,0,31,1.5e-07,-3");
	assert_true(back.points[31].seconds == 31.5 && back.points[31].claim == 0.25);
	buf_free(&out);
	text[strlen(text) - strlen(GOOD_TAIL)] = '\0';
	strcat(text, line);
	strcat(text, GOOD_TAIL);
	assert_int_equal(parse(text, &r, &e), -1); /* one too many */
	memset(line, '1', 128);
	snprintf(text, sizeof(text), GOOD_HEAD GOOD_CLASS GOOD_TRACE "point %.128s 1 0\n" GOOD_TAIL, line);
	assert_int_equal(parse(text, &r, &e), -1);
	assert_int_equal(parse(GOOD_HEAD GOOD_CLASS GOOD_TRACE "unpoint 2 runs\n" GOOD_TAIL, &r, &e), 0);
	assert_string_equal(r.unpoint, "2 runs");
}

/* No skeleton repeats the program: the seconds are those of the program itself. */
static void test_unskeleton(void **state)
{
	struct errbuf e;
	struct result r, back;
	struct buf out = {0};

	(void)state;
	assert_int_equal(parse(GOOD_HEAD GOOD_CLASS NO_SKELETON GOOD_PARTIAL "unskeleton CUDA\n" GOOD_TAIL, &r, &e), 0);
	assert_string_equal(r.unskeleton, "CUDA");
	assert_int_equal(result_format(&r, &out, &e), 0);
	assert_int_equal(result_parse((const char *)out.data, out.len, &back, &e), 0);
	assert_string_equal(back.unskeleton, "CUDA");
	assert_true(back.traces[0].partial.whole_s == 11 && back.traces[0].skel_s == 0);
	buf_free(&out);
	assert_int_equal(parse("precedent-result 1\njob 1\ncandidate fast\nstatus failed\nreason CUDA, off\nunskeleton CUDA\nend\n",
			       &r, &e), 0);
	assert_true(!r.ok && r.unskeleton[0]);
}

static void test_bad(void **state)
{
	struct errbuf e;
	struct result r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], &r, &e) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_true(e.text[0] != '\0');
		assert_null(strchr(e.text, '\n'));
	}
}

static void test_bad_numbers(void **state)
{
	static const char *const values[] = {"nan", "inf", "-1", "1e10", "0x10", "1,5", "", "1e", "1.2.3", "+1", " 1"};
	struct errbuf e;
	struct result r;
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(text, sizeof(text),
			 GOOD_HEAD GOOD_CLASS "trace 0 mpi_s %s skel_s 1 lo_s 1 hi_s 1 ran_s 1 events 1 confidence 1\n"
			 GOOD_TAIL, values[i]);
		if (parse(text, &r, &e) == 0)
			fail_msg("accepted the number \"%s\"", values[i]);
	}
	snprintf(text, sizeof(text),
		 GOOD_HEAD GOOD_CLASS "trace 0 mpi_s 1 skel_s 3 lo_s 1 hi_s 2 ran_s 1 events 1 confidence 1\n" GOOD_TAIL);
	assert_int_equal(parse(text, &r, &e), -1);
	snprintf(text, sizeof(text),
		 GOOD_HEAD GOOD_CLASS "trace 0 mpi_s 1 skel_s 1 lo_s 1 hi_s 2 ran_s 1 events 1 confidence 1.5\n" GOOD_TAIL);
	assert_int_equal(parse(text, &r, &e), -1);
}

static void test_zero_byte_and_length(void **state)
{
	char text[] = GOOD;
	char *big = malloc(RESULT_MAX_BYTES + 1);
	struct errbuf e;
	struct result r;

	(void)state;
	text[30] = '\0';
	assert_int_equal(result_parse(text, sizeof(text) - 1, &r, &e), -1);
	memset(big, '\n', RESULT_MAX_BYTES + 1);
	assert_int_equal(result_parse(big, RESULT_MAX_BYTES + 1, &r, &e), -1);
	assert_non_null(strstr(e.text, "longer"));
	free(big);
}

static void full_result(struct result *r)
{
	memset(r, 0, sizeof(*r));
	r->job_id = 7;
	snprintf(r->candidate, sizeof(r->candidate), "slow_big");
	r->ok = true;
	r->has_class = r->has_startup = r->has_hash = true;
	snprintf(r->class_hex, sizeof(r->class_hex), "00000000000000ff");
	snprintf(r->class_text, sizeof(r->class_text), "tab\there");
	snprintf(r->hash_hex, sizeof(r->hash_hex), "00000000000000aa");
	r->startup_s = 0.125;
	r->traces_n = RESULT_MAX_TRACES;
	r->kernels_n = RESULT_MAX_KERNELS;
	for (unsigned i = 0; i < r->traces_n; i++)
		r->traces[i] = (struct result_trace){1.1 + i, 1e8 / 3, 1e8 / 3 - 1, 1e8 / 3, 2, INT64_MAX, 1.0 / 3,
						       {i % 2 == 0, 1e8 / 3, 1e8 / 3 - 1, 1e8 / 3, 2, {0}},
						       {i % 3 == 0, 1.1, 1e7 / 3}};
	for (unsigned i = 0; i < r->kernels_n; i++) {
		snprintf(r->kernels[i].name, sizeof(r->kernels[i].name), "kernel-%u", i);
		r->kernels[i].ns_per_unit = 1e-9 * i;
	}
}

static void test_round_trip(void **state)
{
	static struct result r, back;
	struct buf b = {0};
	struct errbuf e;

	(void)state;
	full_result(&r);
	assert_int_equal(result_format(&r, &b, &e), 0);
	assert_true(b.len < RESULT_MAX_BYTES);
	assert_int_equal(result_parse((char *)b.data, b.len, &back, &e), 0);
	assert_string_equal(back.class_text, "tab?here");
	assert_int_equal(back.traces_n, RESULT_MAX_TRACES);
	assert_true(back.traces[63].skel_s > 1e8 / 3 - 1 && back.traces[63].skel_s < 1e8 / 3 + 1);
	assert_int_equal(back.kernels_n, RESULT_MAX_KERNELS);
	buf_free(&b);
}

static void test_format_refuses(void **state)
{
	static struct result r;
	struct buf b = {0};
	struct errbuf e;

	(void)state;
	full_result(&r);
	r.traces[3].skel_s = -1;
	assert_int_equal(result_format(&r, &b, &e), -1);
	full_result(&r);
	r.traces_n = 0;
	assert_int_equal(result_format(&r, &b, &e), -1);
	full_result(&r);
	snprintf(r.candidate, sizeof(r.candidate), "a b");
	assert_int_equal(result_format(&r, &b, &e), -1);
	buf_free(&b);
}

static void test_candidate_name(void **state)
{
	char out[8];

	(void)state;
	result_candidate_name("a:b&c", out, sizeof(out));
	assert_string_equal(out, "a_b_c");
	result_candidate_name("../..", out, sizeof(out));
	assert_string_equal(out, "_._..");
	result_candidate_name("0123456789", out, sizeof(out));
	assert_string_equal(out, "0123456");
}

static int dir_make(char *path)
{
	strcpy(path, "/tmp/precedent-test-XXXXXX");
	assert_non_null(mkdtemp(path));
	return open(path, O_RDONLY | O_DIRECTORY);
}

static void test_files(void **state)
{
	static struct result r, back;
	char dir[64];
	int dfd = dir_make(dir), fd;
	struct errbuf e;
	struct stat st;

	(void)state;
	full_result(&r);
	assert_int_equal(result_read(dfd, "probe.a.result", getuid(), &back, &e), 0);
	assert_int_equal(result_write(dfd, "probe.a.result", &r, &e), 0);
	assert_int_equal(fstatat(dfd, "probe.a.result", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(result_read(dfd, "probe.a.result", getuid(), &back, &e), 1);
	assert_int_equal(back.job_id, 7);

	assert_int_equal(result_read(dfd, "probe.a.result", getuid() + 1, &back, &e), -1);
	assert_non_null(strstr(e.text, "belongs to"));
	assert_int_equal(symlinkat("probe.a.result", dfd, "link"), 0);
	assert_int_equal(result_read(dfd, "link", getuid(), &back, &e), -1);
	assert_non_null(strstr(e.text, "symbolic link"));
	assert_int_equal(mkfifoat(dfd, "fifo", 0600), 0);
	assert_int_equal(result_read(dfd, "fifo", getuid(), &back, &e), -1);
	assert_non_null(strstr(e.text, "regular"));
	fd = openat(dfd, "big", O_CREAT | O_WRONLY, 0600);
	assert_int_equal(ftruncate(fd, 10 << 20), 0);
	close(fd);
	assert_int_equal(result_read(dfd, "big", getuid(), &back, &e), -1);
	assert_int_equal(linkat(dfd, "probe.a.result", dfd, "other", 0), 0);
	assert_int_equal(result_read(dfd, "probe.a.result", getuid(), &back, &e), -1);

	static const char *const names[] = {"probe.a.result", "link", "fifo", "big", "other"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(unlinkat(dfd, names[i], 0), 0);
	close(dfd);
	assert_int_equal(rmdir(dir), 0); /* nothing else was left there */
}

static void test_write_into_nothing(void **state)
{
	static struct result r;
	struct errbuf e;

	(void)state;
	full_result(&r);
	assert_int_equal(result_write(-1, "probe.a.result", &r, &e), -1);
	assert_non_null(strstr(e.text, "cannot create"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_computation),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_without_own),
		cmocka_unit_test(test_every_cut_is_refused),
		cmocka_unit_test(test_unskeleton),
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_bad_numbers),
		cmocka_unit_test(test_zero_byte_and_length),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_format_refuses),
		cmocka_unit_test(test_candidate_name),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_write_into_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
