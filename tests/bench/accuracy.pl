#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How good predictions are, on the testbed: six programs, two ranks on two nodes, traced once on fast, then run
# PAIRS times (default 3) on fast and on slow, interleaved. Printed: what was told at the first submission after the
# probes (no history yet) against the median of the runs, and the noise floor, half the spread of the runs themselves (on fast with the
# traced one).
# Usage: accuracy.pl [PAIRS [PROGRAM...]]. Wants an idle machine: the emulated nodes share its two cores.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(median spread lammps_melt espresso_si8);
use JSON::PP;
use Testbed;

my $pairs = shift(@ARGV) // 3;
my %only = map { $_ => 1 } @ARGV;
my $tb = Testbed->attach(name => $ENV{PRECEDENT_TESTBED} // 'bench');
$tb->conf_set(Mode => 'observe', MinLimit => '00:01:00', PollInterval => 1);
$tb->daemon('stop');
$tb->daemon('start');
Testbed::wait_until(30, sub { $tb->run('precedent', 'jobs')->{rc} == 0 }) or die "precedentd does not answer\n";

$tb->write('in.lj', lammps_melt(900));
$tb->write('si8.in', espresso_si8($tb->path('espresso')));

my @programs = (
    [lammps => 'lmp -in in.lj -log none'],
    [espresso => 'pw.x -in si8.in'],
    [heat => $tb->program('heat') . ' 700 20000'],
    [heatf => $tb->program('heatf') . ' 600 12000'],
    [lu => $tb->program('lu') . ' 256 150'],
    [cg => $tb->program('cg') . ' 700 8000'],
);

sub run_job {
    my ($text, $partition) = @_;
    my ($job, undef, $err) = $tb->submit($text, '-p', $partition);
    die "sbatch: $err\n" unless $job;
    my $end = $tb->wait_job($job, 900) or die "job $job does not end\n";
    die "job $job is $end->{state}\n" unless $end->{state} eq 'COMPLETED';
    my ($s) = $tb->output($job) =~ /^elapsed_us (\d+)$/m;
    return ($job, $s / 1e6, $err);
}

sub job_text {
    my ($command) = @_;
    return "#!/bin/bash\n#SBATCH -N2 -n2 --ntasks-per-node=1 -t 60\nbegin=\${EPOCHREALTIME/./}\nsrun $command\n"
        . "echo elapsed_us \$((\${EPOCHREALTIME/./} - begin))\n";
}

sub shown {
    my ($job) = @_;
    my $r = $tb->run('precedent', 'show', $job, '--json');
    return eval { decode_json($r->{out}) } // {};
}

sub estimates {
    my ($job) = @_;
    my $j;
    Testbed::wait_until(400, sub {
        $j = shown($job);
        return ($j->{program}{state} // '') =~ /ready|failed/;
    }) or die "job $job is not probed in time\n";
    die "job $job: $j->{program}{reason}\n" if $j->{program}{state} eq 'failed';
    return ($j, { map { $_->{candidate} => $_ } @{ $j->{estimates} } });
}

printf "%-9s %9s | %8s %8s %7s %6s | %8s %8s %7s %6s | %s\n", 'program', 'traced s', 'fast', 'pred', 'error', 'noise',
    'slow', 'pred', 'error', 'noise', 'skeletons ran, s';
for my $p (@programs) {
    my ($name, $command) = @$p;
    next if %only && !$only{$name};
    my $text = job_text($command);
    my ($first, $traced) = run_job($text, 'fast');
    my ($j, $est) = estimates($first);
    my %run;
    for (1 .. $pairs) {
        for my $where (qw(fast slow)) {
            my (undef, $s) = run_job($text, $where);
            push @{ $run{$where} }, $s;
        }
    }
    my $probe = join ' ', map { sprintf '%.1f', $_->{record}{traces}[0]{ran_s} // 0 } @{ $j->{probes} // [] };
    printf "%-9s %9.2f |", $name, $traced;
    for my $where (qw(fast slow)) {
        my $m = median(@{ $run{$where} }); # never with the traced run: on fast the prediction is made of it
        my @floor = (@{ $run{$where} }, $where eq 'fast' ? $traced : ());
        my $e = $est->{$where};
        printf ' %8.2f %8s %7s %5.1f%% |', $m, $e ? sprintf('%.2f', $e->{seconds}) : 'none',
            $e ? sprintf('%+.1f%%', 100 * ($e->{seconds} / $m - 1)) : '-', 100 * spread(@floor);
    }
    print " $probe\n";
}
