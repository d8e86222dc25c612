/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completed requests: see complete.h. */
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/complete.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/requests.h"
#include "trace/format/event.h"

/* Scratch memory of a call: slot 0 for keys and slots, slot 1 for statuses. */
enum { SCRATCH_KEYS, SCRATCH_STATUSES };

void completion_copy(struct completion *d, struct rec_call *c, int n, const void *requests, bool fortran)
{
	d->key = d->few;
	if (n > COMPLETE_SHORT)
		d->key = rec_scratch(c->self, SCRATCH_KEYS, 2 * (size_t)n * sizeof(*d->key));
	if (!d->key || n < 0) {
		d->n = 0;
		return;
	}
	if (fortran)
		for (int i = 0; i < n; i++)
			d->key[i] = key_f(((const MPI_Fint *)requests)[i]);
	else if (sizeof(MPI_Request) == sizeof(*d->key))
		memcpy(d->key, requests, (size_t)n * sizeof(*d->key));
	else
		for (int i = 0; i < n; i++)
			d->key[i] = key_c(((const MPI_Request *)requests)[i]);
}

MPI_Status *completion_statuses_c(struct completion *d, MPI_Status *given, bool ignored, int n)
{
	d->statuses = given;
	if (!ignored)
		return given;
	d->statuses = rec.n_wild && n > 0 ? rec_scratch(d->self, SCRATCH_STATUSES, (size_t)n * sizeof(*given)) : NULL;
	return d->statuses ? (MPI_Status *)d->statuses : given;
}

MPI_Fint *completion_statuses_f(struct completion *d, MPI_Fint *given, bool ignored, int n)
{
	size_t size = (size_t)n * (size_t)MPILIB_F_STATUS_SIZE * sizeof(*given);

	d->statuses = given;
	if (!ignored)
		return given;
	d->statuses = rec.n_wild && n > 0 ? rec_scratch(d->self, SCRATCH_STATUSES, size) : NULL;
	return d->statuses ? (MPI_Fint *)d->statuses : given;
}

static const void *place_of_request(const struct completion *d, int i)
{
	return d->fortran ? (const void *)((const MPI_Fint *)d->requests + i) :
			    (const void *)((const MPI_Request *)d->requests + i);
}

static void find_slots(struct completion *d)
{
	request_list();
	for (int i = 0; i < d->n; i++)
		d->slot[i] = d->n == 1 ? request_find(d->key[i], place_of_request(d, i)) :
					 request_find_next(d->key[i], place_of_request(d, i));
}

/* Source and tag of a cancelled receive mean nothing. In MPICH they look like those of a message. */
static bool is_cancelled(const struct completion *d, int k)
{
	MPI_Status converted;
	const MPI_Status *s = (const MPI_Status *)d->statuses + k;
	int flag = 0;

	if (d->fortran) {
		mpi.Status_f2c((const MPI_Fint *)d->statuses + (size_t)k * (size_t)MPILIB_F_STATUS_SIZE, &converted);
		s = &converted;
	}
	return mpi.Test_cancelled(s, &flag) == MPI_SUCCESS && flag;
}

static void status_at(const struct completion *d, int k, int64_t *src, int64_t *tag)
{
	if (d->fortran) {
		const MPI_Fint *s = (const MPI_Fint *)d->statuses + (size_t)k * (size_t)MPILIB_F_STATUS_SIZE;

		*src = s[MPILIB_F_SOURCE];
		*tag = s[MPILIB_F_TAG];
	} else {
		const MPI_Status *s = (const MPI_Status *)d->statuses + k;

		*src = s->MPI_SOURCE;
		*tag = s->MPI_TAG;
	}
	if (*src == MPI_PROC_NULL)
		*src = TRACE_PROC_NULL;
	else if (*src < 0)
		*src = TRACE_NULL;
	if (*tag < 0)
		*tag = TRACE_NULL;
}

struct done {
	int at;  /* index into the list */
	int nth; /* index of its status */
};

static int by_index(const void *a, const void *b)
{
	const struct done *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Append the completed requests of `list`, in order of index, and release them. */
static void put_done(struct completion *d, uint32_t *n, struct done *list, uint32_t n_list)
{
	int64_t *v = d->self->v + *n;
	uint32_t n_done = 0;
	int64_t *done, *src, *tag;

	for (uint32_t k = 0; k < n_list; k++) {
		int64_t s = d->slot[list[k].at];

		if (s >= 0 && (request_flags(s) & REQ_ACTIVE))
			list[n_done++] = list[k];
	}
	done = v;
	src = done + n_done + 1;
	tag = src + n_done + 1;
	*done++ = *src++ = *tag++ = n_done;
	for (uint32_t k = 0; k < n_done; k++) {
		int64_t s = d->slot[list[k].at];
		unsigned flags = request_flags(s);

		done[k] = s;
		src[k] = tag[k] = TRACE_NULL;
		if ((flags & REQ_WILD) && d->statuses && !((flags & REQ_CANCELLED) && is_cancelled(d, list[k].nth))) {
			int64_t a, b;

			status_at(d, list[k].nth, &a, &b);
			src[k] = flags & REQ_WILD_SRC ? a : TRACE_NULL;
			tag[k] = flags & REQ_WILD_TAG ? b : TRACE_NULL;
		}
		request_complete(s);
	}
	d->n_done = n_done;
	*n += 3 * (n_done + 1);
}

void completion_put(struct completion *d, uint32_t *n, const int *index, int n_index, int base)
{
	struct done few[COMPLETE_SHORT], *list = few;
	uint32_t n_list = index ? (uint32_t)(n_index > 0 ? n_index : 0) : (uint32_t)d->n;
	int64_t *v = rec_room(d->self, *n, 4 * (uint64_t)d->n + 4);

	if (n_list > (uint32_t)d->n)
		n_list = (uint32_t)d->n;
	if (n_list > COMPLETE_SHORT)
		list = malloc(n_list * sizeof(*list));
	if (!v || !list) {
		rec_stop("out of memory");
		return;
	}
	/* For many requests, the slots lie behind the keys. */
	d->slot = d->n > COMPLETE_SHORT ? (int64_t *)d->key + d->n : d->few_slot;
	find_slots(d);
	v += *n;
	*v++ = d->n;
	for (int i = 0; i < d->n; i++)
		v[i] = d->slot[i];
	*n += (uint32_t)d->n + 1;
	for (uint32_t k = 0; k < n_list; k++) {
		list[k] = (struct done){.at = index ? index[k] - base : (int)k, .nth = (int)k};
		if (list[k].at < 0 || list[k].at >= d->n)
			list[k].at = 0;
	}
	if (index && n_list > 1)
		qsort(list, n_list, sizeof(*list), by_index);
	put_done(d, n, list, n_list);
	if (list != few)
		free(list);
}
