/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info of an imported trace: its statistics per processor, and the four states with bars. */
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/trace/import_stats.h"
#include "cli/trace/info_print.h"
#include "cli/ui/term.h"
#include "cli/ui/util.h"
#include "trace/tiles/tiles.h"

#define SPARK_CELLS 48
#define BAR_CELLS   30

static const char *const state_name[TSTATE_N] = {"waiting", "working", "sending", "receiving"};

static double marks(const struct tile_totals *t)
{
	double sum = 0;

	for (int s = 0; s < TSTATE_N; s++)
		sum += (double)t->marks[s];
	return sum;
}

static void print_state(int state, const struct tile_totals *each, uint32_t n, double *share, double all)
{
	double cell[SPARK_CELLS], sum = 0, max = 0;
	uint32_t cells = n < SPARK_CELLS ? n : SPARK_CELLS;
	char bar[BAR_CELLS * 4], line[SPARK_CELLS * 4];

	for (uint32_t r = 0; r < n; r++) {
		double m = marks(&each[r]);

		sum += (double)each[r].marks[state];
		share[r] = m > 0 ? (double)each[r].marks[state] / m : 0;
		max = fmax(max, share[r]);
	}
	if (n > SPARK_CELLS)
		gsl_sort(share, 1, n);
	for (uint32_t i = 0; i < cells; i++)
		cell[i] = share[cells < 2 ? 0 : (uint64_t)i * (n - 1) / (cells - 1)];
	printf("  %-10s %s%s%s %5.1f %%  %s%s%s\n", state_name[state], term_on(TERM_BAR),
	       cli_bar(bar, sizeof(bar), all > 0 ? sum / all : 0, BAR_CELLS), term_off(), all > 0 ? 100 * sum / all : 0,
	       term_on(TERM_BAR), term_spark(line, sizeof(line), cell, cells, max), term_off());
}

static int print_states(const struct trace *t, const char *path)
{
	uint32_t n = trace_n_ranks(t);
	struct errbuf err;
	struct tiles *tiles = tiles_open(t, &err);
	struct tile_totals *each = calloc(n, sizeof(*each));
	double *share = calloc(n, sizeof(*share)), all = 0;
	int rc = 0;

	if (!tiles || !each || !share) {
		rc = cli_fail("%s: %s", path, tiles ? "no memory" : err.text);
	} else if (tiles_totals(tiles, 0, n, each, &err) < 0) {
		rc = cli_fail("%s: %s", path, err.text);
	} else {
		for (uint32_t r = 0; r < n; r++)
			all += marks(&each[r]);
		printf("\n%sWhere the time goes, and on which processors%s%s\n", term_on(TERM_HEADING),
		       n > SPARK_CELLS ? " (sorted)" : "", term_off());
		for (int s = 0; s < TSTATE_N; s++)
			print_state(s, each, n, share, all);
	}
	tiles_close(tiles);
	free(each);
	free(share);
	return rc;
}

int info_print_imported(const struct trace *t, const char *path, bool all)
{
	int rc = import_stats_print(t, path, all);

	return rc ? rc : print_states(t, path);
}
