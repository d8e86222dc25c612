# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that compute with threads of a runtime, of OpenMP, of TBB and of Python: tracing changes no output, what the threads
# compute is in the times of the trace, and the skeleton runs with threads.
use strict;
use warnings;

use Cwd qw(getcwd);
use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command build_dir);

my $here = getcwd();
my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2);
$ENV{OMP_NUM_THREADS} = 2;

# Each program does STEPS steps of computation on two threads, and a reduction after each. It prints a checksum, and rank 0 writes
# the seconds of its computation by the program's own clock to a file.
my $steps = 40;
my $frame = <<"C";
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double kernel(int from, int to)
{
	double x = 0;
	for (int i = from; i < to; i++)
		x += 1.0 / ((double)i * i + 1) - 1.0 / (i + 3.0);
	return x;
}
static double work(double *part);
int main(int argc, char **argv)
{
	double sum = 0, seconds = 0, part[2];
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int step = 0; step < $steps; step++) {
		double t = MPI_Wtime(), mine, all;
		mine = work(part);
		seconds += MPI_Wtime() - t;
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		sum += all;
	}
	if (rank == 0) {
		FILE *f = fopen(argv[1], "w");
		fprintf(f, "%.9f\\n", seconds);
		fclose(f);
		printf("%.15g\\n", sum);
	}
	MPI_Finalize();
}
C
my %source = (
	OpenMP => ['mpicc -O1 -fopenmp', 'openmp.c', $frame . <<'C'],
static double work(double *part)
{
	#pragma omp parallel for
	for (int k = 0; k < 2; k++)
		part[k] = kernel(k * 500000, (k + 1) * 500000);
	return part[0] + part[1];
}
C
	TBB => ['mpicxx -O1', 'tbb.cc', "#include <tbb/parallel_for.h>\n" . $frame . <<'C', '-ltbb'],
static double work(double *part)
{
	tbb::parallel_for(0, 2, [=](int k) { part[k] = kernel(k * 500000, (k + 1) * 500000); });
	return part[0] + part[1];
}
C
);
# Python's threads compute at once where a library gives up the interpreter's lock, as hashing does.
my $python = <<"P";
import hashlib, sys, threading
from mpi4py import MPI
data, seconds, total = bytes(4000000), 0.0, 0
def work(k, part):
    part[k] = int.from_bytes(hashlib.sha256(data).digest()[:4], 'big') + k
for step in range($steps):
    t, part = MPI.Wtime(), [0, 0]
    threads = [threading.Thread(target=work, args=(k, part)) for k in range(2)]
    [x.start() for x in threads]
    [x.join() for x in threads]
    seconds += MPI.Wtime() - t
    total += MPI.COMM_WORLD.allreduce(sum(part))
if MPI.COMM_WORLD.rank == 0:
    open(sys.argv[1], 'w').write('%.9f\\n' % seconds)
    print(total)
P

# The command of a program, or nothing with the reason.
sub built {
	my ($name) = @_;
	if ($name eq 'Python') {
		spew('threads.py', $python);
		my $r = run_command('/usr/bin/python3', '-c', 'import mpi4py');
		return (undef, 'no python3-mpi4py here') if $r->{rc} != 0;
		return ['/usr/bin/python3', "$here/threads.py"];
	}
	my ($cc, $file, $text, @libraries) = @{ $source{$name} };
	spew($file, $text);
	my $r = run_command('sh', '-c', "$cc -o $name $file @libraries");
	return (undef, 'no libtbb-dev here') if $r->{rc} != 0 && $r->{err} =~ /tbb/ && $r->{err} =~ /No such file|cannot find/;
	is($r->{rc}, 0, "the program for $name is built") or diag $r->{err};
	return ["$here/$name"];
}

for my $name (qw(OpenMP TBB Python)) {
	empty_skeletons() if $name eq 'TBB'; # kernels run on the threads of OpenMP's
	subtest $name => sub {
		my ($command, $lacks) = built($name);
		plan skip_all => $lacks if !$command;
		my $plain = run_command(@mpirun, @$command, "$here/plain");
		my $traced = precedent('trace', '-q', '-o', "$name.ptrace", '--', @mpirun, @$command, "$here/traced");
		is($traced->{rc}, $plain->{rc}, 'the same exit status') or diag $traced->{err};
		is($plain->{rc}, 0, '... of success');
		is($traced->{out}, $plain->{out}, '... and the same output');
		my $info = decode_json(precedent('info', '--json', "$name.ptrace")->{out});
		# The program's clock begins after and ends before the tracer's gap. The tracer takes its own time out of gaps.
		my $rank = $info->{per_rank}[0];
		cmp_ok($rank->{compute_s} + $rank->{overhead_s}, '>=', 0.99 * slurp('traced'), 'what the threads compute is in the times');
		is(precedent('verify', "$name.ptrace")->{rc}, 0, 'the trace is lossless');
		is_deeply($info->{devices}, [], 'no accelerator is seen');
		# Two ranks with two threads each wait long for turns on a busy machine: 29 s instead of 13 s at a load of 15.
		my $r = run_command('timeout', '--kill-after=5', patience(600), build_dir() . '/precedent', 'predict', '--json',
			'--seconds', 0.5, "$name.ptrace");
		is($r->{rc}, 0, 'its skeleton is made and runs') or diag $r->{err};
		return if $name eq 'TBB'; # which may give both halves of the work to one thread
		# Threads that get less than a processor together, beside other work, count as one: the run is traced again.
		my ($mix, $most);
		for my $again (0 .. 3) {
			precedent('trace', '-q', '-o', "$name.ptrace", '--', @mpirun, @$command, "$here/traced") if $again;
			$mix = decode_json(precedent('info', '--mix', '--json', "$name.ptrace")->{out});
			($most) = sort { $b <=> $a } map { $_->{threads} } @{ $mix->{mixes} };
			last if $most > 1 || $mix->{source} eq 'default';
		}
		cmp_ok($most, '>', 1, '... with the threads that computed') if $mix->{source} ne 'default';
	};
}

done_testing();
