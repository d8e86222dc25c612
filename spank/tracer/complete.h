/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completed requests of Wait*, Test* and similar calls. The program's list of requests is copied before the call,
 * which overwrites it. Slots are looked up only if a request was completed. If wildcard receives are pending and
 * the program ignores the statuses, the tracer passes its own statuses to the call.
 */
#ifndef PRECEDENT_SPANK_TRACER_COMPLETE_H
#define PRECEDENT_SPANK_TRACER_COMPLETE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "spank/tracer/mpilib.h"
#include "spank/tracer/record.h"

#define COMPLETE_SHORT 8

struct completion {
	struct rec_thread *self;
	const void *requests;   /* the program's MPI_Request or MPI_Fint */
	const void *statuses;   /* MPI_Status or MPI_Fint; NULL: ignored */
	bool fortran;
	int n;
	uint64_t *key;          /* n keys; NULL: memory ran out */
	uint64_t few[COMPLETE_SHORT];
	int64_t *slot;          /* n slots, after the call */
	int64_t few_slot[COMPLETE_SHORT];
	uint32_t n_done;
};

/* Copy the requests, before the call. */
void completion_copy(struct completion *d, struct rec_call *c, int n, const void *requests, bool fortran);
MPI_Status *completion_statuses_c(struct completion *d, MPI_Status *given, bool ignored, int n);
MPI_Fint *completion_statuses_f(struct completion *d, MPI_Fint *given, bool ignored, int n);

static inline void completion_begin(struct completion *d, struct rec_call *c, int n, const void *requests,
				    bool fortran)
{
	d->self = c->self;
	d->requests = requests;
	d->fortran = fortran;
	d->statuses = NULL;
	d->n = requests ? n : 0; /* the library rejects NULL */
	d->n_done = 0;
	if (d->n == 1 && !fortran) {
		d->key = d->few;
		d->few[0] = MPILIB_BITS(*(MPI_Request *)requests);
	} else {
		completion_copy(d, c, d->n, requests, fortran);
	}
}

/* For one request, after a call that was not expected to complete it. statuses: NULL if ignored. */
static inline void completion_late(struct completion *d, struct rec_call *c, uint64_t key, const void *requests,
				   const void *statuses)
{
	*d = (struct completion){.self = c->self, .requests = requests, .statuses = statuses, .n = 1, .key = d->few};
	d->few[0] = key;
}

/*
 * After the call: append values from position *n on. These are the requests given, the requests completed, and the
 * actual sources and tags of completed wildcard receives. Sets d->n_done, the number of completed requests.
 *
 * index: the completed requests in any order; NULL: all active ones. The k-th index belongs to the k-th status.
 *
 * base: number of the first index.
 */
void completion_put(struct completion *d, uint32_t *n, const int *index, int n_index, int base);

#endif
