/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside libprecedent_model. A program's thread writes control points into a ring of its own (mark.c). The collecting
 * thread empties the rings and assembles runs (collect.c). The fitting thread learns models from the runs (fitting.c)
 * and publishes them. Any thread may ask the published model (answer.c). Both threads run on a spare core, or at the
 * lowest priority (place.c).
 */
#ifndef PRECEDENT_MODEL_API_SESSION_H
#define PRECEDENT_MODEL_API_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/errbuf.h"
#include "model/induce/model.h"

/* As for a program that is linked with the library. */
#define PRECEDENT_MODEL_API extern __attribute__((visibility("default")))
#include "model/api/precedent_model.h"

#define SESSION_THREADS_MAX 4096

/* A record is a head, the ticks, and values. head: kind << 60 | values << 48 | point << 32 | number of the run. */
enum record_kind { RECORD_BEGIN = 1, RECORD_MARK, RECORD_END };
#define RECORD_WORDS 2
#define RECORD_NO_POINT 0xffffu
#define RING_ALIGN 128

/* One producer, one consumer. Counts of words run without bound; `mask` finds their place. */
struct ring {
	/* of the producer */
	_Alignas(RING_ALIGN) _Atomic uint64_t head;
	uint64_t seen_tail;
	uint64_t mask; /* words - 1; without memory 0, and nothing ever fits */
	uint64_t *word;
	uint32_t run;	    /* number, rising */
	bool in_run;	    /* between begin and end */
	bool begun;	    /* its beginning is in the ring */
	bool spoilt;	    /* something of this run was dropped */
	int32_t last_point;  /* of this run; -1 before the first */
	uint64_t rows;	     /* points of this run that are in the ring */
	double *input;	     /* of this run; n_inputs */
	_Atomic uint64_t dropped, outside;
	/* of the consumer */
	_Alignas(RING_ALIGN) _Atomic uint64_t tail;
	uint64_t seen_dropped, seen_outside;
	struct run_log *log; /* the run that is being read */
	/* of both */
	_Alignas(RING_ALIGN) _Atomic int refs; /* the thread, and the session */
	_Atomic bool orphan;		       /* its thread has ended */
	_Atomic(struct ring *) next;
};

/* A run, row by row. The values of all rows follow each other; a row has as many values as its point carries. A run
 * does not change any more once it has ended. */
struct run_log {
	uint32_t number;
	int refs;	/* under the session's lock */
	const char *bad; /* why it cannot be used */
	uint64_t begin_ticks, group; /* group: hash of the inputs */
	size_t n, cap, n_values, values_cap;
	uint32_t *point;
	uint64_t *ticks;
	double *value, *input;
	struct run_log *next; /* older */
};

struct point {
	char *name;
	uint32_t n_vars, *var; /* numbers of variables */
};

/* Error texts. Each text is kept once, until the session ends. */
#define TROUBLES_MAX 64
struct trouble {
	struct trouble *next;
	char text[PRECEDENT_MODEL_LINE];
};

/* The model that answers questions. A snapshot never changes once it is published. */
struct snapshot {
	struct model *model;
	uint32_t fit; /* 0: from a file */
	struct snapshot *next; /* retired */
};

struct precedent_model {
	/* looked at for every control point, changed hardly ever */
	_Atomic int state; /* enum precedent_model_state */
	uint64_t serial;   /* of the session: an address may come again */
	uint32_t n_inputs, ring_words;
	uint64_t rows_max, steps_max;
	uint32_t runs_min;
	char *path, **input;
	_Alignas(RING_ALIGN) _Atomic int refs; /* the program, both threads */
	_Atomic uint64_t outside_anywhere;     /* points of threads that have no ring */

	/* Names are only ever added, under names_lock. Only the program's threads take names_lock. Entries below the
	 * counts are read without the lock. */
	pthread_mutex_t names_lock;
	_Atomic uint32_t n_points, n_vars;
	struct point point[PRECEDENT_MODEL_POINTS_MAX];
	char *var[PRECEDENT_MODEL_VALUES_MAX];

	/* State that the program's threads read, and their requests. These threads never wait for the threads at the
	 * lowest priority: the system may stop a thread at the lowest priority for a long time, at any place. */
	_Atomic bool stop;
	_Atomic uint64_t flush_asked, flush_drained, flush_fitted;
	_Atomic(struct ring *) rings; /* anybody adds at the head, the collecting thread removes */
	_Atomic uint32_t n_rings, fits;
	_Atomic uint64_t runs_ever, unusable, dropped, outside; /* of rings, as of their last look */
	_Atomic double fit_s;
	_Atomic int core;
	_Atomic bool loaded;
	_Atomic(struct trouble *) troubles, trouble; /* all there ever were, and the last one */
	_Atomic int n_troubles;
	bool normal_priority;

	pthread_mutex_t lock; /* of both threads */
	/* under the lock */
	pthread_cond_t wake_collect, wake_fit;
	struct run_log *runs; /* newest first */
	uint32_t n_runs;
	uint64_t n_rows, runs_news; /* news: runs that say something new */

	_Atomic(struct snapshot *) snapshot;
	_Atomic int readers;	  /* of snapshots */
	struct snapshot *retired; /* of the fitting thread */
	struct precedent_model *next; /* under the lock of all sessions, for fork */
};

/* ---- session.c ---- */
void session_ref(struct precedent_model *m);
void session_unref(struct precedent_model *m);
/* A detached thread that holds a reference. */
int session_thread(struct precedent_model *m, void *(*run)(void *));
void session_trouble(struct precedent_model *m, const char *text);
/* Number of the point, or -1. */
int32_t session_point_find(const struct precedent_model *m, const char *name);
void text_copy(char *to, size_t size, const char *text);

/* ---- mark.c ---- */
void ring_unref(struct ring *r);
/* The ring of this thread, or NULL when it has none. */
struct ring *ring_mine(const struct precedent_model *m);

/* ---- collect.c ---- */
void *collect_main(void *session);
void run_log_free(struct run_log *l);

/* ---- fitting.c ---- */
void *fitting_main(void *session);
/* NULL without memory; owns the model. */
struct snapshot *snapshot_make(struct model *model, uint32_t fit);
void snapshot_free(struct snapshot *s);
/* Borrow the model that was fitted last (NULL if there is none), and give it back. For any thread, without waiting. */
const struct snapshot *snapshot_borrow(struct precedent_model *m);
void snapshot_return(struct precedent_model *m);

#endif
