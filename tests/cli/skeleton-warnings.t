# SPDX-License-Identifier: GPL-2.0-or-later
# Skeletons of larger programs than those of this tree (a molecular dynamics code, a plane-wave code, a suite of
# benchmarks), whole and cut: they compile without any warning.
use strict;
use warnings;

use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib', 'tests/bench/lib';
use Bench qw(lammps_melt espresso_si8);
use Cli;
use Testbed qw(run_command);

$ENV{OMP_NUM_THREADS} = 1;
my ($include, $library) = ("$ENV{PRECEDENT_LIBDIR}/include", "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a");
my $pseudo = '/usr/share/espresso/pseudo/Si.pz-vbc.UPF';
my $hpccinf = '/usr/share/doc/hpcc/examples/_hpccinf.txt';

# Inputs so small that each program is done in seconds.
sub lammps {
	spew('in.melt', lammps_melt(40) =~ s/0 20 0 20 0 20/0 10 0 10 0 10/r);
	return ['lmp', '-in', 'in.melt', '-log', 'none'];
}

sub espresso {
	my $input = espresso_si8('out') =~ s/^ 6 6 6 1 1 1$/ 2 2 2 1 1 1/mr =~ s/ecutwfc=30\.0/ecutwfc=12.0/r;
	spew('si.in', $input);
	return ['pw.x', '-in', 'si.in'];
}

sub hpcc {
	spew('hpccinf.txt', slurp($hpccinf) =~ s/^\d+(\s+Ns)$/200$1/mr =~ s/^\d+(\s+Ps)$/1$1/mr);
	return ['hpcc'];
}

my @programs = (
	['LAMMPS', 'lmp', \&lammps],
	['Quantum ESPRESSO', 'pw.x', \&espresso, $pseudo],
	['HPC Challenge', 'hpcc', \&hpcc, $hpccinf],
);

sub installed {
	my ($command, @files) = @_;
	return (grep { -x "$_/$command" } split /:/, $ENV{PATH}) && !grep { !-e } @files;
}

# Every source of a skeleton is in its directory; what its data hold is no code.
sub compiles {
	my ($title, $dir) = @_;
	my $built = run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', "-I$include", '-o', "$dir/skel",
		"$dir/skel.c", $library, '-lm');
	is($built->{rc}, 0, "$title compiles without a warning") or diag substr $built->{err}, 0, 2000;
}

for my $p (@programs) {
	my ($title, $command, $prepare, @files) = @$p;
	SKIP: {
		skip "$title is not installed", 6 if !installed($command, @files);
		my $arguments = $prepare->();
		my $traced = precedent('trace', '-q', '-o', "$command.ptrace", '--', 'mpirun', '--bind-to', 'none', '--oversubscribe',
			'-n', 2, @$arguments);
		is($traced->{rc}, 0, "$title runs traced") or diag substr $traced->{err}, -2000;
		ok(-s "$command.ptrace", "$title has a trace");
		my $whole = precedent('skeleton', "$command.ptrace", '-o', "$command.whole", '--seconds', 1000);
		is($whole->{rc}, 0, "$title has a skeleton") or diag $whole->{err};
		compiles("the whole skeleton of $title", "$command.whole");
		my $cut = precedent('skeleton', "$command.ptrace", '-o', "$command.cut", '--scale', 10);
		is($cut->{rc}, 0, "$title has a short skeleton") or diag $cut->{err};
		compiles("the short skeleton of $title", "$command.cut");
	}
}

done_testing;
