/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Combined calls whose sending half waits for its receive, for skeletons that run with every standard send synchronous:
 * MPI has none.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/runtime.h"

int skel_ssendrecv(const void *send, int n_send, MPI_Datatype send_type, int to, int send_tag, void *receive,
		   int n_receive, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm c, MPI_Status *status)
{
	MPI_Request both[2];
	MPI_Status of[2];

	MPI_Irecv(receive, n_receive, receive_type, from, receive_tag, c, &both[0]);
	MPI_Issend(send, n_send, send_type, to, send_tag, c, &both[1]);
	MPI_Waitall(2, both, of);
	if (status != MPI_STATUS_IGNORE)
		*status = of[0];
	return MPI_SUCCESS;
}

int skel_ssendrecv_replace(void *buffer, int n, MPI_Datatype t, int to, int send_tag, int from, int receive_tag,
			   MPI_Comm c, MPI_Status *status)
{
	int64_t below, above;
	char *copy;

	skel_span(n, t, &below, &above);
	copy = skel_alloc((size_t)(below + above) + 1, 1);
	memcpy(copy, (char *)buffer - below, (size_t)(below + above));
	skel_ssendrecv(copy + below, n, t, to, send_tag, buffer, n, t, from, receive_tag, c, status);
	free(copy);
	return MPI_SUCCESS;
}
