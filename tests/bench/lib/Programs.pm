# SPDX-License-Identifier: GPL-2.0-or-later
#
# The programs of the accuracy table with their data, all of it made here: own ones in the patterns of the NAS kernels,
# and those of Debian's packages lammps, quantum-espresso, gromacs and hpcc.
package Programs;
use strict;
use warnings;
use Bench qw(build top lammps_melt espresso_si8);
use Exporter 'import';
use File::Path qw(make_path);

our @EXPORT_OK = qw(program_names program_of short_name named furnish spill slurp owned);

# large: what is run; small: on processors that are emulated, which take 3 to 30 times as long and some seconds to
# translate MPI before. data: what it works on, and the
# memory of a rank in large. files: {name => text}, of the directory, the ranks, whether it is the small one, and the name.
# make: commands that make the rest. leaves: what a run would append to. not_on: machines
# that it is not measured on.
# The own programs work in the second-level cache. Of three more the data do not fit: what they take varies with whatever
# else the memory of the host serves. The last ones run for a minute or two.
my @too_long = qw(network both here qemu valgrind host remote);
my @by_time = qw(network both host remote);
my @programs = (
	{name => 'bt', large => ['bt', 20, 600], small => ['bt', 20, 240], data => '20^3 points, block tridiagonal; cache'},
	{name => 'cg', large => ['cg', 400, 10000], small => ['cg', 300, 3000], data => '400^2 points; cache'},
	{name => 'ep', large => ['ep', 300], small => ['ep', 100], data => '300 million pairs; cache'},
	{name => 'ft', large => ['ft', 32, 900], small => ['ft', 32, 2000], data => '32^3 points; cache'},
	{name => 'is', large => ['is', 1024, 200], small => ['is', 1024, 160], data => '1024 thousand keys; 8 MB'},
	{name => 'lu', large => ['lu', 64, 3000], small => ['lu', 64, 2400], data => '64^3 points, a plane at a time; cache'},
	{name => 'mg', large => ['mg', 32, 2500], small => ['mg', 32, 2000], data => '32^3 points; cache'},
	{name => 'sp', large => ['sp', 24, 3000], small => ['sp', 24, 1200], data => '24^3 points, scalar lines; cache'},
	{name => 'heat', large => ['heat', 250, 60000], small => ['heat', 250, 10000], data => '250^2 points; cache'},
	{name => 'lammps', large => [qw(lmp -in in.lj -log none)], small => [qw(lmp -in in.lj -log none)], files => \&lammps_files,
		data => 'Lennard-Jones melt of 32,000 atoms, 300 steps (emulated: 200); 35 MB'},
	{name => 'espresso', large => [qw(pw.x -in si8.in)], small => [qw(pw.x -in si8.in)], files => \&espresso_files,
		data => '8 atoms of silicon, 30 Ry, 6x6x6 k points (emulated: 4x4x4); 45 MB'},
	{name => 'gromacs', large => [gromacs_run()], small => [gromacs_run()], files => \&gromacs_files, make => \&gromacs_make,
		data => 'SPC/E water, 1,728 molecules of 8 boxes spc216, PME, 1,000 steps (emulated: 200); 30 MB'},
	{name => 'hpcc-hpl', large => ['hpcc'], small => ['hpcc'], files => \&hpcc_files, leaves => 'hpccoutf.txt', not_on => \@by_time,
		data => '1,600 equations solved 3 times, the other parts of hpcc at that size (emulated: 400, once); 25 MB'},
	{name => 'hpcc-ptrans', large => ['hpcc'], small => ['hpcc'], files => \&hpcc_files, leaves => 'hpccoutf.txt', not_on => \@by_time,
		data => 'matrices of 1,400^2 transposed, 14 sizes times 5, the other parts at that size (emulated: 400); 20 MB'},
	{name => 'ft, 4 MiB', large => ['ft', 64, 100], small => ['ft', 64, 8], data => '64^3 points; 4 MiB'},
	{name => 'mg, 16 MiB', large => ['mg', 128, 100], small => ['mg', 64, 15], data => '128^3 points; 16 MiB'},
	{name => 'heat, 4 MiB', large => ['heat', 700, 25000], small => ['heat', 300, 1500], data => '700^2 points; 4 MiB'},
	{name => 'lu, minutes', large => ['lu', 64, 45000], small => ['lu', 64, 600], not_on => \@too_long, data => '64^3 points, a plane at a time; cache'},
	{name => 'lammps, minutes', large => [qw(lmp -in in.lj -log none)], small => [qw(lmp -in in.lj -log none)], files => \&lammps_files,
		not_on => \@too_long, data => 'as above, 9,000 steps; 35 MB'},
	{name => 'gromacs, minutes', large => [gromacs_run()], small => [gromacs_run()], files => \&gromacs_files, make => \&gromacs_make,
		not_on => \@too_long, data => 'as above, 25,000 steps; 30 MB'},
);

# Programs of which no iteration is like another, for irregular.pl alone. They are traced and predicted on one machine.
my @irregular = (
	{name => 'openfoam', large => [qw(icoFoam -parallel)], files => \&openfoam_files, make => \&openfoam_make,
		data => 'lid-driven cavity, 40^2 cells, 4,000 steps; the number of iterations of its solvers varies'},
	{name => 'petsc', large => [qw(ex19 -da_refine 7 -snes_monitor_short -pc_type mg)], make => \&petsc_make,
		data => 'driven cavity by Newton and multigrid, tutorial ex19 of SNES'},
	{name => 'python', large => [qw(farm.py 4000)], files => \&python_files,
		data => 'task farm of mpi4py, 4,000 tasks of random length'},
);

sub program_names { return map { $_->{name} } @programs }

# As it is chosen: "ft-large", "lu-minutes".
sub short_name { my ($name) = @_; return $name =~ s/, minutes$/-minutes/r =~ s/, .*/-large/r }

# named(LIST, KNOWN...): the names in a list with commas; dies of the first that is not known.
sub named {
	my ($list, @of) = @_;
	my %known = map { $_ => 1 } @of;
	$known{$_} or die "no '$_'; there are @of\n" for split /,/, $list;
	return split /,/, $list;
}

sub program_of {
	my ($name) = @_;
	my ($p) = grep { $_->{name} eq $name } @programs, @irregular;
	return $p // die "no program '$name'\n";
}

# ---- data ----

sub lammps_files {
	my ($dir, $ranks, $small, $name) = @_;
	return {'in.lj' => lammps_melt($small ? 200 : $name =~ /minutes/ ? 9000 : 300)};
}

sub espresso_files {
	my ($dir, $ranks, $small) = @_;
	my $k = $small ? '4 4 4' : '6 6 6';
	return {'si8.in' => espresso_si8("$dir/espresso") =~ s/^ 6 6 6 1 1 1$/ $k 1 1 1/mr};
}

# Nothing in it is tuned by what is measured at run time: the same steps on every machine.
sub gromacs_files {
	my ($dir, $ranks, $small, $name) = @_;
	my $steps = $small ? 200 : $name =~ /minutes/ ? 25000 : 1000;
	return {'topol.top' => <<"TOP", 'run.mdp' => <<"MDP"};
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
SOL 1728
TOP
integrator = md
dt = 0.002
nsteps = $steps
nstlist = 20
cutoff-scheme = Verlet
coulombtype = PME
fourierspacing = 0.12
rcoulomb = 0.9
rvdw = 0.9
tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
gen-vel = yes
gen-seed = 1
nstenergy = 100
nstlog = 0
MDP
}

sub gromacs_make {
	my @gmx = qw(gmx_mpi -quiet -nobackup);
	return ([@gmx, qw(genconf -f /usr/share/gromacs/top/spc216.gro -nbox 2 2 2 -o box.gro)],
		[@gmx, qw(grompp -f run.mdp -c box.gro -p topol.top -o topol.tpr)]);
}

sub gromacs_run {
	return qw(gmx_mpi -quiet -nobackup mdrun -s topol.tpr -deffnm out -ntomp 1 -nb cpu -pin off -noconfout -notunepme -dlb no -nstlist 20 -reprod);
}

# The shipped input with other sizes. All parts of hpcc always run, on the memory that the largest LINPACK takes: what
# differs is how often it is solved, and what is transposed besides.
sub hpcc_files {
	my ($dir, $ranks, $small, $name) = @_;
	my ($n, $solve, $transpose) = $name eq 'hpcc-hpl' ? (1600, $small ? 1 : 3, 0) : (1400, 1, $small ? 1 : 9);
	$n = 400 if $small;
	my $text = slurp('/usr/share/doc/hpcc/examples/_hpccinf.txt') or die "hpcc is not installed\n";
	my %line = ('# of problems sizes (N)' => $solve, Ns => join(' ', ($n) x $solve), Ps => 1, Qs => $ranks,
		'Number of additional problem sizes for PTRANS' => $transpose, 'values of N' => join(' ', ($n) x ($transpose || 1)));
	for my $what (keys %line) {
		$text =~ s/^[\d ]+?(\s+\Q$what\E)$/$line{$what}$1/m or die "hpcc's input has no line '$what'\n";
	}
	return {'hpccinf.txt' => $text};
}

# The first tutorial with a finer mesh and more steps. icoFoam reads its case from the directory that it is started in.
sub openfoam_files {
	my ($dir, $ranks) = @_;
	$ENV{WM_PROJECT_DIR} //= "/usr/share/openfoam"; # where its programs find their settings
	my $case = '/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity';
	my %file = map { ($_ => slurp("$case/$_") || die "openfoam-examples is not installed\n") } qw(0/U 0/p constant/transportProperties
		system/blockMeshDict system/controlDict system/fvSchemes system/fvSolution);
	$file{'system/blockMeshDict'} =~ s/\(20 20 1\)/(40 40 1)/;
	$file{'system/controlDict'} =~ s/^(deltaT\s+).*;/${1}0.0025;/m;
	$file{'system/controlDict'} =~ s/^(endTime\s+).*;/${1}10;/m;
	# Steps of a millisecond would print 28,000 lines. The launcher would take a tenth of the processors to pass them on.
	$file{'system/controlDict'} .= "DebugSwitches { SolverPerformance 0; }\n";
	$file{'system/decomposeParDict'} = "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n"
		. "numberOfSubdomains $ranks;\nmethod simple;\nsimpleCoeffs { n ($ranks 1 1); delta 0.001; }\n";
	make_path(map { "$dir/$_" } qw(0 constant system));
	return \%file;
}

sub openfoam_make { return (['blockMesh'], [qw(decomposePar -force)]) }

sub petsc_make {
	my ($source) = reverse sort glob '/usr/share/petsc/*/share/petsc/examples/src/snes/tutorials/ex19.c';
	die "the tutorials of PETSc are not installed\n" if !$source;
	return [qw(mpicc.openmpi -O2 -o ex19), $source, split(' ', qx(pkg-config --cflags --libs petsc)), '-lm'];
}

sub python_files {
	return {'farm.py' => <<'PY'};
#!/usr/bin/python3
# Rank 0 hands out tasks of random length, one at a time; the others work.
import random
import sys
from mpi4py import MPI

comm, status, tasks = MPI.COMM_WORLD, MPI.Status(), int(sys.argv[1])
random.seed(1)
if comm.rank == 0:
    for task in range(tasks + comm.size - 1):
        comm.recv(source=MPI.ANY_SOURCE, status=status)
        comm.send(random.randint(1000, 60000) if task < tasks else None, dest=status.source)
else:
    result = 0
    while True:
        comm.send(result, dest=0)
        length = comm.recv(source=0)
        if length is None:
            break
        result = sum(i * i for i in range(length))
PY
}

# ---- files ----

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar <$f> }

sub spill {
	my ($path, $text) = @_;
	open my $f, '>', $path or die "$path: $!\n";
	print {$f} $text;
	close $f or die "$path: $!\n";
	chmod 0755, $path;
	return;
}

# What lies there is its owner's, for whom programs run.
sub owned {
	my ($dir) = @_;
	my ($uid, $gid) = (stat "$dir/..")[4, 5];
	chown $uid, $gid, $dir, glob "$dir/* $dir/*/*";
	return;
}

# furnish(DIR, NAME, RANKS, SMALL): everything that a program needs, in that directory; its command.
sub furnish {
	my ($dir, $name, $ranks, $small) = @_;
	my $p = program_of($name);
	my @cmd = @{$p->{$small ? 'small' : 'large'}};
	my $own = build() . "/tests/programs/$cmd[0]";
	make_path($dir);
	my $files = $p->{files} ? $p->{files}->($dir, $ranks, $small, $name) : {};
	spill("$dir/$_", $files->{$_}) for sort keys %$files;
	place($dir, -e $own ? $own : (), map { build() . "/$_" } qw(libprecedent_trace.so libprecedent_trace_openmpi.so tests/bench/libmpi_timer.so));
	for my $make ($p->{make} ? $p->{make}->() : ()) {
		my $said = "$dir/made.txt";
		my $pid = fork // die "fork: $!\n";
		if (!$pid) {
			chdir $dir and open STDOUT, '>', $said and open STDERR, '>&', \*STDOUT and exec @$make;
			exit 127;
		}
		waitpid $pid, 0;
		die "@$make failed: ", slurp($said) =~ s/.*\n(?=(?:.*\n){4})//sr, "\n" if $?;
	}
	owned($dir);
	($cmd[0]) = -e $own || -x "$dir/$cmd[0]" ? "$dir/$cmd[0]" : grep { -x } map { "$_/$cmd[0]" } split /:/, $ENV{PATH} or die "$cmd[0] is not installed\n"; # emulators look at no PATH
	return @cmd;
}

sub place {
	my ($dir, @files) = @_;
	system('cp', '-f', @files, $dir) == 0 or die "no copies of @files in $dir (make bench-accuracy-tools)\n";
	return;
}

1;
