#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Of the predicted times that a program gets with confidence 0.9, nine in ten are within the error that the answer gives.
# tests/bench/bench_confidence generates programs and runs; the same seeds give the same programs, and no clock is read.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use Test::More;
use Testbed qw(run_command top build_dir);

use constant PROGRAMS => 200;

my $target = "tests/bench/bench_confidence";
my $made = run_command('make', '--silent', '-C', top(), "B=$ENV{PRECEDENT_BUILD}", "$ENV{PRECEDENT_BUILD}/$target");
is($made->{rc}, 0, 'the generator is built') or die $made->{err};
my $r = run_command('timeout', 300, build_dir() . "/$target", PROGRAMS);
is($r->{rc}, 0, 'it runs') or die $r->{err};
my ($answers, $within) = (0, 0);
for ($r->{out} =~ /^\| inside \|(.*)\|$/mg) {
	my (undef, $asked, $refused, undef, undef, $calibrated, $right) = map { s/[ %]//gr } split /\|/;
	is($refused, 0, 'nothing is refused inside of the runs');
	is($calibrated, $asked, '... and all answers have 0.9');
	$answers += $calibrated;
	$within += $calibrated * $right / 100;
}
is($answers, 3 * PROGRAMS, 'three times of each program are asked for');
cmp_ok($within / $answers, '>=', 0.9, 'nine in ten are within their error');
# An error that holds everything says nothing.
cmp_ok($within / $answers, '<', 0.99, '... and not all');

done_testing;
