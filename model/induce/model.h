/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The object-event model: graphs of control points with rules on their arcs. Graph 0 is the program; the other graphs
 * are procedures. A calling node runs the graph of its callee, with a calendar of events and counters of the callee's
 * own. At the end the calling node takes the variables back. A model does not change after it was made: the interpreter
 * keeps the state.
 *
 * One step at a node:
 *   1. The counters of the node go up by one.
 *   2. The first choice that holds gives the arc. Some choices need several atoms to hold (`both`). A doubt ends the run.
 *   3. If no choice holds, the step takes the negative arc, or an arc by chance.
 *   4. The time and data rules of the arc are applied.
 *   5. The counters that the arc initialises become zero.
 *   6. The node at the end of the arc becomes active: within the event for a main arc, in a next event for an
 *      information arc, which closes a cycle.
 * Source: V. V. Pekunov, "Program metalayer: object-event modelling of the algorithm, of data and of functional
 * characteristics. Concept. Application in parallel programming" (in Russian). MODEL_ATOM_ABOVE adds exits that depend
 * on inputs, which the paper lacks.
 */
#ifndef PRECEDENT_MODEL_INDUCE_MODEL_H
#define PRECEDENT_MODEL_INDUCE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

#define MODEL_MAX_GRAPHS   256
#define MODEL_MAX_DEPTH	   16	 /* procedures within procedures */
#define MODEL_MAX_POINTS   4096
#define MODEL_MAX_NODES	   16384 /* of a graph */
#define MODEL_MAX_ARCS	   65536
#define MODEL_MAX_FEATURES 65536
#define MODEL_MAX_COUNTERS 65536
#define MODEL_MAX_CHOICES  4096	 /* of a node */
#define MODEL_MAX_BOTH	   4	 /* choices that have to hold together */
#define MODEL_MAX_STAGES   64
#define MODEL_MAX_TERMS	   256	 /* of a stage */
#define MODEL_MAX_NAMES	   256	 /* inputs; variables */
#define MODEL_REACH_MAX	   9	 /* the first inputs: for these, a model of runs says how errors grow outside their range */
#define MODEL_MAX_STEPS	   (1ull << 53) /* counters are exact as doubles */
#define MODEL_NONE	   UINT32_MAX
#define MODEL_END	   UINT32_MAX /* as the node that an arc leads to */

/* S counts only; the others predict time, data, or both, on their arcs. */
enum model_class { MODEL_S, MODEL_PT, MODEL_PD, MODEL_PTD, MODEL_CLASSES };

/* Features: the operands of rules. From MODEL_MOD on, a and b are features with smaller numbers; only b of MOD and IS is
 * a number. */
enum model_feature_op {
	MODEL_INPUT,  /* input a */
	MODEL_VAR,    /* variable a */
	MODEL_COUNT,  /* counter a of the graph */
	MODEL_FROM,   /* node from which this one was reached */
	MODEL_CALLER, /* node that called this graph; 0 in the program */
	MODEL_MOD,    /* a mod b, b a number >= 2 */
	MODEL_MODF,   /* a mod b */
	MODEL_LOG2,   /* least k with 2^k >= a; 0 below 1 */
	MODEL_RING,   /* (a + 1) mod b */
	MODEL_RING_BACK, /* (a - 1) mod b */
	MODEL_DIVF,   /* whole part of a / b */
	MODEL_INVERSE, /* 1 / a; 0 where a is 0 */
	MODEL_SIGN,    /* 1 where a is above 0, else 0 */
	MODEL_IS,      /* 1 where a is the number b, else 0 */
	MODEL_FEATURE_OPS
};
struct model_feature {
	uint8_t op;
	uint32_t a, b;
};

/* Sum of coefficients times products of up to three operands: features, or results of earlier stages. The value of a
 * function is that of its last stage; of none, 0. */
#define MODEL_STAGE 0x80000000u
struct model_term {
	double coef;
	uint32_t n_x, x[3];
};
struct model_stage {
	uint32_t n_terms;
	struct model_term *term;
};
struct model_fn {
	uint32_t n_stages;
	struct model_stage *stage;
};

enum model_atom_kind {
	MODEL_ATOM_RANGE, /* a <= x <= b; infinite bounds are allowed */
	MODEL_ATOM_ARITH, /* x = a + i b, i < n (n = 0: without end), b > 0 */
	MODEL_ATOM_GEOM,  /* x = a b^i, i < n (n = 0: without end), a > 0, b > 1 */
	MODEL_ATOM_CHANCE, /* by chance, with probability a; x is not looked at */
	MODEL_ATOM_ABOVE, /* x >= fn */
	MODEL_ATOM_BELOW, /* x < fn */
	MODEL_ATOM_KINDS
};
struct model_atom {
	uint8_t kind;
	uint32_t x; /* feature */
	double a, b;
	uint64_t n;
	struct model_fn fn;
};
struct model_choice {
	struct model_atom atom;
	uint32_t arc;
	bool both; /* the next choice, which has the same arc, has to hold as well: up to MODEL_MAX_BOTH of them */
};

/*
 * A state of two choices that no run had. A model that comes to it refuses. Choices that hold together (`both`) have the
 * number of the first one.
 *   first < second: both hold. Their order is not known.
 *   first == second: a counter is beyond the threshold of the choice. Runs reached the threshold exactly.
 */
struct model_doubt {
	uint32_t first, second; /* choices */
};

struct model_data {
	uint32_t var;
	double error; /* RMS error of cross-validation */
	struct model_fn fn;
};
struct model_arc {
	uint32_t to;  /* node of the graph, or MODEL_END */
	bool info;    /* closes a cycle: the node becomes active in a next event */
	uint64_t seen;
	uint32_t n_resets, *reset; /* counters that are initialised */
	struct model_fn time;	   /* seconds; below zero counts as zero */
	double time_error_s;	   /* as for data */
	uint32_t n_data;
	struct model_data *data; /* variables that are not named stay as they are */
};

enum model_rest { MODEL_NEGATIVE, MODEL_RANDOM, MODEL_UNKNOWN, MODEL_RESTS };
struct model_node {
	uint32_t point;	 /* MODEL_NONE for the beginning of a graph and for calling nodes */
	uint32_t callee; /* graph, or MODEL_NONE */
	uint8_t class;
	uint32_t n_arcs;
	struct model_arc *arc;
	uint32_t n_choices;
	struct model_choice *choice;
	uint32_t n_doubts; /* rising */
	struct model_doubt *doubt;
	uint8_t rest;	   /* when no choice holds */
	uint32_t negative; /* MODEL_NEGATIVE: the arc */
	double *weight;	   /* MODEL_RANDOM: of each arc, with a sum above 0 */
	char *reason;	   /* MODEL_UNKNOWN: why it is not known */
	uint32_t first_counter, n_counters; /* that count it: set by model_check */
};

/* Node 0 is the beginning: it has no control point, and its arcs lead to the first one. */
struct model_graph {
	uint32_t n_nodes, n_counters, n_features;
	struct model_node *node;
	uint32_t *counter; /* node that it counts, rising: a node may have several, which differ in the arcs that reset them */
	struct model_feature *feature;
};

enum model_input_kind { MODEL_INPUT_VARIED, MODEL_INPUT_CONSTANT, MODEL_INPUT_TIED, MODEL_INPUT_KINDS };
struct model_input {
	char *name;
	uint8_t kind;
	double lo, hi;	   /* as it was in the journals */
	uint32_t tied_to;  /* MODEL_INPUT_TIED: always was scale * that one + shift */
	double scale, shift;
};
#define MODEL_FOR_PEOPLE " # " /* separates the words for programs from the words for people in a reason */
struct model_var {
	char *name;
	bool known;
	char *reason; /* why not */
};

/* Cross-validation: each run is predicted by a model learnt from the other runs. */
struct model_confidence {
	uint32_t n_runs;    /* 0: not done */
	uint32_t n_exact;   /* runs whose sequence was predicted exactly */
	uint32_t n_refused; /* runs that were refused, with a reason */
	double prefix;	    /* mean share of rows before the first difference */
	double time_error;  /* mean of |predicted / actual - 1| over the runs that were predicted; of models of runs: see run_times.h */
	/* For models of runs, by input. Outside the range of the runs, the error of the time grows as a power of the
	 * input. This is the exponent. */
	uint32_t n_reach;
	double reach[MODEL_REACH_MAX];
};

/* Where traced runs ran. */
struct model_place {
	bool known;
	uint32_t processors; /* of every run, 0: not the same */
	double crowd;	     /* ranks for a processor, in the run where it was worst */
};

struct model {
	uint32_t n_points, n_inputs, n_vars, n_graphs;
	char **point;
	struct model_input *input;
	struct model_var *var;
	struct model_graph *graph;
	uint32_t n_runs;  /* of the journals */
	uint64_t n_rows;
	bool random;	  /* some node goes by chance */
	uint32_t n_unknown; /* nodes that do not know where to go */
	struct model_confidence confidence;
	struct model_place place;
	struct model_block *block; /* owns everything */
};

/* The reader and the induction make a model piece by piece. model_destroy frees all memory of a model. Allocations
 * return NULL without memory. */
struct model *model_create(void);
void *model_alloc(struct model *m, size_t n, size_t size); /* zeroed */
char *model_strdup(struct model *m, const char *s);
/* A copy of its own; -1 without memory. */
int model_fn_copy(struct model *m, const struct model_fn *from, struct model_fn *to);
void model_destroy(struct model *m);

/* Checks every index, bound and number. Sets random and n_unknown. Every function below needs a model that was checked,
 * and so does every function that runs, prints or writes a model. */
int model_check(struct model *m, struct errbuf *err);

/* Checks whether the model can be asked about these inputs. Returns -1 if an input differs that never varied, or if two
 * inputs differ from their relation in the journals. */
int model_inputs_check(const struct model *m, const double *input, struct errbuf *err);
/* Index of the input, or -1. */
int32_t model_input_find(const struct model *m, const char *name);

/* Whether b of the feature is a feature. */
bool model_feature_is_pair(uint8_t op);
/* Does an arc of the node go by chance? */
bool model_node_random(const struct model_node *n);
/* "S", "Pt", "Pd", "Ptd". */
const char *model_class_name(uint8_t class);

#endif
