/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Induction of a model from a journal. What the journal does not determine is said in the model: variables that are not
 * known, nodes that do not know where to go, inputs that never varied or went together. Cost: rows times variables, and
 * that again for every run where the confidence is asked for.
 */
#ifndef PRECEDENT_MODEL_INDUCE_LEARN_H
#define PRECEDENT_MODEL_INDUCE_LEARN_H

#include "model/induce/journal.h"
#include "model/induce/model.h"

struct model_learn_options {
	bool no_procedures;  /* one graph, whatever is called */
	bool cross_validate; /* leave each run out, learn from the others, and compare */
};

/* A model that was checked; NULL with the reason. options may be NULL. */
struct model *model_learn(const struct journal *j, const struct model_learn_options *options, struct errbuf *err);

#endif
