#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What it costs to interpret a skeleton instead of compiling it: the time that the same skeleton runs either way, with the
# same calibration. Pairs, of which every other one begins with the interpreted run, of all programs in turns: what the machine does
# besides hits both. Told is the median of the pairs' ratios with its 95 % interval, of the skeleton's own clock and of
# the ranks' processor time, and whether the first is within 1 %. The nine own programs of the accuracy table, and, when
# it is named, a wavefront of tiny messages with nothing between them, which is as hard on an interpreter as a program can be.
# With --count: the instructions per call of a rank that are the skeleton's own, neither MPI's nor the runtime's, compiled
# and interpreted, of small runs under callgrind. That needs no idle machine. More instructions than a compiled one has are
# 1 % where a rank makes so many calls in a second, at one instruction a nanosecond: compare with the timed table's calls.
# Usage: interpreter.pl [--count] [--minutes M] [--seconds S] [PROGRAM...]
#   --minutes M  of pairs, 3, after two on an idle machine for tracing: six of each program, then of those with the widest interval
#   --seconds S  of a skeleton, 0.5
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build median median_interval mpirun traced);
use File::Temp qw(tempdir);
use Getopt::Long;
use Programs qw(program_of);

my ($RANKS, $LEAST, $BOUND) = (2, 6, 0.01); # pairs before any interval is looked at; what the interpreter may cost
my %o = (minutes => 3, seconds => 0.5);
GetOptions(\%o, 'count', 'minutes=f', 'seconds=f') or exit 2;
my $dir = tempdir(CLEANUP => 1);
my $programs = build() . '/tests/programs';
my $replay = build() . '/precedent-replay';

# Runs of some thousand calls, to be counted.
my %little = (bt => [12, 40], cg => [64, 200], ep => [1], ft => [16, 60], is => [16, 60], lu => [16, 100], mg => [16, 40],
	sp => [12, 60], heat => [64, 1000], wavefront => [8, 1000]);
my @own = qw(bt cg ep ft is lu mg sp heat);
my %cmd = ((map { $_ => program_of($_)->{large} } @own), wavefront => ['lu', 8, 20000]);
my @names = @ARGV ? @ARGV : $o{count} ? (@own, 'wavefront') : @own;
$cmd{$_} or die "interpreter.pl: no '$_'; there are @own wavefront\n" for @names;

# ---- what is run ----

# Traced, and its skeleton made: {name, trace, skel, calibration, calls of a rank}.
sub skeleton {
	my ($name, $seconds, $program, @arguments) = @_;
	my %p = (name => $name, skel => "$dir/$name", trace => "$dir/$name.ptrace", calibration => "$dir/$name.calibration");
	traced($p{trace}, $RANKS, "$programs/$program", @arguments);
	open my $s, '-|', build() . '/precedent', 'skeleton', $p{trace}, '-o', $p{skel}, '--seconds', $seconds, '--compile' or die $!;
	my $said = do { local $/; <$s> };
	close $s or die "no skeleton of $p{trace}\n$said";
	my ($calls) = `${\build()}/precedent info $p{trace}` =~ /ranks, ([\d,]+) events/ or die "no events in $p{trace}\n";
	$p{calls} = ($calls =~ tr/,//dr) / $RANKS;
	return \%p;
}

# The seconds of the skeleton's own clock, and the processor time of all that was run for it.
sub ran {
	my (@cmd) = @_;
	my @before = times;
	my $said = mpirun($RANKS, @cmd);
	my @after = times;
	$said =~ /^ran_s ([\d.]+)/m or die "@cmd said no time\n";
	my %r = (s => $1, processor => $after[2] + $after[3] - $before[2] - $before[3]);
	($r{skel}) = $said =~ /^skel_s ([\d.]+)/m;
	return \%r;
}

# ---- timed ----

sub prepare {
	my ($name) = @_;
	my ($program, @arguments) = @{$cmd{$name}};
	my $p = skeleton($name, $o{seconds}, $program, @arguments);
	my $r = ran("$p->{skel}/skel", '--calibrate', $p->{calibration});
	$p->{rate} = $p->{calls} / $r->{skel};
	return $p;
}

# What launching and calibrating cost the processors is the same in both, and not in the difference.
sub pair {
	my ($p) = @_;
	my @way = (["$p->{skel}/skel"], [$replay, "$p->{skel}/skel.ops"]);
	my @r;
	$r[$_] = ran(@{$way[$_]}, '--calibration', $p->{calibration}) for @{$p->{wall} // []} % 2 ? (1, 0) : (0, 1);
	push @{$p->{s}[$_]}, $r[$_]{s} for 0, 1;
	push @{$p->{wall}}, $r[1]{s} / $r[0]{s};
	push @{$p->{processor}}, 1 + ($r[1]{processor} - $r[0]{processor}) / ($RANKS * $r[0]{s});
	return;
}

sub width { my ($low, $high) = median_interval(@{$_[0]{wall}}); return $high - $low }

sub next_program {
	my ($fewest) = sort { @{$a->{wall} // []} <=> @{$b->{wall} // []} } @_;
	return $fewest if @{$fewest->{wall} // []} < $LEAST;
	return (sort { width($b) <=> width($a) } @_)[0];
}

sub ratio_text {
	my ($low, $high) = median_interval(@_);
	return sprintf '%7.4f %-18s', median(@_), defined $low ? sprintf('[%.4f, %.4f]', $low, $high) : '[too few pairs]';
}

sub verdict {
	my ($low, $high) = median_interval(@_);
	return !defined $low ? 'open' : $low > 1 + $BOUND || $high < 1 - $BOUND ? 'no' : $low >= 1 - $BOUND && $high <= 1 + $BOUND ? 'yes' : 'open';
}

sub timed {
	my @p = map { prepare($_) } @names;
	my $end = time + 60 * $o{minutes};
	while (time < $end) { pair(next_program(@p)) }
	printf "%-10s %9s %5s  %11s %11s  %-26s  %-26s  %s\n", 'program', 'calls/s', 'pairs', 'compiled', 'interpreted', 'ratio', 'of processor time',
		'within 1 %';
	my %all = map { my $of = $_; $of => [map { @{$_->{$of} // []} } @p] } qw(wall processor);
	for my $p (@p) {
		my @wall = @{$p->{wall} // []} or next;
		printf "%-10s %9.0f %5d  %9.3f s %9.3f s  %s  %s  %s\n", @$p{qw(name rate)}, scalar @wall, map({ median(@$_) } @{$p->{s}}),
			ratio_text(@wall), ratio_text(@{$p->{processor}}), verdict(@wall);
	}
	printf "%-10s %9s %5d  %13s %13s  %s  %s  %s\n", 'all', '', scalar @{$all{wall}}, '', '', ratio_text(@{$all{wall}}),
		ratio_text(@{$all{processor}}), verdict(@{$all{wall}}) if @p > 1;
	return;
}

# ---- counted ----

# Instructions in functions whose line matches, of the rank that executed most of them.
sub counted {
	my ($own, @cmd) = @_;
	my $most = 0;
	unlink glob "$dir/counted.*";
	mpirun($RANKS, 'valgrind', '-q', '--tool=callgrind', "--callgrind-out-file=$dir/counted.%p", @cmd, '--empty-loop');
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
	my ($name) = @_;
	my $p = skeleton($name, 1e6, $cmd{$name}[0], @{$little{$name}});
	my $calls = $p->{calls};
	my $a = counted(qr{:(?:main|run)(?:'\d+)? \[}, "$p->{skel}/skel");
	my $b = counted(qr{skelgen/replay/(?:(?:steps_run|functions)\.c:(?!replay_function|replay_constant)|build\.c:replay_eval)|skel\.h:replay_run},
		$replay, "$p->{skel}/skel.ops");
	printf "%-10s %9.0f  %9.1f %9.1f  %+8.1f  %11s\n", $name, $calls, $a / $calls, $b / $calls, ($b - $a) / $calls,
		$b > $a ? sprintf('%.0f', 1e9 * $BOUND * $calls / ($b - $a)) : '-';
	return;
}

$| = 1;
if ($o{count}) {
	printf "%-10s %9s  %9s %9s  %8s  %11s\n", 'program', 'calls', 'compiled', 'interp.', 'more', '1 % calls/s';
	instructions($_) for @names;
} else {
	timed();
}
