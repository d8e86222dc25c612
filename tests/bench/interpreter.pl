#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What it costs to interpret a skeleton instead of compiling it: the time that the same skeleton runs either way, with
# the same calibration, in interleaved pairs. Halos, a wavefront, rows and columns, and a wavefront of tiny messages with
# nothing between them, which is as hard on an interpreter as a program can be.
# Usage: interpreter.pl [PAIRS [SECONDS]] (default 7 pairs of skeletons of 3 seconds)
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build mpirun traced pairs);
use File::Temp qw(tempdir);

my $pairs = $ARGV[0] // 7;
my $seconds = $ARGV[1] // 3;
my $dir = tempdir(CLEANUP => 1);
my $programs = build() . '/tests/programs';
my $replay = build() . '/precedent-replay';

my @programs = (
    ['heat', 'heat', 512, 4000],
    ['lu', 'lu', 64, 150],
    ['cg', 'cg', 256, 6000],
    ['tiny wavefront', 'lu', 8, 20000],
);

sub skeleton {
    my ($trace) = @_;
    open my $p, '-|', build() . '/precedent', 'skeleton', $trace, '-o', "$dir/skel", '--seconds', $seconds, '--compile' or die $!;
    my $said = do { local $/; <$p> };
    close $p or die "no skeleton of $trace\n";
    return $said;
}

# The seconds of the skeleton's own clock.
sub ran {
    my (@cmd) = @_;
    my $said = mpirun(2, @cmd, '--calibration', "$dir/calibration");
    return $said =~ /^ran_s ([\d.]+)/m ? $1 : die "@cmd said no time\n";
}

printf "%-15s %9s  %11s %11s  %7s %7s\n", 'program', 'calls', 'compiled', 'interpreted', 'ratio', 'spread';
for my $p (@programs) {
    my ($name, $program, @arguments) = @$p;
    my $trace = "$dir/$program.ptrace";
    traced($trace, 2, "$programs/$program", @arguments);
    skeleton($trace);
    my ($calls) = `${\build()}/precedent info $trace` =~ /ranks, ([\d,]+) events/;
    mpirun(2, "$dir/skel/skel", '--calibrate', "$dir/calibration");
    my $r = pairs($pairs, sub { ran("$dir/skel/skel") }, sub { ran($replay, "$dir/skel/skel.ops") });
    printf "%-15s %9s  %9.3f s %9.3f s  %7.4f +- %5.4f\n", $name, $calls, @$r{qw(a b ratio spread)};
}
