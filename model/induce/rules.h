/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transition rules of one node. The rules are a list of choices; the first choice that holds gives the arc. Several
 * lists are made in different ways, and the shortest list is kept. Every atom that is tried holds on rows of one arc
 * only.
 *
 * Pekunov (cited in model.h) takes the variable of the greatest discriminativity d = alpha P + beta card(G \ U), beta >
 * alpha. The paper covers the values of this variable by single values and progressions. Here an atom must save more
 * bits than it costs. Saved bits: the choices of the rows that the atom decides. Cost: the atom's features and
 * numbers. So a list of values that only repeats the journal is refused. d decides between equals.
 *
 * Beyond the paper:
 *   - exact thresholds: rational functions of inputs, counters and variables
 *   - approximate thresholds, with cross-validation
 *   - remainders
 *   - two conditions that both have to hold
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
	double bits[FIT_COLS_MAX];	/* cost of naming the feature */
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

/* Atoms of other nodes of the graph. A program often tests the same condition in several places, so repeating an atom
 * costs few bits. */
struct rules_library {
	const struct model_atom *atom;
	uint32_t n;
};

/*
 * Learns the choices and the rest of a node that has its arcs. repeat: no input varies. Such a model answers for these
 * inputs only, so a rule need not be short. Undecided data are not an error; node->rest reports them.
 */
int rules_learn(struct rules_table *t, struct rules_features *f, const struct rules_library *lib, bool repeat,
		struct model *m, struct model_node *node, struct errbuf *err);

/* ---- shared by rules.c, rules_list.c, thresholds.c, conjunctions.c and doubts.c ---- */

#define RULES_MARGIN_BITS 1.0

struct rules_atom {
	struct model_atom atom; /* x: a feature, when it is taken */
	uint32_t label;
	size_t covered; /* rows */
	double bits, gain, d;
	/* Operands of x until x is a feature: column, remainder by `mod`, or by column `by`. */
	uint32_t col, mod, by;
};
struct rules_search {
	struct rules_table *t;
	struct rules_features *f;
	struct model *m;
	const struct rules_library *lib;
	bool repeat, no_steps; /* no_steps: without progressions */
	bool whole;	 /* only conditions for all rows of an arc that are left */
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
/* Bits saved by an atom that covers `covered` rows of a label. runs: number of runs of these rows if the atom depends
 * on inputs only, else 0. */
double rules_gain(const struct rules_search *s, uint32_t label, size_t covered, uint32_t runs);
double rules_number_bits(double x);
/* Bound of a range between two neighbouring values: the value itself where both are whole numbers. */
double rules_between(double a, double b, bool above);
double rules_range_bits(double lo, double hi);
/* The best single condition: s->found and s->best; value: room for every row. */
int rules_best(struct rules_search *s, double *value, struct errbuf *err);
/* Allocates the memory for s->scratch; the caller frees it. */
void *rules_scratch(void);
/* Bits that choosing k of n costs. */
double rules_choose_bits(double n, double k);
/* Considers conditions on a column and its remainders by 2 ... mod_most. With mod_most 16, considers remainders by
 * other columns as well. value: room for every row. Returns -1 without memory. */
int rules_column(struct rules_search *s, double *value, uint32_t c, uint32_t mod_most);
bool rules_covers(const struct rules_table *t, const struct rules_atom *a, uint32_t row);
/* How far the value of a threshold's column is beyond the threshold on this row. */
double rules_beyond(const struct rules_table *t, const struct rules_atom *a, uint32_t row);
/* The doubts of a node whose choices were made from these atoms. Returns -1 without memory. */
int rules_doubts(const struct rules_table *t, const struct rules_features *f, const struct rules_atom *atom, struct model *m,
		 struct model_node *n);
/* Searches two conditions that only together decide rows (conjunctions.c). Returns 1 with both, for the label of the
 * second; 0 if there are none; -1 without memory. */
int conjunctions_search(struct rules_search *s, struct rules_atom pair[2], struct errbuf *err);
/* Considers thresholds that are functions and hold on every row. */
int thresholds_search(struct rules_search *s, struct errbuf *err);
/* The threshold that is nearly right, when two labels are left: 1 with the atom and its label. */
int thresholds_approximate(struct rules_search *s, struct rules_atom *out, struct errbuf *err);

#endif
