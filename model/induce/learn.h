/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Induction of a model from a journal. The model names everything that the journal does not determine: unknown
 * variables, nodes whose next arc is unknown, inputs that never varied or varied together. A node is unknown as well where
 * the model would depart from a run that it was learnt from. Cost: rows times variables. With cross-validation, the same
 * cost again for every run.
 */
#ifndef PRECEDENT_MODEL_INDUCE_LEARN_H
#define PRECEDENT_MODEL_INDUCE_LEARN_H

#include "model/induce/journal.h"
#include "model/induce/model.h"

struct model_learn_options {
	bool no_procedures;  /* one graph, without procedures */
	bool cross_validate; /* leave each run out, learn from the others, and compare */
};

/* A model that was checked; NULL with the reason. options may be NULL. */
struct model *model_learn(const struct journal *j, const struct model_learn_options *options, struct errbuf *err);

#endif
