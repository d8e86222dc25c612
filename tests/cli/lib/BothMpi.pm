# SPDX-License-Identifier: GPL-2.0-or-later
#
# BothMpi: the MPI libraries of this machine, and skeletons of programs with each of them. Imports after Cli.
package BothMpi;

use strict;
use warnings;

use Exporter qw(import);
use File::Basename qw(dirname);
use lib dirname(__FILE__), dirname(__FILE__) . '/../../cluster/lib';
use Cli;
use Testbed qw(run_command top build_dir);

our @EXPORT = qw(libraries program_of skeleton_of run_both compile_with);

# Each {name, programs, run: the launcher with its options, mpicc, runtime, replay}. MPICH only where it is installed.
sub libraries {
	my @limit = ('timeout', '--kill-after=5', patience(200));
	my @all = ({name => 'Open MPI', programs => 'programs', run => [@limit, 'mpirun', '--oversubscribe', '--bind-to', 'none'],
		    mpicc => 'mpicc', runtime => 'libprecedent_skel.a', replay => 'precedent-replay'});
	push @all, {name => 'MPICH', programs => 'programs-mpich', run => [@limit, 'mpirun.mpich'], mpicc => 'mpicc.mpich',
		    runtime => 'libprecedent_skel_mpich.a', replay => 'precedent-replay-mpich'}
		if run_command('sh', '-c', 'command -v mpicc.mpich && command -v mpirun.mpich')->{rc} == 0;
	return @all;
}

# Path of tests/programs/NAME, built with this library. make is asked only for a missing program, as make takes half a second.
sub program_of {
	my ($mpi, $name) = @_;
	my $target = "tests/$mpi->{programs}/$name";
	my $path = build_dir() . "/$target";
	return $path if -x $path;
	my $made = run_command('make', '--silent', '-C', top(), "B=$ENV{PRECEDENT_BUILD}", "$ENV{PRECEDENT_BUILD}/$target");
	die "$target cannot be built: $made->{err}" if $made->{rc} != 0;
	return $path;
}

# Compiles a C file that calls the runtime of skeletons: {rc, out, err}.
sub compile_with {
	my ($mpi, $source, $out) = @_;
	return run_command($mpi->{mpicc}, '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror',
		"-I$ENV{PRECEDENT_LIBDIR}/include", '-o', $out, $source, "$ENV{PRECEDENT_LIBDIR}/$mpi->{runtime}", '-lm');
}

# skeleton_of(LIBRARY, RANKS, DIR, PROGRAM, ARGUMENTS...): traces it to DIR.ptrace and makes its whole skeleton in DIR, not
# compiled. Returns what `precedent skeleton` did.
sub skeleton_of {
	my ($mpi, $ranks, $dir, $name, @arguments) = @_;
	my $r = precedent('trace', '-q', '-o', "$dir.ptrace", '--', @{ $mpi->{run} }, '-n', $ranks, program_of($mpi, $name), @arguments);
	die "no trace of $name with $mpi->{name}: $r->{err}" if $r->{rc} != 0 || !-s "$dir.ptrace";
	return precedent('skeleton', "$dir.ptrace", '-o', $dir, '--seconds', 1000);
}

# run_both(LIBRARY, RANKS, DIR): compiles the skeleton and runs it, compiled and interpreted. The first of these that failed, or
# the last one.
sub run_both {
	my ($mpi, $ranks, $dir) = @_;
	my @quick = ('--empty-loop', '--result', "$dir/result");
	my $r = compile_with($mpi, "$dir/skel.c", "$dir/skel");
	for my $command (["$dir/skel"], ["$ENV{PRECEDENT_LIBDIR}/$mpi->{replay}", "$dir/skel.ops"]) {
		$r = run_command(@{ $mpi->{run} }, '-n', $ranks, @$command, @quick) if $r->{rc} == 0;
	}
	return $r;
}

1;
