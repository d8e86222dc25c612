# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the benchmarks share: medians, spreads, interleaved pairs, MPI on this machine.
package Bench;
use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use File::Temp qw(tempdir);

our @EXPORT_OK = qw(median median_interval spread top build mpirun traced pairs output lammps_melt espresso_si8);

my $TOP = abs_path(dirname(__FILE__) . '/../../..');
@ENV{qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS)} = (1, 1, 1);

sub top { return $TOP }

sub build {
    my $b = $ENV{PRECEDENT_BUILD} // 'build';
    return $b =~ m{^/} ? $b : "$TOP/$b";
}

# (EXIT STATUS, OUTPUT) of a command, both streams together.
sub output {
    my (@cmd) = @_;
    my $pid = open my $p, '-|';
    die "fork: $!\n" if !defined $pid;
    if (!$pid) {
        open STDERR, '>&', \*STDOUT or exit 127;
        exec @cmd or exit 127;
    }
    my $out = do { local $/; <$p> };
    close $p;
    return ($? >> 8, $out // '');
}

sub median {
    my @v = sort { $a <=> $b } @_;
    return unless @v;
    return @v % 2 ? $v[$#v / 2] : ($v[@v / 2 - 1] + $v[@v / 2]) / 2;
}

# (LOW, HIGH) of the median of what these were drawn from, with 95 % at least whatever the distribution: the narrowest pair of
# order statistics between which it is, by the binomial distribution. Nothing for less than six.
sub median_interval {
    my @v = sort { $a <=> $b } @_;
    my ($outside, $at) = (0, 2 ** -@v); # that at most k of n are below the median, on either side; that k are
    my $k = 0;
    while (2 * ($outside + $at) <= 0.05) {
        $outside += $at;
        $at *= (@v - $k) / ($k + 1);
        $k++;
    }
    return $k ? @v[$k - 1, @v - $k] : ();
}

# Half the distance between the smallest and the largest, relative to the median.
sub spread {
    my @v = sort { $a <=> $b } @_;
    my $m = median(@v);
    return $m ? ($v[-1] - $v[0]) / 2 / abs $m : 0;
}

# mpirun(RANKS, CMD...): what it printed; dies when it fails.
sub mpirun {
    my ($ranks, @cmd) = @_;
    open my $p, '-|', 'mpirun', '--bind-to', 'core', '-n', $ranks, @cmd or die "mpirun: $!";
    my $out = do { local $/; <$p> };
    close $p or die "mpirun @cmd failed\n$out";
    return $out;
}

# The same under the tracer, spill files and all, as in a job.
sub traced {
    my ($file, $ranks, @cmd) = @_;
    my $local = tempdir(CLEANUP => 1);
    local $ENV{PRECEDENT_TRACE_LOCAL} = $local;
    local $ENV{LD_PRELOAD} = build() . '/libprecedent_trace.so';
    local $ENV{PRECEDENT_TRACE_FILE} = $file;
    unlink $file;
    return mpirun($ranks, @cmd);
}

# The standard Lennard-Jones melt of 32,000 atoms.
sub lammps_melt {
    my ($steps) = @_;
    return <<"LJ";
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
run $steps
LJ
}

# Eight atoms of silicon for Quantum ESPRESSO, which keeps its files in $out.
sub espresso_si8 {
    my ($out) = @_;
    return <<"SI";
&control
 calculation='scf', prefix='si', pseudo_dir='/usr/share/espresso/pseudo', outdir='$out'
/
&system
 ibrav=1, celldm(1)=10.26, nat=8, ntyp=1, ecutwfc=30.0
/
&electrons
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS crystal
 Si 0.00 0.00 0.00
 Si 0.00 0.50 0.50
 Si 0.50 0.00 0.50
 Si 0.50 0.50 0.00
 Si 0.25 0.25 0.25
 Si 0.25 0.75 0.75
 Si 0.75 0.25 0.75
 Si 0.75 0.75 0.25
K_POINTS automatic
 6 6 6 1 1 1
SI
}

# pairs(N, A, B): runs A B A B ..., each a sub that returns a figure; medians of both, of B - A and of B / A, and the
# spread of B / A.
sub pairs {
    my ($n, $a, $b) = @_;
    my (@a, @b);
    for (1 .. $n) { push @a, $a->(); push @b, $b->() }
    return {
        a => median(@a), b => median(@b), diff => median(map { $b[$_] - $a[$_] } 0 .. $n - 1),
        ratio => median(map { $b[$_] / $a[$_] } 0 .. $n - 1),
        spread => spread(map { $b[$_] / $a[$_] } 0 .. $n - 1),
    };
}

1;
