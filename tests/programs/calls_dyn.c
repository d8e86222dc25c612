/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls_dyn: dynamic processes on two ranks: children by spawn and spawn_multiple, connect and accept, join.
 * Usage: calls_dyn [spawn|join]; without an argument, connect and accept only. Each child sends a number back, and
 * rank 0 prints it.
 */
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int rank;
static long sum;

/* A child sums over both sides, so that no side leaves early. */
static int child(MPI_Comm parent)
{
	MPI_Comm both;
	int one = 1, all = 0;

	MPI_Intercomm_merge(parent, 1, &both);
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, both);
	MPI_Comm_free(&both);
	MPI_Comm_disconnect(&parent);
	MPI_Finalize();
	return all == 21 || all == 22 ? 0 : 1;
}

static void meet(MPI_Comm inter, int high)
{
	MPI_Comm both;
	int ten = 10, all = 0;

	MPI_Intercomm_merge(inter, high, &both);
	MPI_Allreduce(&ten, &all, 1, MPI_INT, MPI_SUM, both);
	MPI_Comm_free(&both);
	MPI_Comm_disconnect(&inter);
	sum += all;
}

static void spawn(const char *program)
{
	MPI_Comm inter;
	char *programs[2] = {(char *)program, (char *)program};
	int one[2] = {1, 1}, failed[2];
	MPI_Info none[2] = {MPI_INFO_NULL, MPI_INFO_NULL};

	MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
	meet(inter, 0);
	MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, one, none, 0, MPI_COMM_WORLD, &inter, failed);
	meet(inter, 0);
}

static void connect_and_accept(void)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm inter;

	if (rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, port);
		MPI_Publish_name("precedent-calls", MPI_INFO_NULL, port);
		MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
		MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
	} else {
		MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Lookup_name("precedent-calls", MPI_INFO_NULL, port);
		MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
	}
	meet(inter, rank);
	if (rank == 0) {
		MPI_Unpublish_name("precedent-calls", MPI_INFO_NULL, port);
		MPI_Close_port(port);
	}
}

/* A socket between the two ranks, over the loopback interface. */
static int plug(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0), fd, port;

	if (rank) {
		MPI_Recv(&port, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		a.sin_port = (in_port_t)port;
		return connect(s, (struct sockaddr *)&a, len) ? -1 : s;
	}
	if (bind(s, (struct sockaddr *)&a, len) || listen(s, 1) || getsockname(s, (struct sockaddr *)&a, &len))
		return -1;
	port = a.sin_port;
	MPI_Send(&port, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
	fd = accept(s, NULL, NULL);
	close(s);
	return fd;
}

static void join(void)
{
	MPI_Comm inter;
	int fd = plug();

	MPI_Comm_join(fd, &inter);
	close(fd);
	meet(inter, rank);
}

int main(int argc, char **argv)
{
	MPI_Comm parent;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		return child(parent);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	connect_and_accept();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "spawn"))
			spawn(argv[0]);
		else if (!strcmp(argv[i], "join"))
			join();
	}
	if (rank == 0)
		printf("calls: sum %ld\n", sum);
	MPI_Finalize();
	return 0;
}
