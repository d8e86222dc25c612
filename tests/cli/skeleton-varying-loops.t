# SPDX-License-Identifier: GPL-2.0-or-later
# Skeletons of a program whose inner loops run a random number of times: each trace has other samples, and each gives a
# skeleton and a mix. Run with sanitizers, this is a test of the estimate of computation.
use strict;
use warnings;

use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;

for my $steps (100, 200, 300, 400) {
	my $trace = trace_of("$steps.ptrace", 'varying_loops', $steps);
	my $made = precedent('skeleton', $trace, '-o', $steps);
	is($made->{rc}, 0, "$steps steps: a skeleton is made") or diag $made->{err};
	ok(-s "$steps/skel.c.data", '... with its data');
	my $mix = precedent('info', '--mix', '--json', $trace);
	is($mix->{rc}, 0, '... and the mix is told') or diag $mix->{err};
}

done_testing;
