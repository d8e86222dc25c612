/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent_model.h: a program predicts itself. The program marks control points with the values of its variables. A
 * thread of its own fits a model to the control points. The program can ask how long a run will take, which point comes
 * next and which value a variable will have. The program can also ask whether running in parallel pays. See
 * libprecedent_model(3).
 *
 * This include is all that is needed. The function precedent_model_open looks for the library. It returns NULL if the
 * library is absent or the environment has PRECEDENT_MODEL=off. Every function does nothing with NULL. With
 * PRECEDENT_MODEL_LINK defined, the functions are those of the library that the program is linked with (pkg-config
 * precedent_model defines it). With PRECEDENT_MODEL_OFF defined, the library is never looked for.
 *
 * No function here prints or exits. Only precedent_model_wait waits. Since 0.1.0.
 */
#ifndef PRECEDENT_MODEL_H
#define PRECEDENT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(PRECEDENT_MODEL_API) && defined(PRECEDENT_MODEL_LINK)
#define PRECEDENT_MODEL_API extern
#elif !defined(PRECEDENT_MODEL_API)
#define PRECEDENT_MODEL_API static inline __attribute__((unused))
#define PRECEDENT_MODEL_LOADED
#endif

#define PRECEDENT_MODEL_ABI	   0
#define PRECEDENT_MODEL_POINTS_MAX 4096
#define PRECEDENT_MODEL_VALUES_MAX 256 /* inputs; variables of all points together */
#define PRECEDENT_MODEL_LINE	   256 /* bytes that a line of text takes at most */

/* The control point that every run ends with. */
#define PRECEDENT_MODEL_END 0

/* A session. It may be used by any number of threads; each has runs of its own. */
typedef struct precedent_model precedent_model;

/* Zero, or NULL, is the default everywhere. `size` first, so that a program and a library of different age understand
 * each other: use PRECEDENT_MODEL_OPTIONS. */
struct precedent_model_options {
	size_t size;
	const char *path;	   /* model file: loaded at the start if the file exists; default of _save */
	const char *const *inputs; /* names of the inputs; _begin gets their values */
	uint32_t n_inputs;
	uint32_t ring_bytes;	   /* for each thread that marks; 1 MiB */
	uint64_t rows_max;	   /* control points that are kept for fitting; 1,000,000 */
	uint64_t steps_max;	   /* of a model when it is asked; 200,000: some milliseconds */
	uint32_t runs_min;	   /* before the first fit; 3 */
	uint32_t normal_priority;  /* 1: fit where the program runs, at its priority */
};
#define PRECEDENT_MODEL_OPTIONS {sizeof(struct precedent_model_options), NULL, NULL, 0, 0, 0, 0, 0, 0}

/* Returns a session, or NULL: then `why` (NULL, or of why_size bytes) has the reason: off, absent, no memory, bad
 * names. An unusable model file is no such reason; _status reports it. Costs a thread and, with a path, reading the
 * file. */
PRECEDENT_MODEL_API precedent_model *precedent_model_open(const struct precedent_model_options *options, char *why, size_t why_size);

/* Ends the session. No thread may use the session any more. Does not wait: a fit in progress is abandoned in the
 * background. */
PRECEDENT_MODEL_API void precedent_model_close(precedent_model *m);

/* Returns the number of the control point of that name, and adds the point if it is new. Marks of the point carry the
 * variables `vars`, in this order. A variable of the same name at several points is one variable. The variable keeps
 * its value at points that do not carry it. Returns -1 if there is no session, if there are too many names, or if a
 * name is bad. A bad name is empty, is longer than 255 bytes, has control characters or is not UTF-8. */
PRECEDENT_MODEL_API int32_t precedent_model_point(precedent_model *m, const char *name, const char *const *vars, uint32_t n_vars);
/* Copies the name of the point: at most size bytes with the NUL. Returns 0, or -1 if there is no such point. */
PRECEDENT_MODEL_API int precedent_model_point_name(precedent_model *m, int32_t point, char *name, size_t size);

/* A run of this thread begins, with its inputs (n_inputs of the options), and ends. A run that was begun and not ended
 * before the next one is not used. The first call of a thread allocates its ring; every other only writes into it. */
PRECEDENT_MODEL_API void precedent_model_begin(precedent_model *m, const double *inputs, uint32_t n);
PRECEDENT_MODEL_API void precedent_model_end(precedent_model *m);

/* The run passes the control point, with the values of its variables. Below 100 ns: no system call, no allocation, no
 * lock. When the ring is full the point is dropped and counted, and its run is not used. Whole numbers have to be exact
 * as doubles (up to 2^53). Does nothing outside of a run. */
PRECEDENT_MODEL_API void precedent_model_mark(precedent_model *m, int32_t point, const double *values, uint32_t n);
PRECEDENT_MODEL_API void precedent_model_mark_ints(precedent_model *m, int32_t point, const int64_t *values, uint32_t n);
/* PRECEDENT_MARK(m, point, x, y): the same with the values written out. */
#define PRECEDENT_MARK(m, point, ...)                                                                                       \
	do {                                                                                                                \
		const double precedent_mark_values[] = {0, __VA_ARGS__};                                                    \
		precedent_model_mark(m, point, precedent_mark_values + 1,                                                   \
				     (uint32_t)(sizeof(precedent_mark_values) / sizeof(double) - 1));                       \
	} while (0)

/* An answer. Set `size` (PRECEDENT_MODEL_ANSWER) before the first use. */
struct precedent_model_answer {
	size_t size;
	int32_t known;	     /* 1, or 0: then reason says why, and the rest is 0 */
	int32_t point;	     /* _next: the point that comes next */
	int32_t parallel;    /* _advise: 1 go parallel, 0 do not */
	uint32_t runs;	     /* that the model was learnt from */
	double value;	     /* seconds, value of the variable, or seconds gained by going parallel */
	double confidence;   /* 0 to 1, see libprecedent_model(3): how runs that were left out came out */
	double error;	     /* of times: relative error that nine in ten runs do not exceed; of data: root mean square of the rule */
	int32_t outside;     /* 1 if an input lies outside the range of the runs that the model was learnt from */
	uint32_t fit;	     /* number of the fit; 0 for a model from a file */
	char reason[PRECEDENT_MODEL_LINE];
};
#define PRECEDENT_MODEL_ANSWER {sizeof(struct precedent_model_answer), 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}

/* All questions return 1 if the answer is known, else 0. They answer at once, from the model that was fitted last. The
 * inputs are those of the run that the question is about. Passages count from 1; 0 means the last one of the run. */

/* Seconds that a run takes. */
PRECEDENT_MODEL_API int precedent_model_time(precedent_model *m, const double *inputs, uint32_t n, struct precedent_model_answer *a);
/* Seconds from the beginning to a passage of a point. */
PRECEDENT_MODEL_API int precedent_model_time_at(precedent_model *m, const double *inputs, uint32_t n, int32_t point, uint64_t passage,
						struct precedent_model_answer *a);
/* Value of a variable at a passage of a point. */
PRECEDENT_MODEL_API int precedent_model_data(precedent_model *m, const double *inputs, uint32_t n, const char *var, int32_t point,
					     uint64_t passage, struct precedent_model_answer *a);
/* The point that the run of this thread passes next, and the seconds until then (value). Not known when the run is not
 * where the model says it would be. */
PRECEDENT_MODEL_API int precedent_model_next(precedent_model *m, struct precedent_model_answer *a);
/* The point of row `row` (from 0) of a run, and when it is passed (value). */
PRECEDENT_MODEL_API int precedent_model_state(precedent_model *m, const double *inputs, uint32_t n, uint64_t row,
					      struct precedent_model_answer *a);
/* Whether a run on n_workers processors pays, when starting them costs overhead_s: P(N) < time (N - 1) / N. */
PRECEDENT_MODEL_API int precedent_model_advise(precedent_model *m, const double *inputs, uint32_t n, uint32_t n_workers,
					       double overhead_s, struct precedent_model_answer *a);

/* Waits until the model contains every run that has ended, but at most `seconds`. Returns 1, or 0 after the time limit.
 * For programs with nothing better to do, and for tests. */
PRECEDENT_MODEL_API int precedent_model_wait(precedent_model *m, double seconds);

/* Writes the last fitted model to the file (NULL: the path of the options). A temporary file beside it is renamed.
 * Returns 0, or -1 with the reason. */
PRECEDENT_MODEL_API int precedent_model_save(precedent_model *m, const char *path, char *why, size_t why_size);

enum precedent_model_state {
	PRECEDENT_MODEL_STATE_OFF,    /* no session */
	PRECEDENT_MODEL_STATE_ON,     /* fitting as runs end */
	PRECEDENT_MODEL_STATE_FORKED, /* in a child of fork: answers from the model it had, marks nothing */
};
struct precedent_model_status {
	size_t size;
	int32_t state;	  /* enum precedent_model_state */
	int32_t core;	  /* the spare core (as the operating system numbers its first processor), or -1: lowest priority */
	int32_t loaded;	  /* 1: the model that answers is from a file */
	uint32_t fits;	  /* so far */
	uint32_t points, threads;
	uint64_t runs;	  /* that ended and can be used */
	uint64_t unusable; /* runs: dropped points, values that are no numbers, too long */
	uint64_t dropped; /* control points, as the ring was full or there was no memory for one */
	uint64_t outside; /* control points outside of a run, or of no such number */
	double fit_s;	  /* that the last fit took */
	char text[PRECEDENT_MODEL_LINE]; /* the status in a line, or the last error */
};
#define PRECEDENT_MODEL_STATUS {sizeof(struct precedent_model_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}
PRECEDENT_MODEL_API void precedent_model_status(precedent_model *m, struct precedent_model_status *status);

#ifdef __cplusplus
}
#endif

#ifdef PRECEDENT_MODEL_LOADED
#include "precedent_model_load.h"
#endif

#endif
