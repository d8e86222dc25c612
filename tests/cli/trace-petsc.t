#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# PETSc's tutorials under the tracer: exit status and output are those of the program alone, and the trace is whole. PETSc takes
# every signal for itself, wraps MPI calls of its own, and exchanges by two-sided or one-sided messages, as asked.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command);

my ($examples) = reverse sort glob '/usr/share/petsc/*/share/petsc/examples/src';
my $flags = run_command('pkg-config', '--cflags', '--libs', 'petsc');
plan skip_all => 'PETSc or its tutorials are not here (Debian: petsc-dev, libpetsc*-dev-examples)' if !$examples || $flags->{rc} != 0;

# [tutorial, ranks, arguments]: solvers of linear and nonlinear equations and of ODEs, grids, vectors, optimisation; C and Fortran.
my @tutorials = (
	['ksp/ksp/tutorials/ex2.c', 2, '-m', 60, '-n', 60, '-ksp_monitor_short'],
	['ksp/ksp/tutorials/ex2f.F90', 3, '-m', 40],
	['ksp/ksp/tutorials/ex45.c', 4, '-da_refine', 1, '-ksp_monitor_short', '-pc_type', 'mg'],
	['snes/tutorials/ex5f.F90', 2, '-snes_monitor_short'],
	['snes/tutorials/ex19.c', 4, '-da_refine', 2, '-snes_monitor_short'],
	['snes/tutorials/ex19.c', 2, '-da_refine', 1, '-snes_monitor_short', '-sf_type', 'window'],
	['ts/tutorials/ex2.c', 2, '-ts_max_steps', 20, '-ts_monitor'],
	['vec/vec/tutorials/ex9.c', 2],
	['vec/vec/tutorials/ex11.c', 3],
	['dm/tutorials/ex1.c', 2],
	['tao/unconstrained/tutorials/eptorsion2.c', 2, '-tao_smonitor'],
);

# Both: what ended how, and with which output.
sub run_of {
	my ($r) = @_;
	return "exit $r->{rc}\n$r->{out}";
}

my %built;
sub build {
	my ($source) = @_;
	my $exe = $source =~ s{\W}{_}gr;
	my $compiler = $source =~ /\.F90\z/ ? 'mpifort' : 'mpicc';
	my @free = $compiler eq 'mpifort' ? '-ffree-line-length-none' : ();
	return $built{$source} //= do {
		my $made = run_command("$compiler.openmpi", @free, '-o', $exe, "$examples/$source", split(' ', $flags->{out}), '-lm');
		is($made->{rc}, 0, "$source: is built") or diag $made->{err};
		"./$exe";
	};
}

for my $t (@tutorials) {
	my ($source, $ranks, @arguments) = @$t;
	my $name = join ' ', @$t;
	my @command = ('timeout', '--kill-after=5', patience(60), 'mpirun.openmpi', '--oversubscribe', '--bind-to', 'none', '-n', $ranks,
		build($source), @arguments);
	my $alone = run_command(@command);
	is($alone->{rc}, 0, "$name: runs alone") or diag $alone->{err};
	my $traced = precedent('trace', '-o', 'petsc.ptrace', '--', @command);
	is(run_of($traced), run_of($alone), '... and traced, with the same exit status and output') or diag $traced->{err};
	like($traced->{err}, qr/^precedent: petsc\.ptrace: $ranks ranks, [\d,]+ events, .*\n\z/m, '... of which a trace tells')
		or diag $traced->{err};
	my $verified = precedent('verify', '--json', 'petsc.ptrace');
	is($verified->{rc} ? $verified->{err} : decode_json($verified->{out})->{trace}, 'lossless', '... whose skeleton is the trace');
	unlink 'petsc.ptrace';
}

done_testing;
