#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# How many submissions slurmctld takes in a second, without plugins and with Precedent: through slurmctld's own interface
# (submit_jobs: no sbatch to start for each) against two testbeds side by side, which take turns of a few jobs, so that what else
# the machine does meets both. Jobs are held, all are programs that were never seen, so that every one is marked for tracing;
# precedentd looks as often as it does by default. Besides the rate, the processor time of slurmctld and of the submitting program
# for each submission, which hardly depends on what else the machine does. Each figure is the mean of the middle half of the pairs'
# ratios, with the 95 % interval of 2,000 bootstrap samples of pairs: bursts of other work are in the tails.
#
#   submit_burst.pl [--jobs 10000] [--block 20] [--null] [--no-daemon] [--set NAME=VALUE]...
#
# --jobs to each side. --null has no plugins on either side: what it finds is the bench's own fault. --no-daemon stops precedentd
# once the first job was submitted; --set is a line of its precedent.conf.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Getopt::Long;
use IPC::Open2;
use Time::HiRes qw(clock_gettime);
use Bench qw(median build top);
use Testbed;

my %opt = (jobs => 10000, block => 20, daemon => 1, null => 0, set => {});
GetOptions(\%opt, 'jobs=i', 'block=i', 'daemon!', 'null', 'set=s%') && !@ARGV
    or die "usage: submit_burst.pl [--jobs N] [--block N] [--null] [--no-daemon] [--set NAME=VALUE]...\n";

# An open END, so that nothing stays behind whatever happens.
my %testbed;
END { $_->testbed('down') for values %testbed }
$testbed{plain} = Testbed->attach(name => 'burst-plain', up => ['--plain']);
$testbed{with} = Testbed->attach(name => 'burst-with', up => [('--plain') x $opt{null}]);
$opt{daemon} = 0 if $opt{null};
if (!$opt{null}) {
    $testbed{with}->conf_set(PollInterval => 10, $opt{daemon} ? () : (HeartbeatTimeout => '1d'), %{$opt{set}});
    $testbed{with}->daemon($_) for qw(stop start);
}
$_->install(build() . '/tests/bench/submit_jobs', 'submit_jobs') for values %testbed;

# Microseconds of processor time of a daemon so far, threads that have ended and all (clock_getcpuclockid).
sub cpu_us {
    my ($which, $daemon) = @_;
    open my $f, '<', $testbed{$which}->dir . "/run/$daemon.pid" or return 0;
    return 1e6 * clock_gettime((~int(<$f>) << 3) | 2);
}

# One program for each side, which submits as many jobs as it is told and says what each took.
my %client;
END { for my $c (values %client) { close $c->{to}; waitpid $c->{pid}, 0 } }
for my $which (qw(plain with)) {
    my $pid = open2(my $from, my $to, top() . '/scripts/testbed', '--name', $testbed{$which}->name, 'run', '--as', $testbed{$which}->user, '--',
        './submit_jobs', '-', 0, 'PRECEDENT_FINGERPRINT=v1:0123456789abcdef0123456789abcdef:3');
    $client{$which} = {pid => $pid, from => $from, to => $to};
}

# One block: what it took in all, each alone in microseconds, and processor time of both sides for each submission.
sub burst {
    my ($which, $n) = @_;
    my ($from, $to) = @{$client{$which}}{qw(from to)};
    my $before = cpu_us($which, 'slurm/slurmctld');
    print {$to} "$n\n";
    $to->flush;
    my @us;
    while (defined(my $line = <$from>)) {
        return {us => \@us, slurmctld => (cpu_us($which, 'slurm/slurmctld') - $before) / $n, client => $1 / $n} if $line =~ /^cpu (\S+)/;
        push @us, $line + 0;
    }
    die "submit_jobs on $which has ended\n";
}

sub sum { my $n = 0; $n += $_ for @_; return $n }
sub at { my ($share, @v) = @_; @v = sort { $a <=> $b } @v; return $v[int($share * $#v)] }

# The mean of the middle half.
sub middle {
    my @v = sort { $a <=> $b } @_;
    my $cut = int @v / 4;
    return sum(@v[$cut .. $#v - $cut]) / (@v - 2 * $cut);
}

# Its 95 % interval.
sub interval {
    my @v = @_;
    my @m = map { middle(map { $v[rand @v] } @v) } 1 .. 2000;
    return (at(0.025, @m), at(0.975, @m));
}

srand 1;
burst($_, 20) for qw(plain with);
$testbed{with}->daemon('stop') if !$opt{daemon};
my $daemon_before = $opt{daemon} ? cpu_us('with', 'precedentd') : 0;
my (%us, %cpu, @ratio);
for my $block (1 .. int($opt{jobs} / $opt{block}) || 1) {
    my %b = map { $_ => burst($_, $opt{block}) } $block % 2 ? qw(plain with) : qw(with plain);
    for my $which (qw(plain with)) {
        push @{$us{$which}}, @{$b{$which}{us}};
        push @{$cpu{$which}{$_}}, $b{$which}{$_} for qw(slurmctld client);
    }
    push @ratio, sum(@{$b{plain}{us}}) / sum(@{$b{with}{us}});
}
my $daemon = $opt{daemon} ? (cpu_us('with', 'precedentd') - $daemon_before) / @{$us{with}} : 0;
my $marked = () = $testbed{with}->run({as => 'root'}, 'scontrol', '-o', 'show', 'jobs')->{out} =~ /AdminComment=\S*precedent/g;
printf "%-15s %6d jobs  %7.1f a second   p50 %7.1f us   p99 %8.1f us   processor time of each: slurmctld %6.1f us, client %6.1f us\n",
    $_ eq 'plain' ? 'without plugins' : 'with Precedent', scalar @{$us{$_}}, 1e6 * @{$us{$_}} / sum(@{$us{$_}}), at(0.5, @{$us{$_}}), at(0.99, @{$us{$_}}),
    median(@{$cpu{$_}{slurmctld}}), median(@{$cpu{$_}{client}}) for qw(plain with);
sub percent { return sprintf '%+.2f %% (%+.2f to %+.2f)', map { 100 * $_ } @_ }
printf "rate with Precedent: %s of the rate without, of %d interleaved pairs of %d; %d of the jobs have its comment\n",
    percent(middle(@ratio) - 1, map { $_ - 1 } interval(@ratio)), scalar @ratio, $opt{block}, $marked;
for my $side (qw(slurmctld client)) {
    my @more = map { $cpu{with}{$side}[$_] - $cpu{plain}{$side}[$_] } 0 .. $#ratio;
    my $base = middle(@{$cpu{plain}{$side}});
    printf "processor time of %s: %+.1f us a submission, %s\n", $side, middle(@more), percent(map { $_ / $base } middle(@more), interval(@more));
}
printf "processor time of precedentd: %.1f us a submission\n", $daemon if $opt{daemon};
