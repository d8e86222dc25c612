#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The experiment of Dergunov (Performance Expert, section 4) on the testbed's slow network: a Jacobi solver that
# computes before it sends. What `precedent advise` says of it, and how much faster it is when the advice is followed
# and it sends first.
#
#   jacobi.pl [--points 30000] [--rows 1000] [--iterations 60] [--pairs 5] [--partition slow] [--ranks 2] [--slow-cpu 100]
#             [--eager BYTES] [--after send-first|send-test] [--json] [--keep]
#
# What the second half of the advice is worth, MPI_Test between parts of the work, for messages above the eager limit:
#   jacobi.pl --eager 65536 --after send-test --pairs 3 --iterations 40        (send-first is worth nothing there)
#
# Both variants run one after another, PAIRS times; the figure is the median of the ratios. What is possible at best
# follows from C, the time without messages, and S, that without computing: (C + S) / max(C, S).
#
# The slow nodes have processors of their own here (--slow-cpu 50: half of one, as they usually are: what ranks do
# while they wait costs them quota), and links of 100 Mbit/s. These let the first 64 KiB pass at once when they were
# idle before, which hides shorter messages whatever the program does: an edge of POINTS numbers of 8 bytes is to be
# longer. The MPI library is told to send edges without a handshake (--eager), and the buffers of sockets hold them:
# else nothing travels while a rank computes and is not in MPI. The testbed has its processors before all else that
# this machine does.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(top pairs);
use Getopt::Long;
use JSON::PP;
use Testbed qw(run_command build_dir);

my %opt = (points => 30000, rows => 1000, iterations => 60, pairs => 5, partition => 'slow', ranks => 2, 'slow-cpu' => 100, after => 'send-first');
GetOptions(\%opt, 'points=i', 'rows=i', 'iterations=i', 'pairs=i', 'partition=s', 'ranks=i', 'slow-cpu=i', 'eager=i', 'after=s', 'json', 'keep') && !@ARGV && $opt{after} =~ /^send-(?:first|test)$/
    or die "usage: jacobi.pl [--points N] [--rows N] [--iterations N] [--pairs N] [--partition P] [--ranks N] [--slow-cpu PERCENT] [--eager BYTES] [--after send-first|send-test] [--json] [--keep]\n";
$opt{eager} //= 8 * $opt{points} + 4096;
$opt{socket} = 16 * $opt{eager};

my $tb = Testbed->attach(name => $ENV{PRECEDENT_TESTBED} // 'jacobi', up => ['--plain']);
my $set = $tb->testbed('slow', '--slow-cpu', $opt{'slow-cpu'});
die "the slow nodes cannot be set: $set->{err}" if $set->{rc};
for my $file (glob('/sys/fs/cgroup/{cpu,cpu\,cpuacct}/precedent-testbed/cpu.shares'), glob '/sys/fs/cgroup/precedent-testbed/cpu.weight') {
    open my $f, '>', $file or next;
    print $f $file =~ /weight$/ ? 10000 : 200_000;
}
my $nodes = $tb->run('sinfo', '-h', '-N', '-p', $opt{partition}, '-o', '%N');
for my $node (split ' ', $nodes->{out}) {
    my $r = $tb->testbed('node', $node, 'sh', '-c', "for f in tcp_rmem tcp_wmem; do echo '4096 $opt{socket} $opt{socket}' >/proc/sys/net/ipv4/\$f; done");
    die "$node: buffers of sockets cannot be set: $r->{err}" if $r->{rc};
}
END { $tb->testbed('down') if $tb && !$opt{keep} }
my $program = $tb->program('jacobi');
my $tracer = (map { $tb->install(build_dir() . "/$_", $_) } qw(libprecedent_trace_openmpi.so libprecedent_trace.so))[1];
my %checksum;

sub run_variant {
    my ($variant, %env) = @_;
    my $r = $tb->run({timeout => 300, chdir => $tb->path('.')}, 'srun', '-p', $opt{partition}, '-N2', "-n$opt{ranks}",
        join(',', '--export=ALL', "OMPI_MCA_btl_tcp_eager_limit=$opt{eager}", map { "$_=$env{$_}" } sort keys %env), $program, $variant,
        $opt{points}, $opt{iterations}, $opt{rows});
    my ($seconds, $sum) = $r->{out} =~ /^seconds ([\d.]+) checksum (\w+)$/m or die "jacobi $variant: $r->{out}$r->{err}";
    return $seconds if $variant =~ /-only$/;
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

my %advice = map { $_ => advice_of($_) } ('compute-first', $opt{after});
my $p = pairs($opt{pairs}, sub { run_variant($opt{after}) }, sub { run_variant('compute-first') });
my ($compute_s, $send_s) = map { my $v = $_; (sort { $a <=> $b } map { run_variant($v) } 1 .. 3)[1] } qw(compute-only send-only);
my $best = ($compute_s + $send_s) / ($compute_s > $send_s ? $compute_s : $send_s);
if ($opt{json}) {
    print JSON::PP->new->canonical->pretty->encode({points => $opt{points}, rows => $opt{rows}, slow_cpu => $opt{'slow-cpu'},
        compute_s => $compute_s, send_s => $send_s, best_ratio => $best, iterations => $opt{iterations}, ranks => $opt{ranks},
        partition => $opt{partition}, pairs => $opt{pairs}, compute_first_s => $p->{b}, after => $opt{after}, after_s => $p->{a}, ratio => $p->{ratio},
        spread => $p->{spread}, advice => \%advice});
    exit 0;
}
printf "%d rows of %d points, %d iterations, %d ranks on %s (%d %% of a processor)\n", @opt{qw(rows points iterations ranks partition slow-cpu)};
for my $variant ('compute-first', $opt{after}) {
    printf "%-14s %7.3f s", $variant, $variant eq $opt{after} ? $p->{a} : $p->{b};
    printf '   %s %.1f %%', $_->{name}, 100 * $_->{share} for grep { $_->{share} >= 0.005 } @{$advice{$variant}};
    print "\n";
}
printf "computing alone %.3f s, messages alone %.3f s: faster by %.2f at best\n", $compute_s, $send_s, $best;
printf "faster by %.2f +- %.2f (median of %d pairs)\n", @$p{qw(ratio spread)}, $opt{pairs};
