#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Fuzzers with the files of their corpora (tests/fuzz/corpus), each file once and cut in the middle, without a fuzzer.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use Test::More;
use Testbed qw(run_command top build_dir);

my $top = top();
my @corpus = map { m{([^/]+)\z} } glob "$top/tests/fuzz/corpus/*";
cmp_ok(scalar @corpus, '>=', 10, 'there are corpora');
my @program = map { "$ENV{PRECEDENT_BUILD}/tests/fuzz/$_" } @corpus;
my $made = run_command('make', '--silent', '-C', $top, "B=$ENV{PRECEDENT_BUILD}", @program);
is($made->{rc}, 0, 'their programs are built') or diag $made->{err};
for my $name (@corpus) {
	my @file = glob "$top/tests/fuzz/corpus/$name/*";
	my $r = run_command('timeout', '--kill-after=5', patience(60), build_dir() . "/tests/fuzz/$name", @file);
	is($r->{rc}, 0, "$name ends well") or diag $r->{err};
	like($r->{out}, qr/^\Q${\ scalar @file}\E files$/m, '... with every file');
}

done_testing;
