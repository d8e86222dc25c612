/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See objects.h. */
#include "skelgen/simulate/objects.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	uint8_t use, make; /* kinds of parameters */
	const char *frees[2], *missing, *exists;
} kinds[SIM_OBJECT_KINDS] = {
	{TK_COMM, TK_NEWCOMM, {"MPI_Comm_free", "MPI_Comm_disconnect"}, "its communicator does not exist",
	 "its new communicator exists already"},
	{TK_WIN, TK_NEWWIN, {"MPI_Win_free"}, "its window does not exist", "its new window exists already"},
	{TK_FILE, TK_NEWFILE, {"MPI_File_close"}, "its file is not open", "its file is open already"},
};

static uint32_t count(const struct trace_defs *d, uint32_t kind)
{
	const uint32_t n[SIM_OBJECT_KINDS] = {d->n_comm, d->n_win, d->n_file};

	return n[kind];
}

int sim_objects_open(struct sim_objects *o, const struct trace_defs *d)
{
	for (uint32_t k = 0; k < SIM_OBJECT_KINDS; k++) {
		o->state[k] = calloc(count(d, k) + 2u, 1);
		if (o->state[k] == NULL)
			return -1;
	}
	o->state[0][0] = o->state[0][1] = SIM_EXISTS;
	return 0;
}

void sim_objects_close(struct sim_objects *o)
{
	for (uint32_t k = 0; k < SIM_OBJECT_KINDS; k++)
		free(o->state[k]);
}

static bool frees(uint32_t kind, const char *name)
{
	for (uint32_t i = 0; i < 2 && kinds[kind].frees[i] != NULL; i++)
		if (strcmp(kinds[kind].frees[i], name) == 0)
			return true;
	return false;
}

/* param: kind of the parameter. NULL: the call has no such one. */
static uint8_t *state_of(struct sim_objects *o, const struct trace_defs *d, uint32_t sym, uint32_t kind, uint8_t param,
			 uint32_t nth)
{
	int64_t local = call_scalar(d, sym, param, nth, TRACE_NULL);

	return local >= 0 && local < count(d, kind) ? &o->state[kind][local] : NULL;
}

const char *sim_objects_call(struct sim_objects *o, const struct trace_defs *d, uint32_t sym)
{
	const char *wrong = NULL;

	for (uint32_t k = 0; k < SIM_OBJECT_KINDS; k++) {
		uint8_t *used = state_of(o, d, sym, k, kinds[k].use, 0);
		uint8_t *made = state_of(o, d, sym, k, kinds[k].make, 0);
		const uint8_t *peer = used != NULL ? state_of(o, d, sym, k, kinds[k].use, 1) : NULL; /* if it joins two */

		if ((used != NULL && *used != SIM_EXISTS) || (peer != NULL && *peer != SIM_EXISTS))
			wrong = kinds[k].missing;
		if (made != NULL && *made == SIM_EXISTS)
			wrong = kinds[k].exists;
		if (made != NULL)
			*made = SIM_EXISTS;
		if (used != NULL && frees(k, call_name(d, sym)))
			*used = SIM_FREED;
	}
	return wrong;
}

bool sim_objects_has_comm(const struct sim_objects *o, int64_t local)
{
	return o->state[0][local] != SIM_NEVER;
}
