#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What precedentd takes of a core with 10,000 jobs in the queue, and what its questions cost slurmctld. The jobs are held;
# one more is submitted every other second, so that each look finds the queue changed and loads all of it.
#
#   daemon_load.pl [--jobs 10000] [--seconds 120] [--poll 10]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Getopt::Long;
use POSIX qw(sysconf _SC_CLK_TCK);
use Time::HiRes qw(sleep time);
use Bench qw(build);
use Testbed qw(wait_until);

my %opt = (jobs => 10000, seconds => 120, poll => 10);
GetOptions(\%opt, 'jobs=i', 'seconds=i', 'poll=i') && !@ARGV or die "usage: daemon_load.pl [--jobs N] [--seconds S] [--poll S]\n";

my $testbed = Testbed->attach(name => 'daemon-load');
END { $testbed->testbed('down') if $testbed }
my $dir = $testbed->dir;
$testbed->conf_set(PollInterval => $opt{poll});
$testbed->daemon($_) for qw(stop start);
$testbed->install(build() . '/tests/bench/submit_jobs', 'submit_jobs');

sub pid { open my $f, '<', "$dir/run/$_[0].pid" or die "$_[0] does not run\n"; return int <$f> }

# Seconds of processor time of a process so far.
sub cpu {
    my ($pid) = @_;
    open my $f, '<', "/proc/$pid/stat" or die "process $pid has ended\n";
    my @field = split ' ', (<$f> =~ s/.*\) //r);
    return ($field[11] + $field[12]) / sysconf(_SC_CLK_TCK);
}

my $next = 0;
sub submit {
    my ($n) = @_;
    my $r = $testbed->run({timeout => 900}, './submit_jobs', $n, $next);
    die $r->{err} if $r->{rc};
    $next += $n;
}

# Processes by name => share of a core over the time, the queue changing.
sub measure {
    my (%pid) = @_;
    my %before = map { $_ => cpu($pid{$_}) } keys %pid;
    my $begin = time;
    while (time < $begin + $opt{seconds}) {
        submit(1);
        sleep 2;
    }
    my $took = time - $begin;
    return map { $_ => (cpu($pid{$_}) - $before{$_}) / $took } keys %pid;
}

submit($opt{jobs});
# Until what the burst itself gave it to do is done.
my $daemon = pid('precedentd');
wait_until(300, sub {
    my $now = cpu($daemon);
    sleep 2 * $opt{poll};
    return cpu($daemon) - $now < 0.05 * 2 * $opt{poll};
}) or warn "precedentd is still busy with the burst\n";
my %with = measure(precedentd => $daemon, slurmctld => pid('slurm/slurmctld'));
my $rss = do { open my $f, '<', "/proc/$daemon/status" or die; local $/; (<$f> =~ /VmRSS:\s+(\d+)/)[0] };
$testbed->daemon('stop');
my %without = measure(slurmctld => pid('slurm/slurmctld'));
printf "%d jobs in the queue, a look every %d s, %d s: precedentd %.2f %% of a core (%.0f MB); slurmctld %.2f %% with it, %.2f %% without\n",
    $next, $opt{poll}, $opt{seconds}, 100 * $with{precedentd}, $rss / 1024, 100 * $with{slurmctld}, 100 * $without{slurmctld};
