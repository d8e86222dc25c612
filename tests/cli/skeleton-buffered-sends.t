# SPDX-License-Identifier: GPL-2.0-or-later
# No skeleton needs buffers that its program does not need: with every send synchronous it ends, compiled and
# interpreted; programs that rely on buffered sends are told so, and where.
use strict;
use warnings;

use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n');
my $include = "$ENV{PRECEDENT_LIBDIR}/include";
my $library = "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a";
my $replay = "$ENV{PRECEDENT_LIBDIR}/precedent-replay";
# The calls count here, not what computes between them, whose kernels take seconds to calibrate (skeleton-kernels.t).
my @quick = ('--empty-loop', '--result', 'result');

sub skeleton_of {
	my ($ranks, $dir, $name, @arguments) = @_;
	my $r = precedent('trace', '-q', '-o', "$dir.ptrace", '--', @mpirun, $ranks, program($name), @arguments);
	die "no trace of $name: $r->{err}" if $r->{rc} != 0 || !-s "$dir.ptrace";
	my $made = precedent('skeleton', "$dir.ptrace", '-o', $dir, '--seconds', 1000, '--json');
	is($made->{rc}, 0, "$name: a skeleton") or diag $made->{err};
	return decode_json($made->{out});
}

for my $p ([4, 'lu'], [4, 'cg'], [3, 'ring'], [2, 'heat', 96, 40], [3, 'heat', 96, 40, 10, 'isend'], [3, 'master_worker'],
	[3, 'rma', 2000, 20]) {
	my ($ranks, $name, @arguments) = @$p;
	my $title = join ' ', $name, @arguments, "on $ranks";
	is(skeleton_of($ranks, 'skel', $name, @arguments)->{buffered}, 0, "$title: it does not rely on buffered sends");
	unlike(slurp('skel/report.txt'), qr/buffered/, "$title: nor does the report say so");
	is(run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', '-DSKEL_SYNCHRONOUS', "-I$include", '-o',
		'skel/skel', 'skel/skel.c', $library, '-lm')->{rc}, 0, "$title: it compiles with every send synchronous");
	unlike(run_command('nm', '-u', 'skel/skel')->{out}, qr/\bMPI_(I?send|Send_init|Sendrecv)\b/,
		"$title: no standard send is left");
	for my $how (['compiled', 'skel/skel'], ['interpreted', $replay, 'skel/skel.ops', '--synchronous']) {
		my ($what, @command) = @$how;
		my $ran = run_command('timeout', 300, @mpirun, $ranks, @command, @quick);
		is($ran->{rc}, 0, "$title: $what, it ends") or diag $ran->{err};
	}
}

# A program that sends to a neighbour which sends too, and to itself.
my $facts = skeleton_of(2, 'calls', 'calls', 'full');
is($facts->{buffered}, 4, 'calls: it relies on buffered sends');
my $report = slurp('calls/report.txt');
like($report, qr/^Relies on buffered sends/m, 'calls: the report says so');
like($report, qr/^  MPI_Send in main \(calls\.c:\d+\)$/m, '... and where');
like(precedent('skeleton', 'calls.ptrace', '-o', 'calls', '--seconds', 1000)->{out}, qr/relies on buffered sends, at 4 call sites/,
	'... as does the command');
is(run_command(@mpirun, 2, $replay, 'calls/skel.ops', @quick)->{rc}, 0, 'calls: with standard sends it ends');

# One comment per call, with function and line.
my $source = slurp('calls/skel.c');
my @comments = $source =~ m{^\t+/\* \w[\w.]* \(calls\.c:\d+\) \*/$}mg;
cmp_ok(scalar @comments, '>', 60, 'calls: comments name function and line');
my @bare = $source =~ m{^\t+/\* \w+\+0x[0-9a-f]+ \*/$}mg;
is(scalar @bare, 0, 'calls: none only an address');

done_testing;
