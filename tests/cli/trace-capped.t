# SPDX-License-Identifier: GPL-2.0-or-later
# A run whose times did not fit into PRECEDENT_TRACE_MEMORY against one of the same program with all of them: the calls, and
# the loops and calls of the skeleton, are the same, and what is in histograms and windows still sums up to the run.
use strict;
use warnings;

use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2);

sub trace {
	my ($file, $memory, @command) = @_;
	local $ENV{PRECEDENT_TRACE_MEMORY} = $memory;
	delete $ENV{PRECEDENT_TRACE_MEMORY} if !defined $memory;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return decode_json(precedent('info', '--json', $file)->{out});
}

# The calls of a rank in their order, without times and call sites.
sub calls {
	my ($file, $rank) = @_;
	my $r = precedent('info', $file, '--events', $rank);
	return [map { s/^\S+ \S+ \S+ //r =~ s/\s+#.*//r } grep { !/^#/ } split /\n/, $r->{out}];
}

# What a skeleton repeats: its loops with their counts, whether or not what they compute goes with the iteration, and its calls.
sub skeleton {
	my ($file) = @_;
	my $r = precedent('skeleton', $file, '-o', "$file.skel", '--seconds', 1000);
	is($r->{rc}, 0, "$file: a skeleton is made") or diag $r->{err};
	my @lines = grep { /\b(?:MPI_|for \()/ } split /\n/, slurp("$file.skel/skel.c");
	return [map { s/^\s+//r =~ s/^for \((?:skel_loop\w*\(\d+, |long i\d+ = 0; i\d+ < )(\w+).*/loop $1/r } @lines];
}

# Beside the program the recorder now and then encodes a page, and on a busy machine waits for its turn meanwhile.
sub sums_up {
	my ($info, $what) = @_;
	for my $rank (@{$info->{per_rank}}) {
		my $sum = $rank->{compute_s} + $rank->{mpi_s} + ($rank->{polling_s} // 0);
		cmp_ok(abs($sum - $rank->{wall_s}), '<', 0.02 * $rank->{wall_s} + 0.05, "$what: rank $rank->{rank} computes and communicates as long as it ran")
			or diag "$sum of $rank->{wall_s} s";
	}
	return;
}

# Long enough for many pages of times, however few bytes a time takes with the clock of this machine.
for my $case (['heat', 96, 9000, 10], ['lu', 24, 400], ['cg', 64, 1500]) {
	my ($name, @arguments) = @$case;
	my %info = map { $_->[0] => trace("$name.$_->[0]", $_->[1], program($name), @arguments) } ['full', undef], ['capped', '1K'];
	is($info{full}{dropped}, 0, "$name: all times are there");
	cmp_ok($info{capped}{dropped}, '>', 0.3 * $info{capped}{events}, '... or many of them are in histograms');
	is($info{capped}{untimed}, 0, '... none is missing');
	is_deeply(calls("$name.capped", $_), calls("$name.full", $_), "... the calls of rank $_ are the same") for 0, 1;
	is_deeply(skeleton("$name.capped"), skeleton("$name.full"), '... and so are the loops and calls of the skeleton');
	sums_up($info{$_}, "$name, $_") for qw(full capped);
}

done_testing();
