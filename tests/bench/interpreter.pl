#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What it costs to interpret a skeleton instead of compiling it: the time that the same skeleton runs either way, with
# the same calibration, in interleaved pairs, and the difference per call of a rank. The nine own programs of the accuracy
# table, and a wavefront of tiny messages with nothing between them, which is as hard on an interpreter as a program can be.
# With --count: the instructions per call of a rank that are the skeleton's own, neither MPI's nor the runtime's, compiled
# and interpreted, of small runs under callgrind. That needs no idle machine.
# Usage: interpreter.pl [--count] [PAIRS [SECONDS]] [PROGRAM...] (default 7 pairs of skeletons of 3 seconds, all programs)
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build mpirun traced pairs);
use File::Temp qw(tempdir);
use Programs qw(program_of);

my $count = @ARGV && $ARGV[0] eq '--count' ? shift : '';
my $pairs = @ARGV && $ARGV[0] =~ /^\d+$/ ? shift : 7;
my $seconds = @ARGV && $ARGV[0] =~ /^[\d.]+$/ ? shift : 3;
my $dir = tempdir(CLEANUP => 1);
my $programs = build() . '/tests/programs';
my $replay = build() . '/precedent-replay';

# Runs of some thousand calls, to be counted.
my %little = (bt => [12, 40], cg => [64, 200], ep => [1], ft => [16, 60], is => [16, 60], lu => [16, 100], mg => [16, 40],
	sp => [12, 60], heat => [64, 1000], wavefront => [8, 1000]);
my @all = ((map { [$_, @{program_of($_)->{large}}] } qw(bt cg ep ft is lu mg sp heat)), ['wavefront', 'lu', 8, 20000]);

sub skeleton {
	my ($trace, $for) = @_;
	open my $p, '-|', build() . '/precedent', 'skeleton', $trace, '-o', "$dir/skel", '--seconds', $for, '--compile' or die $!;
	my $said = do { local $/; <$p> };
	close $p or die "no skeleton of $trace\n";
	return $said;
}

# Calls of a rank.
sub calls_of {
	my ($trace) = @_;
	my ($calls) = `${\build()}/precedent info $trace` =~ /ranks, ([\d,]+) events/ or die "no events in $trace\n";
	return ($calls =~ tr/,//dr) / 2;
}

# The seconds of the skeleton's own clock, and the calls of a rank in it, told by the share of the program that runs.
sub ran {
	my (@cmd) = @_;
	my $said = mpirun(2, @cmd, '--calibration', "$dir/calibration");
	return $said =~ /^ran_s ([\d.]+)/m ? $1 : die "@cmd said no time\n";
}

sub timed {
	my ($name, $program, @arguments) = @_;
	my $trace = "$dir/$program.ptrace";
	traced($trace, 2, "$programs/$program", @arguments);
	skeleton($trace, $seconds);
	my $said = mpirun(2, "$dir/skel/skel", '--calibrate', "$dir/calibration");
	my ($ran) = $said =~ /^ran_s ([\d.]+)/m;
	my ($skel) = $said =~ /^skel_s ([\d.]+)/m;
	my $calls = calls_of($trace) * $ran / $skel;
	my $r = pairs($pairs, sub { ran("$dir/skel/skel") }, sub { ran($replay, "$dir/skel/skel.ops") });
	printf "%-10s %9.0f  %9.3f s %9.3f s  %7.4f +- %5.4f  %+8.1f\n", $name, $calls, @$r{qw(a b ratio spread)},
		1e9 * $r->{diff} / $calls;
	return;
}

# Instructions in functions whose line matches, of the rank that executed most of them.
sub counted {
	my ($own, @cmd) = @_;
	my $most = 0;
	unlink glob "$dir/counted.*";
	mpirun(2, 'valgrind', '-q', '--tool=callgrind', "--callgrind-out-file=$dir/counted.%p", @cmd, '--empty-loop');
	for my $file (glob "$dir/counted.*") {
		my $sum = 0;
		for (grep { /$own/ } `callgrind_annotate --auto=no --threshold=100 $file 2>/dev/null`) {
			$sum += $1 =~ tr/,//dr if /^\s*([\d,]+) /;
		}
		$most = $sum if $sum > $most;
	}
	return $most;
}

sub instructions {
	my ($name, $program) = @_;
	my $trace = "$dir/$program.ptrace";
	traced($trace, 2, "$programs/$program", @{$little{$name}});
	skeleton($trace, 1e6);
	my $calls = calls_of($trace);
	my $a = counted(qr{:(?:main|run)(?:'\d+)? \[}, "$dir/skel/skel");
	my $b = counted(qr{skelgen/replay/(?:(?:steps_run|functions)\.c:(?!replay_function|replay_constant)|build\.c:replay_eval)|skel\.h:replay_run},
		$replay, "$dir/skel/skel.ops");
	printf "%-10s %9.0f  %9.1f %9.1f  %+8.1f\n", $name, $calls, $a / $calls, $b / $calls, ($b - $a) / $calls;
	return;
}

$| = 1;
if ($count) {
	printf "%-10s %9s  %9s %9s  %8s\n", 'program', 'calls', 'compiled', 'interp.', 'more';
} else {
	printf "%-10s %9s  %11s %11s  %17s  %8s\n", 'program', 'calls', 'compiled', 'interpreted', 'ratio', 'ns/call';
}
for my $p (@all) {
	next if @ARGV && !grep { $_ eq $p->[0] } @ARGV;
	$count ? instructions(@$p) : timed(@$p);
}
