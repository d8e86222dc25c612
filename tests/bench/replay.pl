#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent replay on workloads of the model of Lublin and Feitelson. The table shows waits and slowdowns if jobs are planned by
# their requests, and the changes with each other way to plan. Each scheduler, machine and load has a row. A row has means over
# the seeds and 95 % confidence intervals.
#
# Option --arrays: the share of the programs that are submitted as job arrays.
# Option --at-once: the number of replays that run beside each other. Each replay has several processes.
# Option --keep: a directory that keeps figures. An interrupted table goes on from these. Other options or another build need an
# empty directory.
#
#   tests/bench/replay.pl [--seeds 10] [--nodes 128,1024] [--loads 0.7,0.9] [--policies easy,slurm] [--guard soft] [--jobs 10000]
#                         [--arrays 0] [--at-once 1] [--keep DIR]
use strict;
use warnings;

use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP qw(decode_json);
use List::Util qw(sum);

my %o = (seeds => 10, nodes => '128,1024', loads => '0.7,0.9', policies => 'easy,slurm', guard => 'soft', jobs => 10000,
	arrays => 0, 'at-once' => 1);
GetOptions(\%o, 'seeds=i', 'nodes=s', 'loads=s', 'policies=s', 'guard=s', 'jobs=i', 'arrays=f', 'at-once=i', 'keep=s') && !@ARGV && $o{seeds} > 1 &&
	$o{'at-once'} > 0 or die "usage: see the head of $0\n";
my $build = $ENV{PRECEDENT_BUILD} // 'build';
my $dir = $o{keep} // tempdir(CLEANUP => 1);
my @ways = qw(last-two similar precedent perfect);
# Student's t, two-sided 95 %, by degrees of freedom; beyond 30 the normal distribution is near enough.
my @t = (0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
	2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042);

sub run { system(@_) == 0 or die "$_[0] has failed\n" }

sub interval {
	my (@v) = @_;
	my $mean = sum(@v) / @v;
	my $square = sum(map { ($_ - $mean)**2 } @v);
	return sprintf "%+.0f\xc2\xb1%.0f", 100 * $mean, 100 * ($t[@v - 1] // 1.96) * sqrt($square / (@v - 1) / @v);
}

# Where the figures of one replay are kept.
sub figures_of { my ($nodes, $load, $policy, $seed) = @_; return "$dir/$policy-$nodes-$load-$seed.json" }

sub replay {
	my ($nodes, $load, $policy, $seed) = @_;
	my $out = figures_of(@_);
	run("$build/tests/bench/backfill", '--write-sacct', "$out.jobs", '--seed', $seed, '--nodes', $nodes, '--load', $load, '--jobs', $o{jobs},
		'--arrays', $o{arrays});
	open STDOUT, '>', "$out.part" or die "$out.part: $!\n";
	run("$build/precedent", 'replay', '--sacct', "$out.jobs", '--nodes', $nodes, '--policy', $policy, '--guard', $o{guard}, '--json');
	rename "$out.part", $out or die "$out: $!\n";
	unlink "$out.jobs";
	return;
}

# So many at once, each in a process of its own.
sub replay_all {
	my @todo = @_;
	my $running = 0;
	while (@todo || $running) {
		if (@todo && $running < $o{'at-once'}) {
			my $of = shift @todo;
			my $pid = fork // die "fork: $!\n";
			if (!$pid) {
				$File::Temp::KEEP_ALL = 1; # the directory is the parent's
				replay(@$of);
				exit 0;
			}
			$running++;
		} else {
			wait;
			die "a replay has failed\n" if $?;
			$running--;
		}
	}
	return;
}

sub replayed {
	my $file = figures_of(@_);
	open my $in, '<', $file or die "$file: $!\n";
	my $json = decode_json(do { local $/; <$in> });
	die "$_->{killed_by_us} jobs were ended before the limits of their users\n" for grep { $_->{killed_by_us} } @{ $json->{plans} };
	return $json;
}

my (@seeds, @rows) = 1 .. $o{seeds};
for my $policy (split /,/, $o{policies}) {
	for my $nodes (split /,/, $o{nodes}) {
		push @rows, map { [$nodes, $_, $policy] } split /,/, $o{loads};
	}
}
mkdir $dir;
replay_all(grep { !-e figures_of(@$_) } map { my $row = $_; map { [@$row, $_] } @seeds } @rows);
print '| scheduler, nodes, load | wait, min | slowdown | ' . join(' | ', map { "$_: wait | slowdown" } @ways) . " |\n";
print '| ' . join(' | ', ('---') x (3 + 2 * @ways)) . " |\n";
for my $row (@rows) {
	my ($nodes, $load, $policy) = @$row;
	my (%change, %base);
	for my $json (map { replayed(@$row, $_) } @seeds) {
		my %plan = map { $_->{planned_by} => $_ } @{ $json->{plans} };
		for my $figure (qw(wait_s slowdown)) {
			push @{ $base{$figure} }, $plan{request}{$figure};
			push @{ $change{$_}{$figure} }, $plan{$_}{$figure} / $plan{request}{$figure} - 1 for @ways;
		}
	}
	printf "| %s, %s, %s | %.0f | %.0f | %s |\n", $policy, $nodes, $load, sum(@{ $base{wait_s} }) / $o{seeds} / 60,
		sum(@{ $base{slowdown} }) / $o{seeds}, join ' | ', map { my $way = $_; map { interval(@{ $change{$way}{$_} }) } qw(wait_s slowdown) } @ways;
}
