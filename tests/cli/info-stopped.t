#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A run that hangs and is killed: the trace has the call that each rank was in, with its peer, tag, communicator and line of source,
# though none of them ever returned, and `precedent info` says it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use JSON::PP;
use Test::More;
use Testbed qw(top build_dir);

grep { -x "$_/mpirun" } split /:/, $ENV{PATH} or plan skip_all => 'no mpirun here';
my $build = build_dir();
my %run = (openmpi => [qw(mpirun --oversubscribe --bind-to none -n 4), program('stuck')],
	mpich => [qw(mpirun.mpich -n 4), "$build/tests/programs-mpich/stuck"]);
my @source = split /\n/, slurp(top() . '/tests/programs/stuck.c');
my @line; # by rank
$source[$_ - 1] =~ /rank (\d) stops here/ and $line[$1] = $_ for 1 .. @source;

for my $library (grep { -e "$build/libprecedent_trace_$_.so" && -x $run{$_}[-1] } sort keys %run) {
	subtest $library => sub {
		my $r = precedent('trace', '-o', "$library.ptrace", '--', @{$run{$library}});
		isnt($r->{rc}, 0, 'the run is killed');
		my $info = precedent('info', '--json', "$library.ptrace");
		my %rank = map { $_->{rank} => $_ } @{(eval { decode_json($info->{out}) } // {})->{stopped} // []};
		is_deeply([sort keys %rank], [0 .. 3], 'it is told where each rank stood');
		my $after = $rank{0}{after} // {};
		ok(!exists $rank{0}{call}, 'rank 0 was in no MPI call');
		is($after->{call}, 'MPI_Allreduce', 'after its last one');
		is_deeply([@{$rank{1}}{qw(call from tag communicator)}], ['MPI_Recv', 2, 42, 0], 'rank 1 was in a receive: from whom, tag');
		like($rank{1}{site}, qr/^wait_for_next \(stuck\.c:$line[1]\)/, 'and where');
		cmp_ok($rank{1}{seconds}, '>', 0.5, 'and for how long');
		is($rank{2}{call}, 'MPI_Waitall', 'rank 2 waited');
		is_deeply([map { join ' ', @$_{qw(call from tag communicator)} } @{$rank{2}{requests}}],
			['MPI_Irecv any 7 2', 'MPI_Irecv 1 any 0'], 'for these requests');
		is_deeply([@{$rank{3}}{qw(call to communicator)}], ['MPI_Bcast', 0, 2], 'rank 3 was in a collective: its root, its communicator');
		like($rank{3}{site}, qr/\(stuck\.c:$line[3]\)/, 'and where');
		my $out = precedent('info', "$library.ptrace")->{out};
		like($out, qr/^  PARTIAL .*\n  died     rank 0 was in no MPI call, after MPI_Allreduce .*, and ended before all others(?:, or the whole run was killed: all ranks ended within \S+ \S+)?$/m, 'in words, who was killed first');
		like($out, qr/^  stopped  rank 1 was in MPI_Recv from rank 2, tag 42 in wait_for_next \(stuck\.c:\d+\), for /m, 'who waited next');
		like($out, qr/^  stopped  rank 2 was in MPI_Waitall for 2 requests .*under way: MPI_Irecv from any rank, tag 7 on communicator 2 of 2 ranks/m,
			'with the requests');
	};
}

done_testing;
