/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collecting thread: empties the rings often, puts the rows of each run together, and keeps the runs that models are
 * learnt from. It owns the tails of the rings and the runs that have not ended. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "common/array.h"
#include "model/api/place.h"
#include "model/api/session.h"

#define PERIOD_LEAST_NS 500000
#define PERIOD_MOST_NS	20000000
#define BATCH_WORDS	4096 /* after which the producer gets its room back */
#define RUNS_MAX	1024
#define PER_INPUTS_MAX	8   /* runs with the same inputs */
#define NEWS_BELOW	4   /* a run says something new while so few have its inputs */
#define KEEP_PER_LOOK	256 /* runs that are kept of one look at the rings; more would only be more of the same */

struct collector {
	struct precedent_model *m;
	uint32_t kept; /* in this look */
	double value[PRECEDENT_MODEL_VALUES_MAX];
};

void run_log_free(struct run_log *l)
{
	if (!l)
		return;
	free(l->point);
	free(l->ticks);
	free(l->value);
	free(l->input);
	free(l);
}

/* ---- rows of a run ---- */

static int row_room(struct run_log *l, uint32_t n_values)
{
	size_t cap_ticks = l->cap;

	if (ARRAY_ROOM(l->ticks, cap_ticks, l->n + 1) != 0 || ARRAY_ROOM(l->point, l->cap, l->n + 1) != 0 ||
	    ARRAY_ROOM(l->value, l->values_cap, l->n_values + n_values) != 0)
		return -1;
	return 0;
}

static void row_add(struct collector *c, struct run_log *l, uint32_t point, uint64_t ticks, uint32_t n)
{
	const struct precedent_model *m = c->m;

	if (l->bad)
		return;
	if (point >= atomic_load_explicit(&m->n_points, memory_order_acquire))
		l->bad = "a control point has no name";
	else if (m->point[point].n_vars != n)
		l->bad = "a control point has not the variables that it was named with";
	else if (l->n >= m->rows_max / 2)
		l->bad = "a run is too long";
	else if (ticks < l->begin_ticks || (l->n && ticks - l->begin_ticks < l->ticks[l->n - 1]))
		l->bad = "the clock goes back";
	for (uint32_t i = 0; !l->bad && i < n; i++)
		if (!isfinite(c->value[i]))
			l->bad = "a variable is not a number, or a whole number beyond 2^53";
	if (!l->bad && row_room(l, n) < 0)
		l->bad = "no memory for a run";
	if (l->bad)
		return;
	l->point[l->n] = point;
	l->ticks[l->n] = ticks - l->begin_ticks;
	l->n++;
	if (n)
		memcpy(l->value + l->n_values, c->value, n * sizeof(*c->value));
	l->n_values += n;
}

/* ---- runs ---- */

static void run_discard(struct precedent_model *m, struct run_log *l)
{
	if (!l)
		return;
	atomic_fetch_add(&m->unusable, 1);
	if (l->bad)
		session_trouble(m, l->bad);
	run_log_free(l);
}

static struct run_log *run_begin(struct collector *c, uint32_t number, uint64_t ticks, uint32_t n)
{
	struct run_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->number = number;
	l->begin_ticks = ticks;
	l->refs = 1;
	l->group = XXH3_64bits(c->value, n * sizeof(*c->value));
	l->input = malloc((n + 1ull) * sizeof(*l->input));
	if (!l->input) {
		free(l);
		return NULL;
	}
	if (n)
		memcpy(l->input, c->value, n * sizeof(*l->input));
	for (uint32_t i = 0; i < n; i++)
		if (!isfinite(l->input[i]))
			l->bad = "an input is not a number";
	return l;
}

/* Out of the list, under the lock; p: where it hangs. */
static void run_drop(struct precedent_model *m, struct run_log **p)
{
	struct run_log *l = *p;

	*p = l->next;
	m->n_runs--;
	m->n_rows -= l->n;
	if (--l->refs == 0)
		run_log_free(l);
}

/* The oldest of equal runs goes when there are too many of them; the oldest of all while there are too many, or too many
 * rows. */
static void run_keep(struct precedent_model *m, struct run_log *l)
{
	uint32_t same = 0;

	for (struct run_log **p = &m->runs; *p;)
		if ((*p)->group == l->group && ++same >= PER_INPUTS_MAX)
			run_drop(m, p);
		else
			p = &(*p)->next;
	while (m->runs && (m->n_runs >= RUNS_MAX || m->n_rows + l->n > m->rows_max)) {
		struct run_log **p = &m->runs;

		while ((*p)->next)
			p = &(*p)->next;
		run_drop(m, p);
	}
	l->next = m->runs;
	m->runs = l;
	m->n_runs++;
	m->n_rows += l->n;
	m->runs_news += same < NEWS_BELOW;
}

static void run_end(struct collector *c, struct run_log *l, uint64_t ticks, bool spoilt)
{
	struct precedent_model *m = c->m;

	row_add(c, l, PRECEDENT_MODEL_END, ticks, 0);
	if (spoilt && !l->bad)
		l->bad = "control points were dropped, as the ring was full";
	if (l->bad) {
		run_discard(m, l);
		return;
	}
	pthread_mutex_lock(&m->lock);
	atomic_fetch_add(&m->runs_ever, 1);
	if (c->kept < KEEP_PER_LOOK) {
		c->kept++;
		run_keep(m, l);
		l = NULL;
	}
	pthread_mutex_unlock(&m->lock);
	run_log_free(l);
}

/* ---- rings ---- */

static void record_take(struct collector *c, struct ring *r, uint64_t head, uint64_t ticks, uint32_t n)
{
	uint32_t number = (uint32_t)head, point = (head >> 32) & 0xffff;

	if (r->log && (head >> 60 == RECORD_BEGIN || r->log->number != number)) {
		if (!r->log->bad)
			r->log->bad = "a run was begun before the one before it had ended";
		run_discard(c->m, r->log);
		r->log = NULL;
	}
	switch ((enum record_kind)(head >> 60)) {
	case RECORD_BEGIN:
		r->log = run_begin(c, number, ticks, n);
		break;
	case RECORD_MARK:
		if (r->log)
			row_add(c, r->log, point, ticks, n);
		break;
	case RECORD_END:
		if (r->log)
			run_end(c, r->log, ticks, point);
		r->log = NULL;
		break;
	}
}

static uint64_t ring_drain(struct collector *c, struct ring *r)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed), begin = tail, given = tail;

	while (tail != head) {
		uint64_t word = r->word[tail & r->mask], ticks = r->word[(tail + 1) & r->mask];
		uint32_t n = (word >> 48) & 0xfff;

		for (uint32_t i = 0; i < n; i++)
			memcpy(&c->value[i], &r->word[(tail + RECORD_WORDS + i) & r->mask], sizeof(*c->value));
		tail += RECORD_WORDS + n;
		record_take(c, r, word, ticks, n);
		if (tail - given >= BATCH_WORDS) {
			atomic_store_explicit(&r->tail, tail, memory_order_release);
			given = tail;
		}
	}
	atomic_store_explicit(&r->tail, tail, memory_order_release);
	return tail - begin;
}

/* A ring whose thread has ended, and that is empty. Others may stand in front of it meanwhile, never behind. */
static void ring_remove(struct precedent_model *m, struct ring *r)
{
	struct ring *next = atomic_load(&r->next), *p = r;

	if (!atomic_compare_exchange_strong(&m->rings, &p, next)) {
		while (atomic_load(&p->next) != r)
			p = atomic_load(&p->next);
		atomic_store(&p->next, next);
	}
	atomic_fetch_sub(&m->n_rings, 1);
	run_discard(m, r->log);
	r->log = NULL;
	ring_unref(r);
}

static void ring_count(struct precedent_model *m, struct ring *r)
{
	uint64_t dropped = atomic_load_explicit(&r->dropped, memory_order_relaxed);
	uint64_t outside = atomic_load_explicit(&r->outside, memory_order_relaxed);

	atomic_fetch_add(&m->dropped, dropped - r->seen_dropped);
	atomic_fetch_add(&m->outside, outside - r->seen_outside);
	r->seen_dropped = dropped;
	r->seen_outside = outside;
}

static uint64_t drain_all(struct collector *c)
{
	struct ring *r, *next;
	uint64_t n = 0;

	c->kept = 0;
	for (r = atomic_load(&c->m->rings); r; r = next) {
		bool orphan = atomic_load_explicit(&r->orphan, memory_order_acquire);

		next = atomic_load(&r->next);
		n += ring_drain(c, r);
		ring_count(c->m, r);
		if (orphan)
			ring_remove(c->m, r);
	}
	return n;
}

/* Until somebody asks, or for a while: short when there was much to do. */
static void rest(struct precedent_model *m, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	if (!atomic_load(&m->stop) && atomic_load(&m->flush_asked) == atomic_load(&m->flush_drained))
		pthread_cond_timedwait(&m->wake_collect, &m->lock, &until);
}

void *collect_main(void *session)
{
	struct precedent_model *m = session;
	struct collector c = {.m = m};
	uint64_t period = PERIOD_LEAST_NS;
	struct place place = {.normal_priority = m->normal_priority};

	atomic_store(&m->core, place_look(&place));
	if (session_thread(m, fitting_main) < 0)
		session_trouble(m, "no thread can be made to fit models");
	while (!atomic_load(&m->stop)) {
		uint64_t asked = atomic_load(&m->flush_asked), n = drain_all(&c);

		period = n ? PERIOD_LEAST_NS : period * 2;
		period = period > PERIOD_MOST_NS ? PERIOD_MOST_NS : period;
		if (!n)
			atomic_store(&m->core, place_look(&place));
		pthread_mutex_lock(&m->lock);
		if (asked != atomic_load(&m->flush_drained)) {
			atomic_store(&m->flush_drained, asked);
			pthread_cond_signal(&m->wake_fit);
		}
		rest(m, period);
		pthread_mutex_unlock(&m->lock);
	}
	session_unref(m);
	return NULL;
}
