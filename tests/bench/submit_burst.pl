#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# How many submissions slurmctld takes in a second, without plugins and with Precedent: bursts of jobs through slurmctld's
# own interface (submit_jobs: no sbatch to start for each) against two testbeds side by side, interleaved in blocks. Jobs are
# held, all are programs that were never seen, so that every one is marked for tracing; precedentd looks as often as it
# does by default.
#
#   submit_burst.pl [--jobs 10000] [--block 250]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Getopt::Long;
use Bench qw(median spread build);
use Testbed;

my %opt = (jobs => 10000, block => 250);
GetOptions(\%opt, 'jobs=i', 'block=i') && !@ARGV or die "usage: submit_burst.pl [--jobs N] [--block N]\n";

# An open END, so that nothing stays behind whatever happens.
my %testbed;
END { $_->testbed('down') for values %testbed }
$testbed{plain} = Testbed->attach(name => 'burst-plain', up => ['--plain']);
$testbed{with} = Testbed->attach(name => 'burst-with');
$testbed{with}->conf_set(PollInterval => 10);
$testbed{with}->daemon($_) for qw(stop start);
$_->install(build() . '/tests/bench/submit_jobs', 'submit_jobs') for values %testbed;

my %next = (plain => 0, with => 0);
sub burst {
    my ($which, $n) = @_;
    my $r = $testbed{$which}->run({timeout => 600}, './submit_jobs', $n, $next{$which}, 'PRECEDENT_FINGERPRINT=v1:0123456789abcdef0123456789abcdef:3');
    die "$which: $r->{err}" if $r->{rc};
    $next{$which} += $n;
    return split ' ', $r->{out};
}

sub sum { my $n = 0; $n += $_ for @_; return $n }
sub at { my ($share, @v) = @_; @v = sort { $a <=> $b } @v; return $v[int($share * $#v)] }

burst($_, 20) for qw(plain with);
my (%all, @ratio);
for my $block (1 .. int($opt{jobs} / $opt{block}) || 1) {
    my %took;
    for my $which ($block % 2 ? qw(plain with) : qw(with plain)) {
        my @us = burst($which, $opt{block});
        push @{$all{$which}}, @us;
        $took{$which} = sum(@us);
    }
    push @ratio, $took{with} / $took{plain};
}
my $marked = () = $testbed{with}->run({as => 'root'}, 'scontrol', '-o', 'show', 'jobs')->{out} =~ /AdminComment=\S*precedent/g;
printf "%-15s %6d jobs  %7.1f a second   p50 %7.1f us   p99 %8.1f us\n", $_ eq 'plain' ? 'without plugins' : 'with Precedent',
    scalar @{$all{$_}}, 1e6 * @{$all{$_}} / sum(@{$all{$_}}), at(0.5, @{$all{$_}}), at(0.99, @{$all{$_}}) for qw(plain with);
# What blocks differ by among themselves says how well the median of their ratios is known.
my $half = 1.57 * (at(0.75, @ratio) - at(0.25, @ratio)) / sqrt @ratio;
printf "rate with Precedent: %+.2f %% +- %.2f (median of %d interleaved pairs of %d); %d of the jobs have its comment\n",
    100 * (1 / median(@ratio) - 1), 100 * $half, scalar @ratio, $opt{block}, $marked;
