/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loops of a rank (skelgen/merge/loops.h) in the terms of the page (trace/view/view.h). */
#ifndef PRECEDENT_CLI_VIEW_LOOPS_H
#define PRECEDENT_CLI_VIEW_LOOPS_H

#include "cli/ui/symbolize.h"
#include "trace/view/view.h"

struct view_loops {
	uint32_t n;
	struct view_loop *loop;
};

/* Without loops, or where the rank has none to be found, there are none. -1 without memory. */
int view_loops_build(const struct trace *t, uint32_t rank, struct symbolizer *sym, struct view_loops *out,
		     struct errbuf *err);
void view_loops_free(struct view_loops *l);

#endif
