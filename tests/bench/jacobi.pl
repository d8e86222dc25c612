#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The experiment of paper 001 (section 4) on the testbed's slow network: a Jacobi solver that computes before it sends. What
# `precedent advise` says of it, and how much faster it is when the advice is followed and it sends first.
#
#   jacobi.pl [--points 1000] [--iterations 1000] [--pairs 5] [--partition slow] [--ranks 2] [--json] [--keep]
#
# Both variants run one after another, PAIRS times; the figure is the median of the ratios.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(top pairs);
use Getopt::Long;
use JSON::PP;
use Testbed qw(run_command build_dir);

my %opt = (points => 1000, iterations => 1000, pairs => 5, partition => 'slow', ranks => 2);
GetOptions(\%opt, 'points=i', 'iterations=i', 'pairs=i', 'partition=s', 'ranks=i', 'json', 'keep') && !@ARGV
    or die "usage: jacobi.pl [--points N] [--iterations N] [--pairs N] [--partition P] [--ranks N] [--json] [--keep]\n";

my $tb = Testbed->attach(name => $ENV{PRECEDENT_TESTBED} // 'jacobi', up => ['--plain']);
END { $tb->testbed('down') if $tb && !$opt{keep} }
my $program = $tb->program('jacobi');
my $tracer = (map { $tb->install(build_dir() . "/$_", $_) } qw(libprecedent_trace_openmpi.so libprecedent_trace.so))[1];
my %checksum;

sub run_variant {
    my ($variant, %env) = @_;
    my $r = $tb->run({timeout => 300, chdir => $tb->path('.')}, 'srun', '-p', $opt{partition}, '-N2', "-n$opt{ranks}",
        join(',', '--export=ALL', map { "$_=$env{$_}" } sort keys %env), $program, $variant, $opt{points}, $opt{iterations});
    my ($seconds, $sum) = $r->{out} =~ /^seconds ([\d.]+) checksum (\w+)$/m or die "jacobi $variant: $r->{out}$r->{err}";
    $checksum{$sum} = 1;
    die "the variants have different results\n" if keys %checksum > 1;
    return $seconds;
}

sub advice_of {
    my ($variant) = @_;
    my $file = $tb->path("$variant.ptrace");
    unlink $file;
    run_variant($variant, LD_PRELOAD => $tracer, PRECEDENT_TRACE_FILE => $file);
    my $r = run_command('timeout', 120, build_dir() . '/precedent', 'advise', $file, '--json', '--rules', top() . '/conf/problems.rules');
    die "advise: $r->{err}" if $r->{rc};
    my $all = decode_json($r->{out});
    return [map { {name => $_->{name}, share => $_->{share}, seconds => $_->{seconds}} } @{$all->{problems}}];
}

my %advice = map { $_ => advice_of($_) } qw(compute-first send-first);
my $p = pairs($opt{pairs}, sub { run_variant('send-first') }, sub { run_variant('compute-first') });
if ($opt{json}) {
    print JSON::PP->new->canonical->pretty->encode({points => $opt{points}, iterations => $opt{iterations}, ranks => $opt{ranks},
        partition => $opt{partition}, pairs => $opt{pairs}, compute_first_s => $p->{b}, send_first_s => $p->{a}, ratio => $p->{ratio},
        spread => $p->{spread}, advice => \%advice});
    exit 0;
}
printf "%d x %d points, %d iterations, %d ranks on %s\n", ($opt{points}) x 2, @opt{qw(iterations ranks partition)};
for my $variant (qw(compute-first send-first)) {
    printf "%-14s %7.3f s", $variant, $variant eq 'send-first' ? $p->{a} : $p->{b};
    printf '   %s %.1f %%', $_->{name}, 100 * $_->{share} for grep { $_->{share} >= 0.005 } @{$advice{$variant}};
    print "\n";
}
printf "faster by %.2f +- %.2f (median of %d pairs)\n", @$p{qw(ratio spread)}, $opt{pairs};
