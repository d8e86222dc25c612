/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proof that a merged tree is the trace that it was made from. */
#ifndef PRECEDENT_SKELGEN_MERGE_VERIFY_H
#define PRECEDENT_SKELGEN_MERGE_VERIFY_H

#include "skelgen/tree/tree.h"

/* Proof of losslessness. Every rank is expanded and compared with the trace, symbol by symbol. Fitted parameters are
 * compared with the recorded values. Returns 0, or -1 with the first difference in err (rank, event, expected, got). */
struct skel_verify_report {
	uint64_t events;   /* compared, over all ranks */
	uint64_t length;   /* calls in the tree, or items of the folded form */
	uint32_t ranks;
};
int skel_verify(const struct skel_tree *tree, struct skel_verify_report *rep, struct errbuf *err);
/* The same proof by the polynomial hash of each rank's stream, without expanding loops. skel_verify() calls it above
 * 10^8 events. rep may be NULL in both functions. */
int skel_verify_by_hash(const struct skel_tree *tree, struct skel_verify_report *rep, struct errbuf *err);

/* Proof that the trace expands to the calls that were recorded, without a tree and without expanding loops. Returns 0, or
 * -1 with the first rank that differs in err. */
int skel_verify_folded(const struct trace *t, struct skel_verify_report *rep, struct errbuf *err);

#endif
