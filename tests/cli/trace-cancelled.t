# SPDX-License-Identifier: GPL-2.0-or-later
# Receives from any source for which MPI_Cancel is called: the trace has a source only if a message was received.
# From C and Fortran, with both MPI libraries, and the skeletons run.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use BothMpi;
use Cli;
use Test::More;
use Testbed qw(run_command);

plan skip_all => 'no mpirun here' if system('command -v mpirun >/dev/null 2>&1');

# Tag 1: cancelled. Tag 2: persistent, cancelled, and started again for a message. Tag 3: cancelled too late.
spew('cancelled.c', <<'C');
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, in, flag;
	MPI_Request q;
	MPI_Status st;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank) {
		MPI_Recv(&in, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &st);
		MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
		MPI_Send(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
	} else {
		MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &q);
		MPI_Cancel(&q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &q);
		MPI_Start(&q);
		MPI_Cancel(&q);
		MPI_Wait(&q, &st);
		MPI_Start(&q);
		MPI_Send(&rank, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
		MPI_Wait(&q, &st);
		MPI_Request_free(&q);
		MPI_Probe(1, 3, MPI_COMM_WORLD, &st);
		MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &q);
		MPI_Cancel(&q);
		MPI_Waitall(1, &q, &st);
		MPI_Test_cancelled(&st, &flag);
		if (flag)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Finalize();
	return 0;
}
C
spew('cancelled.f90', <<'F');
program cancelled
  use mpi
  integer :: in, q, ierr, st(MPI_STATUS_SIZE)
  call MPI_Init(ierr)
  call MPI_Irecv(in, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, q, ierr)
  call MPI_Cancel(q, ierr)
  call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
  call MPI_Irecv(in, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, q, ierr)
  call MPI_Cancel(q, ierr)
  call MPI_Wait(q, st, ierr)
  call MPI_Finalize(ierr)
end program
F

# Receives, and sources of completed ones, of rank 0.
sub receives {
	my ($mpi, $ranks, $compiler, $source) = @_;
	is(run_command($compiler, '-o', 'cancelled', $source)->{rc}, 0, "$source is compiled");
	my $r = precedent('trace', '-q', '-o', 'cancelled.ptrace', '--', @{ $mpi->{run} }, '-n', $ranks, './cancelled');
	is($r->{rc}, 0, '... and runs') or diag $r->{err};
	my $events = precedent('info', 'cancelled.ptrace', '--events', 0)->{out};
	return [$events =~ /MPI_(?:Irecv|Recv_init|Wait|Waitall)\(.*?(src=MPI_ANY_SOURCE[^,]*, tag=\d|done=.*?)(?:, count.*)?\)  #/g];
}

for my $mpi (libraries()) {
	subtest "with $mpi->{name}" => sub {
		is_deeply(receives($mpi, 2, $mpi->{mpicc}, 'cancelled.c'),
			['src=MPI_ANY_SOURCE, tag=1', 'done=[0]', 'src=MPI_ANY_SOURCE, tag=2', 'done=[0]', 'done=[0], asrcs=[1]',
			 'src=MPI_ANY_SOURCE (1), tag=3', 'done=[0], asrcs=[1]'],
			'only messages that were received have a source');
		my $dir = $mpi->{programs};
		is(precedent('skeleton', 'cancelled.ptrace', '-o', $dir, '--seconds', 1000)->{rc}, 0, '... a skeleton is made');
		my $r = run_both($mpi, 2, $dir);
		is($r->{rc}, 0, '... and runs, compiled and interpreted') or diag $r->{err};
		is_deeply(receives($mpi, 1, $mpi->{mpicc} =~ s/mpicc/mpif90/r, 'cancelled.f90'),
			[('src=MPI_ANY_SOURCE, tag=1', 'done=[0]') x 2], '... and none has one from Fortran');
	};
}

done_testing();
