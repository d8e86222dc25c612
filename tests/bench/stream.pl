#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs a stream of MPI jobs with generous requests through the testbed, once left alone and once with limits by Precedent. Both
# streams have the same jobs at the same times. One run of each kind warms the store. It prints waits, bounded slowdowns, kills and
# extensions.
#
#   stream.pl [--jobs 28] [--every 4] [--seed 1] [--rounds 1] [--scale 1] [--soft] [--json] [--keep]
#
# A stream takes some ten minutes, and the warm-up takes three. The streams differ by --predict=off and --predict=limit.
# Option --scale makes all jobs and the time between them shorter or longer.
# Option --soft gives slurm.conf soft limits (Slurm 23.11). LimitGuard is soft then.
#
# Limits are whole minutes and come half a minute after the submission. So jobs are up to minutes long, and most of them wait
# longer. They are paced and hardly need the processor, so that four nodes full of them fit two cores. One partition has all nodes.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Getopt::Long;
use JSON::PP qw(decode_json encode_json);
use Time::HiRes qw(sleep time);
use Bench qw(median);
use Testbed qw(wait_until build_dir);

use constant BOUND_S => 10;    # of the bounded slowdown
use constant WAIT_S => 1200;    # for the whole stream, after the last submission

my %opt = (jobs => 28, every => 4, seed => 1, rounds => 1, scale => 1);
GetOptions(\%opt, 'jobs=i', 'every=f', 'seed=i', 'rounds=i', 'scale=f', 'soft', 'json', 'keep') && !@ARGV
    or die "usage: stream.pl [--jobs N] [--every SECONDS] [--seed N] [--rounds N] [--scale X] [--soft] [--json] [--keep]\n";

# Few kinds, as users have: name, layout, seconds, what is asked in minutes. Requests are round, and not in the order of
# what the jobs need. All take whole nodes, of which there are four.
my @kinds = (
    {name => 'wide', layout => '-N3 -n6', seconds => 35, ask => 40, weight => 3},
    {name => 'long', layout => '-N1 -n2', seconds => 120, ask => 60, weight => 2},
    {name => 'short', layout => '-N1 -n2', seconds => 20, ask => 90, weight => 3},
    {name => 'middle', layout => '-N1 -n2', seconds => 60, ask => 30, weight => 2},
);

my $testbed = Testbed->attach(name => $ENV{PRECEDENT_TESTBED} // 'stream', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed && !$opt{keep} }
my $dir = $testbed->dir;
$testbed->program('paced');
if ($opt{soft}) {
    my $file = "$dir/etc/slurm/slurm.conf";
    my $text = $testbed->read($file) =~ s/^(SchedulerParameters=\S+)/$1,time_min_as_soft_limit/mr;
    open my $f, '>', $file or die "$file: $!\n";
    print {$f} $text;
    close $f or die "$file: $!\n";
    die "slurmctld does not read $file again\n" if $testbed->run({as => 'root'}, 'scontrol', 'reconfigure')->{rc};
}
my $made = $testbed->run({as => 'root'}, 'scontrol', 'create', 'PartitionName=all', 'Nodes=fast1,fast2,slow1,slow2', 'DefaultTime=60', 'MaxTime=1440');
die "scontrol: $made->{err}$made->{out}" if $made->{rc} && $made->{err} !~ /exist/;

# The same numbers everywhere.
my $state = $opt{seed};
sub random { $state = ($state * 1103515245 + 12345) % 2147483648; return $state / 2147483648 }

# paced takes fifths of seconds.
sub script_of {
    my ($kind) = @_;
    return sprintf "#!/bin/bash\n#SBATCH -J %s\nsrun ./paced %d\n", $kind->{name}, 5 * $kind->{seconds} * $opt{scale} + 1;
}

sub sbatch {
    my ($kind, $predict) = @_;
    my ($job, $out, $err) = $testbed->submit("$kind->{name}.sh", '-p', 'all', "--predict=$predict", '-t', $kind->{ask},
        split ' ', $kind->{layout});
    die "sbatch: $out$err" if !$job;
    return $job;
}

sub known {
    my ($job) = @_;
    my $r = $testbed->run('precedent', 'show', $job, '--json');
    my $state = $r->{rc} == 0 ? decode_json($r->{out})->{program}{state} // '' : '';
    die "job $job cannot be predicted: " . $testbed->run('precedent', 'explain', $job)->{out} if $state eq 'failed';
    return $state eq 'ready';
}

# One run of each kind, traced, and its probes.
sub warm_up {
    $testbed->conf_set(Mode => 'observe', MinLimit => '00:02:00', Candidates => 'all');
    $testbed->daemon($_) for qw(stop start);
    wait_until(60, sub { $testbed->run('sbatch', '--test-only', '-N1', '-t', 5, 'wide.sh')->{err} =~ /precedent:/ })
        or die "Precedent is not ready\n";
    my @first = map { sbatch($_, 'limit') } @kinds;
    for my $job (@first) {
        my $end = $testbed->wait_job($job, 300) or die "job $job has not ended\n";
        die "job $job ended as $end->{state}\n" if $end->{state} ne 'COMPLETED';
        wait_until(240, sub { known($job) }) or die "job $job was not probed in time\n";
    }
    return;
}

# [kind, second of its submission].
sub make_stream {
    my @bag = map { ($_) x $_->{weight} } @kinds;
    my (@stream, $at);
    $at = 0;
    for (1 .. $opt{jobs}) {
        my $kind = $bag[int(random() * @bag)];
        push @stream, [$kind, $at];
        $at += -log(1 - random()) * $opt{every} * $opt{scale};
    }
    return @stream;
}

# What slurmctld wrote of ended jobs: job => {field => value}.
sub completed {
    my %job;
    open my $f, '<', "$dir/logs/jobcomp.log" or return {};
    while (<$f>) {
        my %field = /(\w+)=(\S+)/g;
        $job{$field{JobId}} = \%field if $field{JobId};
    }
    return \%job;
}

sub seconds { return (split /\s/, `date -d '$_[0]' +%s`)[0] }

sub extensions {
    my (%of) = map { $_ => 1 } @_;
    return scalar grep { $of{$_} } $testbed->log('precedentd') =~ /job (\d+): limit raised/g;
}

sub run_stream {
    my ($predict, @stream) = @_;
    my $begin = time;
    my @jobs;
    for my $one (@stream) {
        my ($kind, $at) = @$one;
        my $left = $begin + $at - time;
        sleep $left if $left > 0;
        push @jobs, sbatch($kind, $predict);
    }
    wait_until(WAIT_S, sub { my $c = completed(); !grep { !$c->{$_} } @jobs }) or die "the stream has not ended in time\n";
    my $c = completed();
    my (@wait, @slowdown, %state, $last);
    for my $job (@jobs) {
        my ($submit, $start, $end) = map { seconds($c->{$job}{$_}) } qw(SubmitTime StartTime EndTime);
        push @wait, $start - $submit;
        my ($run, $total) = ($end - $start, $end - $submit);
        my $s = $total / ($run > BOUND_S ? $run : BOUND_S);
        push @slowdown, $s > 1 ? $s : 1;
        $state{$c->{$job}{JobState}}++;
        $last = $end if !defined $last || $end > $last;
    }
    my $sum = sub { my $n = 0; $n += $_ for @_; return $n };
    return {
        predict => $predict, jobs => scalar @jobs, wait_s => $sum->(@wait) / @jobs, wait_median_s => median(@wait),
        wait_max_s => (sort { $a <=> $b } @wait)[-1], slowdown => $sum->(@slowdown) / @jobs,
        slowdown_median => median(@slowdown), makespan_s => $last - int $begin, extensions => extensions(@jobs),
        killed => $state{TIMEOUT} // 0, other_ends => $sum->(map { $state{$_} } grep { !/^(COMPLETED|TIMEOUT)$/ } keys %state),
    };
}

sub show {
    my ($r, $round) = @_;
    if ($opt{json}) {
        print encode_json({%$r, seed => $opt{seed}, round => $round}), "\n";
        return;
    }
    printf "%-6s %d jobs   wait mean %6.1f median %6.1f longest %4d s   slowdown (bound %d s) mean %5.2f median %5.2f   "
        . "all done after %d s   killed %d   ended otherwise %d   extensions %d\n",
        $r->{predict}, @$r{qw(jobs wait_s wait_median_s wait_max_s)}, BOUND_S,
        @$r{qw(slowdown slowdown_median makespan_s killed other_ends extensions)};
    return;
}

$| = 1;
for my $kind (@kinds) {
    $testbed->write("$kind->{name}.sh", script_of($kind), 0755);
}
warm_up();
my (@off, @limit);
for my $round (1 .. $opt{rounds}) {
    my @stream = make_stream();
    # The one that comes second has no advantage over many rounds.
    for my $predict ($round % 2 ? qw(off limit) : qw(limit off)) {
        my $r = run_stream($predict, @stream);
        show($r, $round);
        push @{$predict eq 'off' ? \@off : \@limit}, $r;
        die "jobs were killed\n" if $predict eq 'limit' && $r->{killed};
    }
}
printf "change  wait %+.0f %%   slowdown %+.0f %%   (median of %d rounds)\n",
    (map { my $f = $_; 100 * (median(map { $limit[$_]{$f} / ($off[$_]{$f} || 1) } 0 .. $#off) - 1) } qw(wait_s slowdown)), scalar @off
    if !$opt{json};
