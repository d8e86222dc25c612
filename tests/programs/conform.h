/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared part of the conformance programs. They use MPI, check the results, and print the calls that they made.
 * tests/cli/trace-conformance.t compares the results of traced and untraced runs, and the trace with the calls. Lines,
 * printed by each rank in one piece: "did RANK MPI_Name N", "wrong RANK what".
 */
#ifndef PRECEDENT_TESTS_PROGRAMS_CONFORM_H
#define PRECEDENT_TESTS_PROGRAMS_CONFORM_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define CONFORM_NAMES 128

static struct {
	char name[48];
	long n;
} conform_done[CONFORM_NAMES];
static int conform_rank, conform_size;

/* name may be the text of a whole call. */
static inline void did(const char *name, long n)
{
	size_t len = strcspn(name, "( ");

	for (int i = 0; i < CONFORM_NAMES; i++) {
		if (!conform_done[i].name[0])
			snprintf(conform_done[i].name, sizeof(conform_done[i].name), "%.*s", (int)len, name);
		if (strlen(conform_done[i].name) == len && !strncmp(conform_done[i].name, name, len)) {
			conform_done[i].n += n;
			return;
		}
	}
}

/* Make a call and count it. */
#define DO(call) (did(#call, 1), (call))

#define CHECK(what)                                                                  \
	do {                                                                         \
		if (!(what)) {                                                       \
			printf("wrong %d line %d: %s\n", conform_rank, __LINE__, #what); \
			fflush(stdout);                                              \
		}                                                                    \
	} while (0)

static inline void conform_begin(void)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &conform_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &conform_size);
}

static inline void conform_end(void)
{
	char text[CONFORM_NAMES * 80];
	size_t n = 0;

	for (int i = 0; i < CONFORM_NAMES && conform_done[i].name[0]; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "did %d %s %ld\n", conform_rank, conform_done[i].name,
				      conform_done[i].n);
	fwrite(text, 1, n, stdout);
	fflush(stdout);
}

#endif
