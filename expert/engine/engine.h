/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine: events come in order of time over all ranks, rules fire, and findings are reported. A cycle is one event
 * and all its consequences. precedent-rules(5) has the semantics.
 *
 *   struct plan *p = plan_create(rules, &err);
 *   struct engine *e = engine_create(p, &options, &err);
 *   while (...) engine_event(e, type, &simple, params, &err);
 *   engine_finish(e, &err);
 *
 * The work per event is bounded, and so is the number of waiting structures. A structure that has waited too long goes
 * to a file. If the file is full, the structure is dropped and counted.
 */
#ifndef PRECEDENT_EXPERT_ENGINE_H
#define PRECEDENT_EXPERT_ENGINE_H

#include "expert/compile/plan.h"

struct engine;

#define ENGINE_AGE_MAX_NS (600ull * 1000000000)

/* What a simple event has besides its parameters. */
struct engine_simple {
	uint64_t start_ns, finish_ns;
	uint32_t rank;
	int64_t site;       /* call site of the rank, -1: unknown */
	uint32_t function;  /* number of a string of this engine */
	int64_t event;      /* index of the call in its rank, -1: none */
	bool untimed;       /* the event's times are unknown: it takes part in rules, but its consequences are marked as untimed */
};

/* An observation that a rule asserted. */
struct engine_finding {
	const struct rules_struct *type;
	const struct plan_rule *rule;
	uint32_t rule_number;
	const struct plan_action *action;
	bool untimed;
};

/* For ahead_from: with fewer waiting structures, they are mostly in a processor's own cache. */
#define ENGINE_AHEAD 1024

struct engine_options {
	uint64_t waiting_max;  /* structures that wait in memory; 0: 4 million */
	uint64_t spilled_max;  /* ... and in a temporary file, where they can; 0: 16 million */
	uint64_t age_max_ns;   /* in the trace's time: an older waiting structure goes to the file if it can; 0: 10 minutes */
	uint32_t firings_max;  /* rules that fire in one cycle; 0: 1 million */
	uint64_t ahead_from;   /* from so many waiting structures on, events are processed a little later, see ahead.c;
			        * 0: always at once */
	/* An observation; non-zero stops with -1 and the error that it sets. NULL: they are counted only. */
	int (*found)(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err);
	void *arg;
};

struct engine_report {
	uint64_t events, firings, combinations, observations, untimed_observations;
	uint64_t waiting, waiting_most;  /* now, ever */
	uint64_t spilled, spilled_most;  /* wait in a file */
	uint64_t over_age;               /* went to the file because of their age */
	uint64_t dropped;                /* had waited too long */
	uint64_t zero_divisions;
};

/* plan must outlive it. NULL with the reason. */
struct engine *engine_create(const struct plan *p, const struct engine_options *o, struct errbuf *err);
void engine_destroy(struct engine *e);
const struct rules *engine_rules(const struct engine *e);
/* Whether any rule looks at events of that type. */
bool engine_wants(const struct engine *e, uint32_t type);
/* The number of that string in this engine; UINT32_MAX without memory. */
uint32_t engine_string(struct engine *e, const char *text);
const char *engine_text(const struct engine *e, int64_t string);
/* One event of a type, with the values of its parameters in order. Returns -1 with the reason: a limit, or no memory.
 * With ahead_from, the reason may be in an earlier event. After -1 no further event may come. */
int engine_event(struct engine *e, uint32_t type, const struct engine_simple *s, const union rules_value *param,
		 struct errbuf *err);
/* Processes the events that are left. Returns -1 with the reason, which may be in any of them. */
int engine_finish(struct engine *e, struct errbuf *err);
void engine_report(const struct engine *e, struct engine_report *out);
/* Structures of that type that wait, in memory or in a file, and that were dropped. */
void engine_left(const struct engine *e, uint32_t type, uint64_t *waiting, uint64_t *dropped);
/* Whether any were dropped; then what and where, for the reader. */
bool engine_dropped(const struct engine *e, char *text, size_t size);

/* ---- of a finding, while it is told ---- */

/* The value of its i-th given parameter (action->src->set[i]); false without memory. */
bool engine_finding_value(struct engine *e, const struct engine_finding *f, uint32_t set, union rules_value *out);
/* Visit the simple events of a finding, each once per place (Frec of Dergunov, cited in expert/lang/ast.h). A non-zero
 * result of fn stops. values: the attributes of an event, [RA_N]. */
int engine_finding_events(struct engine *e, const struct engine_finding *f,
			  int (*fn)(void *arg, uint32_t type, const union rules_value *values), void *arg);

#endif
