#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What precedentd takes of a core with 10,000 jobs in the queue, and what its questions cost slurmctld. The jobs are held;
# one more is submitted every other second, so that each look finds the queue changed and loads all of it.
#
# --wishes: instead, how long after a burst of as many predicted jobs all limits that were wished for are in force, what that
# costs slurmctld, and how long a submission takes meanwhile.
#
#   daemon_load.pl [--jobs 10000] [--seconds 120] [--poll 10] [--wishes]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Getopt::Long;
use POSIX qw(sysconf _SC_CLK_TCK);
use Time::HiRes qw(sleep time);
use Bench qw(build);
use Testbed qw(wait_until);

my %opt = (jobs => 10000, seconds => 120, poll => 10, wishes => 0);
GetOptions(\%opt, 'jobs=i', 'seconds=i', 'poll=i', 'wishes') && !@ARGV
    or die "usage: daemon_load.pl [--jobs N] [--seconds S] [--poll S] [--wishes]\n";

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
    my ($n, @more) = @_;
    my $r = $testbed->run({timeout => 900, as => @more ? 'root' : $testbed->user, chdir => $testbed->path('.')}, './submit_jobs', $n, $next, @more);
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

# As the plugin leaves them: it lets root's jobs with --predict=off through as they are.
sub wishes {
    my $key = '0123456789abcdef' x 2;
    my $comment = "precedent:1 act=predict mode=limit key=$key family=$key cand=fast pred=200 lo=190 hi=210 user_limit=60 wish=5 limit=-";
    my $limits = sub { my $n = () = $testbed->log('precedentd') =~ /: limit set from /g; return $n };
    my %pid = map { (split m{/})[-1] => pid($_) } qw(slurm/slurmctld precedentd);
    my %quiet = map { $_ => cpu($pid{$_}) } keys %pid;
    my $begin = time;
    submit($opt{jobs}, '_SLURM_SPANK_OPTION_precedent_predict=off', $comment);
    my $submitted = time;
    my %before = map { $_ => cpu($pid{$_}) } keys %pid;
    my ($first, @took);
    wait_until(3600, sub {
        my $n = $limits->();
        $first //= time if $n;
        my $t = time;
        submit(1);
        push @took, time - $t;
        sleep 2;
        return $n >= $opt{jobs};
    }) or warn 'only ' . $limits->() . " limits were set\n";
    my $took = time - $submitted;
    @took = sort { $a <=> $b } @took;
    my $refused = () = $testbed->log('precedentd') =~ /cannot be set|does not tell its triggers/g;
    printf "%d jobs submitted in %.0f s; the first limit %.0f s, the last %.0f s after the last of them; %d faults\n", $opt{jobs},
        $submitted - $begin, $first - $submitted, $took, $refused;
    printf "meanwhile: slurmctld %.1f %% of a core, precedentd %.1f %%; a submission beside it (with the start of its program) p50 %.2f s, longest %.2f s\n",
        (map { 100 * (cpu($pid{$_}) - $before{$_}) / $took } qw(slurmctld precedentd)), $took[@took / 2], $took[-1];
    printf "in all: slurmctld %.1f s for submissions, %.1f s for triggers and limits; precedentd %.1f s\n", $before{slurmctld} - $quiet{slurmctld},
        cpu($pid{slurmctld}) - $before{slurmctld}, cpu($pid{precedentd}) - $quiet{precedentd};
    return;
}

if ($opt{wishes}) {
    wishes();
    exit 0;
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
