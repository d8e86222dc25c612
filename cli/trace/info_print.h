/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `precedent info` prints: for people, for machines, every call of a rank. All return an exit code. */
#ifndef PRECEDENT_CLI_INFO_PRINT_H
#define PRECEDENT_CLI_INFO_PRINT_H

#include <stdbool.h>

#include "cli/trace/info_collect.h"

/* One screen, or with `all` every row of every table. */
int info_print_text(const struct trace *t, const struct info *o, const char *path, bool all);
int info_print_json(const struct trace *t, const struct info *o, const char *path);
/* Of an imported trace. */
int info_print_imported(const struct trace *t, const char *path, bool all);
int info_print_events(const struct trace *t, const char *path, uint32_t rank);
/* Where a loop stands: "main (heat.c:42)". Returns buf. */
struct symbolizer;
const char *info_loop_place(struct symbolizer *s, const struct trace *t, const struct loops *l, uint32_t i, char *buf,
			    size_t size);

/* The parts of info_print_text that need more than a few lines (info_tables.c). */
struct info_view {
	const struct trace *t;
	const struct info *o;
	struct symbolizer *sym;
	int width;
	bool all;
	double total; /* seconds of all ranks: computing and MPI */
};
void info_print_sites(const struct info_view *v);
/* The call that took longest: "MPI_Send in main (heat.c:42)"; its share of all time, 0 when there is none. */
double info_top_call(const struct info_view *v, char *buf, size_t size);
void info_print_loops(const struct info_view *v);
void info_print_messages(const struct info_view *v);
/* Three digits: 1.23 s, 45.6 ms, 789 us. Returns buf. */
const char *info_time(char *buf, size_t size, double s);
/* Text that fits into the rest of a line, when there is a terminal to fit. */
const char *info_rest(const struct info_view *v, int used, const char *text, char *buf, size_t size);

#endif
