# SPDX-License-Identifier: GPL-2.0-or-later
#
# Cli: the command `precedent` of the build tree, as the command-line tests run it: without Slurm, in a directory of
# their own, which is the working directory and is removed at the end.
package Cli;

use strict;
use warnings;

use Cwd qw(abs_path getcwd);
use Exporter qw(import);
use File::Basename qw(basename dirname);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use lib dirname(__FILE__) . '/../../cluster/lib';
use Testbed qw(run_command top build_dir);

our @EXPORT = qw(patience precedent trace_of program empty_skeletons slurp spew verbs);

my $build = build_dir();
my $dir = tempdir('precedent-cli-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $start = getcwd();

# As installed: the build directory need not lie in the source tree.
make_path("$dir/lib/include");
symlink top() . '/skelgen', "$dir/lib/include/skelgen" or die "symlink: $!\n";
symlink "$build/$_", "$dir/lib/$_" for qw(libprecedent_trace.so libprecedent_skel.a libprecedent_skel_mpich.a precedent-replay
	precedent-replay-mpich);
symlink $_, "$dir/lib/" . basename($_) or die "symlink: $!\n" for glob top() . '/conf/problems*.rules';
make_path("$dir/work");
chdir "$dir/work" or die "$dir/work: $!\n";
END { chdir $start if $start }

$ENV{PRECEDENT_LIBDIR} = "$dir/lib";
$ENV{PRECEDENT_CONF} = "$dir/precedent.conf";
$ENV{OMPI_ALLOW_RUN_AS_ROOT} = $ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} = 1;
# mpirun and each rank look for networks and devices that they do not use here: half of the time that a start takes.
$ENV{OMPI_MCA_pml} //= 'ob1';
$ENV{OMPI_MCA_btl} //= 'self,vader,tcp';
# Open MPI 5 looks for IPv6 between processes of one machine and complains if there is none, and refuses more ranks than cores.
$ENV{OMPI_MCA_btl_tcp_disable_family} //= 6;
$ENV{PRTE_MCA_rmaps_default_mapping_policy} //= ':oversubscribe';
$ENV{HWLOC_COMPONENTS} //= '-pci,-linuxio';
# Tests run beside each other: a rank that polls without yielding takes the processor from the rank it waits for.
$ENV{OMPI_MCA_mpi_yield_when_idle} //= 1;
make_path("$dir/bin");
spew("$dir/bin/scontrol", "#!/bin/sh\nexit 1\n"); # no Slurm, whatever this machine has
chmod 0755, "$dir/bin/scontrol";
$ENV{SLURM_CONF} = "$dir/slurm.conf"; # which does not exist
$ENV{PATH} = "$dir/bin:$ENV{PATH}";
delete @ENV{qw(PRECEDENT_TRACE PRECEDENT_TRACE_DIR PRECEDENT_TRACE_FILE)};
spew($ENV{PRECEDENT_CONF}, "SpoolDir=$dir/spool\nStateDir=$dir/state\nListenHost=127.0.0.1\nListenPort=1\n");

sub slurp {
	my ($path) = @_;
	open my $fh, '<:raw', $path or die "$path: $!\n";
	local $/;
	return scalar <$fh> // '';
}

sub spew {
	my ($path, $text) = @_;
	open my $fh, '>:raw', $path or die "$path: $!\n";
	print {$fh} $text;
	close $fh or die "$path: $!\n";
	return $path;
}

# Seconds to wait for what else is done in so many: with sanitizers programs are several times as slow.
my $slower;

sub patience {
	my ($seconds) = @_;
	$slower //= run_command('grep', '-qs', '__asan_init', "$build/precedent")->{rc} == 0 ? 5 : 1;
	return $seconds * $slower;
}

# precedent(ARGUMENTS...): {rc, out, err}; killed after 300 seconds (rc 124); several times that with sanitizers.
sub precedent {
	my (@arguments) = @_;
	return run_command('timeout', '--kill-after=5', patience(300), "$build/precedent", @arguments);
}

# Path of tests/programs/NAME, which is built.
sub program {
	my ($name) = @_;
	my $path = "$build/tests/programs/$name";
	my $made = run_command('make', '--silent', '-C', top(), "B=$ENV{PRECEDENT_BUILD}", "$ENV{PRECEDENT_BUILD}/tests/programs/$name")
	    if !-x $path;
	die "tests/programs/$name cannot be built: $made->{err}" if $made && $made->{rc} != 0;
	return $path;
}

# trace_of(FILE, PROGRAM, ARGUMENTS...): traces two ranks of it.
sub trace_of {
	my ($file, $name, @arguments) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', 'mpirun', '--oversubscribe', '-n', 2, program($name), @arguments);
	die "no trace of $name: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return $file;
}

# From here on predictions and probes run skeletons whose computation is an empty loop. Tests of calls and messages need no more.
# Kernels are not measured, which takes a second of processor time on each rank.
sub empty_skeletons {
	make_path("$dir/empty");
	spew("$dir/empty/empty.c", "void skel_blocks_be_empty(void);\n"
		. "__attribute__((constructor)) static void empty(void) { skel_blocks_be_empty(); }\n");
	my $made = run_command('cc', '-c', '-o', "$dir/empty/empty.o", "$dir/empty/empty.c");
	die "no empty skeletons: $made->{err}" if $made->{rc} != 0;
	for my $path (grep { -x } map { my $d = $_; map { "$d/$_" } qw(mpicc mpicc.openmpi mpicc.mpich) } reverse split /:/, $ENV{PATH}) {
		my $wrapper = "$dir/empty/" . basename($path);
		spew($wrapper, "#!/bin/sh\ncase \"\$*\" in *skel.c*) set -- \"\$@\" $dir/empty/empty.o ;; esac\nexec $path \"\$@\"\n");
		chmod 0755, $wrapper;
	}
	$ENV{PATH} =~ s{^\Q$dir\E/bin:}{$dir/bin:$dir/empty:};
	for my $replay (grep { -e "$build/$_" } qw(precedent-replay precedent-replay-mpich)) {
		unlink "$dir/lib/$replay";
		spew("$dir/lib/$replay", "#!/bin/sh\nexec $build/$replay \"\$@\" --empty-loop\n");
		chmod 0755, "$dir/lib/$replay";
	}
	return;
}

# What `precedent --help` lists.
sub verbs {
	return precedent('--help')->{out} =~ /^  ([a-z]+) /mg;
}

$ENV{PRECEDENT_BUILD} //= 'build';

1;
