# SPDX-License-Identifier: GPL-2.0-or-later
# Buffers of a skeleton: no two of them are at one address or overlap, for messages of no bytes, for many requests at once, and
# for messages that become longer. A buffer that grows keeps its pages. Short ones share pages: a program may have 100,000 requests open. MPI libraries refuse collective operations whose buffers are the same.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use BothMpi;
use Test::More;
use Testbed qw(run_command);

# One process that asks the runtime for buffers as a skeleton does.
spew('buffers.c', <<'END');
#include "skelgen/runtime/skel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { REQUESTS = 50000, SLOTS = 2 + 2 * REQUESTS };

static char *at[SLOTS], *old[SLOTS];
static int bad;

static int by_address(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	return (x > y) - (x < y);
}

static void wrong(const char *what)
{
	if (!bad++)
		printf("%s\n", what);
}

static void expect(const char *p, int n, int value, const char *what)
{
	for (int i = 0; i < n; i++)
		if (p[i] != (char)value)
			wrong(what);
}

static int length(int slot, int round)
{
	return (slot * 7919 + round * 31) % (round ? 300 * round : 40) * (slot % 997 ? 1 : 100);
}

static struct rusage used(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	long before = used().ru_maxrss;
	for (int s = 0; s < SLOTS; s++)
		if (!(old[s] = at[s] = skel_buf(s, 0, MPI_DOUBLE)))
			wrong("a buffer of no bytes is NULL");
	qsort(old, SLOTS, sizeof *old, by_address);
	for (int s = 1; s < SLOTS; s++)
		if (old[s] == old[s - 1])
			wrong("two buffers of no bytes are one");
	for (int s = 2; s < SLOTS; s++)
		skel_buf(s, 1, MPI_DOUBLE);
	if (used().ru_maxrss - before > 32 << 10) /* a page for each would be 400 MB */
		wrong("short buffers take too much memory");
	for (int round = 0; round < 3; round++) {
		for (int s = 0; s < SLOTS; s++) {
			old[s] = at[s];
			at[s] = skel_buf(s, length(s, round), MPI_CHAR);
			if (round > 0 && s >= 2 && at[s] != old[s]) /* a freed request may still use it */
				expect(old[s], length(s, round - 1), s + round - 1, "memory of a request that grew is not kept");
			memset(at[s], s + round, (size_t)length(s, round));
		}
		for (int s = 0; s < SLOTS; s++)
			expect(at[s], length(s, round), s + round, "buffers overlap");
	}
	skel_buf(0, 40 << 20, MPI_CHAR);
	long faults = used().ru_minflt;
	skel_buf(0, 48 << 20, MPI_CHAR);
	if (used().ru_minflt - faults > (16 << 20) / 4096)
		wrong("a buffer that grows takes all its pages again");
	before = used().ru_maxrss;
	for (int s = 1; s < 42; s += 2) {
		char *short_one = skel_buf_part(s, 1 << 28, MPI_CHAR, 100);

		memset(short_one, s, 100);
		if (skel_buf_part(s, 1 << 28, MPI_CHAR, 100) != short_one ||
		    skel_buf_part(s, 1 << 28, MPI_CHAR, 1 << 12) != short_one)
			wrong("the same receive has two buffers");
		expect(short_one, 100, s, "memory of a message changes when a longer one may come");
	}
	if (used().ru_maxrss - before > 8 << 10) /* all of it would be 5 GiB */
		wrong("room that no message needs takes memory");
	for (int s = 1; s < 42; s += 2)
		memset(skel_buf(s, 8 << 10, MPI_CHAR), 1, 8 << 10);
	if (used().ru_maxrss - before > 8 << 10)
		wrong("a receive without room to spare takes memory for the room of another one");
	memset(skel_buf(1, 1 << 28, MPI_CHAR), 1, 1 << 28);
	int zero[2] = {0, 0};
	MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT}, nothing;
	MPI_Type_contiguous(0, MPI_INT, &nothing);
	MPI_Type_commit(&nothing);
	if (skel_buf_v(0, zero, 2, MPI_INT) == skel_buf_v(1, zero, 2, MPI_INT) ||
	    skel_buf_w(0, zero, types, 2) == skel_buf_w(1, zero, types, 2) || skel_buf(0, 5, nothing) == skel_buf(1, 5, nothing))
		wrong("buffers of collective operations are one");
	MPI_Type_free(&nothing);
	MPI_Finalize();
	return bad != 0;
}
END

for my $mpi (libraries()) {
	my $name = $mpi->{name};
	is(compile_with($mpi, 'buffers.c', 'buffers')->{rc}, 0, "$name: a program that asks for buffers");
	my $r = run_command(@{ $mpi->{run} }, '-n', 1, './buffers');
	is($r->{rc}, 0, "$name: each has its own") or diag "$r->{out}$r->{err}";
	is(skeleton_of($mpi, 3, 'room', 'spare_room')->{rc}, 0, "$name: a skeleton of receives with room to spare");
	my $parts = () = slurp('room/skel.c') =~ /skel_buf_part\(/g;
	is($parts, 3, '... its three receives say how long a message may be');
	$r = run_both($mpi, 3, 'room');
	is($r->{rc}, 0, '... it runs, compiled and interpreted') or diag $r->{err};
	for my $ranks (2, 3) {
		is(skeleton_of($mpi, $ranks, 'zero', 'zero_counts')->{rc}, 0, "$name, $ranks ranks: a skeleton of counts of zero");
		$r = run_both($mpi, $ranks, 'zero');
		is($r->{rc}, 0, '... it runs, compiled and interpreted') or diag $r->{err};
	}
}

done_testing;
