#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What tracing costs: an 8-byte message one way, a LAMMPS run, and the size of the trace; interleaved pairs.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(median build mpirun traced pairs);
use File::Temp qw(tempdir);

my $pairs = $ARGV[0] // 7;
my $dir = tempdir(CLEANUP => 1);
my $ping = build() . '/tests/programs/ping';

sub latency { return $_[0] =~ /^latency_us ([\d.]+)/m ? $1 : die "ping said no latency\n" }

my $p = pairs($pairs, sub { latency(mpirun(2, $ping)) }, sub { latency(traced("$dir/p.ptrace", 2, $ping)) });
printf "8-byte message, one way      untraced %.3f us   traced %.3f us   added %+.3f us   (median of %d pairs)\n",
    $p->{a}, $p->{b}, $p->{diff}, $pairs;

open my $in, '>', "$dir/in.lj" or die $!;
print $in <<'LJ';
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
run 300
LJ
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
