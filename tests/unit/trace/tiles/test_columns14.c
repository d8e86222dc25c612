/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Import of the 14-column text: generated traces against a simple second parser, every malformed line with its
 * number and remedy, and all accepted forms of lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/bench/columns14_generate.h"
#include "trace/tiles/columns14.h"
#include "trace/tiles/columns14_match.h"
#include "trace/tiles/tiles.h"

static char dir[] = "/tmp/precedent-test-XXXXXX";
static char text_path[64], trace_path[64];

static void write_text(const char *text)
{
	FILE *f = fopen(text_path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int import(struct columns14_report *report, struct errbuf *err)
{
	struct columns14_options o = {.tile_bytes = 1024, .mark_ns = 500};

	columns14_codes_default(&o.codes);
	o.codes.command[9] = TSTATE_WORKING;
	o.codes.arrival[7] = true;
	return columns14_import(text_path, trace_path, &o, report, err);
}

/* ---- a second reading ---- */

struct plain {
	uint32_t n_ranks;
	uint64_t first, n;
	uint8_t *state; /* [rank * n + mark - first] */
	struct exchange *m;
	uint32_t n_m;
	uint8_t *seen;
};

/* Read one processor and one cell at a time; search all messages for each. */
static void read_plain(struct plain *p, uint32_t n_ranks, uint64_t marks)
{
	FILE *f = fopen(text_path, "r");
	long long v[14];
	uint8_t *now = calloc(n_ranks, 1);
	uint64_t done = 0;

	*p = (struct plain){.n_ranks = n_ranks, .n = marks, .state = calloc(n_ranks, marks), .m = calloc(100000, sizeof(*p->m))};
	assert_non_null(f);
	for (;;) {
		int got = 0;

		for (int i = 0; i < 14; i++)
			got += fscanf(f, "%lld", &v[i]) == 1;
		for (uint64_t end = got == 14 ? (uint64_t)v[0] : marks; done < end; done++)
			for (uint32_t r = 0; r < n_ranks; r++)
				p->state[r * marks + done] = now[r];
		if (got != 14)
			break;
		now[v[1]] = (uint8_t)v[2];
		if (v[2] == 2)
			p->m[p->n_m++] = (struct exchange){.src = (uint32_t)v[1], .dst = (uint32_t)v[3], .tag = (int32_t)v[4],
							   .bytes = (uint64_t)v[5], .t0 = (uint64_t)v[0], .t1 = (uint64_t)v[0]};
		for (uint32_t i = 0; v[7] == 1 && i < p->n_m; i++)
			if (!p->m[i].received && p->m[i].src == v[8] && p->m[i].dst == v[1] && p->m[i].tag == v[9]) {
				p->m[i].received = true;
				p->m[i].t1 = (uint64_t)v[0];
				break;
			}
	}
	fclose(f);
	free(now);
}

static int see_span(const struct tile_span *s, void *arg)
{
	struct plain *p = arg;

	for (uint64_t t = s->t0; t < s->t1; t++) {
		assert_int_equal(p->state[s->rank * p->n + t - p->first], s->state);
		p->state[s->rank * p->n + t - p->first] = 0xff; /* checked */
	}
	return 0;
}

static int see_message(const struct exchange *m, void *arg)
{
	struct plain *p = arg;

	for (uint32_t i = 0; i < p->n_m; i++) {
		const struct exchange *k = &p->m[i];

		if (!p->seen[i] && k->src == m->src && k->dst == m->dst && k->tag == m->tag && k->t0 == m->t0 &&
		    k->t1 == m->t1 && k->bytes == m->bytes && k->received == m->received) {
			p->seen[i] = 1;
			return 0;
		}
	}
	fail_msg("%u -> %u, %llu to %llu: no such message", m->src, m->dst, (unsigned long long)m->t0, (unsigned long long)m->t1);
	return 1;
}

static void test_generated_traces(void **state)
{
	static const struct {
		uint32_t processors;
		uint64_t marks;
		double density;
	} g[] = {{1, 1, 0.5}, {1, 500, 0.3}, {20, 2463, 0.11}, {7, 5000, 0.9}, {300, 130, 0.02}};

	(void)state;
	for (size_t i = 0; i < sizeof(g) / sizeof(*g); i++) {
		FILE *f = fopen(text_path, "w");
		uint64_t records = columns14_generate(f, g[i].processors, g[i].marks, g[i].density, i);
		struct columns14_report r;
		struct errbuf err;
		struct trace *t;
		struct tiles *tiles;
		struct plain p;
		uint32_t received = 0;

		fclose(f);
		assert_true(records >= g[i].processors);
		if (import(&r, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(r.tally.records, records);
		assert_int_equal(r.tally.n_ranks, g[i].processors);
		read_plain(&p, g[i].processors, g[i].marks);
		p.seen = calloc(p.n_m + 1, 1);
		t = trace_open(trace_path, &err);
		tiles = tiles_open(t, &err);
		assert_non_null(tiles);
		assert_int_equal(tiles_end(tiles) - tiles_first(tiles), g[i].marks);
		assert_true(tiles_mark_ns(tiles) == 500);
		assert_int_equal(tiles_spans(tiles, 0, p.n_ranks, 0, p.n, see_span, &p, &err), 0);
		for (uint64_t c = 0; c < p.n_ranks * p.n; c++)
			assert_int_equal(p.state[c], 0xff);
		assert_int_equal(tiles_exchanges(tiles, 0, p.n, see_message, &p, &err), 0);
		for (uint32_t m = 0; m < p.n_m; m++) {
			assert_int_equal(p.seen[m], 1);
			received += p.m[m].received;
		}
		assert_int_equal(r.messages, received);
		assert_int_equal(r.unreceived, p.n_m - received);
		assert_int_equal(r.unsent, 0);
		assert_string_equal(trace_job_get(t, "format"), "columns14");
		assert_string_equal(trace_job_get(t, "source"), "t.txt");
		tiles_close(tiles);
		trace_close(t);
		free(p.state);
		free(p.m);
		free(p.seen);
	}
}

#define Z "0 0 0 0 "

static void test_lines_that_are_accepted(void **state)
{
	static const char *const text[] = {
		"5 0 1 " Z "0 " Z "0 0\n8 1 3 " Z "0 " Z "0 0\n9 0 0 " Z "0 " Z "0 0\n",
		"5 0 1 " Z "0 " Z "0 0\r\n8 1 3 " Z "0 " Z "0 0\r\n9 0 0 " Z "0 " Z "0 0\r\n",
		/* without a final newline */
		"\n\n5  0\t1 " Z "0 " Z "0  0 \n   \n 8 1 3 " Z "0 " Z "0 0\n9 0 0 " Z "0 " Z "0 0",
		"5 0 9 " Z "0 " Z "0 0\n8 1 3 -1 0 -3 0 0 " Z "0 0\n9 0 0 " Z "200 " Z "77 1\n\n\n",
		"5 0 2 1 0 0 0 0 " Z "0 0\n5 0 1 " Z "0 " Z "0 0\n7 0 4 " Z "0 " Z "0 0\n8 1 3 " Z "0 " Z "0 0\n9 0 0 " Z "0 "
		Z "0 0\n", /* the last command of a mark counts; 4 keeps the state */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
		static const uint64_t want[2][TSTATE_N] = {{1, 4, 0, 0}, {3, 0, 0, 2}};
		struct tile_totals sum[2];
		struct columns14_report r;
		struct errbuf err;
		struct tiles *tiles;
		struct trace *t;

		write_text(text[i]);
		if (import(&r, &err) < 0)
			fail_msg("%s", err.text);
		t = trace_open(trace_path, &err);
		tiles = tiles_open(t, &err);
		assert_int_equal(tiles_first(tiles), 5);
		assert_int_equal(tiles_totals(tiles, 0, 2, sum, &err), 0);
		for (int p = 0; p < 2; p++)
			assert_memory_equal(sum[p].marks, want[p], sizeof(want[p]));
		tiles_close(tiles);
		trace_close(t);
	}
}

static void test_lines_that_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "has no records"},
		{"\n \n", "has no records"},
		{"0 0 1 " Z "0 " Z "0\n", "t.txt:1: has 13 numbers, not 14"},
		{"0 0 1 " Z "0 " Z "0 0\n0 0 1 " Z "0 " Z "0 0 0\n", "t.txt:2: has 15 numbers, not 14"},
		{"0 0 1 " Z "0 " Z "0 0\n\nx 0 1 " Z "0 " Z "0 0\n", "t.txt:3: column 1 (time) is 'x', not a whole number"},
		{"0.5 0 1 " Z "0 " Z "0 0\n", "column 1 (time) is '0.5', not a whole number: scale"},
		{"0 -1 1 " Z "0 " Z "0 0\n", "column 2 (processor) is '-1', below zero"},
		{"0 - 1 " Z "0 " Z "0 0\n", "column 2 (processor) is '-', not a whole number"},
		{"0 0 1 0 0 +1 0 0 " Z "0 0\n", "column 6 (command parameter 3) is '+1', not a whole number"},
		{"0 0 1 " Z "0 0 0 0 1e3 0 0\n", "column 12 (event parameter 4) is '1e3'"},
		{"0 1048576 1 " Z "0 " Z "0 0\n", "column 2 (processor) is 1048576: at most 1048575"},
		{"0 0 5 " Z "0 " Z "0 0\n", "column 3 (command) is 5: what does it do? Say --command"},
		{"0 0 300 " Z "0 " Z "0 0\n", "column 3 (command) is 300: what does it do?"},
		{"0 0 1 " Z "0 " Z "0 2\n", "column 14 (record flag) is 2: it is 0 or 1"},
		{"0 0 2 -1 0 0 0 0 " Z "0 0\n", "column 4 (command parameter 1) is -1: there is no such processor to send to"},
		{"0 0 2 0 9999999999 0 0 0 " Z "0 0\n", "column 5 (command parameter 2) is 9999999999: a tag has 32 bits"},
		{"0 0 2 0 0 -5 0 0 " Z "0 0\n", "column 6 (command parameter 3) is -5: an amount below zero"},
		{"0 0 1 " Z "7 2000000 0 0 0 0 0\n", "column 9 (event parameter 1) is 2000000: there is no such processor to have"},
		{"0 0 1 " Z "0 " Z "0 0\n9 0 1 " Z "0 " Z "0 0\n8 0 1 " Z "0 " Z "0 0\n",
		 "t.txt:3: time goes back from 9 to 8: sort the file by time first"},
		{"0 0 1 " Z "0 " Z "0 0\n1234567890123456789 0 1 " Z "0 " Z "0 0\n", "is '1234567890123456789', longer than 18"},
		{"0 0 1 " Z "0 " Z "0 0\n99999999999999 0 1 " Z "0 " Z "0 0\n", "is column 1 the time in marks? Scale it"},
		{"\x1b[2J 0 1 " Z "0 " Z "0 0\n", "column 1 (time) is '?[2J', not a whole number"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct errbuf err = {{0}};

		unlink(trace_path);
		write_text(bad[i].text);
		assert_int_equal(import(NULL, &err), -1);
		if (!strstr(err.text, bad[i].says) || strncmp(err.text, text_path, strlen(text_path)))
			fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
		assert_int_equal(access(trace_path, F_OK), -1);
	}
}

static void test_processors_that_come_late(void **state)
{
	FILE *f = fopen(text_path, "w");
	struct columns14_report r;
	struct tile_totals sum;
	struct errbuf err;
	struct tiles *tiles;
	struct trace *t;

	(void)state;
	for (int i = 0; i < 100000; i++) /* behind the first records, which give the number of processors */
		fprintf(f, "%d %d %d " Z "0 " Z "0 0\n", i, i < 90000 ? i % 3 : 41, i % 4 == 2 ? 1 : i % 4);
	fclose(f);
	assert_int_equal(import(&r, &err), 0);
	assert_int_equal(r.tally.n_ranks, 42);
	t = trace_open(trace_path, &err);
	tiles = tiles_open(t, &err);
	assert_int_equal(tiles_n_ranks(tiles), 42);
	assert_int_equal(tiles_totals(tiles, 41, 42, &sum, &err), 0);
	assert_int_equal(sum.marks[TSTATE_WAITING], 90000 + 2500);
	assert_int_equal(sum.marks[TSTATE_WORKING], 5000);
	tiles_close(tiles);
	trace_close(t);
}

static void test_long_lines_and_files_that_are_none(void **state)
{
	char *line = malloc(300001);
	struct errbuf err;

	(void)state;
	memset(line, '1', 300000);
	line[300000] = '\0';
	write_text(line);
	assert_int_equal(import(NULL, &err), -1);
	assert_non_null(strstr(err.text, "is longer than 4096 bytes"));
	free(line);
	unlink(text_path);
	assert_int_equal(import(NULL, &err), -1);
	assert_non_null(strstr(err.text, "cannot open"));
	assert_int_equal(columns14_import("/dev/null", trace_path, &(struct columns14_options){.mark_ns = 1}, NULL, &err), -1);
	assert_non_null(strstr(err.text, "is not a regular file"));
}

static void test_more_messages_in_flight_than_are_held(void **state)
{
	struct match *m = match_create();
	struct columns14_message half = {.rank = 1, .peer = 2};
	struct exchange x;

	(void)state;
	for (uint32_t i = 0; i <= MATCH_OPEN_MAX; i++) {
		assert_false(match_full(m));
		half.t = half.amount = i;
		half.tag = (int32_t)(i % 1000);
		assert_int_equal(match_add(m, &half, &x), 0);
	}
	assert_true(match_full(m));
	assert_int_equal(match_give_up(m, &x), 1);
	assert_true(x.t0 == 0 && x.t1 == 0 && !x.received); /* the oldest */
	assert_false(match_full(m));
	half = (struct columns14_message){.t = 1u << 20, .rank = 2, .peer = 1, .tag = 0, .arrival = true};
	assert_int_equal(match_add(m, &half, &x), 1);
	assert_true(x.t0 == 1000 && x.t1 == 1u << 20 && x.received); /* now the oldest with its tag */
	half.tag = 1001;
	assert_int_equal(match_add(m, &half, &x), 0);
	assert_int_equal(match_unsent(m), 1);
	match_destroy(m);
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(text_path, sizeof(text_path), "%s/t.txt", dir);
	snprintf(trace_path, sizeof(trace_path), "%s/t.ptrace", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(text_path);
	unlink(trace_path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generated_traces),
		cmocka_unit_test(test_lines_that_are_accepted),
		cmocka_unit_test(test_lines_that_are_refused),
		cmocka_unit_test(test_processors_that_come_late),
		cmocka_unit_test(test_long_lines_and_files_that_are_none),
		cmocka_unit_test(test_more_messages_in_flight_than_are_held),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
