/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shape trees (shape.h) as trees whose loops make the iterations of their longest execution, with notes of those that
 * each execution makes: the form in which ranks are merged. */
#ifndef PRECEDENT_SKELGEN_CONTRACT_LOOP_COUNT_NOTES_H
#define PRECEDENT_SKELGEN_CONTRACT_LOOP_COUNT_NOTES_H

#include "skelgen/merge/irregular_loops.h"
#include "skelgen/contract/shape.h"

/* Use up `from`: 0 with *tree and *notes (NULL when no count varies) to be freed; 1 when executions left out would
 * make the loops too long; -1 without memory. */
int shape_to_notes(struct shape_tree *from, struct contract_tree *tree, struct segment_notes **notes, struct errbuf *err);

#endif
