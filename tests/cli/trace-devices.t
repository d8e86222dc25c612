# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that use an accelerator: the trace says so, no skeleton is made, and the program itself predicts where that is asked for.
# The accelerators here are libraries of one line, which have the names of the real ones.
use strict;
use warnings;

use Cwd qw(getcwd);
use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command top);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2);

# heat, linked to a library that has this name.
sub linked {
	my ($name) = @_;
	spew('stand_in.c', "int stand_in(void) { return 0; }\n");
	my $r = run_command('sh', '-c', 'cc -shared -fPIC -Wl,-soname,"$1" -o "$1" stand_in.c && ' .
		'mpicc -O2 -o heat."$1" "$2" -Wl,--no-as-needed -Wl,-rpath,"$PWD" "$PWD/$1" -lm', 'sh', $name, top() . '/tests/programs/heat.c');
	is($r->{rc}, 0, "heat is linked to $name") or diag $r->{err};
	return getcwd() . "/heat.$name";
}

sub traced {
	my ($file, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, @command);
	is($r->{rc}, 0, "trace of @command") or diag $r->{err};
	return $file;
}

sub info_of {
	my ($file) = @_;
	return (precedent('info', $file)->{out}, decode_json(precedent('info', '--json', $file)->{out}));
}

my %kind = ('libcuda.so.1' => 'CUDA', 'libcudart.so.12' => 'CUDA', 'libamdhip64.so.5' => 'HIP', 'libhsa-runtime64.so.1' => 'HIP',
	'libze_loader.so.1' => 'Level Zero');

my $plain = traced('plain.ptrace', program('heat'), 64, 50);
my ($text, $json) = info_of($plain);
unlike($text, qr/^  device /m, 'nothing of accelerators where there is none');
is_deeply($json->{devices}, [], '... nor for machines');

for my $name (sort keys %kind) {
	($text, $json) = info_of(traced("$name.ptrace", linked($name), 64, 8));
	like($text, qr/^  device   2 of 2 ranks use \Q$kind{$name}\E: no skeleton repeats this work, past runs and partial execution do$/m,
		"$name is told");
	is_deeply($json->{devices}, [$kind{$name}], '... for machines too');
}

# ---- a library that the MPI library alone is linked to ----
{
	my $r = run_command('sh', '-c', 'cc -shared -fPIC -Wl,-soname,libmpi_more.so.1 -Wl,--no-as-needed -Wl,-rpath,"$PWD" -o libmpi_more.so.1 stand_in.c ' .
		'"$PWD/libze_loader.so.1" && mpicc -O2 -o heat.more "$1" -Wl,--no-as-needed -Wl,-rpath,"$PWD" "$PWD/libmpi_more.so.1" -lm && ' .
		'mpicc -O2 -o heat.both "$1" -Wl,--no-as-needed -Wl,-rpath,"$PWD" "$PWD/libmpi_more.so.1" "$PWD/libze_loader.so.1" -lm',
		'sh', top() . '/tests/programs/heat.c');
	is($r->{rc}, 0, 'heat is linked to an MPI library that is linked to libze_loader.so.1') or diag $r->{err};
	($text, $json) = info_of(traced('more.ptrace', getcwd() . '/heat.more', 64, 8));
	is_deeply($json->{devices}, [], 'what the MPI library needs says nothing of the program');
	($text, $json) = info_of(traced('both.ptrace', getcwd() . '/heat.both', 64, 8));
	is_deeply($json->{devices}, ['Level Zero'], '... and counts where the program needs it too');
}

# ---- no skeleton pretends to be such a program ----
my $cuda = 'libcuda.so.1.ptrace';
my $why = qr/2 of 2 ranks use CUDA, whose work no skeleton repeats/;
my $r = precedent('skeleton', $cuda, '-o', 'skel');
is($r->{rc}, 1, 'no skeleton of a program that uses CUDA');
like($r->{err}, $why, '... and the reason');
ok(!-e 'skel/skel.c', '... nor a file of it');
is(precedent('verify', $cuda)->{rc}, 0, 'the trace itself is whole');
$r = precedent('predict', $cuda);
is($r->{rc}, 1, 'predict makes none either, where the program itself is too short');
like($r->{err}, qr/nothing to predict: $why.*; partial execution: /, '... and says why nothing predicts');

# ---- in a probe ----
mkdir 7 or die "7: $!";
rename traced('7.ptrace', getcwd() . '/heat.libcuda.so.1', 256, 400), '7/0.ptrace' or die "rename: $!";

sub probed {
	my ($candidate, @options) = @_;
	precedent('probe', '--dir', 7, '--candidate', $candidate, @options, '--seconds', 0.3);
	return slurp("7/probe.$candidate.result");
}

my $record = probed('off', '--source');
like($record, qr/^status failed\nreason $why.*PartialExecution is not on here$/m, 'where the program itself may not run, the probe fails');
like($record, qr/^unskeleton $why/m, '... for a reason that stays');
ok(!-e '7/skel.0', '... and has built nothing');
$r = precedent('predict', '--partial', '--json', '--seconds', 0.3, '7/0.ptrace');
if ($r->{err} =~ /namespaces|sandbox/) {
	diag "no sandbox here: $r->{err}";
	done_testing();
	exit;
}
my $p = $r->{rc} ? {} : decode_json($r->{out});
cmp_ok($p->{predicted_s} // 0, '>', 0, 'the program itself predicts') or diag $r->{err};
is($p->{predicted_s}, $p->{partial}{predicted_s}, '... alone');
ok(!exists $p->{skeleton_s}, '... with no skeleton');
like($p->{unskeleton} // '', $why, '... and the reason');
like(precedent('predict', '--seconds', 0.3, '7/0.ptrace')->{out}, qr/^skeleton   none: $why/m, 'for people too, who need not ask for it');
$record = probed($_, '--partial=on', $_ eq 'home' ? '--source' : ()), like($record, qr/^status ok$/m, "a probe on $_") or diag $record
	for qw(home away);
like($record, qr/^trace 0 mpi_s \S+ skel_s 0 lo_s 0 hi_s 0 ran_s 0 /m, '... has no seconds of a skeleton');
like($record, qr/^partial 0 whole_s \S+ lo_s \S+ hi_s \S+ ran_s \S+$/m, '... but those of the program');
my ($home, $away) = map { slurp("7/probe.$_.result") =~ /^hash (\S+)$/m } qw(home away);
is($home, $away, '... by which both can be compared');
ok(!-e '7/skel.0' && !glob('7/partial.*.{home,away}'), '... and nothing is left');

done_testing();
