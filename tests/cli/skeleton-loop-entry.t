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

# One run and its skeletons: [what, rank, gaps] of each trace, and the sources.
sub look {
	my (@seen, @sources);
	trace_of('heat.ptrace', 'heat', 400, 2000, 4);
	push @seen, map { ['the program', $_, gaps('heat.ptrace', $_)] } 0, 1;
	for my $scale (1, 8) {
		my $r = precedent('skeleton', 'heat.ptrace', '-o', "skel$scale", '--scale', $scale, '--compile');
		is($r->{rc}, 0, "a skeleton, scale $scale") or diag $r->{err};
		push @sources, slurp("skel$scale/skel.c");
		$r = precedent('trace', '-q', '-o', "again$scale.ptrace", '--', 'mpirun', '--oversubscribe', '-n', 2,
			getcwd() . "/skel$scale/skel", '--result', 'result');
		is($r->{rc}, 0, '... runs, traced itself') or diag $r->{err};
		push @seen, map { ["the skeleton, scale $scale", $_, gaps("again$scale.ptrace", $_)] } 0, 1;
	}
	return (\@seen, \@sources);
}

# A gap in which a rank loses its processor is longer by a hundred times. Where there are many, no difference is sure, and a
# skeleton rightly has none: the first of some runs in which all is as it should be, or the last.
my ($seen, $sources);
my $says = qr/skel_gap\(\d+\); .*, others in the first turn \*\//;
for (1 .. 12) {
	($seen, $sources) = look();
	last if !grep({ $_->[2] >= $_->[3] / 2 } @$seen) && !grep { $_ !~ $says } @$sources;
}
like($_, $says, 'the source says so') for @$sources;
cmp_ok($_->[2], '<', $_->[3] / 2, "$_->[0], rank $_->[1]: what enters the loop comes at once") for @$seen;

done_testing;
