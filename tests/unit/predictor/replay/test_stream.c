/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams from an accounting and from a log: sizes, requests, ends, and the jobs that are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/replay/stream.h"

#define HEAD "JobID|User|Partition|JobName|Account|Submit|Start|End|Elapsed|Timelimit|NNodes|NCPUS|State|SubmitLine\n"

static struct errbuf err;

static int sacct(const char *text, uint32_t nodes, struct stream *s)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int rv;

	assert_non_null(in);
	rv = stream_from_sacct(in, "jobs", nodes, NULL, NULL, s, &err);
	fclose(in);
	return rv;
}

/* Precedent has shortened the limit of job 1 to five minutes; its comment has the request. */
static void test_shortened(void **state)
{
	struct stream s;

	(void)state;
	assert_int_equal(sacct("JobID|User|Partition|Submit|Start|End|Elapsed|Timelimit|NNodes|NCPUS|State|AdminComment\n"
			       "1|ann|fast|1000|1000|1100|00:01:40|00:05:00|1|4|COMPLETED|precedent:1 act=predict mode=limit user_limit=60 limit=5\n"
			       "2|ann|fast|1000|1000|1100|00:01:40|00:05:00|1|4|COMPLETED|of the site\n",
			       0, &s), 0);
	assert_int_equal(s.jobs[0].request_min, 60);
	assert_int_equal(s.jobs[1].request_min, 5);
	stream_free(&s);
}

/* Submitted in another order than printed. Job 2 was ended by its limit, job 3 asked for nothing, job 4 has not run. */
static void test_sacct(void **state)
{
	struct stream s;

	(void)state;
	assert_int_equal(sacct(HEAD "2|ann|fast|b|phys|1100|1110|1410|00:05:00|00:05:00|2|8|TIMEOUT|/usr/bin/sbatch b.sh 7\n"
				    "1|ann|fast|a|phys|1000|1050|1150|00:01:40|01:00:00|1|4|COMPLETED|sbatch a.sh\n"
				    "3|bob|slow|c|chem|1200|1200|1230|00:00:30||1|4|FAILED|srun c\n"
				    "4|bob|slow|d|chem|1200|Unknown|Unknown|00:00:00||1|4|PENDING|sbatch d.sh\n"
				    "bad\n",
			       0, &s), 0);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.left_out, 1);
	assert_int_equal(s.bad, 1);
	assert_true(s.processors);
	assert_int_equal(s.nodes, 12); /* jobs 1 and 2 from 1110 to 1150 */
	assert_int_equal(s.first_s, 1000);
	assert_int_equal(s.jobs[0].submit_s, 0);
	assert_int_equal(s.jobs[1].submit_s, 100);
	assert_int_equal(s.jobs[0].run_s, 100);
	assert_int_equal(s.jobs[0].request_min, 60);
	assert_int_equal(s.jobs[0].nodes, 4);
	assert_int_equal(s.about[0].nodes, 1);
	assert_int_equal(s.jobs[1].run_s, 301); /* its limit is to end it again */
	assert_int_equal(s.jobs[2].request_min, 60); /* the longest */
	assert_false(s.about[2].requested);
	assert_int_equal(s.n_requested, 2);
	assert_string_equal(s.about[1].program, "/usr/bin/sbatch b.sh 7");
	assert_string_equal(s.about[2].program, ""); /* srun has no script */
	assert_int_equal(s.about[0].uid, s.about[1].uid);
	assert_int_not_equal(s.about[0].uid, s.about[2].uid);
	assert_ptr_equal(s.about[0].account, s.about[1].account);
	/* 4 * 100 + 8 * 301 + 4 * 30 processor seconds in 200 s on 12 processors */
	assert_true(s.load > 1.219 && s.load < 1.221);
	stream_load_set(&s, 2 * s.load);
	assert_int_equal(s.jobs[2].submit_s, 100);
	stream_free(&s);

	/* Four processors are the most that a node has: one node is too small for job 2. */
	assert_int_equal(sacct(HEAD "2|ann|fast|b|phys|1100|1110|1410|00:05:00|00:05:00|2|8|TIMEOUT|x\n"
				    "1|ann|fast|a|phys|1000|1050|1150|00:01:40|01:00:00|1|4|COMPLETED|x\n", 1, &s), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.too_large, 1);
	assert_int_equal(s.nodes, 4);
	stream_free(&s);

	assert_int_equal(sacct(HEAD, 0, &s), -1);
	assert_string_equal(err.text, "jobs: no job in it has a size and a run time");
	assert_int_equal(sacct("JobID|User\n1|a\n", 0, &s), -1);
	assert_non_null(strstr(err.text, "jobs: has no column Submit"));
	stream_free(&s);
}

/* A file that tells processors for some jobs only is counted in nodes. */
static void test_unit(void **state)
{
	struct stream s;

	(void)state;
	assert_int_equal(sacct(HEAD "1|ann|fast|a|phys|1000|1000|1100|00:01:40|01:00:00|3|12|COMPLETED|x\n"
				    "2|ann|fast|a|phys|1000|1100|1200|00:01:40|01:00:00|2||COMPLETED|x\n", 0, &s), 0);
	assert_false(s.processors);
	assert_int_equal(s.nodes, 3);
	assert_int_equal(s.jobs[0].nodes + s.jobs[1].nodes, 5);
	stream_free(&s);
}

static int swf_stream(const char *text, uint32_t nodes, struct stream *s)
{
	struct swf swf;
	int rv;

	assert_int_equal(swf_parse("log", text, strlen(text), NULL, NULL, &swf, &err), 0);
	rv = stream_from_swf(&swf, nodes, s, &err);
	swf_free(&swf);
	return rv;
}

static void test_swf(void **state)
{
	/* number, submit, wait, run, processors, -, -, asked, request, -, status, user, group, executable, queue, partition */
	static const char log[] = "; MaxProcs: 16\n"
				  "1 50 0 100 4 -1 -1 8 3600 -1 1 3 2 7 1 -1 -1 -1\n"
				  "2 40 0 900 4 -1 -1 4 600 -1 0 3 2 7 1 -1 -1 -1\n"
				  "3 60 0 5000 1 -1 -1 -1 -1 -1 5 4 2 -1 -1 -1 -1 -1\n"
				  "4 70 0 -1 1 -1 -1 -1 -1 -1 1 4 2 -1 -1 -1 -1 -1\n"
				  "5 80 0 10 17 -1 -1 -1 -1 -1 1 4 2 -1 -1 -1 -1 -1\n";
	struct stream s;

	(void)state;
	assert_int_equal(swf_stream(log, 0, &s), 0);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.left_out, 1);
	assert_int_equal(s.too_large, 1);
	assert_int_equal(s.nodes, 16);
	assert_int_equal(s.jobs[0].run_s, 601); /* status 0 beyond what was asked: its limit has ended it */
	assert_string_equal(s.about[0].state, "TIMEOUT");
	assert_int_equal(s.jobs[1].nodes, 8);
	assert_string_equal(s.about[1].name, "executable7");
	assert_string_equal(s.about[1].program, "executablen"); /* no number that a model over inputs would take for one */
	assert_string_equal(s.about[1].partition, "queue1");
	assert_string_equal(s.about[1].account, "group2");
	assert_string_equal(s.about[2].state, "CANCELLED");
	assert_string_equal(s.about[2].partition, "all");
	assert_string_equal(s.about[2].program, "");
	assert_int_equal(s.jobs[2].request_min, 60);
	assert_int_equal(s.jobs[2].run_s, 3600); /* cut at the longest request */
	stream_free(&s);

	assert_int_equal(swf_stream("1 50 0 100 4 -1 -1 8 -1 -1 1 3 2 7 1 -1 -1 -1\n", 0, &s), -1);
	assert_non_null(strstr(err.text, "name the size by --nodes"));
	assert_int_equal(swf_stream("1 50 0 5000 4 -1 -1 8 -1 -1 1 3 2 7 1 -1 -1 -1\n", 8, &s), 0);
	assert_int_equal(s.jobs[0].request_min, 120); /* no request in the file: the longest run, by the hour */
	stream_free(&s);

	/* A request of 25,000 years is a year, also as the request of those without one. */
	assert_int_equal(swf_stream("1 50 0 5000 4 -1 -1 8 801101967330 -1 1 3 2 7 1 -1 -1 -1\n"
				    "2 50 0 5000 4 -1 -1 8 -1 -1 1 3 2 7 1 -1 -1 -1\n", 8, &s), 0);
	assert_int_equal(s.jobs[0].request_min, 525600);
	assert_int_equal(s.jobs[1].request_min, 525600);
	stream_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sacct), cmocka_unit_test(test_shortened), cmocka_unit_test(test_unit), cmocka_unit_test(test_swf)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
