#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# How many submissions slurmctld takes in a second, without plugins and with Precedent: bursts of jobs through slurmctld's
# own interface (submit_jobs: no sbatch to start for each) against two testbeds side by side, interleaved in blocks. Jobs are
# held, all are programs that were never seen, so that every one is marked for tracing; precedentd looks as often as it
# does by default. Besides the rate, the processor time of slurmctld and of the submitting program for each submission, which
# hardly depends on what else the machine does. Medians of the pairs' ratios, with 95 % of confidence.
#
#   submit_burst.pl [--jobs 10000] [--block 250] [--no-daemon] [--set NAME=VALUE]...
#
# --no-daemon stops precedentd once the first job was submitted; --set is a line of its precedent.conf.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Getopt::Long;
use Time::HiRes qw(clock_gettime);
use Bench qw(median build);
use Testbed;

my %opt = (jobs => 10000, block => 250, daemon => 1, set => {});
GetOptions(\%opt, 'jobs=i', 'block=i', 'daemon!', 'set=s%') && !@ARGV
    or die "usage: submit_burst.pl [--jobs N] [--block N] [--no-daemon] [--set NAME=VALUE]...\n";

# An open END, so that nothing stays behind whatever happens.
my %testbed;
END { $_->testbed('down') for values %testbed }
$testbed{plain} = Testbed->attach(name => 'burst-plain', up => ['--plain']);
$testbed{with} = Testbed->attach(name => 'burst-with');
$testbed{with}->conf_set(PollInterval => 10, $opt{daemon} ? () : (HeartbeatTimeout => '1d'), %{$opt{set}});
$testbed{with}->daemon($_) for qw(stop start);
$_->install(build() . '/tests/bench/submit_jobs', 'submit_jobs') for values %testbed;

# Microseconds of processor time of a daemon so far, threads that have ended and all (clock_getcpuclockid).
sub cpu_us {
    my ($which, $daemon) = @_;
    open my $f, '<', $testbed{$which}->dir . "/run/$daemon.pid" or return 0;
    return 1e6 * clock_gettime((~int(<$f>) << 3) | 2);
}

# One block: what it took in all, each alone in microseconds, and processor time of both sides for each submission.
my %next = (plain => 0, with => 0);
sub burst {
    my ($which, $n) = @_;
    my $before = cpu_us($which, 'slurm/slurmctld');
    my $r = $testbed{$which}->run({timeout => 600}, './submit_jobs', $n, $next{$which}, 'PRECEDENT_FINGERPRINT=v1:0123456789abcdef0123456789abcdef:3');
    die "$which: $r->{err}" if $r->{rc};
    $next{$which} += $n;
    my ($client) = $r->{out} =~ s/^cpu (\S+)\n//m ? $1 : die "submit_jobs does not say its time\n";
    return {us => [split ' ', $r->{out}], slurmctld => (cpu_us($which, 'slurm/slurmctld') - $before) / $n, client => $client / $n};
}

sub sum { my $n = 0; $n += $_ for @_; return $n }
sub at { my ($share, @v) = @_; @v = sort { $a <=> $b } @v; return $v[int($share * $#v)] }
# What the values differ by among themselves says how well their median is known.
sub doubt { return 1.96 * 1.2533 * (at(0.75, @_) - at(0.25, @_)) / 1.349 / sqrt @_ }

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
printf "rate with Precedent: %+.2f %% +- %.2f (median of %d interleaved pairs of %d); %d of the jobs have its comment\n",
    100 * (median(@ratio) - 1), 100 * doubt(@ratio), scalar @ratio, $opt{block}, $marked;
for my $side (qw(slurmctld client)) {
    my @more = map { $cpu{with}{$side}[$_] - $cpu{plain}{$side}[$_] } 0 .. $#ratio;
    my $base = median(@{$cpu{plain}{$side}});
    printf "processor time of %s: %+.1f us +- %.1f a submission (%+.2f %% +- %.2f)\n", $side, median(@more), doubt(@more),
        100 * median(@more) / $base, 100 * doubt(@more) / $base;
}
printf "processor time of precedentd: %.1f us a submission\n", $daemon if $opt{daemon};
