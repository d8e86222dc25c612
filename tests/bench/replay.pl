#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent replay on workloads of the model of Lublin and Feitelson: waits and slowdowns by requests, and how they change with
# each other way to plan. A row for each scheduler, machine and load; means over the seeds with 95 % confidence intervals.
#
#   tests/bench/replay.pl [--seeds 10] [--nodes 128,1024] [--loads 0.7,0.9] [--policies easy,slurm] [--guard soft] [--jobs 10000]
use strict;
use warnings;

use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP qw(decode_json);
use List::Util qw(sum);

my %o = (seeds => 10, nodes => '128,1024', loads => '0.7,0.9', policies => 'easy,slurm', guard => 'soft', jobs => 10000);
GetOptions(\%o, 'seeds=i', 'nodes=s', 'loads=s', 'policies=s', 'guard=s', 'jobs=i') && !@ARGV && $o{seeds} > 1 or die "usage: see the head of $0\n";
my $build = $ENV{PRECEDENT_BUILD} // 'build';
my $dir = tempdir(CLEANUP => 1);
my @ways = qw(last-two similar precedent both perfect);
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

sub replayed {
	my ($nodes, $load, $policy, $seed) = @_;
	my $file = "$dir/$nodes-$load-$seed.swf";
	run("$build/tests/bench/backfill", '--write-swf', $file, '--seed', $seed, '--nodes', $nodes, '--load', $load, '--jobs', $o{jobs}) if !-e $file;
	open my $pipe, '-|', "$build/precedent", 'replay', '--swf', $file, '--policy', $policy, '--guard', $o{guard}, '--json' or die "precedent: $!\n";
	my $json = decode_json(do { local $/; <$pipe> });
	close $pipe or die "precedent replay has failed\n";
	die "$_->{killed_by_us} jobs were ended before the limits of their users\n" for grep { $_->{killed_by_us} } @{ $json->{plans} };
	return $json;
}

$| = 1;
print '| scheduler, nodes, load | wait, min | slowdown | ' . join(' | ', map { "$_: wait | slowdown" } @ways) . " |\n";
print '| ' . join(' | ', ('---') x (3 + 2 * @ways)) . " |\n";
for my $policy (split /,/, $o{policies}) {
	for my $nodes (split /,/, $o{nodes}) {
		for my $load (split /,/, $o{loads}) {
			my (%change, %base);
			for my $json (map { replayed($nodes, $load, $policy, $_) } 1 .. $o{seeds}) {
				my %plan = map { $_->{planned_by} => $_ } @{ $json->{plans} };
				for my $figure (qw(wait_s slowdown)) {
					push @{ $base{$figure} }, $plan{request}{$figure};
					push @{ $change{$_}{$figure} }, $plan{$_}{$figure} / $plan{request}{$figure} - 1 for @ways;
				}
			}
			printf "| %s, %s, %s | %.0f | %.0f | %s |\n", $policy, $nodes, $load, sum(@{ $base{wait_s} }) / $o{seeds} / 60,
				sum(@{ $base{slowdown} }) / $o{seeds},
				join ' | ', map { my $way = $_; map { interval(@{ $change{$way}{$_} }) } qw(wait_s slowdown) } @ways;
		}
	}
}
