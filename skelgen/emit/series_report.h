/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of report.txt on a loop: its windows, and the statistics of its iteration times that led to these windows. */
#ifndef PRECEDENT_SKELGEN_EMIT_SERIES_REPORT_H
#define PRECEDENT_SKELGEN_EMIT_SERIES_REPORT_H

#include "skelgen/emit/text.h"
#include "skelgen/plan/plan.h"

/* Nothing for a loop that runs whole. follows: its windows vary as the traced iterations did. */
void series_report(const struct skel_plan *plan, uint32_t node, bool follows, struct text *out);

#endif
