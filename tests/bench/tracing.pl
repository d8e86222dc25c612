#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What tracing costs: an 8-byte message one way, a LAMMPS run, and the size of the trace; interleaved pairs.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build mpirun traced pairs lammps_melt);
use File::Temp qw(tempdir);

my $pairs = $ARGV[0] // 7;
my $dir = tempdir(CLEANUP => 1);
my $ping = build() . '/tests/programs/ping';

sub latency { return $_[0] =~ /^latency_us ([\d.]+)/m ? $1 : die "ping said no latency\n" }

my $p = pairs($pairs, sub { latency(mpirun(2, $ping)) }, sub { latency(traced("$dir/p.ptrace", 2, $ping)) });
printf "8-byte message, one way      untraced %.3f us   traced %.3f us   added %+.3f us   (median of %d pairs)\n",
    $p->{a}, $p->{b}, $p->{diff}, $pairs;

open my $in, '>', "$dir/in.lj" or die $!;
print $in lammps_melt(300);
close $in;
my @lmp = ('lmp', '-in', "$dir/in.lj", '-log', 'none');
sub loop { return $_[0] =~ /^Loop time of ([\d.]+)/m ? $1 : die "lmp said no loop time\n" }
my $l = pairs($pairs, sub { loop(mpirun(2, @lmp)) }, sub { loop(traced("$dir/l.ptrace", 2, @lmp)) });
printf "LAMMPS, 300 steps            untraced %.3f s    traced %.3f s    ratio %.3f +- %.3f\n", @$l{qw(a b ratio spread)};

my $lu = build() . '/tests/programs/lu';
traced("$dir/lu.ptrace", 2, $lu);
my ($events) = `${\build()}/precedent info $dir/lu.ptrace` =~ /ranks, ([\d,]+) events/;
$events =~ tr/,//d;
printf "LU-like wavefront            %d events   %.2f bytes per event on disk\n", $events, (-s "$dir/lu.ptrace") / $events;
