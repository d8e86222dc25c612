/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns: the parts of a traced call that a model does not predict. Those are function, call site, types, operation,
 * communicator and requests. Patterns are learnt from traced runs by control point, so that a predicted call becomes a
 * complete call. A communicator, datatype, window or file is known by the call that made it. A request is known by the
 * call that started it, or because the call completes all active requests. Every pattern is proved: all calls of the
 * runs are made anew from their values alone. If a single call of a control point comes out different, the control
 * point is refused with the reason.
 */
#ifndef PRECEDENT_MODEL_INPUTS_PATTERN_H
#define PRECEDENT_MODEL_INPUTS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/inputs/pattern_objects.h"
#include "model/induce/map.h"
#include "common/arena.h"
#include "trace/read/reader.h"

#define PATTERN_PARAMS	 24
#define PATTERN_VALUES	 (1u << 16) /* of a call */
#define PATTERN_REQUESTS (1u << 16) /* of a rank at a time */
#define PATTERN_NONE	 UINT32_MAX

/* How a list of requests is found. Bits: each bit that held in all calls stays. */
enum pattern_requests {
	PREQ_LITERAL = 1, /* the same slots in every call */
	PREQ_BY_AGE = 2,  /* all that are active, the oldest first */
	PREQ_BY_SLOT = 4, /* the same by their slots */
	PREQ_LATEST = 8,  /* each the latest of a control point, null where there is none */
	PREQ_OLDEST = 16
};
/* How counts of ranks come from their sum; bits. */
enum pattern_counts { PCOUNTS_SHARE = 1, PCOUNTS_BLOCK = 2 };

struct pattern_param {
	uint8_t kind;	   /* enum trace_kind */
	uint8_t rules;	   /* of requests, of counts */
	bool seen, same;   /* the same literal values in every call */
	bool empty, full;  /* counts of ranks: there were none, there was one for each; a new communicator: null, or not */
	uint32_t at;	   /* first of its values among those of the control point, PATTERN_NONE */
	uint32_t n;	   /* of an array */
	int64_t *literal;  /* 1 or n */
	uint32_t *made_by; /* control points: of the communicator, or of each request */
	bool other;	   /* a new datatype has other contents, besides its values, from call to call */
	uint32_t n_makers;
	struct pattern_makers *makers; /* of the datatype, window or file; of a new datatype's parts */
	struct pattern_name file;      /* that is opened */
};
struct pattern {
	const char *name; /* of the control point */
	uint16_t fn;
	uint32_t site;	  /* in sites of the set */
	uint32_t n_value;
	char (*value_name)[28];
	uint32_t spare; /* bits of values that other calls determine: sizes of datatypes that a call made */
	struct pattern_param param[PATTERN_PARAMS];
	const char *why; /* it cannot be made; NULL */
};

/* A rank of a run, summed up by pattern. */
struct pattern_sum {
	uint64_t n;
	double gap_ns, dur_ns;
};
struct pattern_rank {
	uint32_t run, rank;
	bool sampled;
	uint32_t n_sum; /* later patterns it does not have */
	struct pattern_sum *sum;
};

struct pattern_set {
	uint32_t n, cap, n_runs, n_ranks;
	struct pattern *pattern;
	struct map names;
	struct trace **trace; /* of the caller */
	struct pattern_rank *rank;
	bool makes_comms;
	/* Definitions that all ranks share: sites, modules, types, operations. */
	struct trace_defs defs;
	struct arena *arena;
};

/* -1 with the reason. Traces stay the caller's, and open. Free after 0 and after -1. */
int patterns_learn(struct pattern_set *s, struct trace *const *trace, uint32_t n, struct errbuf *err);
void patterns_free(struct pattern_set *s);
/* By the name of a control point as call_view() has it, of which `len` bytes count; PATTERN_NONE. */
uint32_t pattern_find(const struct pattern_set *s, const char *name, size_t len);

/* ---- shared: definitions of a rank among those of the set (pattern_defs.c) ---- */

struct pattern_map {
	uint32_t *module, *site, *type, *op;
};
/* -1 without memory. */
int pattern_map_make(struct pattern_set *s, const struct trace_defs *d, struct pattern_map *out);
void pattern_map_free(struct pattern_map *m);
/* A datatype whose parts are of the set, as one of the set; UINT32_MAX without memory. */
uint32_t pattern_type_put(struct pattern_set *s, const struct trace_type *t);
/* Parameters of a symbol, with types and operations of the set, into out; how many, or 0 for too many. */
uint32_t pattern_values(const struct trace_defs *d, uint32_t sym, const struct pattern_map *m, int64_t out[PATTERN_VALUES]);

/* ---- shared: a rank as its calls go by (pattern_play.c) ---- */

struct pattern_request {
	bool used, active, persistent;
	uint32_t made_by;
	uint64_t age;
};
struct pattern_play {
	struct pattern_set *set; /* gets the datatypes that are made */
	struct pattern_objects objects;
	uint32_t ranks;
	uint32_t n_request;
	struct pattern_request *request;
	uint64_t age;
	int64_t *comm_of; /* by pattern: the latest communicator that it made, or TRACE_NULL */
	uint32_t *made_by; /* by communicator */
	uint32_t n_comm;
	/* make_comm returns the index of the next communicator that a call makes. use_comm reports the size and the
	 * ranks of a communicator in use. Each may be NULL. */
	int64_t (*make_comm)(void *arg, uint32_t pattern);
	int (*use_comm)(void *arg, int64_t comm, int64_t size, int64_t first, int64_t stride);
	void (*free_comm)(void *arg, int64_t comm);
	void *arg;
};
int pattern_play_begin(struct pattern_play *p, struct pattern_set *set, uint32_t ranks);
void pattern_play_end(struct pattern_play *p);
/* The call with these values (in the pattern's order), as parameters. Returns how many. *why: the reason why the call
 * cannot be made, or NULL. */
uint32_t pattern_play_make(struct pattern_play *p, uint32_t pattern, const int64_t *value, int64_t out[PATTERN_VALUES], const char **why);
/* It was made. -1 without memory, or with too many requests. */
int pattern_play_made(struct pattern_play *p, uint32_t pattern, const int64_t *val);
/* Request of a control point, the latest or the oldest that is active, or TRACE_NULL. */
int64_t pattern_play_request_of(const struct pattern_play *p, uint32_t made_by, bool oldest);
/* Slots of all active ones. out has room for n_request; how many. */
uint32_t pattern_play_active(const struct pattern_play *p, bool by_age, int64_t *out);
/* Count i of n that sum up to sum. */
int64_t pattern_play_count(uint8_t rule, int64_t sum, uint32_t n, uint32_t i);
/* The parameters of a call one by one: where each begins in val, and its length. */
struct pattern_walk {
	const struct pattern *pattern;
	const int64_t *val;
	uint32_t i, pos, n;
	const int64_t *at;
	uint8_t kind;
};
bool pattern_walk_next(struct pattern_walk *w);

#endif
