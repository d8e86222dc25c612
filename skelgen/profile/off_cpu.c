/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time asleep, by block: see off_cpu.h. */
#include "skelgen/profile/off_cpu.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"

#define PIECES_MAX (1u << 20)
#define PIECE_NS   100000.0 /* shorter ones are not where anybody slept */
#define SHARE_MIN  0.01     /* of the sleep, that a piece could hold at least */
#define ROUNDS     12

struct interval {
	double t0, t1, asleep;
	uint32_t piece, n_piece; /* its pieces */
	double part;		 /* of the time off the processor: others had it for the rest */
};

struct piece {
	uint32_t block;
	double ns;
};

struct off_cpu {
	uint32_t n, at, n_block, n_piece, cap;
	struct interval *interval;
	struct piece *piece;
	double *wall;
};

struct off_cpu *off_cpu_create(const struct trace_samples *s, double ns_per_tick, uint32_t n_block)
{
	struct off_cpu *m = calloc(1, sizeof(*m));
	double before = 0;

	if (!m)
		return NULL;
	m->n_block = n_block;
	m->interval = calloc(s->n + 1u, sizeof(*m->interval));
	m->wall = calloc(n_block + 1u, sizeof(*m->wall));
	if (!m->interval || !m->wall) {
		off_cpu_destroy(m);
		return NULL;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		double t = (double)s->sample[i].tick * ns_per_tick, asleep = (double)s->sample[i].asleep_ns;

		if (s->sample[i].thread)
			continue;
		if (asleep > 0)
			m->interval[m->n++] = (struct interval){
				before, t, asleep, 0, 0, asleep / (asleep + (double)s->sample[i].delayed_ns)};
		before = t;
	}
	return m;
}

static void add_piece(struct off_cpu *m, struct interval *v, uint32_t k, double ns)
{
	if (m->n_piece >= PIECES_MAX || ARRAY_ROOM(m->piece, m->cap, m->n_piece + 1) != 0)
		return;
	if (!v->n_piece)
		v->piece = m->n_piece;
	/* One interval after the other: its pieces lie together. */
	v->n_piece++;
	m->piece[m->n_piece++] = (struct piece){k, ns};
}

void off_cpu_add(struct off_cpu *m, uint32_t k, double t0, double t1)
{
	if (t1 <= t0 || k > m->n_block)
		return;
	m->wall[k] += t1 - t0;
	while (m->at < m->n && m->interval[m->at].t1 <= t0)
		m->at++;
	for (uint32_t i = m->at; i < m->n && m->interval[i].t0 < t1; i++) {
		struct interval *v = &m->interval[i];
		double ns = fmin(t1, v->t1) - fmax(t0, v->t0);

		if (ns >= PIECE_NS && ns >= SHARE_MIN * v->asleep)
			add_piece(m, v, k, ns);
	}
}

void off_cpu_drop(struct off_cpu *m, double t0, double t1)
{
	for (uint32_t i = m->at; i < m->n && m->interval[i].t0 < t1; i++) {
		struct interval *v = &m->interval[i];

		v->asleep = fmax(0, v->asleep - v->part * fmax(0, fmin(t1, v->t1) - fmax(t0, v->t0)));
	}
}

/* Shares the sleep of one interval out to its pieces, by the sleeping part of each block; no piece gets more than its length. */
static void share_interval(const struct off_cpu *m, const struct interval *v, const double *part, double *asleep)
{
	double weight = 0;

	for (uint32_t i = 0; i < v->n_piece; i++)
		weight += m->piece[v->piece + i].ns * part[m->piece[v->piece + i].block];
	for (uint32_t i = 0; weight > 0 && i < v->n_piece; i++) {
		const struct piece *p = &m->piece[v->piece + i];

		asleep[p->block] += fmin(p->ns, v->asleep * p->ns * part[p->block] / weight);
	}
}

void off_cpu_share(const struct off_cpu *m, double *asleep_ns)
{

	double *part = malloc((m->n_block + 1u) * sizeof(*part)), *sum = calloc(m->n_block + 1u, sizeof(*sum));

	for (uint32_t k = 0; part && k <= m->n_block; k++)
		part[k] = 1;
	for (int round = 0; part && sum && round < ROUNDS; round++) {
		for (uint32_t k = 0; k <= m->n_block; k++)
			sum[k] = 0;
		for (uint32_t i = 0; i < m->n; i++)
			share_interval(m, &m->interval[i], part, sum);
		for (uint32_t k = 0; k <= m->n_block; k++)
			part[k] = m->wall[k] > 0 ? fmin(1, sum[k] / m->wall[k]) : 0;
	}
	for (uint32_t k = 0; part && sum && k <= m->n_block; k++)
		asleep_ns[k] += fmin(sum[k], m->wall[k]);
	free(part);
	free(sum);
}

double off_cpu_part(double wall_ns, double asleep_ns, double others_ns)
{
	return wall_ns > 0 ? fmin(1, fmax(0, asleep_ns - others_ns) / wall_ns) : 0;
}

void off_cpu_destroy(struct off_cpu *m)
{
	if (!m)
		return;
	free(m->interval);
	free(m->piece);
	free(m->wall);
	free(m);
}
