# SPDX-License-Identifier: GPL-2.0-or-later
# The first call of a loop has another one before it when the loop is entered, and so another gap: in the program and in
# its skeleton, on every rank at the same iterations, whether the loop around it is cut or not.
use strict;
use warnings;

use Cwd qw(getcwd);
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;

# Median microseconds before the first MPI_Sendrecv of each iteration of heat: right behind its MPI_Allreduce, and else.
sub gaps {
	my ($trace, $rank) = @_;
	my ($before, %gap) = ('');
	for (split /\n/, precedent('info', $trace, '--events', $rank)->{out}) {
		my ($us, $call) = /^\S+ (\S+) \S+ MPI_(\w+)\(/ or next;
		push @{ $gap{$before eq 'Allreduce' ? 'entering' : 'going on'} }, $us
			if $call eq 'Sendrecv' && /tag=1,/ && $before =~ /Allreduce|Sendrecv/;
		$before = $call;
	}
	return map { my @v = sort { $a <=> $b } @{ $gap{$_} // [0] }; $v[@v / 2] } 'entering', 'going on';
}

trace_of('heat.ptrace', 'heat', 400, 3000);
for my $rank (0, 1) {
	my ($entering, $on) = gaps('heat.ptrace', $rank);
	cmp_ok($entering, '<', $on / 2, "the program, rank $rank: what enters the loop comes at once");
}
for my $scale (1, 8) {
	my $r = precedent('skeleton', 'heat.ptrace', '-o', "skel$scale", '--scale', $scale, '--compile');
	is($r->{rc}, 0, "a skeleton, scale $scale") or diag $r->{err};
	like(slurp("skel$scale/skel.c"), qr/skel_gap\(\d+\); .*, others in the first turn \*\//, '... says so');
	$r = precedent('trace', '-q', '-o', "again$scale.ptrace", '--', 'mpirun', '--oversubscribe', '-n', 2,
		getcwd() . "/skel$scale/skel", '--result', 'result');
	is($r->{rc}, 0, '... runs, traced itself') or diag $r->{err};
	for my $rank (0, 1) {
		my ($entering, $on) = gaps("again$scale.ptrace", $rank);
		cmp_ok($entering, '<', $on / 2, "... and does so, rank $rank");
	}
}

done_testing;
