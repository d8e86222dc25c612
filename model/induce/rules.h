/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transition rules of one node: a list of choices, of which the first that holds gives the arc; of several lists, made in
 * several ways, the shortest. Every atom that is tried holds on rows of one arc only. Paper 000 takes the variable of the
 * greatest discriminativity d = alpha P + beta card(G \ U), beta > alpha, and covers its values by single values and
 * progressions; here an atom has to say more (bits of the rows it decides) than it takes to say it (bits of its features and
 * numbers), so that a list of values that only repeats the journal is refused; d decides between equals. Beyond the paper:
 * thresholds that are exact rational functions of inputs, counters and variables, approximate ones with a check on runs left
 * out, remainders, and two conditions that both have to hold.
 */
#ifndef PRECEDENT_MODEL_INDUCE_RULES_H
#define PRECEDENT_MODEL_INDUCE_RULES_H

#include "model/induce/fit.h"
#include "model/induce/map.h"
#include "model/induce/model.h"

#define RULES_ALPHA 1.0
#define RULES_BETA  2.0

enum rules_kind { RULES_INPUT = 1, RULES_COUNTER = 2, RULES_WHOLE = 4, RULES_OWN = 8, RULES_LABEL = 16 };

/* Every passage of a node: the values before its arc is taken. */
struct rules_table {
	size_t n_rows;
	uint32_t n_cols, n_arcs;
	double *col[FIT_COLS_MAX];
	uint32_t feature[FIT_COLS_MAX]; /* of the graph */
	double bits[FIT_COLS_MAX];	/* what it takes to name it */
	uint8_t kind[FIT_COLS_MAX];	/* bits of enum rules_kind */
	uint32_t *label;		/* arc */
	uint32_t *walk, *run;		/* rows of a walk, and of a run, stand together */
	double *block;
};

/* Features of a graph while it is learnt. */
struct rules_features {
	struct map map;
	struct model_feature *feature;
	uint32_t cap;
};
/* Index of the feature, or MODEL_NONE without memory. */
uint32_t rules_feature(struct rules_features *f, uint8_t op, uint32_t a, uint32_t b);
void rules_features_free(struct rules_features *f);

/* Atoms of other nodes of the graph: what a program asks in one place it is likely to ask in another, so that it takes few
 * bits to say it again. */
struct rules_library {
	const struct model_atom *atom;
	uint32_t n;
};

/*
 * Choices and the rest of the node, whose arcs are there. repeat: no input varies, so that what is learnt can be asked
 * of these inputs only, and a rule need not be short. What the data do not decide is not an error: node->rest says so.
 */
int rules_learn(struct rules_table *t, struct rules_features *f, const struct rules_library *lib, bool repeat,
		struct model *m, struct model_node *node, struct errbuf *err);

/* ---- shared by rules.c, rules_list.c, thresholds.c and conjunctions.c ---- */

#define RULES_MARGIN_BITS 1.0

struct rules_atom {
	struct model_atom atom; /* x: a feature, when it is taken */
	uint32_t label;
	size_t covered; /* rows */
	double bits, gain, d;
	/* What x is made of, until it is a feature: column, remainder by `mod`, or by column `by`. */
	uint32_t col, mod, by;
};
struct rules_search {
	struct rules_table *t;
	struct rules_features *f;
	struct model *m;
	const struct rules_library *lib;
	bool repeat, no_steps; /* no_steps: without progressions */
	uint32_t only;	 /* arc that conditions are looked for, MODEL_NONE: any */
	size_t n;	 /* rows that are not covered yet */
	uint32_t *row;	 /* their numbers, rising */
	size_t *count;	 /* by label */
	uint32_t n_runs; /* among them */
	struct rules_atom best;
	bool found;
	struct map values;
	void *scratch;
};
/* Judge an atom that covers `covered` rows, all of one label; gain_bits < 0: by the rows. */
void rules_consider(struct rules_search *s, struct rules_atom *a, uint32_t runs_covered, double gain_bits);
/* Bits that covering so many of a label's rows decides; runs: those that the rows are of, where only inputs say it, else 0. */
double rules_gain(const struct rules_search *s, uint32_t label, size_t covered, uint32_t runs);
double rules_number_bits(double x);
/* The best single condition: s->found and s->best; value: room for every row. */
int rules_best(struct rules_search *s, double *value, struct errbuf *err);
/* What s->scratch has to be; malloced. */
void *rules_scratch(void);
/* Bits of which k of n. */
double rules_choose_bits(double n, double k);
/* Considers what a column says, and its remainders by 2 ... mod_most (16: and those by other columns); value: room for every row. -1 without memory. */
int rules_column(struct rules_search *s, double *value, uint32_t c, uint32_t mod_most);
bool rules_covers(const struct rules_table *t, const struct rules_atom *a, uint32_t row);
/* Two conditions of which neither does alone (conjunctions.c): 1 with both, for the label of the second; 0; -1. */
int conjunctions_search(struct rules_search *s, struct rules_atom pair[2], struct errbuf *err);
/* Thresholds that are functions: considers what holds. */
int thresholds_search(struct rules_search *s, struct errbuf *err);
/* The threshold that is nearly right, when two labels are left: 1 with the atom and its label. */
int thresholds_approximate(struct rules_search *s, struct rules_atom *out, struct errbuf *err);

#endif
