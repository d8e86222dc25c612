# SPDX-License-Identifier: GPL-2.0-or-later
# A rank that loses its processor between two calls has not computed meanwhile: a skeleton of such a trace computes what the
# program did. What it did is known: the processor time that the program itself has read before and after each block.
use strict;
use warnings;

use JSON::PP;
use POSIX qw(_exit);
use Test::More;
use Time::HiRes qw(time);
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command build_dir);

use constant BLOCKS => 60;
use constant MINUTES => 10;

# One processor of those that may be used, for the program and those that disturb it.
my ($processor) = run_command('taskset', '-cp', $$)->{out} =~ /: (\d+)/ or plan skip_all => 'taskset does not say where this runs';

# $what: Perl; without it they compute all the time.
sub disturb {
	my ($n, $what) = @_;
	my @pid;
	$what //= '1 while 1';
	for (1 .. $n) {
		my $pid = fork // die "fork: $!";
		if (!$pid) {
			alarm MINUTES * 60;
			exec 'taskset', '-c', $processor, $^X, '-e', 'alarm ' . MINUTES * 60 . "; $what" or _exit(127);
		}
		push @pid, $pid;
	}
	return @pid;
}

# Traced, with so many others on its processor: what the program computed by its own account, and by the skeleton's.
sub traced {
	my ($name, $others, $hertz, @before) = @_;
	local $ENV{PRECEDENT_TRACE_SAMPLE} = $hertz;
	my @pid = disturb($others);
	my $r = precedent('trace', '-q', '-o', "$name.ptrace", '--', 'taskset', '-c', $processor, 'mpirun', '--bind-to', 'none', '-n', 1,
		@before, program('blocks'), BLOCKS);
	kill 'TERM', @pid;
	waitpid $_, 0 for @pid;
	die "no trace: $r->{err}" if $r->{rc} != 0 || !-s "$name.ptrace";
	my ($cpu, $wall) = $r->{out} =~ /^cpu ([\d.]+) s, wall ([\d.]+) s$/m or die "no account: $r->{out}";
	my $made = precedent('skeleton', "$name.ptrace", '-o', $name, '--seconds', 1000, '--json');
	is($made->{rc}, 0, "$name: a skeleton") or diag $made->{err};
	my $facts = decode_json($made->{out});
	note sprintf '%s: processor %.3f s of %.3f s; traced %.3f s, delayed %.3f s', $name, $cpu, $wall, @$facts{qw(computed_s delayed_s)};
	return {cpu => $cpu, wall => $wall, report => slurp("$name/report.txt"), said => precedent('skeleton', "$name.ptrace", '-o', $name)->{out}, %$facts};
}

my $alone = traced('alone', 0, 256);
my $busy = traced('busy', 2, 256);
# Much of the run is behind the last sample, of both sources of samples.
my $seldom = traced('seldom', 2, 1);
my $timer = traced('timer', 2, 1, program('without_perf'));

for my $run (['alone', $alone], ['busy', $busy], ['seldom', $seldom], ['timer', $timer]) {
	my ($name, $r) = @$run;
	my $own = $r->{computed_s} - $r->{delayed_s};
	# Interrupts and what a virtual machine's host takes are in neither account of the kernel's.
	cmp_ok(abs($own / $r->{cpu} - 1), '<', 0.15, "$name: computed as long as the program had its processor");
}
cmp_ok($busy->{wall}, '>', 1.5 * $busy->{cpu}, 'the others did take its processor');
cmp_ok($busy->{delayed_s}, '>', 0.7 * ($busy->{wall} - $busy->{cpu}), '... which is taken out');
like($busy->{report}, qr/^While a rank was ready to compute others had its processor, up to [\d.]+ s/m, '... as the report says');
like($busy->{said}, qr/others had a rank's processor for [\d.]+ m?s of that while it was ready to compute: taken out/,
	'... and the command');

# Two ranks wait for each other on one processor, and then each has its own. The prediction counts with both.
SKIP: {
	skip 'one processor', 5 if qx(nproc) < 2;
	my @run = ('mpirun', '--bind-to', 'none', '--oversubscribe', '--mca', 'mpi_yield_when_idle', 0, '-n', 2);
	my $r = precedent('trace', '-q', '-o', 'squeezed.ptrace', '--', @run, program('squeezed'));
	is($r->{rc}, 0, 'squeezed: a trace') or diag $r->{err};
	$r = precedent('predict', 'squeezed.ptrace', '--seconds', 1000, '--json');
	is($r->{rc}, 0, '... a prediction') or diag $r->{err};
	my $p = decode_json($r->{out});
	cmp_ok($p->{squeezed_s}, '>', 0.1 * $p->{traced_s}, '... of more time than the skeleton takes');
	cmp_ok($p->{hi_s}, '>=', $p->{predicted_s}, '... within its interval');
	cmp_ok($p->{lo_s}, '<=', $p->{predicted_s} - $p->{squeezed_s}, '... as is a run without it');
}

# Two ranks share a processor, in the program and in its skeleton. Parts of blocks are too short to show that.
{
	my @one = ('taskset', '-c', $processor);
	my @run = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2, program('blocks'), BLOCKS);
	my $r = precedent('trace', '-q', '-o', 'shared.ptrace', '--', @one, @run);
	is($r->{rc}, 0, 'a processor for two: a trace') or diag $r->{err};
	$r = precedent('skeleton', 'shared.ptrace', '-o', 'shared', '--seconds', 1000, '--json');
	my ($computed, $delayed) = @{decode_json($r->{out})}{qw(computed_s delayed_s)};
	my ($whole, $parts) = map {
		$r = run_command(@one, build_dir() . '/precedent', qw(predict shared.ptrace --json --seconds), $_);
		is($r->{rc}, 0, "... predicted in $_ s") or diag $r->{err};
		decode_json($r->{out});
	} 1000, 0.1;
	cmp_ok($whole->{predicted_s}, '>', 1.5 * ($computed - $delayed), '... they wait for each other');
	cmp_ok($parts->{hi_s}, '>', $parts->{predicted_s} + 0.9 * $delayed, '... or may do so with the whole blocks');
}

# Delays so short that none is looked into by itself do not add up to the sleep that follows: another program has the
# processor for 0.15 ms of each 1.15 ms. Each of the phases computes or sleeps for as long as the others.
for my $source (['ring'], ['timer', program('without_perf')]) {
	my ($name, @before) = @$source;
	my @pid = disturb(1, 'use Time::HiRes qw(time sleep); while (1) { sleep 0.001; my $t = time; 1 while time < $t + 0.00015 }');
	my $r = precedent('trace', '-q', '-o', "short-$name.ptrace", '--', 'taskset', '-c', $processor, 'mpirun', '--bind-to', 'none',
		'-n', 1, @before, program('mixes'), 1, qw(integer scalar divide integer_chain sleep));
	kill 'TERM', @pid;
	waitpid $_, 0 for @pid;
	my @phase = grep { $_->{call} eq 'MPI_Allreduce' } @{decode_json(precedent('info', '--mix', '--json', "short-$name.ptrace")->{out})->{blocks}};
	is(scalar @phase, 5, "short delays, $name: five phases") or diag $r->{err};
	my ($least, $most) = (sort { $a <=> $b } map { $_->{seconds} } @phase)[0, -1];
	cmp_ok($least, '>', 0.75 * $most, '... and none got the delays of another');
}

done_testing();
