#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What tracing costs: an 8-byte message one way, begin and end, LAMMPS, multigrid in the cache (whose calls come every few
# microseconds), one-sided calls with nothing between them, and hpcc (which polls 34 million times), and the size of the trace;
# interleaved pairs.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build mpirun traced pairs lammps_melt);
use File::Temp qw(tempdir);
use Time::HiRes qw(time);

my $pairs = $ARGV[0] // 7;
my $dir = tempdir(CLEANUP => 1);
my $ping = build() . '/tests/programs/ping';

sub latency { return $_[0] =~ /^latency_us ([\d.]+)/m ? $1 : die "ping said no latency\n" }

my $p = pairs($pairs, sub { latency(mpirun(2, $ping)) }, sub { latency(traced("$dir/p.ptrace", 2, $ping)) });
printf "8-byte message, one way      untraced %.3f us   traced %.3f us   added %+.3f us   (median of %d pairs)\n",
    $p->{a}, $p->{b}, $p->{diff}, $pairs;

# The whole of a run that does next to nothing: mostly MPI_Init and MPI_Finalize.
sub wall { my ($run) = @_; my $t = time; $run->(); return time - $t }
my @ring = (build() . '/tests/programs/ring', 10);
my $b = pairs($pairs, sub { wall(sub { mpirun(2, @ring) }) }, sub { wall(sub { traced("$dir/r.ptrace", 2, @ring) }) });
printf "begin and end, 2 ranks       untraced %.3f s    traced %.3f s    added %+.1f ms\n", $b->{a}, $b->{b}, 1e3 * $b->{diff};

open my $in, '>', "$dir/in.lj" or die $!;
print $in lammps_melt(300);
close $in;
my @lmp = ('lmp', '-in', "$dir/in.lj", '-log', 'none');
sub loop { return $_[0] =~ /^Loop time of ([\d.]+)/m ? $1 : die "lmp said no loop time\n" }
my $l = pairs($pairs, sub { loop(mpirun(2, @lmp)) }, sub { loop(traced("$dir/l.ptrace", 2, @lmp)) });
printf "LAMMPS, 300 steps            untraced %.3f s    traced %.3f s    ratio %.3f +- %.3f\n", @$l{qw(a b ratio spread)};

my @mg = (build() . '/tests/programs/mg', 32, 8000);
my $m = pairs($pairs, sub { wall(sub { mpirun(2, @mg) }) }, sub { wall(sub { traced("$dir/m.ptrace", 2, @mg) }) });
printf "multigrid, mg 32 8000        untraced %.3f s    traced %.3f s    ratio %.3f +- %.3f, trace of %d KiB\n", @$m{qw(a b ratio spread)},
    (-s "$dir/m.ptrace") / 1024;

my $calls = 4e6;
for my $pattern (qw(halo table)) {
	my @one = (build() . '/tests/programs/onesided', $pattern, $calls);
	my $o = pairs($pairs, sub { wall(sub { mpirun(2, @one) }) }, sub { wall(sub { traced("$dir/o.ptrace", 2, @one) }) });
	printf "one-sided, %-5s 4 M calls   untraced %.3f s    traced %.3f s    added %+.0f ns per call, trace of %d KiB\n", $pattern,
	    @$o{qw(a b)}, 1e9 * $o->{diff} / $calls, (-s "$dir/o.ptrace") / 1024;
}

my $lu = build() . '/tests/programs/lu';
traced("$dir/lu.ptrace", 2, $lu);
my ($events) = `${\build()}/precedent info $dir/lu.ptrace` =~ /ranks, ([\d,]+) events/;
$events =~ tr/,//d;
printf "LU-like wavefront            %d events   %.2f bytes per event on disk\n", $events, (-s "$dir/lu.ptrace") / $events;

# The HPC Challenge with its shipped input, made larger.
sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar <$f> }
my $hpccinf = slurp('/usr/share/doc/hpcc/examples/_hpccinf.txt');
chdir $dir or die "$dir: $!\n";
if ($hpccinf && system('command -v hpcc >/dev/null') == 0) {
    $hpccinf =~ s/^\d+(\s+Ns)$/3000$1/m;
    $hpccinf =~ s/^\d+(\s+Ps)$/1$1/m;
    open my $f, '>', 'hpccinf.txt' or die $!;
    print $f $hpccinf;
    close $f;
    my $n = $pairs;
    my $h = pairs($n, sub { wall(sub { mpirun(2, 'hpcc') }) }, sub { wall(sub { traced("$dir/h.ptrace", 2, 'hpcc') }) });
    printf "hpcc, Ns 3000                untraced %.3f s    traced %.3f s    ratio %.3f +- %.3f (%d pairs), trace of %d KiB\n",
        @$h{qw(a b ratio spread)}, $n, (-s "$dir/h.ptrace") / 1024;
} else {
    print "hpcc                         is not installed\n";
}
