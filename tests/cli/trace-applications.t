#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Real applications under the tracer: exit status and output are those of the program alone, the trace is whole, and the
# skeleton is short. PETSc takes every signal for itself, wraps MPI calls of its own, and exchanges by two-sided or one-sided
# messages, as asked. OpenFOAM's solvers iterate as long as they must, and communicate through a plugin. LAMMPS reduces and
# exchanges particles.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use File::Copy qw(copy);
use File::Path qw(make_path);
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command);

# The bounds of every skeleton, whatever the program does.
my ($seconds, $lines_most, $data_most) = (1, 5000, 8 << 20);

my ($examples) = reverse sort glob '/usr/share/petsc/*/share/petsc/examples/src';
my $flags = run_command('pkg-config', '--cflags', '--libs', 'petsc');
my $cavity = '/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity';

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

# What ended how, and with which output: without the lines that $volatile matches.
sub run_of {
	my ($r, $volatile) = @_;
	return join '', "exit $r->{rc}\n", grep { !$volatile || !/$volatile/ } $r->{out} =~ /^.*\n?/mg;
}

# The application runs alone and traced; its skeleton is within the bounds.
sub check_application {
	my ($name, $ranks, $volatile, @program) = @_;
	my @command = ('timeout', '--kill-after=5', patience(280), 'mpirun.openmpi', '--oversubscribe', '--bind-to', 'none', '-n', $ranks,
		@program);
	my $alone = run_command(@command);
	is($alone->{rc}, 0, "$name: runs alone") or diag $alone->{err};
	my $traced = precedent('trace', '-o', 'app.ptrace', '--', @command);
	is(run_of($traced, $volatile), run_of($alone, $volatile), '... and traced, with the same exit status and output')
		or diag $traced->{err};
	like($traced->{err}, qr/^precedent: app\.ptrace: $ranks ranks, [\d,]+ events, .*\n\z/m, '... of which a trace tells')
		or diag $traced->{err};
	my $verified = precedent('verify', '--json', 'app.ptrace');
	is($verified->{rc} ? $verified->{err} : decode_json($verified->{out})->{trace}, 'lossless', '... whose skeleton is the trace');
	my $made = precedent('skeleton', 'app.ptrace', '-o', 'skel', '--seconds', $seconds);
	is($made->{rc}, 0, '... from which a skeleton is made') or diag $made->{err};
	cmp_ok(slurp('skel/skel.c') =~ tr/\n//, '<=', $lines_most, '... of few lines');
	cmp_ok(-s 'skel/skel.c.data' // 0, '<=', $data_most, '... and little data');
	my ($planned) = slurp('skel/report.txt') =~ /planned run time ([\d.]+) s/;
	cmp_ok($planned // 'inf', '<=', 1.1 * $seconds, '... that is short');
	run_command('rm', '-rf', 'app.ptrace', 'skel');
	return;
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

SKIP: {
	skip 'PETSc or its tutorials are not here (Debian: petsc-dev, libpetsc*-dev-examples)', 1 if !$examples || $flags->{rc} != 0;
	for my $t (@tutorials) {
		my ($source, $ranks, @arguments) = @$t;
		check_application("@$t", $ranks, undef, build($source), @arguments);
	}
}

# Twenty time steps of OpenFOAM's first tutorial, on two parts of its mesh.
sub cavity {
	make_path("$_/0", "$_/constant", "$_/system") for 'cavity';
	for my $file (map { s{\A\Q$cavity/\E}{}r } glob "$cavity/{0,constant,system}/*") {
		copy("$cavity/$file", "cavity/$file") or die "$file: $!\n";
	}
	spew('cavity/system/controlDict', slurp('cavity/system/controlDict') =~ s/^(endTime\s+)0\.5;/${1}0.1;/mr);
	spew('cavity/system/decomposeParDict', "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n"
		. "numberOfSubdomains 2;\nmethod simple;\nsimpleCoeffs { n (2 1 1); delta 0.001; }\n");
	for my $tool (qw(blockMesh decomposePar)) {
		my $r = run_command($tool, '-case', 'cavity');
		is($r->{rc}, 0, $tool) or diag $r->{out};
	}
	return;
}

SKIP: {
	skip 'OpenFOAM or its tutorials are not here (Debian: openfoam, openfoam-examples)', 1
		if !-d $cavity || run_command('sh', '-c', 'command -v icoFoam')->{rc} != 0;
	local $ENV{WM_PROJECT_DIR} = '/usr/share/openfoam';
	cavity();
	check_application('icoFoam, lid-driven cavity', 2, qr/^(?:Date|Time|PID) +:|ExecutionTime|^ *"?\S+\.\d+"?$/, 'icoFoam', '-parallel',
		'-case', 'cavity');
}

SKIP: {
	skip 'LAMMPS is not here (Debian: lammps)', 1 if run_command('sh', '-c', 'command -v lmp')->{rc} != 0;
	spew('in.melt', join "\n", 'units lj', 'atom_style atomic', 'lattice fcc 0.8442', 'region box block 0 6 0 6 0 6', 'create_box 1 box',
		'create_atoms 1 box', 'mass 1 1.0', 'velocity all create 1.44 87287 loop geom', 'pair_style lj/cut 2.5',
		'pair_coeff 1 1 1.0 1.0 2.5', 'neighbor 0.3 bin', 'fix 1 all nve', 'thermo 20', 'run 60', '');
	check_application('lmp, a melt', 2, qr/Loop time|CPU|Performance|wall time|\|/, 'lmp', '-in', 'in.melt', '-log', 'none');
}

done_testing;
