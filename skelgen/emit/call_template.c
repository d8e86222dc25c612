/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One row per function: a letter for each parameter.
 *
 *     m       communicator                  q, 5    request: its place, its value
 *     d, s    destination, source           M       message
 *     g       tag                           r, o    root, operation
 *     G       tag of the received message   _, -    MPI_STATUS_IGNORE, MPI_INFO_NULL
 *     p       number of partitions          n       list of partitions and its length
 *     i       partition                     j, k    first and last partition
 *     l       level of MPI_Pcontrol
 *
 *     c, t    count and datatype            C, T    count and datatype that are received
 *     v, w    counts and displacements      V, W    counts and displacements that are received
 *     x, y, z counts, displacements and datatypes of each peer; X, Y, Z the same of received data
 *     1, 2    y and Y in MPI_Aint
 *
 * Buffers that the call reads:  S c, A c for each rank, E v, H x, P p times c.
 * Buffers that the call fills:  D c, R C, N C from each rank, F V, I X, O c from each rank, U the sum of v.
 * A buffer becomes MPI_IN_PLACE where the program gave MPI_IN_PLACE.
 *
 * One-sided communication:
 *   u       window                        a, b    target rank, displacement there
 *   e       assertion                     f, h    kind of lock, group
 *   3, 4    count and datatype of the result
 *   B, K    buffers of c, read and filled; L filled with the result; Q compared
 */
#include "skelgen/emit/lower_call.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *parts;
} templates[] = {
	{"MPI_Send", "Sctdgm"},
	{"MPI_Bsend", "Sctdgm"},
	{"MPI_Ssend", "Sctdgm"},
	{"MPI_Rsend", "Sctdgm"},
	{"MPI_Recv", "Dctsgm_"},
	{"MPI_Sendrecv", "SctdgRCTsGm_"},
	{"MPI_Sendrecv_replace", "SctdgsGm_"},
	{"MPI_Isend", "Sctdgmq"},
	{"MPI_Ibsend", "Sctdgmq"},
	{"MPI_Issend", "Sctdgmq"},
	{"MPI_Irsend", "Sctdgmq"},
	{"MPI_Irecv", "Dctsgmq"},
	{"MPI_Send_init", "Sctdgmq"},
	{"MPI_Bsend_init", "Sctdgmq"},
	{"MPI_Ssend_init", "Sctdgmq"},
	{"MPI_Rsend_init", "Sctdgmq"},
	{"MPI_Recv_init", "Dctsgmq"},
	{"MPI_Cancel", "q"},
	{"MPI_Request_free", "q"},
	{"MPI_Probe", "sgm_"},
	{"MPI_Iprobe", "sgm_"},
	{"MPI_Mprobe", "sgmM_"},
	{"MPI_Improbe", "sgmM_"},
	{"MPI_Mrecv", "DctM_"},
	{"MPI_Imrecv", "DctMq"},
	{"MPI_Barrier", "m"},
	{"MPI_Bcast", "Sctrm"},
	{"MPI_Gather", "SctNCTrm"},
	{"MPI_Gatherv", "SctFVWTrm"},
	{"MPI_Scatter", "ActRCTrm"},
	{"MPI_Scatterv", "EvwtRCTrm"},
	{"MPI_Allgather", "SctNCTm"},
	{"MPI_Allgatherv", "SctFVWTm"},
	{"MPI_Alltoall", "ActNCTm"},
	{"MPI_Alltoallv", "EvwtFVWTm"},
	{"MPI_Alltoallw", "HxyzIXYZm"},
	{"MPI_Reduce", "SDctorm"},
	{"MPI_Allreduce", "SDctom"},
	{"MPI_Reduce_scatter", "EUvtom"},
	{"MPI_Reduce_scatter_block", "AOctom"},
	{"MPI_Scan", "SDctom"},
	{"MPI_Exscan", "SDctom"},
	{"MPI_Neighbor_allgather", "SctNCTm"},
	{"MPI_Neighbor_allgatherv", "SctFVWTm"},
	{"MPI_Neighbor_alltoall", "ActNCTm"},
	{"MPI_Neighbor_alltoallv", "EvwtFVWTm"},
	{"MPI_Ibarrier", "mq"},
	{"MPI_Ibcast", "Sctrmq"},
	{"MPI_Igather", "SctNCTrmq"},
	{"MPI_Igatherv", "SctFVWTrmq"},
	{"MPI_Iscatter", "ActRCTrmq"},
	{"MPI_Iscatterv", "EvwtRCTrmq"},
	{"MPI_Iallgather", "SctNCTmq"},
	{"MPI_Iallgatherv", "SctFVWTmq"},
	{"MPI_Ialltoall", "ActNCTmq"},
	{"MPI_Ialltoallv", "EvwtFVWTmq"},
	{"MPI_Ialltoallw", "HxyzIXYZmq"},
	{"MPI_Ireduce", "SDctormq"},
	{"MPI_Iallreduce", "SDctomq"},
	{"MPI_Ireduce_scatter", "EUvtomq"},
	{"MPI_Ireduce_scatter_block", "AOctomq"},
	{"MPI_Iscan", "SDctomq"},
	{"MPI_Iexscan", "SDctomq"},
	{"MPI_Ineighbor_allgather", "SctNCTmq"},
	{"MPI_Ineighbor_allgatherv", "SctFVWTmq"},
	{"MPI_Ineighbor_alltoall", "ActNCTmq"},
	{"MPI_Ineighbor_alltoallv", "EvwtFVWTmq"},
	{"MPI_Neighbor_alltoallw", "Hx1zIX2Zm"},
	{"MPI_Ineighbor_alltoallw", "Hx1zIX2Zmq"},
	/* MPI-4 */
	{"MPI_Isendrecv", "SctdgRCTsGmq"},
	{"MPI_Isendrecv_replace", "SctdgsGmq"},
	{"MPI_Psend_init", "Ppctdgm-q"},
	{"MPI_Precv_init", "Ppctsgm-q"},
	{"MPI_Pready", "i5"},
	{"MPI_Pready_range", "jk5"},
	{"MPI_Pready_list", "n5"},
	{"MPI_Parrived", "qi"},
	/* others */
	{"MPI_Grequest_start", "q"},
	{"MPI_Grequest_complete", "5"},
	{"MPI_Pcontrol", "l"},
	/* one-sided */
	{"MPI_Put", "BctabCTu"},
	{"MPI_Get", "KctabCTu"},
	{"MPI_Accumulate", "BctabCTou"},
	{"MPI_Get_accumulate", "BctL34abCTou"},
	{"MPI_Rput", "BctabCTuq"},
	{"MPI_Rget", "KctabCTuq"},
	{"MPI_Raccumulate", "BctabCTouq"},
	{"MPI_Rget_accumulate", "BctL34abCTouq"},
	{"MPI_Fetch_and_op", "BKtabou"},
	{"MPI_Compare_and_swap", "BQKtabu"},
	{"MPI_Win_fence", "eu"},
	{"MPI_Win_post", "heu"},
	{"MPI_Win_start", "heu"},
	{"MPI_Win_complete", "u"},
	{"MPI_Win_wait", "u"},
	{"MPI_Win_test", "u"},
	{"MPI_Win_lock", "faeu"},
	{"MPI_Win_unlock", "au"},
	{"MPI_Win_lock_all", "eu"},
	{"MPI_Win_unlock_all", "u"},
	{"MPI_Win_flush", "au"},
	{"MPI_Win_flush_all", "u"},
	{"MPI_Win_flush_local", "au"},
	{"MPI_Win_flush_local_all", "u"},
	{"MPI_Win_sync", "u"},
};

/* What is called instead of the function. A ready send may come too early here: the standard mode sends the same message. */
static const struct {
	const char *name, *call;
} others[] = {
	{"MPI_Rsend", "MPI_Send"},
	{"MPI_Irsend", "MPI_Isend"},
	{"MPI_Rsend_init", "MPI_Send_init"},
	{"MPI_Iprobe", "MPI_Probe"},
	{"MPI_Improbe", "MPI_Mprobe"},
	{"MPI_Parrived", "skel_parrived"},
	{"MPI_Grequest_start", "skel_grequest_start"},
	{"MPI_Win_test", "MPI_Win_wait"},
};

static const char *parts_of(const char *name)
{
	for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
		if (strcmp(templates[i].name, name) == 0)
			return templates[i].parts;
	return NULL;
}

/* The persistent form of a collective has the parameters of the nonblocking one and an info before the request. */
static const char *parts_of_nonblocking(const char *name)
{
	char plain[64];
	int n = (int)strlen(name) - 5;

	if (n < 5 || n > (int)sizeof plain - 2 || strcmp(name + n, "_init") != 0)
		return NULL;
	snprintf(plain, sizeof plain, "MPI_I%c%.*s", name[4] - 'A' + 'a', n - 5, name + 5);
	return parts_of(plain);
}

struct call_template lower_template(const char *name)
{
	struct call_template t = {name, ""};
	const char *parts = parts_of(name);

	if (parts != NULL)
		snprintf(t.parts, sizeof t.parts, "%s", parts);
	else if ((parts = parts_of_nonblocking(name)) != NULL)
		snprintf(t.parts, sizeof t.parts, "%.*s-q", (int)strlen(parts) - 1, parts);
	else
		t.call = NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i].name, name) == 0)
			t.call = others[i].call;
	return t;
}
