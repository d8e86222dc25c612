/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a run ended (trace/ending), in words. Functions text_add... append. */
#ifndef PRECEDENT_CLI_ENDING_TEXT_H
#define PRECEDENT_CLI_ENDING_TEXT_H

#include <jansson.h>

#include "cli/ui/symbolize.h"
#include "trace/ending/ending.h"

struct ending_words {
	const struct ending *e;
	struct symbolizer *sym; /* may be NULL */
	char text[2048];        /* of one finding; a longer text is cut off */
};

void text_add(struct ending_words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "MPI_Recv from rank 1, tag 7 in work (app.c:12)" */
void text_add_call(struct ending_words *w, const struct trace_defs *d, const struct trace_in_call *c);
/* A signature as the call that it was. */
struct trace_in_call text_call_of(const struct trace_defs *d, uint32_t symbol);
/* "rank 3", "ranks 0-3, 7" */
void text_add_ranks(struct ending_words *w, const uint32_t *rank, uint32_t n);
/* Where the rank was when the run ended: "no MPI call, after MPI_Recv ...", "MPI_Waitall for 2 requests ..." */
void text_add_place(struct ending_words *w, uint32_t rank);
/* Where the rank computed when the run ended: "computing in solve (app.c:12)". Returns false, and adds nothing, if not
 * known. */
bool text_add_computing(struct ending_words *w, uint32_t rank);
/* The text becomes the finding: "rank 0 waits in MPI_Send to rank 1 ...". Returns the text. */
const char *ending_text(struct ending_words *w, const struct ending_finding *f);
/* For machines: an array with kind, ranks and text of each finding. */
json_t *ending_json(const struct ending *e, struct symbolizer *sym);
/* A word for a finding: "hung", "died", "aborted", "killed", "waited". */
const char *ending_word(const struct ending_finding *f);

#endif
