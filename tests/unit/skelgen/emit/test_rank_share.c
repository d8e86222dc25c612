/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many ranks share the records of their gaps: the data stay within their bound, and the ranks keep their times. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "skelgen/emit/rank_share.h"
#include "skelgen/pipeline.h"
#include "skelgen/runtime/data.h"
#include "tests/unit/synthetic.h"

#define MEMBERS 3000
#define ITEMS   200

static double uniform(uint64_t *seed)
{
	return (double)(syn_random(seed) % 1000003) / 1000003;
}

static void members_make(struct rank_member m[MEMBERS])
{
	uint64_t seed = 3;

	for (uint32_t i = 0; i < MEMBERS; i++)
		m[i] = (struct rank_member){.rank = i, .index = i, .n = 100 + syn_random(&seed) % 2, .made = 100,
					    .ns = 1000 * (1 + 0.3 * uniform(&seed))};
}

/* Groups have all ranks once, agree, and are as many as were counted. */
static void test_groups(void **arg)
{
	static struct rank_member m[MEMBERS];
	static bool seen[MEMBERS];
	struct rank_share item = {.level = 0};
	uint32_t before = UINT32_MAX;

	(void)arg;
	members_make(m);
	rank_share_count(&item, m, MEMBERS);
	for (int level = 0; level < GAP_ONE; level++) {
		uint32_t groups = 0;

		memset(seen, 0, sizeof seen);
		rank_members_sort(m, MEMBERS, level);
		for (uint32_t i = 0, end; i < MEMBERS; i = end, groups++) {
			end = rank_group_end(m, MEMBERS, i, level);
			assert_in_range(end, i + 1, MEMBERS);
			assert_true(level >= GAP_PLAIN || end - i <= 1u << level);
			for (uint32_t k = i; k < end; k++) {
				assert_false(seen[m[k].rank]);
				seen[m[k].rank] = true;
				assert_true(m[k].ns <= m[i].ns * 1.00503);
				assert_true(level == GAP_PLAIN || m[k].n == m[i].n);
			}
		}
		assert_int_equal(groups, item.groups[level]);
		assert_true(groups <= before);
		before = groups;
	}
	assert_int_equal(item.groups[0], MEMBERS);
	assert_in_range(item.groups[GAP_PLAIN], 50, 60); /* of half a per cent, in 30 */
}

static uint64_t bytes_of(const struct rank_share *x)
{
	return x->level == 0	       ? x->table + x->full :
	       x->level < GAP_PLAIN    ? x->table + x->groups[x->level] * x->record :
	       x->level == GAP_PLAIN ? x->table + x->groups[x->level] * (DATA_GAP + 1) * 8 :
					   0;
}

/* The gaps stay within any bound. The gap of least time is reduced first. */
static void test_bound(void **arg)
{
	static struct rank_member m[MEMBERS];
	static struct rank_share item[ITEMS];
	struct rank_share one = {.table = MEMBERS * 8, .record = 1064, .full = MEMBERS * 1064};

	(void)arg;
	members_make(m);
	rank_share_count(&one, m, MEMBERS);
	for (uint64_t bound = 1 << 30; bound > 0; bound /= 4) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < ITEMS; i++) {
			item[i] = one;
			item[i].time_ns = 1e9 / (i + 1);
			item[i].spread_ns = 0.1 * item[i].time_ns;
		}
		rank_share_choose(item, ITEMS, bound);
		for (uint32_t i = 0; i < ITEMS; i++) {
			sum += bytes_of(&item[i]);
			assert_true(i == 0 || item[i].level >= item[i - 1].level);
			assert_true(bound < 1 << 30 || item[i].level == 0);
		}
		assert_true(sum <= bound);
		assert_true(bound < 4 * ITEMS * one.table || sum > bound / 4);
	}
}

/* ---- in a skeleton ---- */

static char dir[64];

#define SITES 40
#define TURNS 64

/* Ranks differ by up to 30 %, each execution by 20 %. */
static struct trace *make(uint32_t n_ranks, double *total_ns)
{
	struct syn *s = syn_create(n_ranks);
	struct trace *t;
	uint64_t seed = 11;

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++) {
		double speed = 1 + 0.3 * uniform(&seed);

		total_ns[r] = 0;
		for (int i = 0; i < TURNS * SITES; i++) {
			double ns = (i % SITES < 4 ? 50000 : 5000) * speed * (0.9 + 0.2 * uniform(&seed));
			uint64_t gap = (uint64_t)ns;

			syn_call(s, r, "MPI_Barrier", (uint64_t)(10 + i % SITES), SYN(.gap_ns = gap));
			total_ns[r] += (double)gap;
		}
	}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

static uint64_t *data_read(size_t bytes)
{
	uint64_t *w = malloc(bytes);
	char path[100];
	FILE *f;

	snprintf(path, sizeof path, "%s/skel.c.data", dir);
	f = fopen(path, "r");
	assert_true(f != NULL && w != NULL);
	assert_int_equal(fread(w, 1, bytes, f), bytes);
	fclose(f);
	return w;
}

/* All executions of a gap, as the runtime computes them. */
static double record_sum(const uint64_t *r)
{
	uint32_t slots = (uint32_t)(r[1] >> 32), visit = 0;
	const double *ns = (const double *)(const void *)(r + DATA_GAP);
	double sum = 0;

	assert_int_equal(r[3], 0);
	for (uint64_t at = 0; at < r[0]; at++)
		sum += ns[data_stratum(at, r[0], (uint32_t)r[1]) * slots + visit++ % slots];
	return sum;
}

/* Returns the bytes; fills the time of each rank in gaps, and the distinct records. */
static uint64_t skeleton(struct trace *t, double *rank_ns, uint32_t *n_record)
{
	struct skel_emit_report size;
	struct skel_emit_options opt = {.report = &size};
	struct skel_budget budget = {.seconds = 1000};
	struct skel_stages p = {.excerpt = NULL};
	struct errbuf err = {{0}};
	uint64_t *w;
	bool *seen;

	if (skel_understand(t, &budget, &p, &err) != 0 || skel_write(&p, dir, &opt, &err) != 0)
		fail_msg("%s", err.text);
	assert_null(p.excerpt);
	w = data_read(size.data_bytes);
	seen = calloc(size.data_bytes, 1);
	assert_non_null(seen);
	assert_int_equal(w[3], SITES);
	*n_record = 0;
	for (uint64_t r = 0; r < w[2]; r++) {
		rank_ns[r] = 0;
		for (uint64_t g = 0; g < w[3]; g++) {
			uint64_t at = data_offset(w + DATA_HEADER, r * w[3] + g);

			rank_ns[r] += record_sum(w + at);
			*n_record += !seen[at];
			seen[at] = true;
		}
	}
	free(seen);
	free(w);
	skel_stages_free(&p);
	trace_close(t);
	return size.data_bytes;
}

static void test_skeletons(void **arg)
{
	static const uint32_t ranks[] = {16, 512};
	static double traced[512], emitted[512];

	(void)arg;
	for (int i = 0; i < 2; i++) {
		uint32_t n = ranks[i], records;
		uint64_t bytes = skeleton(make(n, traced), emitted, &records);
		double sum = 0, want = 0, most = 0, longest = 0, farthest = 0;

		for (uint32_t r = 0; r < n; r++) {
			sum += emitted[r];
			want += traced[r];
			most = fmax(most, emitted[r]);
			longest = fmax(longest, traced[r]);
			farthest = fmax(farthest, fabs(emitted[r] / traced[r] - 1));
		}
		print_message("# %u ranks: %llu bytes, %u records; sum %+.4f %%, longest %+.3f %%, farthest %.3f %%\n",
			      n, (unsigned long long)bytes, records, 100 * (sum / want - 1), 100 * (most / longest - 1),
			      100 * farthest);
		assert_true(bytes <= SKEL_DATA_MAX);
		assert_true(fabs(sum / want - 1) < 1e-4);
		assert_true(fabs(most / longest - 1) < GAP_AGREE);
		assert_true(farthest < GAP_AGREE);
		assert_true(n > 16 || records == SITES * n);
	}
}

static int make_dir(void **arg)
{
	(void)arg;
	strcpy(dir, "/tmp/precedent-share-XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **arg)
{
	char command[100];

	(void)arg;
	snprintf(command, sizeof command, "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups), cmocka_unit_test(test_bound),
					   cmocka_unit_test(test_skeletons)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
