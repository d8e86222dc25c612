/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the import of 14-column text. An accepted text becomes a trace. Its totals must count every mark of every
 * processor once, and its spans must give the same totals. An error must name the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/tiles/columns14.h"
#include "trace/tiles/tiles.h"

#define RANKS_MAX 2048u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add_span(const struct tile_span *s, void *arg)
{
	struct tile_totals *sum = arg;

	sum[s->rank].marks[s->state] += s->t1 - s->t0;
	sum[s->rank].spans[s->state]++;
	return 0;
}

static int count_message(const struct exchange *m, void *arg)
{
	if (m->t1 < m->t0)
		__builtin_trap();
	++*(uint64_t *)arg;
	return 0;
}

static void check(const char *path, const struct columns14_report *r)
{
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	struct tiles *tiles = t ? tiles_open(t, &err) : NULL;
	uint32_t n = r->tally.n_ranks;
	struct tile_totals *sum = calloc(2ull * n, sizeof(*sum));
	uint64_t marks = r->tally.last - r->tally.first + 1, messages = 0;

	if (!tiles || !sum || tiles_n_ranks(tiles) != n || tiles_first(tiles) != r->tally.first ||
	    tiles_end(tiles) != r->tally.last + 1 || tiles_totals(tiles, 0, n, sum, &err) < 0 ||
	    tiles_spans(tiles, 0, n, 0, UINT64_MAX, add_span, sum + n, &err) != 0 || memcmp(sum, sum + n, n * sizeof(*sum)))
		__builtin_trap();
	for (uint32_t p = 0; p < n; p++)
		if (sum[p].marks[0] + sum[p].marks[1] + sum[p].marks[2] + sum[p].marks[3] != marks)
			__builtin_trap();
	if (tiles_exchanges(tiles, 0, UINT64_MAX, count_message, &messages, &err) != 0 ||
	    messages != r->messages + r->unreceived || tiles_n_damage(tiles) || trace_n_damage(t))
		__builtin_trap();
	tiles_close(tiles);
	trace_close(t);
	free(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char in[64], out[72];
	struct columns14_options o = {.tile_bytes = 1024, .cells_max = 1u << 20};
	struct columns14_report r;
	struct errbuf err;
	FILE *f;

	if (!*in) {
		snprintf(in, sizeof(in), "/dev/shm/fuzz-columns14-%ld", (long)getpid());
		snprintf(out, sizeof(out), "%s.ptrace", in);
	}
	f = fopen(in, "w");
	if (!f)
		abort();
	fwrite(data, 1, size, f);
	fclose(f);
	columns14_codes_default(&o.codes);
	if (columns14_import(in, out, &o, &r, &err) < 0) {
		if (strncmp(err.text, in, strlen(in)))
			__builtin_trap();
	} else if (r.tally.n_ranks <= RANKS_MAX) {
		check(out, &r);
	}
	unlink(in);
	unlink(out);
	return 0;
}
