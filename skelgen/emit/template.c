/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One template per function. In a template:
 *   $m communicator   $d destination   $s source     $g tag   $G tag of the receiving half   $r root   $o operation
 *   $q, $5 request     $M message       $c, $t count and datatype   $C, $T those received
 *   $v, $w counts and displacements    $V, $W those received
 *   $x, $y, $z counts, displacements and datatypes, one per peer   $X, $Y, $Z those received   $1, $2: $y, $Y in MPI_Aint
 *   $p partitions     $i, $j, $k partition, the first and the last   $n list of them and its length   $l level
 * Buffers: $S to send $c, $D to receive $c, $R to receive $C; $A to send $c to each, $N to receive $C from each;
 *   $E to send $v, $F to receive $V; $H to send $x, $I to receive $X; $U of the sum of $v; $P of $p times $c.
 * The buffer for which the program gave MPI_IN_PLACE is MPI_IN_PLACE.
 * One-sided: $u window, $a target rank, $b displacement there, $e assertion, $f kind of lock, $h group; $3, $4 count and
 *   datatype of the result; buffers: $B to send $c, $K to receive $c, $L to receive the result, $Q to compare $c with.
 */
#include "skelgen/emit/call.h"

#include <stdio.h>
#include <string.h>

struct call_template {
	const char *name, *text;
};

static const struct call_template templates[] = {
	{"MPI_Send", "MPI_Send($S, $c, $t, $d, $g, $m)"},
	{"MPI_Bsend", "MPI_Bsend($S, $c, $t, $d, $g, $m)"},
	{"MPI_Ssend", "MPI_Ssend($S, $c, $t, $d, $g, $m)"},
	/* A ready send may come too early here: the standard mode sends the same message. */
	{"MPI_Rsend", "MPI_Send($S, $c, $t, $d, $g, $m)"},
	{"MPI_Recv", "MPI_Recv($D, $c, $t, $s, $g, $m, MPI_STATUS_IGNORE)"},
	{"MPI_Sendrecv", "MPI_Sendrecv($S, $c, $t, $d, $g, $R, $C, $T, $s, $G, $m, MPI_STATUS_IGNORE)"},
	{"MPI_Sendrecv_replace", "MPI_Sendrecv_replace($S, $c, $t, $d, $g, $s, $G, $m, MPI_STATUS_IGNORE)"},
	{"MPI_Isend", "MPI_Isend($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Ibsend", "MPI_Ibsend($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Issend", "MPI_Issend($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Irsend", "MPI_Isend($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Irecv", "MPI_Irecv($D, $c, $t, $s, $g, $m, $q)"},
	{"MPI_Send_init", "MPI_Send_init($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Bsend_init", "MPI_Bsend_init($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Ssend_init", "MPI_Ssend_init($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Rsend_init", "MPI_Send_init($S, $c, $t, $d, $g, $m, $q)"},
	{"MPI_Recv_init", "MPI_Recv_init($D, $c, $t, $s, $g, $m, $q)"},
	{"MPI_Cancel", "MPI_Cancel($q)"},
	{"MPI_Request_free", "MPI_Request_free($q)"},
	{"MPI_Probe", "MPI_Probe($s, $g, $m, MPI_STATUS_IGNORE)"},
	{"MPI_Iprobe", "MPI_Probe($s, $g, $m, MPI_STATUS_IGNORE)"},
	{"MPI_Mprobe", "MPI_Mprobe($s, $g, $m, $M, MPI_STATUS_IGNORE)"},
	{"MPI_Improbe", "MPI_Mprobe($s, $g, $m, $M, MPI_STATUS_IGNORE)"},
	{"MPI_Mrecv", "MPI_Mrecv($D, $c, $t, $M, MPI_STATUS_IGNORE)"},
	{"MPI_Imrecv", "MPI_Imrecv($D, $c, $t, $M, $q)"},
	{"MPI_Barrier", "MPI_Barrier($m)"},
	{"MPI_Bcast", "MPI_Bcast($S, $c, $t, $r, $m)"},
	{"MPI_Gather", "MPI_Gather($S, $c, $t, $N, $C, $T, $r, $m)"},
	{"MPI_Gatherv", "MPI_Gatherv($S, $c, $t, $F, $V, $W, $T, $r, $m)"},
	{"MPI_Scatter", "MPI_Scatter($A, $c, $t, $R, $C, $T, $r, $m)"},
	{"MPI_Scatterv", "MPI_Scatterv($E, $v, $w, $t, $R, $C, $T, $r, $m)"},
	{"MPI_Allgather", "MPI_Allgather($S, $c, $t, $N, $C, $T, $m)"},
	{"MPI_Allgatherv", "MPI_Allgatherv($S, $c, $t, $F, $V, $W, $T, $m)"},
	{"MPI_Alltoall", "MPI_Alltoall($A, $c, $t, $N, $C, $T, $m)"},
	{"MPI_Alltoallv", "MPI_Alltoallv($E, $v, $w, $t, $F, $V, $W, $T, $m)"},
	{"MPI_Alltoallw", "MPI_Alltoallw($H, $x, $y, $z, $I, $X, $Y, $Z, $m)"},
	{"MPI_Reduce", "MPI_Reduce($S, $D, $c, $t, $o, $r, $m)"},
	{"MPI_Allreduce", "MPI_Allreduce($S, $D, $c, $t, $o, $m)"},
	{"MPI_Reduce_scatter", "MPI_Reduce_scatter($E, $U, $v, $t, $o, $m)"},
	{"MPI_Reduce_scatter_block", "MPI_Reduce_scatter_block($A, $O, $c, $t, $o, $m)"},
	{"MPI_Scan", "MPI_Scan($S, $D, $c, $t, $o, $m)"},
	{"MPI_Exscan", "MPI_Exscan($S, $D, $c, $t, $o, $m)"},
	{"MPI_Neighbor_allgather", "MPI_Neighbor_allgather($S, $c, $t, $N, $C, $T, $m)"},
	{"MPI_Neighbor_allgatherv", "MPI_Neighbor_allgatherv($S, $c, $t, $F, $V, $W, $T, $m)"},
	{"MPI_Neighbor_alltoall", "MPI_Neighbor_alltoall($A, $c, $t, $N, $C, $T, $m)"},
	{"MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallv($E, $v, $w, $t, $F, $V, $W, $T, $m)"},
	{"MPI_Ibarrier", "MPI_Ibarrier($m, $q)"},
	{"MPI_Ibcast", "MPI_Ibcast($S, $c, $t, $r, $m, $q)"},
	{"MPI_Igather", "MPI_Igather($S, $c, $t, $N, $C, $T, $r, $m, $q)"},
	{"MPI_Igatherv", "MPI_Igatherv($S, $c, $t, $F, $V, $W, $T, $r, $m, $q)"},
	{"MPI_Iscatter", "MPI_Iscatter($A, $c, $t, $R, $C, $T, $r, $m, $q)"},
	{"MPI_Iscatterv", "MPI_Iscatterv($E, $v, $w, $t, $R, $C, $T, $r, $m, $q)"},
	{"MPI_Iallgather", "MPI_Iallgather($S, $c, $t, $N, $C, $T, $m, $q)"},
	{"MPI_Iallgatherv", "MPI_Iallgatherv($S, $c, $t, $F, $V, $W, $T, $m, $q)"},
	{"MPI_Ialltoall", "MPI_Ialltoall($A, $c, $t, $N, $C, $T, $m, $q)"},
	{"MPI_Ialltoallv", "MPI_Ialltoallv($E, $v, $w, $t, $F, $V, $W, $T, $m, $q)"},
	{"MPI_Ialltoallw", "MPI_Ialltoallw($H, $x, $y, $z, $I, $X, $Y, $Z, $m, $q)"},
	{"MPI_Ireduce", "MPI_Ireduce($S, $D, $c, $t, $o, $r, $m, $q)"},
	{"MPI_Iallreduce", "MPI_Iallreduce($S, $D, $c, $t, $o, $m, $q)"},
	{"MPI_Ireduce_scatter", "MPI_Ireduce_scatter($E, $U, $v, $t, $o, $m, $q)"},
	{"MPI_Ireduce_scatter_block", "MPI_Ireduce_scatter_block($A, $O, $c, $t, $o, $m, $q)"},
	{"MPI_Iscan", "MPI_Iscan($S, $D, $c, $t, $o, $m, $q)"},
	{"MPI_Iexscan", "MPI_Iexscan($S, $D, $c, $t, $o, $m, $q)"},
	{"MPI_Ineighbor_allgather", "MPI_Ineighbor_allgather($S, $c, $t, $N, $C, $T, $m, $q)"},
	{"MPI_Ineighbor_allgatherv", "MPI_Ineighbor_allgatherv($S, $c, $t, $F, $V, $W, $T, $m, $q)"},
	{"MPI_Ineighbor_alltoall", "MPI_Ineighbor_alltoall($A, $c, $t, $N, $C, $T, $m, $q)"},
	{"MPI_Ineighbor_alltoallv", "MPI_Ineighbor_alltoallv($E, $v, $w, $t, $F, $V, $W, $T, $m, $q)"},
	{"MPI_Neighbor_alltoallw", "MPI_Neighbor_alltoallw($H, $x, $1, $z, $I, $X, $2, $Z, $m)"},
	{"MPI_Ineighbor_alltoallw", "MPI_Ineighbor_alltoallw($H, $x, $1, $z, $I, $X, $2, $Z, $m, $q)"},
	/* MPI-4 */
	{"MPI_Isendrecv", "MPI_Isendrecv($S, $c, $t, $d, $g, $R, $C, $T, $s, $G, $m, $q)"},
	{"MPI_Isendrecv_replace", "MPI_Isendrecv_replace($S, $c, $t, $d, $g, $s, $G, $m, $q)"},
	{"MPI_Psend_init", "MPI_Psend_init($P, $p, $c, $t, $d, $g, $m, MPI_INFO_NULL, $q)"},
	{"MPI_Precv_init", "MPI_Precv_init($P, $p, $c, $t, $s, $g, $m, MPI_INFO_NULL, $q)"},
	{"MPI_Pready", "MPI_Pready($i, $5)"},
	{"MPI_Pready_range", "MPI_Pready_range($j, $k, $5)"},
	{"MPI_Pready_list", "MPI_Pready_list($n, $5)"},
	{"MPI_Parrived", "skel_parrived($q, $i)"},
	/* others */
	{"MPI_Grequest_start", "skel_grequest_start($q)"},
	{"MPI_Grequest_complete", "MPI_Grequest_complete($5)"},
	{"MPI_Pcontrol", "MPI_Pcontrol($l)"},
	/* one-sided */
	{"MPI_Put", "MPI_Put($B, $c, $t, $a, $b, $C, $T, $u)"},
	{"MPI_Get", "MPI_Get($K, $c, $t, $a, $b, $C, $T, $u)"},
	{"MPI_Accumulate", "MPI_Accumulate($B, $c, $t, $a, $b, $C, $T, $o, $u)"},
	{"MPI_Get_accumulate", "MPI_Get_accumulate($B, $c, $t, $L, $3, $4, $a, $b, $C, $T, $o, $u)"},
	{"MPI_Rput", "MPI_Rput($B, $c, $t, $a, $b, $C, $T, $u, $q)"},
	{"MPI_Rget", "MPI_Rget($K, $c, $t, $a, $b, $C, $T, $u, $q)"},
	{"MPI_Raccumulate", "MPI_Raccumulate($B, $c, $t, $a, $b, $C, $T, $o, $u, $q)"},
	{"MPI_Rget_accumulate", "MPI_Rget_accumulate($B, $c, $t, $L, $3, $4, $a, $b, $C, $T, $o, $u, $q)"},
	{"MPI_Fetch_and_op", "MPI_Fetch_and_op($B, $K, $t, $a, $b, $o, $u)"},
	{"MPI_Compare_and_swap", "MPI_Compare_and_swap($B, $Q, $K, $t, $a, $b, $u)"},
	{"MPI_Win_fence", "MPI_Win_fence($e, $u)"},
	{"MPI_Win_post", "MPI_Win_post($h, $e, $u)"},
	{"MPI_Win_start", "MPI_Win_start($h, $e, $u)"},
	{"MPI_Win_complete", "MPI_Win_complete($u)"},
	{"MPI_Win_wait", "MPI_Win_wait($u)"},
	{"MPI_Win_test", "MPI_Win_wait($u)"},
	{"MPI_Win_lock", "MPI_Win_lock($f, $a, $e, $u)"},
	{"MPI_Win_unlock", "MPI_Win_unlock($a, $u)"},
	{"MPI_Win_lock_all", "MPI_Win_lock_all($e, $u)"},
	{"MPI_Win_unlock_all", "MPI_Win_unlock_all($u)"},
	{"MPI_Win_flush", "MPI_Win_flush($a, $u)"},
	{"MPI_Win_flush_all", "MPI_Win_flush_all($u)"},
	{"MPI_Win_flush_local", "MPI_Win_flush_local($a, $u)"},
	{"MPI_Win_flush_local_all", "MPI_Win_flush_local_all($u)"},
	{"MPI_Win_sync", "MPI_Win_sync($u)"},
};

static const char *template_named(const char *name)
{
	for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
		if (strcmp(templates[i].name, name) == 0)
			return templates[i].text;
	return NULL;
}

/* The persistent form of a collective has the arguments of the nonblocking one and an info: "MPI_Ibcast(..., $q)". */
static const char *persistent_form(const char *name, char *room, size_t size)
{
	const char *t;
	char plain[64];
	int n = (int)strlen(name) - 5;

	if (n < 5 || n > (int)sizeof plain - 2 || strcmp(name + n, "_init") != 0)
		return NULL;
	snprintf(plain, sizeof plain, "MPI_I%c%.*s", name[4] - 'A' + 'a', n - 5, name + 5);
	t = template_named(plain);
	if (t == NULL || (t = strchr(t, '(')) == NULL)
		return NULL;
	snprintf(room, size, "%s%.*s, MPI_INFO_NULL, $q)", name, (int)strlen(t) - 5, t);
	return room;
}

const char *emit_template(const char *name, char *room, size_t size)
{
	const char *t = template_named(name);

	return t != NULL ? t : persistent_form(name, room, size);
}
