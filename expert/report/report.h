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
	struct report_call call;  /* ranks stand here; of a nonblocking call that is waited for, what began it */
	struct report_call begun; /* what the call completes; function 0: what it began itself */
	uint32_t rank;          /* one of them, whose definitions have the sites */
	uint64_t n, duration_ns;
	uint64_t waits_ns;      /* of it, in findings where it is this call that waits, and not the one that is waited for */
	uint8_t *ranks;         /* that are there: a bit for each */
};

/* What was done while a rank was waited for. */
enum report_doing { RD_COMPUTING, RD_CALLING, RD_N };

struct report_cause {
	uint8_t doing;          /* enum report_doing: before this call, or in it */
	uint32_t rank, sym;     /* who did, and the call's signature there */
	uint64_t ns;
};

/* How a problem would be mended, for an estimate of what that gains. */
enum report_remedy {
	RR_NONE,
	RR_EARLIER, /* what is waited for begins before the computation since its rank last got something from others */
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
		uint16_t wait, done_by; /* 1 + that of the beginning of its wait, 0: not looked up; that of wait_function, 0: none */
	} slots[RULES_MAX_STRUCTS];     /* of each structure */
	uint32_t last;          /* to which problem the last finding was added; it stays what it is until report_sort */
	uint64_t last_ns;       /* its duration, 0 where it is not known */
};

/* For struct engine_options: arg is a struct report. */
int report_found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err);
/* Its part of the time of all ranks from first call to last, for one outside of that of their whole life: seconds of both,
 * as struct input_report has them. */
double report_share(const struct report_problem *p, double rank_seconds, double outside_seconds);
/* Longest first; of places those first that wait longest. */
void report_sort(struct report *r);
void report_sort_places(struct report_problem *p);
void report_free(struct report *r);

#endif
