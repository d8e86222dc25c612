/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rules found, gathered: problems of one name together, with the time they took, and the calls they are made of.
 * An observation is a problem when it has a string `name` and an int or time `duration` or `impact_time`; its texts are
 * those of the longest one.
 */
#ifndef PRECEDENT_EXPERT_REPORT_H
#define PRECEDENT_EXPERT_REPORT_H

#include "expert/engine/engine.h"
#include "expert/report/marks.h"
#include "trace/read/reader.h"

/* A function and where it was called from. */
struct report_call {
	uint32_t function;      /* number of a string of the engine */
	uint32_t site;          /* in the definitions of one rank */
	uint64_t site_hash;     /* the same for all ranks */
};

/* Where a problem is: a call, and which one it completes there. */
struct report_place {
	struct report_call call;  /* the call of the ranks; for a nonblocking operation that is waited for, the call
				   * that began it */
	struct report_call begun; /* the call that began the operation that `call` completes; function 0: `call` itself */
	uint32_t rank;          /* one of them, whose definitions have the sites */
	uint64_t n, duration_ns;
	uint64_t waits_ns;      /* part of duration_ns in findings in which this call waits, and is not waited for */
	uint8_t role;           /* whether its ranks wait or are waited for, where the rule tells */
	uint8_t *ranks;         /* ranks at this place: a bit for each */
};

/* What was done while a rank was waited for. */
enum report_doing { RD_COMPUTING, RD_CALLING, RD_N };

struct report_cause {
	uint8_t doing;          /* enum report_doing: before this call, or in it */
	uint32_t rank, sym;     /* who did, and the call's signature there */
	uint64_t ns;
};

/* The remedy of a problem, for an estimate of the gain. */
enum report_remedy {
	RR_NONE,
	RR_EARLIER, /* the awaited call begins before the computation since its rank last received something */
	RR_BALANCE, /* all ranks come at the mean of their times */
	RR_LEVEL,   /* all ranks compute as long as the mean of them */
	RR_REMOVE,  /* the time is not spent */
	RR_PROGRESS /* messages go on while their ranks compute */
};

struct report_problem {
	uint32_t name;          /* number of a string of the engine */
	uint32_t id, kind;      /* the same; 0: not given */
	char *description, *advice; /* of the longest */
	uint64_t n, untimed;    /* found; of them without known times, which are not in the duration */
	uint64_t duration_ns, longest_ns;
	struct report_place *place;
	uint32_t n_place, cap_place;
	bool is_wait;           /* its kind is `wait` */
	bool is_end;            /* `end`: why the run did not reach MPI_Finalize */
	bool is_outside;        /* `outside`: before the first call or after the last */
	uint8_t remedy;         /* enum report_remedy */
	/* from expert/replay/replay.h */
	struct report_cause *cause; /* longest first */
	uint32_t n_cause;
	uint64_t cause_ns;      /* of them all */
	bool has_gain;
	uint64_t gain_ns;       /* that the run would be shorter */
};

struct report {
	const struct trace *t;  /* or NULL: then there are no places */
	struct report_problem *problem;
	uint32_t n_problem, cap_problem;
	uint64_t other;         /* observations that are no problems */
	struct problem_marks marks;     /* which calls the problems are made of */
	struct report_slots {
		uint16_t wait, done_by; /* wait: 1 + slot of the beginning of the wait, 0: not looked up; done_by: slot
					 * of wait_function, 0: none */
	} slots[RULES_MAX_STRUCTS];     /* of each structure */
	uint32_t last;          /* problem of the last finding; unchanged until report_sort */
	uint64_t last_ns;       /* its duration, 0 where it is not known */
};

/* For struct engine_options: arg is a struct report. */
int report_found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err);
/* The problem's share of the time of all ranks from first call to last. A problem outside of that time has its share of
 * the ranks' whole life. Seconds of both, as in struct input_report. */
double report_share(const struct report_problem *p, double rank_seconds, double outside_seconds);
/* Sorts problems longest first; places with the longest wait first. */
void report_sort(struct report *r);
void report_sort_places(struct report_problem *p);
void report_free(struct report *r);

#endif
