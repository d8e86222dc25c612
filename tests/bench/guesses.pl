#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What wrong guesses of branches cost a program, and what the samples of its trace say they do. The truth is the same program over
# the same data sorted, where every guess is right: medians of interleaved pairs. Three loops (tests/programs/guesses.c), each with
# two, five and eight tenths of the data going into the first piece.
# Usage: guesses.pl [PAIRS], 5
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build mpirun pairs traced);
use File::Temp qw(tempdir);
use JSON::PP;
use List::Util qw(sum0);

my $pairs = shift // 5;
my ($PASSES, $TRACED) = (4, 20); # of a run of half a second, and of one that is traced
my $program = build() . '/tests/programs/guesses';
my $trace = tempdir(CLEANUP => 1) . '/guesses.ptrace';

# Of the time of all blocks, by the samples of a trace.
sub told {
	traced($trace, 1, $program, @_);
	open my $p, '-|', build() . '/precedent', 'info', '--mix', '--json', $trace or die "precedent info: $!\n";
	my $d = decode_json(do { local $/; <$p> });
	close $p or die "precedent info failed\n";
	my @blocks = grep { $_->{call} eq 'MPI_Allreduce' } @{$d->{blocks}};
	my $all = sum0(map { $_->{seconds} } @blocks) or die "no blocks\n";
	return sum0(map { $_->{seconds} * ($d->{mixes}[$_->{mix}]{shares}{branch} // 0) } @blocks) / $all;
}

printf "%-7s %5s   %8s %8s   %6s %6s   %s\n", 'loop', 'share', 'random', 'sorted', 'wrong', 'told', 'told of the sorted';
for my $way (qw(skips forks counts)) {
	for my $share (0.2, 0.5, 0.8) {
		my $p = pairs($pairs, map { my @more = @$_; sub { return mpirun(1, $program, $way, $share, $PASSES, @more) + 0 } } [], ['sorted']);
		printf "%-7s %5.1f   %5.2f ns %5.2f ns   %4.0f %% %4.0f %%   %4.0f %%\n", $way, $share, $p->{a}, $p->{b}, 100 * (1 - $p->{ratio}),
			100 * told($way, $share, $TRACED), 100 * told($way, $share, $TRACED, 'sorted');
	}
}
