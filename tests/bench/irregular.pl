#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Measures the error of skeletons of irregular programs on the machine of their traces: the kinds of tests/programs/irregular.c, and
# applications. In turn a program runs, is traced, and is predicted from this trace. Wants an idle machine.
# The time of a program is that between MPI_Init and MPI_Finalize. Lines, data and the time to make a skeleton are the largest.
# In brackets: each prediction and its interval, in per cent off.
# Usage: irregular.pl [--ranks N] [--pairs N] [--seconds S] [KIND...]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build top median spread);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;
use List::Util qw(max);
use Programs qw(furnish);

# Each kind with the number of steps that run for about ten seconds on two ranks.
my @KINDS = ([steps => 20000], [solver => 2400], [panels => 40000], [refine => 60000], [farm => 20000], [fetch => 40000], [some => 20000],
	[branch => 20000]);
my @APPLICATIONS = qw(openfoam petsc python lammps espresso gromacs hpcc-hpl);
my %o = (ranks => 2, pairs => 3, seconds => 2, scale => 1);
GetOptions(\%o, 'ranks=i', 'pairs=i', 'seconds=f', 'scale=f') or exit 2;
my %only = map { $_ => 1 } @ARGV;
my $dir = tempdir(CLEANUP => 1);
my @RUN = ('mpirun', $o{ranks} > 2 ? '--oversubscribe' : ('--bind-to', 'core'), '-n', $o{ranks});
my $program = build() . '/tests/programs/irregular';
my $precedent = build() . '/precedent';

sub slurp { open my $f, '<', $_[0] or die "$_[0]: $!\n"; local $/; return <$f> }

sub silent { return system("sh", "-c", q{exec "$@" >/dev/null 2>&1}, "sh", @_) }

sub plain {
	local $ENV{MPI_TIMER_FILE} = "$dir/time";
	silent(@RUN, '-x', 'MPI_TIMER_FILE', '-x', 'LD_PRELOAD=' . build() . '/tests/bench/libmpi_timer.so', @_) == 0 or die "@_ failed\n";
	return 0 + slurp("$dir/time");
}

$| = 1;
printf "%-8s %8s %5s %8s %8s %8s %7s %6s %6s %7s %8s %s\n", 'kind', 'run s', '+- %', 'traced s', 'told s', 'error %', 'inside', 'ran s', 'lines', 'data kB', 'build s', 'calls';
my @cases = ((map { [$_->[0], $program, $_->[0], int($_->[1] * $o{scale})] } @KINDS), map { [$_] } @APPLICATIONS);
for my $case (grep { !%only || $only{$_->[0]} } @cases) {
	push @$case, furnish("$dir/work-$case->[0]", $case->[0], $o{ranks}, 0) if @$case == 1;
	my ($kind, @program) = @$case;
	my ($trace, $skel) = ("$dir/$kind.ptrace", "$dir/$kind.skel");
	chdir "$dir/work-$kind" or chdir $dir or die "$dir: $!\n";
	my (@truth, @told, @traced, $lines, $kb, $build_s);
	for (1 .. $o{pairs}) {
		push @truth, plain(@program);
		silent($precedent, 'trace', '-q', '-o', $trace, '--', @RUN, @program) == 0 or die "$kind: no trace\n";
		my @before = times;
		silent($precedent, 'skeleton', $trace, '-o', $skel, '--seconds', $o{seconds}) == 0 or die "$kind: no skeleton\n";
		my @after = times;
		push @told, decode_json(scalar `$precedent predict '$trace' --json --seconds $o{seconds}`);
		$lines = max($lines // 0, scalar(() = slurp("$skel/skel.c") =~ /\n/g));
		$kb = max($kb // 0, (-s "$skel/skel.c.data" // 0) / 1024);
		$build_s = max($build_s // 0, $after[2] + $after[3] - $before[2] - $before[3]);
	}
	my $truth = median(@truth);
	my ($traced, $told, $ran) = map { my $what = $_; median(map { $_->{$what} } @told) } qw(traced_s predicted_s skeleton_s);
	my $inside = grep { $_->{lo_s} <= $truth && $truth <= $_->{hi_s} } @told;
	printf "%-8s %8.3f %5.1f %8.3f %8.3f %+8.1f %5d/%d %6.2f %6d %7.0f %8.2f %d (%s)\n", $kind, $truth, 100 * spread(@truth), $traced,
		$told, 100 * ($told / $truth - 1), $inside, scalar @told, $ran, $lines, $kb, $build_s, $told[0]{events},
		join ', ', map { sprintf '%+.0f: %+.0f to %+.0f', map { 100 * ($_ / $truth - 1) } @$_{qw(predicted_s lo_s hi_s)} } @told;
}
chdir '/';
