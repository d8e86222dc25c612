# SPDX-License-Identifier: GPL-2.0-or-later
# Skeletons of a program whose time steps differ: loops whose counts vary are loops, calls that some steps leave out are
# conditions, and traced itself the skeleton makes the same calls with the same messages.
use strict;
use warnings;

use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 4);
my ($include, $library) = ("$ENV{PRECEDENT_LIBDIR}/include", "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a");
# The calls count here, not what computes between them, whose kernels take seconds to calibrate (skeleton-kernels.t).
my @quick = ('--empty-loop', '--result', 'result');

sub trace {
	my ($file, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return decode_json(precedent('info', '--json', $file)->{out});
}

# The frame of a skeleton reduces and waits, too.
sub calls { return { map { $_->{name} => $_->{calls} } grep { $_->{name} =~ /Sendrecv|Bcast|Gather/ } @{ $_[0]{functions} } } }

for my $phase (qw(growing random steps all)) {
	my $first = trace('whole.ptrace', program('varying'), 40, $phase);
	my $made = precedent('skeleton', 'whole.ptrace', '-o', 'whole', '--seconds', 1000);
	is($made->{rc}, 0, "$phase: a skeleton is made") or diag $made->{err};
	my $source = slurp('whole/skel.c');
	like($source, qr/for \(skel_loop_some\(\d+, \d+, skel_progress\(\d+, 1\)\); skel_next/, 'the growing loop is a loop')
		if $phase eq 'growing';
	like($source, qr/for \(skel_loop_some\(\d+, \d+, skel_turns\(\d+\)\); skel_next|if \(skel_happens/, 'so is the random one')
		if $phase eq 'random';
	if ($phase eq 'steps') {
		like($source, qr/if \(skel_every\(10, 9, 1\)\) \{\n[^}]*MPI_Allreduce/, 'what every tenth step does is a condition');
		like($source, qr/skel_happens\(\d+\)/, 'and what some steps do is another');
	}
	my $n = () = $source =~ /MPI_Sendrecv\(/g;
	cmp_ok($n, '<=', 12, 'with few calls') if $phase ne 'all';
	my $built = run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', "-I$include", '-o', 'whole/skel',
		'whole/skel.c', $library, '-lm');
	is($built->{rc}, 0, 'it compiles without a warning') or diag $built->{err};
	my $again = trace('again.ptrace', getcwd() . '/whole/skel', @quick);
	is_deeply(calls($again), calls($first), 'traced itself, it makes the same calls');
	is($again->{$_}, $first->{$_}, "the same $_") for qw(messages bytes_sent);
}

# Cut, it stands for the same number of calls.
my $whole = trace('cut.ptrace', program('varying'), 400, 'steps');
my $made = precedent('skeleton', 'cut.ptrace', '-o', 'cut', '--scale', 10);
is($made->{rc}, 0, 'a short skeleton is made') or diag $made->{err};
like(slurp('cut/skel.c'), qr/4000 iterations, of which \d+ run/, 'its time steps are cut');
my $built = run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Werror', "-I$include", '-o', 'cut/skel', 'cut/skel.c', $library,
	'-lm');
is($built->{rc}, 0, 'it compiles') or diag $built->{err};
my $run = run_command(@mpirun, 'cut/skel', @quick);
is($run->{rc}, 0, 'and runs') or diag $run->{err};
like(slurp('result'), qr/^events $whole->{events}$/m, 'it stands for all calls');

# So is a loop whose own count varies: as large a share of each execution runs.
$whole = trace('solver.ptrace', program('varying'), 8, 'solver');
$made = precedent('skeleton', 'solver.ptrace', '-o', 'solver', '--scale', 5);
is($made->{rc}, 0, 'solver: a short skeleton is made') or diag $made->{err};
my $source = slurp('solver/skel.c');
my ($total, $some) = $source =~ /for \(skel_loop_part\(\d+, (\d+), skel_turns\(\d+\), (\d+)\); skel_next/;
ok($total, 'solver: the loop whose count varies is cut');
cmp_ok($some // 0, '<', ($total // 0) / 2, 'solver: to less than half');
like(slurp('solver/report.txt'), qr/loop of up to $total iterations: $some run/, 'solver: the report says so') if $total;
$built = run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', "-I$include", '-o', 'solver/skel', 'solver/skel.c',
	$library, '-lm');
is($built->{rc}, 0, 'solver: it compiles without a warning') or diag $built->{err};
my $short = trace('short.ptrace', getcwd() . '/solver/skel', @quick);
like(slurp('result'), qr/^events $whole->{events}$/m, 'solver: it stands for all calls');
my ($n, $of) = map { calls($_)->{MPI_Sendrecv} } $short, $whole;
cmp_ok($n, '<', $of / 2, 'solver: traced itself, it makes fewer calls');
is(calls($short)->{MPI_Bcast}, calls($whole)->{MPI_Bcast}, 'solver: and as many of those that are not cut');
cmp_ok($short->{bytes_sent} / $n, '==', $whole->{bytes_sent} / $of, 'solver: of the same messages');
my $interpreted = trace('short.ptrace', "$ENV{PRECEDENT_LIBDIR}/precedent-replay", 'solver/skel.ops', '--empty-loop', '--result', 'interpreted');
is_deeply(calls($interpreted), calls($short), 'solver: interpreted, it makes the same calls');
my ($ran, $skel) = map { slurp('result') =~ /^${_}_s ([0-9.]+)$/m } qw(ran skel);
cmp_ok($skel, '>', $ran, 'solver: it accounts for what it left out');

done_testing;
