/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Communicators that are made and freed between pieces: in an excerpt all ranks make the same collective calls, and each
 * communicator that is used or freed was made. The same holds for windows, whose accesses
 * lie between fences or while they are locked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/pieces/pieces.h"
#include "skelgen/tree/callinfo.h"
#include "trace/functions.h"
#include "tests/unit/synthetic.h"

enum {
	RANKS = 4, STEPS = 400, TEAMS = 60, COLOURS = 2, NEVER = STEPS, NONE = -1,
	SITE_MAKE = 1000, SITE_USE = 2000, SITE_FREE = 3000, SITE_ALL = 1, /* the first three plus the number of the team */
	STEP_NS = 100000, CALL_NS = 1500,
};

/* Each rank is in the communicator of its colour, or in none. A communicator is freed in a later step, or never. */
struct team {
	uint32_t made, freed[COLOURS], index[RANKS];
	int colour[RANKS];
};

static void team_draw(struct team *m, uint64_t *seed)
{
	m->made = (uint32_t)(syn_random(seed) % STEPS);
	for (int c = 0; c < COLOURS; c++) {
		uint32_t life = (uint32_t)(syn_random(seed) % 30);

		m->freed[c] = syn_random(seed) % 4 == 0 || m->made + life >= STEPS ? NEVER : m->made + life;
	}
	for (int r = 0; r < RANKS; r++)
		m->colour[r] = (int)(syn_random(seed) % (COLOURS + 1)) + NONE;
}

static uint32_t member_of(struct syn *s, const struct team *m, uint32_t rank, uint32_t ordinal)
{
	uint32_t member[RANKS], n = 0, comm;

	for (uint32_t r = 0; r < RANKS; r++)
		if (m->colour[r] == m->colour[rank])
			member[n++] = r;
	comm = syn_comm(s, rank, member, n);
	s->rank[rank].defs.comm[comm].ordinal = ordinal;
	return comm;
}

static void team_step(struct syn *s, struct team *m, uint32_t k, uint32_t step, uint32_t *calls)
{
	for (uint32_t r = 0; r < RANKS; r++) {
		bool in = m->colour[r] != NONE;

		if (step == m->made) {
			if (in)
				m->index[r] = member_of(s, m, r, k);
			syn_call(s, r, "MPI_Comm_split", SITE_MAKE + k, SYN(.comm = 0, .newcomm = in ? (int64_t)m->index[r] : TRACE_NULL));
			calls[r]++;
		}
		if (in && step >= m->made && step <= m->freed[m->colour[r]]) {
			syn_call(s, r, "MPI_Barrier", SITE_USE + k, SYN(.comm = m->index[r]));
			calls[r]++;
		}
		if (in && step == m->freed[m->colour[r]]) {
			syn_call(s, r, "MPI_Comm_free", SITE_FREE + k, SYN(.comm = m->index[r]));
			calls[r]++;
		}
	}
}

static struct syn *program(struct team *team, uint64_t seed)
{
	struct syn *s = syn_create(RANKS);

	for (uint32_t k = 0; k < TEAMS; k++)
		team_draw(&team[k], &seed);
	syn_begin(s);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t calls[RANKS] = {0};

		for (uint32_t k = 0; k < TEAMS; k++)
			team_step(s, &team[k], k, step, calls);
		for (uint32_t r = 0; r < RANKS; r++)
			syn_call(s, r, "MPI_Allreduce", SITE_ALL, SYN(.comm = 0, .count = 1, .gap_ns = STEP_NS - calls[r] * CALL_NS));
	}
	syn_end(s);
	return s;
}

/* What a rank of the excerpt does with a team's communicator. */
struct fate {
	uint32_t made, used, freed;
};

static void fates_read(const struct trace *t, uint32_t rank, struct fate *of)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	struct folded_iter it;
	uint32_t sym;

	folded_begin(&it, &k->events);
	while (folded_next(&it, &sym)) {
		uint32_t site = k->defs.sigs.sig[sym].site;
		uint64_t at = site < k->defs.n_site ? k->defs.site[site].hash : 0;

		if (at >= SITE_FREE)
			of[at - SITE_FREE].freed++;
		else if (at >= SITE_USE)
			of[at - SITE_USE].used++;
		else if (at >= SITE_MAKE)
			of[at - SITE_MAKE].made++;
		if (at >= SITE_USE) { /* used or freed: it was made, and it is not freed twice */
			const struct fate *f = &of[(at - SITE_USE) % (SITE_FREE - SITE_USE)];

			assert_int_equal(f->made, 1);
			assert_in_range(f->freed, 0, 1);
		}
	}
}

static void assert_together(const struct team *team, struct fate fate[RANKS][TEAMS], uint32_t *kept, uint32_t *left_out)
{
	for (uint32_t k = 0; k < TEAMS; k++)
		for (uint32_t r = 0; r < RANKS; r++) {
			assert_int_equal(fate[r][k].made, fate[0][k].made);
			for (uint32_t o = 0; o < RANKS; o++) {
				if (team[k].colour[r] == NONE || team[k].colour[o] != team[k].colour[r])
					continue;
				assert_int_equal(fate[r][k].freed, fate[o][k].freed);
				assert_int_equal(fate[r][k].used, fate[o][k].used);
			}
			*kept += fate[r][k].made;
			*left_out += !fate[r][k].made;
			if (team[k].colour[r] != NONE && team[k].freed[team[k].colour[r]] != NEVER && fate[r][k].made)
				assert_int_equal(fate[r][k].freed, 1); /* a communicator that was freed does not stay */
		}
}

static void test_teams(void **arg)
{
	uint32_t kept = 0, left_out = 0;

	(void)arg;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct team team[TEAMS] = {{0}};
		struct fate fate[RANKS][TEAMS] = {{{0}}};
		struct syn *s = program(team, seed);
		struct trace *t = syn_open(s), *excerpt = NULL;
		double seconds = 0.1 * trace_get_rank(t, 0)->wall_ns * 1e-9;
		struct survey v;
		struct pieces p;
		struct errbuf err = {{0}};

		if (survey_make(t, seconds, &v, &err) != 0 || pieces_choose(&v, seconds, UINT64_MAX, &p, &err) != 0 ||
		    pieces_excerpt(&v, &p, &excerpt, &err) != 0)
			fail_msg("seed %d: %s", (int)seed, err.text);
		for (uint32_t r = 0; r < RANKS; r++)
			fates_read(excerpt, r, fate[r]);
		assert_together(team, fate, &kept, &left_out);
		trace_close(excerpt);
		pieces_free(&p);
		survey_free(&v);
		trace_close(t);
		syn_destroy(s);
	}
	assert_true(kept > 0 && left_out > 0);
}

/* Windows are made and freed all the time. Accesses follow a fence, or each window is locked while it lives.
 * Rank 1 locks later. exclusive: at last each rank locks a window alone. */
static struct syn *remade(uint32_t steps, uint32_t windows, bool locked, bool exclusive)
{
	struct syn *s = syn_create(2);

	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 0; i < windows; i++)
			syn_win(s, r, 0, 64);
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		const char *before = locked ? "MPI_Win_lock_all" : "MPI_Win_fence";
		const char *after = locked ? "MPI_Win_unlock_all" : "MPI_Win_fence";
		uint64_t seed = 5;
		uint32_t win = 0;

		syn_call(s, r, "MPI_Win_create", 10, SYN(.win = 0));
		syn_call(s, r, before, 12, SYN(.win = 0));
		for (uint32_t k = 0; k < steps; k++) {
			for (uint64_t n = 1 + syn_random(&seed) % 4; n > 0; n--)
				syn_call(s, r, "MPI_Barrier", 11, SYN(.gap_ns = 20000));
			if (!locked)
				syn_call(s, r, before, 12, SYN(.win = win));
			syn_call(s, r, "MPI_Put", 13, SYN(.win = win, .dst = 1 - r, .count = 1, .gap_ns = 9000));
			syn_call(s, r, locked ? "MPI_Win_flush_all" : after, 14, SYN(.win = win));
			if (syn_random(&seed) % 64 != 0)
				continue;
			syn_call(s, r, "MPI_Win_create", 15, SYN(.win = (win + 1) % windows));
			for (uint32_t i = 0; i < 3 * r; i++)
				syn_call(s, r, "MPI_Send", 18, SYN(.dst = TRACE_PROC_NULL, .gap_ns = 5000));
			syn_call(s, r, before, 12, SYN(.win = (win + 1) % windows));
			syn_call(s, r, after, 14, SYN(.win = win));
			syn_call(s, r, "MPI_Win_free", 16, SYN(.win = win));
			win = (win + 1) % windows;
		}
		syn_call(s, r, after, 14, SYN(.win = win));
		if (exclusive) {
			syn_call(s, r, "MPI_Win_lock", 19, SYN(.win = win, .dst = 0, .integer = TLOCK_EXCLUSIVE));
			syn_call(s, r, "MPI_Win_unlock", 19, SYN(.win = win, .dst = 0));
		}
		syn_call(s, r, "MPI_Win_free", 17, SYN(.win = win));
	}
	syn_end(s);
	return s;
}

enum { WINDOWS = 40 };

/* Calls that MPI refuses: accesses before any fence or lock, and windows that are freed with accesses under way. */
static uint32_t wrong_accesses(const struct trace *t, uint32_t rank)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	bool made[WINDOWS] = {false}, open[WINDOWS] = {false}, busy[WINDOWS] = {false}; /* busy: accessed, or locked */
	struct folded_iter it;
	uint32_t sym, wrong = 0;

	folded_begin(&it, &k->events);
	while (folded_next(&it, &sym)) {
		const char *name = trace_fn[k->defs.sigs.sig[sym].fn].name;
		int64_t win = call_scalar(&k->defs, sym, TK_WIN, 0, -1);

		if (strcmp(name, "MPI_Win_create") == 0) {
			made[call_scalar(&k->defs, sym, TK_NEWWIN, 0, -1)] = true;
		} else if (strcmp(name, "MPI_Win_fence") == 0) {
			wrong += !made[win];
			open[win] = true;
			busy[win] = false;
		} else if (strcmp(name, "MPI_Win_lock_all") == 0) {
			wrong += !made[win] || open[win];
			open[win] = busy[win] = true;
		} else if (strcmp(name, "MPI_Win_unlock_all") == 0) {
			wrong += !busy[win];
			open[win] = busy[win] = false;
		} else if (strcmp(name, "MPI_Put") == 0) {
			wrong += !open[win];
			busy[win] = true;
		} else if (strcmp(name, "MPI_Win_flush_all") == 0) {
			wrong += !open[win];
		} else if (strcmp(name, "MPI_Win_free") == 0) {
			wrong += !made[win] || busy[win];
			made[win] = open[win] = false;
		}
	}
	return wrong;
}

/* No part of the run is without cuts: the longest segment. */
static uint64_t longest_of(const struct survey *v)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < v->segments.n; i++)
		most = v->segments.at[i].events > most ? v->segments.at[i].events : most;
	return most;
}

static void test_windows_are_remade(void **arg)
{
	const double share[] = {0.01, 0.03, 0.1};
	struct errbuf err;

	(void)arg;
	for (int i = 0; i < 6; i++) {
		bool locked = i % 2 != 0;
		struct syn *s = remade(6000, locked ? WINDOWS : 3, locked, false);
		struct trace *t = syn_open(s), *excerpt;
		double seconds = share[i / 2] * (double)trace_get_rank(t, 0)->wall_ns * 1e-9;
		struct survey v;
		struct pieces p;

		assert_int_equal(survey_make(t, seconds, &v, &err), 0);
		assert_true(longest_of(&v) < trace_get_rank(t, 0)->events.length / 20);
		assert_int_equal(pieces_choose(&v, seconds, 100000, &p, &err), 0);
		assert_int_equal(pieces_excerpt(&v, &p, &excerpt, &err), 0);
		for (uint32_t r = 0; r < 2; r++)
			assert_int_equal(wrong_accesses(excerpt, r), 0);
		trace_close(excerpt);
		pieces_free(&p);
		survey_free(&v);
		trace_close(t);
		syn_destroy(s);
	}
}

/* A rank that locks a window exclusively waits for the others that have locked it. Then all cuts have the same windows
 * locked. */
static void test_exclusive_locks(void **arg)
{
	(void)arg;
	for (int exclusive = 0; exclusive < 2; exclusive++) {
		struct syn *s = remade(6000, WINDOWS, true, exclusive);
		struct trace *t = syn_open(s);
		double seconds = 0.03 * (double)trace_get_rank(t, 0)->wall_ns * 1e-9;
		struct errbuf err;
		struct survey v;

		assert_int_equal(survey_make(t, seconds, &v, &err), 0);
		assert_int_equal(longest_of(&v) > trace_get_rank(t, 0)->events.length / 2, exclusive);
		survey_free(&v);
		trace_close(t);
		syn_destroy(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_teams),
		cmocka_unit_test(test_windows_are_remade),
		cmocka_unit_test(test_exclusive_locks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
