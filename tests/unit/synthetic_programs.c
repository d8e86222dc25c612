/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of simulated ranks: see synthetic.h. */
#include <stdlib.h>
#include <string.h>

#include "synthetic.h"
#include "trace/functions.h"

#define GRAPH_MOST 16 /* neighbours */

static const int64_t first_request[1] = {0};

/* Neighbour of a rank on a grid, row-major: TRACE_PROC_NULL outside an open border. */
static int64_t neighbour(uint32_t columns, uint32_t rows, uint32_t rank, int dc, int dr, enum syn_border border)
{
	int64_t c = (int64_t)(rank % columns) + dc, r = (int64_t)(rank / columns) + dr;

	if (border == SYN_PERIODIC) {
		c = (c + columns) % columns;
		r = (r + rows) % rows;
	}
	if (c < 0 || r < 0 || c >= columns || r >= rows)
		return TRACE_PROC_NULL;
	return r * columns + c;
}

struct syn *syn_stencil(uint32_t columns, uint32_t rows, uint32_t iterations, enum syn_border border)
{
	static const int dc[4] = {-1, 1, 0, 0}, dr[4] = {0, 0, -1, 1};
	struct syn *s = syn_create(columns * rows);

	syn_begin(s);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		syn_call(s, r, "MPI_Bcast", 10, SYN(.count = 4, .type = 1));
		for (uint32_t i = 0; i < iterations; i++) {
			int64_t reqs[8];
			uint32_t n = 0;

			for (int k = 0; k < 4; k++) {
				int64_t p = neighbour(columns, rows, r, dc[k], dr[k], border);

				if (border == SYN_SKIP && p < 0)
					continue;
				syn_call(s, r, "MPI_Irecv", 20 + k, SYN(.src = p, .tag = k ^ 1, .count = 100, .req = n));
				reqs[n] = n;
				n++;
			}
			for (int k = 0; k < 4; k++) {
				int64_t p = neighbour(columns, rows, r, dc[k], dr[k], border);

				if (border == SYN_SKIP && p < 0)
					continue;
				syn_call(s, r, "MPI_Isend", 30 + k, SYN(.dst = p, .tag = k, .count = 100, .req = n));
				reqs[n] = n;
				n++;
			}
			syn_call(s, r, "MPI_Waitall", 40, SYN(.reqs = reqs, .n_reqs = n, .dur_ns = 2000));
			if (i % 10 == 9)
				syn_call(s, r, "MPI_Allreduce", 41, SYN(.tag = 0));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_wavefront(uint32_t columns, uint32_t rows, uint32_t planes, uint32_t iterations)
{
	struct syn *s = syn_create(columns * rows);

	syn_begin(s);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		int64_t w = neighbour(columns, rows, r, -1, 0, SYN_PROC_NULL);
		int64_t e = neighbour(columns, rows, r, 1, 0, SYN_PROC_NULL);
		int64_t n = neighbour(columns, rows, r, 0, -1, SYN_PROC_NULL);
		int64_t t = neighbour(columns, rows, r, 0, 1, SYN_PROC_NULL);

		for (uint32_t i = 0; i < iterations; i++) {
			for (uint32_t k = 0; k < planes; k++) {
				if (n >= 0)
					syn_call(s, r, "MPI_Recv", 20, SYN(.src = n, .tag = 1, .count = 40));
				if (w >= 0)
					syn_call(s, r, "MPI_Recv", 21, SYN(.src = w, .tag = 1, .count = 40));
				if (t >= 0)
					syn_call(s, r, "MPI_Send", 22, SYN(.dst = t, .tag = 1, .count = 40));
				if (e >= 0)
					syn_call(s, r, "MPI_Send", 23, SYN(.dst = e, .tag = 1, .count = 40));
			}
			for (uint32_t k = 0; k < planes; k++) {
				if (t >= 0)
					syn_call(s, r, "MPI_Recv", 30, SYN(.src = t, .tag = 2, .count = 40));
				if (e >= 0)
					syn_call(s, r, "MPI_Recv", 31, SYN(.src = e, .tag = 2, .count = 40));
				if (n >= 0)
					syn_call(s, r, "MPI_Send", 32, SYN(.dst = n, .tag = 2, .count = 40));
				if (w >= 0)
					syn_call(s, r, "MPI_Send", 33, SYN(.dst = w, .tag = 2, .count = 40));
			}
			syn_call(s, r, "MPI_Allreduce", 40, SYN(.count = 5));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_cg(uint32_t columns, uint32_t rows, uint32_t iterations)
{
	struct syn *s = syn_create(columns * rows);
	uint32_t *member = syn_need(calloc(columns, sizeof(*member)));

	syn_begin(s);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		uint32_t me = r % columns, comm;

		for (uint32_t c = 0; c < columns; c++)
			member[c] = r / columns * columns + c;
		comm = syn_comm(s, r, member, columns);
		syn_call(s, r, "MPI_Comm_split", 10, SYN(.integer = r / columns, .newcomm = comm));
		for (uint32_t i = 0; i < iterations; i++) {
			for (uint32_t m = 1; m < columns; m *= 2) {
				syn_call(s, r, "MPI_Irecv", 20, SYN(.comm = comm, .src = me ^ m, .tag = 1, .count = 70));
				syn_call(s, r, "MPI_Send", 21, SYN(.comm = comm, .dst = me ^ m, .tag = 1, .count = 70));
				syn_call(s, r, "MPI_Wait", 22, SYN(.reqs = first_request, .n_reqs = 1));
			}
			if (columns == rows)
				syn_call(s, r, "MPI_Send", 25, SYN(.dst = r % columns * columns + r / columns));
			syn_call(s, r, "MPI_Allreduce", 30, SYN(.tag = 0));
		}
	}
	syn_end(s);
	free(member);
	return s;
}

struct syn *syn_ring(uint32_t n_ranks, uint32_t iterations)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++) {
		int64_t to = (r + 1) % n_ranks, from = (r + n_ranks - 1) % n_ranks;

		for (uint32_t i = 0; i < iterations; i++) {
			if (r == 0)
				syn_call(s, r, "MPI_Send", 20, SYN(.dst = to, .count = 8));
			syn_call(s, r, "MPI_Recv", 21, SYN(.src = from, .count = 8));
			if (r)
				syn_call(s, r, "MPI_Send", 22, SYN(.dst = to, .count = 8));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_pipeline(uint32_t n_ranks, uint32_t iterations)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (uint32_t i = 0; i < iterations; i++) {
			if (r)
				syn_call(s, r, "MPI_Recv", 20, SYN(.src = r - 1, .count = 64));
			if (r + 1 < n_ranks)
				syn_call(s, r, "MPI_Send", 21, SYN(.dst = r + 1, .count = 64));
		}
	syn_end(s);
	return s;
}

struct syn *syn_polled_tasks(uint32_t tasks)
{
	struct syn *s = syn_create(2);
	uint64_t seed = 5;

	for (uint32_t r = 0; r < 2; r++)
		s->rank[r].defs.proc.processors = s->rank[r].defs.proc.host_processors = 2;
	syn_begin(s);
	for (uint32_t k = 0; k < tasks; k++) {
		uint64_t site = 100 + syn_random(&seed) % 3, ns = 5000000 + syn_random(&seed) % 10000000;

		syn_call(s, 1, "MPI_Send", site, SYN(.dst = 0, .count = 1, .gap_ns = ns));
		syn_call(s, 0, "MPI_Iprobe", 200 + site, SYN(.src = 1, .asrc = 1, .poll_ns = ns));
		syn_call(s, 0, "MPI_Recv", 300 + site, SYN(.src = 1, .count = 1));
	}
	syn_end(s);
	return s;
}

struct syn *syn_master_worker(uint32_t n_ranks, uint32_t tasks, uint64_t seed)
{
	struct syn *s = syn_create(n_ranks);
	uint32_t *done = syn_need(calloc(n_ranks, sizeof(*done)));

	syn_begin(s);
	for (uint32_t k = 0; k < tasks; k++) {
		uint32_t w = 1 + (uint32_t)(syn_random(&seed) % (n_ranks - 1));

		syn_call(s, 0, "MPI_Recv", 20, SYN(.src = TRACE_ANY_SOURCE, .asrc = w, .count = 3));
		syn_call(s, 0, "MPI_Send", 21, SYN(.dst = w, .count = 1 + (int64_t)(k % 7)));
		done[w]++;
	}
	for (uint32_t r = 1; r < n_ranks; r++)
		for (uint32_t k = 0; k < done[r]; k++) {
			syn_call(s, r, "MPI_Send", 30, SYN(.dst = 0, .count = 3));
			syn_call(s, r, "MPI_Recv", 31, SYN(.src = 0, .count = 9));
		}
	syn_end(s);
	free(done);
	return s;
}

struct syn *syn_reneighbour(uint32_t n_ranks, uint32_t iterations, uint32_t every)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++) {
		uint64_t state = 77 + r;
		int64_t count = 1000;

		for (uint32_t i = 0; i < iterations; i++) {
			if (i % every == 0) {
				count = 1000 + (int64_t)(syn_random(&state) % 100);
				syn_call(s, r, "MPI_Sendrecv", 19, SYN(.dst = (r + 1) % n_ranks,
								       .src = (r + n_ranks - 1) % n_ranks));
			}
			for (int k = 0; k < 2; k++) {
				int64_t p = (r + (k ? 1 : n_ranks - 1)) % n_ranks, q = (r + (k ? n_ranks - 1 : 1)) % n_ranks;

				syn_call(s, r, "MPI_Irecv", 20, SYN(.src = q, .count = 4000));
				syn_call(s, r, "MPI_Send", 21, SYN(.dst = p, .count = count));
				syn_call(s, r, "MPI_Wait", 22, SYN(.reqs = first_request, .n_reqs = 1));
			}
			if (i % 50 == 49)
				syn_call(s, r, "MPI_Allreduce", 23, SYN(.count = 6));
		}
	}
	syn_end(s);
	return s;
}

struct syn *syn_checkpoint(uint32_t n_ranks, uint32_t iterations)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (uint32_t i = 0; i < iterations; i++) {
			syn_call(s, r, "MPI_Allreduce", 20, SYN(.count = 2));
			if (r == 0 && i % 10 == 9)
				syn_call(s, r, "MPI_Send", 21, SYN(.comm = 1, .dst = 0, .count = 1));
		}
	syn_end(s);
	return s;
}

struct syn *syn_graph(uint32_t n_ranks, uint32_t degree, uint32_t iterations, uint64_t seed)
{
	struct syn *s = syn_create(n_ranks);
	uint32_t *peer = syn_need(calloc((size_t)n_ranks * GRAPH_MOST, sizeof(*peer)));
	uint32_t *n = syn_need(calloc(n_ranks, sizeof(*n)));

	for (uint64_t k = 0; k < (uint64_t)n_ranks * degree / 2; k++) {
		uint32_t a = (uint32_t)(syn_random(&seed) % n_ranks), b = (uint32_t)(syn_random(&seed) % n_ranks);

		if (a == b || n[a] == GRAPH_MOST || n[b] == GRAPH_MOST)
			continue;
		peer[a * GRAPH_MOST + n[a]++] = b;
		peer[b * GRAPH_MOST + n[b]++] = a;
	}
	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (uint32_t i = 0; i < iterations; i++) {
			for (uint32_t k = 0; k < n[r]; k++)
				syn_call(s, r, "MPI_Irecv", 20, SYN(.src = peer[r * GRAPH_MOST + k], .count = 50 + k, .req = k));
			for (uint32_t k = 0; k < n[r]; k++)
				syn_call(s, r, "MPI_Send", 21, SYN(.dst = peer[r * GRAPH_MOST + k], .count = 50 + r % 7));
			for (uint32_t k = 0; k < n[r]; k++) {
				int64_t slot = k;

				syn_call(s, r, "MPI_Wait", 22, SYN(.reqs = &slot, .n_reqs = 1));
			}
			syn_call(s, r, "MPI_Allreduce", 23, SYN(.count = 2));
		}
	syn_end(s);
	free(peer);
	free(n);
	return s;
}

/* ---- random nested programs ---- */

#define PROGRAM_MAX 64

struct statement {
	uint8_t kind; /* 0 send, 1 receive, 2 allreduce, 3 loop */
	uint8_t drop; /* ranks that omit it, in quarters; 0: none */
	uint8_t vary; /* counts change between iterations */
	uint8_t by_rank; /* the number of iterations depends on the rank */
	uint32_t site, count, n_child, child[4];
};

struct program {
	struct statement st[PROGRAM_MAX];
	uint32_t n;
	uint64_t state;
};

static uint32_t random_statement(struct program *p, int depth)
{
	uint32_t i = p->n++;
	struct statement *st = &p->st[i];

	st->kind = (uint8_t)(syn_random(&p->state) % (depth < 3 ? 6 : 3));
	st->kind = st->kind > 3 ? 3 : st->kind;
	st->drop = syn_random(&p->state) % 3 ? 0 : (uint8_t)(syn_random(&p->state) % 4);
	st->vary = syn_random(&p->state) % 8 == 0;
	st->by_rank = syn_random(&p->state) % 6 == 0;
	st->site = 100 + (syn_random(&p->state) % 5 ? i : 0);
	st->count = 1 + (uint32_t)(syn_random(&p->state) % 6);
	for (uint32_t k = 1 + (uint32_t)(syn_random(&p->state) % 4); st->kind == 3 && k && p->n < PROGRAM_MAX - 8; k--) {
		uint32_t c = random_statement(p, depth + 1);

		p->st[i].child[p->st[i].n_child++] = c;
	}
	return i;
}

static void run_statement(struct syn *s, uint32_t r, const struct program *p, uint32_t i, uint32_t iteration)
{
	const struct statement *st = &p->st[i];
	int64_t count = st->count + (st->vary ? iteration % 3 : 0);

	if (st->drop && (r * 2654435761u + i * 40503u) >> 16 & 3 && ((r * 2654435761u + i * 40503u) >> 16 & 3) <= st->drop)
		return;
	if (st->kind == 0)
		syn_call(s, r, "MPI_Send", st->site, SYN(.dst = (r + st->count) % s->n_ranks, .count = count));
	else if (st->kind == 1)
		syn_call(s, r, "MPI_Recv", st->site, SYN(.src = r ? 0 : TRACE_PROC_NULL, .count = count));
	else if (st->kind == 2)
		syn_call(s, r, "MPI_Allreduce", st->site, SYN(.count = count));
	for (uint32_t k = 0; st->kind == 3 && k < st->count + (st->by_rank ? r % 4 : 0); k++)
		for (uint32_t c = 0; c < st->n_child; c++)
			run_statement(s, r, p, st->child[c], k);
}

struct syn *syn_irregular(uint32_t n_ranks, uint64_t seed)
{
	struct program p = {.state = seed * 0x9e3779b97f4a7c15ull + 1};
	struct syn *s = syn_create(n_ranks);
	uint32_t top[6];

	for (int k = 0; k < 6; k++)
		top[k] = p.n < PROGRAM_MAX - 8 ? random_statement(&p, 0) : 0;
	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (int k = 0; k < 6; k++)
			run_statement(s, r, &p, top[k], 0);
	syn_end(s);
	return s;
}
