/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The problems that the installed rules find in a trace, in the terms of the page (trace/view/view.h). The longest
 * problem is first. Each problem has the places on the time line with the greatest loss.
 */
#ifndef PRECEDENT_CLI_VIEW_PROBLEMS_H
#define PRECEDENT_CLI_VIEW_PROBLEMS_H

#include "cli/ui/symbolize.h"
#include "trace/view/view.h"

struct view_problems {
	uint32_t n;
	struct view_problem *problem;
};

/* Those with a share of at least 0.1 % of the time of all ranks; none of an imported trace. -1 with the reason. */
int view_problems_build(const struct trace *t, const char *rules_path, struct symbolizer *sym,
			void (*progress)(double share), struct view_problems *out, struct errbuf *err);
void view_problems_free(struct view_problems *p);

#endif
