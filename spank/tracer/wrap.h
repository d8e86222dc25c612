/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building blocks of the generated wrappers: values in the trace's terms, arrays, conditions of conf/trace.rules.
 */
#ifndef PRECEDENT_SPANK_TRACER_WRAP_H
#define PRECEDENT_SPANK_TRACER_WRAP_H

#include "spank/tracer/complete.h"
#include "spank/tracer/ends.h"
#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/record.h"
#include "spank/tracer/requests.h"
#include "spank/tracer/run.h"
#include "trace/functions.h"

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran integers are recorded as C ints");

/* The real function. If there is none, a function that returns an error; never NULL. */
void *wrap_resolve(const char *name);

static inline int64_t wrap_rank(int r)
{
	if (__builtin_expect(r >= 0, 1))
		return r;
	return r == MPI_ANY_SOURCE ? TRACE_ANY_SOURCE :
	       r == MPI_PROC_NULL  ? TRACE_PROC_NULL :
	       r == MPI_ROOT       ? TRACE_ROOT :
				     TRACE_UNDEFINED;
}

static inline int64_t wrap_tag(int t)
{
	return t == MPI_ANY_TAG ? TRACE_ANY_TAG : t;
}

static inline int64_t wrap_int(int v)
{
	return v == MPI_UNDEFINED ? TRACE_UNDEFINED : v;
}

/* Constants with different numbers in MPI libraries. */
static inline int64_t wrap_lock_type(int t)
{
	return t == MPI_LOCK_EXCLUSIVE ? TLOCK_EXCLUSIVE : TLOCK_SHARED;
}

static inline int64_t wrap_assert(int a)
{
	return (a & MPI_MODE_NOCHECK ? TASSERT_NOCHECK : 0) | (a & MPI_MODE_NOSTORE ? TASSERT_NOSTORE : 0) |
	       (a & MPI_MODE_NOPUT ? TASSERT_NOPUT : 0) | (a & MPI_MODE_NOPRECEDE ? TASSERT_NOPRECEDE : 0) |
	       (a & MPI_MODE_NOSUCCEED ? TASSERT_NOSUCCEED : 0);
}

static inline int64_t wrap_split_type(int t)
{
	return t == MPI_COMM_TYPE_SHARED ? TSPLIT_SHARED : t == MPI_UNDEFINED ? TRACE_UNDEFINED : TSPLIT_OTHER;
}

static inline int64_t wrap_disp(const struct rec_call *c, int64_t disp)
{
	return disp_of_site(c->site, disp);
}

static inline int64_t wrap_last(const int *a, int64_t n)
{
	return a && n > 0 ? a[n - 1] : 0;
}

static inline int64_t wrap_sum(const int *a, int64_t n)
{
	int64_t s = 0;

	for (int64_t i = 0; a && i < n; i++)
		s += a[i];
	return s;
}

/* ---- conditions; ci is the index of the call's communicator ---- */

static inline bool wrap_is_root(int root, int64_t ci)
{
	int64_t r = wrap_rank(root);

	return r >= 0 ? ci >= 0 && !handles.info[ci].inter && handles.info[ci].rank == r : r == TRACE_ROOT;
}

static inline bool wrap_is_leaf(int root)
{
	return wrap_rank(root) >= 0;
}

static inline bool wrap_joins(int root)
{
	return root != MPI_PROC_NULL;
}

static inline bool wrap_in_place_f(const void *buf)
{
	return buf && buf == *mpi.f_in_place;
}

/* Choice buffers of mpi_f08 in MPICH, and in Open MPI from version 6 on, are descriptors whose first member is the address. */
static inline bool wrap_in_place_f08ts(const void *descriptor)
{
	const void *buf = *(void *const *)descriptor;

	return buf && (buf == mpi.f08_in_place || buf == *mpi.f_in_place);
}

static inline bool wrap_ignored_f(const void *status)
{
	return status && (status == *mpi.f_status_ignore || status == *mpi.f_statuses_ignore ||
			  status == mpi.f08_status_ignore || status == mpi.f08_statuses_ignore);
}

/* ---- lengths ---- */

static inline int64_t wrap_peers(int64_t ci)
{
	return ci >= 0 ? handles.info[ci].peers : 0;
}

static inline int64_t wrap_members(int64_t ci)
{
	return ci >= 0 ? handles.info[ci].size : 0;
}

static inline int64_t wrap_degree(MPI_Comm c, int64_t ci, bool want_in)
{
	int in, out;

	comm_degrees(c, ci, &in, &out);
	return want_in ? in : out;
}

/* ---- arrays: append the length and the elements; the values may move ----
 * A library may accept NULL for an array without elements that it reads. */

static inline int64_t *wrap_array(struct rec_call *c, uint32_t *n, int64_t *len)
{
	int64_t *v;

	*len = *len > 0 ? *len : 0;
	v = rec_room(c->self, *n, (uint64_t)*len + 1);
	if (!v) {
		*len = 0;
		v = c->self->v;
	}
	v[(*n)++] = *len;
	return v;
}

static inline int64_t *wrap_ints(struct rec_call *c, uint32_t *n, const int *a, int64_t len, bool truth)
{
	int64_t *v = wrap_array(c, n, &len);

	for (int64_t i = 0; i < len; i++)
		v[(*n)++] = !a ? 0 : truth ? a[i] != 0 : a[i];
	return v;
}

static inline int64_t *wrap_counts(struct rec_call *c, uint32_t *n, const MPI_Count *a, int64_t len)
{
	int64_t *v = wrap_array(c, n, &len);

	for (int64_t i = 0; i < len; i++)
		v[(*n)++] = a ? a[i] : 0;
	return v;
}

static inline int64_t *wrap_types(struct rec_call *c, uint32_t *n, const MPI_Datatype *a, int64_t len)
{
	int64_t *v = wrap_array(c, n, &len);

	for (int64_t i = 0; i < len; i++)
		v[(*n)++] = a ? rec_type(a[i], &c->slow) : TRACE_NULL;
	return v;
}

static inline int64_t *wrap_types_f(struct rec_call *c, uint32_t *n, const MPI_Fint *a, int64_t len)
{
	int64_t *v = wrap_array(c, n, &len);

	for (int64_t i = 0; i < len; i++)
		v[(*n)++] = a ? rec_type(mpi.Type_f2c(a[i]), &c->slow) : TRACE_NULL;
	return v;
}

/* The members of a group, as win_group_before translated them. */
static inline int64_t *wrap_group(struct rec_call *c, uint32_t *n)
{
	int64_t len = c->self->group ? c->self->n_group : 0, *v = wrap_array(c, n, &len);

	c->slow = 1;
	for (int64_t i = 0; i < len; i++)
		v[(*n)++] = wrap_rank(c->self->group[i]);
	return v;
}

/* The requests that MPI_Startall starts. */
static inline int64_t *wrap_starts(struct rec_call *c, uint32_t *n, const void *a, int64_t len, bool fortran)
{
	int64_t *v = wrap_array(c, n, &len);

	request_list();
	for (int64_t i = 0; i < len; i++) {
		const MPI_Request *rc = (const MPI_Request *)a + i;
		const MPI_Fint *rf = (const MPI_Fint *)a + i;
		int64_t s = fortran ? request_find_next(key_f(*rf), rf) : request_find_next(key_c(*rc), rc);

		request_start(s);
		v[(*n)++] = s;
	}
	return v;
}

static inline int64_t wrap_newcomm(MPI_Comm c, int *slow)
{
	*slow = 1;
	return comm_define(c);
}

static inline int64_t wrap_newwin(MPI_Win w, int64_t comm, int *slow)
{
	*slow = 1;
	return win_define(w, comm);
}

static inline int64_t wrap_newfile(MPI_File f, int64_t comm, const char *name, int64_t len, int *slow)
{
	*slow = 1;
	return file_define(f, comm, name, len);
}

static inline int64_t wrap_newtype(MPI_Datatype t, int *slow)
{
	*slow = 1;
	return type_define(t);
}

static inline void wrap_lock(void)
{
	if (rec.locking)
		rec_lock();
}

static inline void wrap_unlock(void)
{
	if (rec.locking)
		rec_unlock();
}

#endif
