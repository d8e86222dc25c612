# SPDX-License-Identifier: GPL-2.0-or-later
#
# The machines of the accuracy table, made from this one: nodes of a testbed at full speed, at half the processor, with
# slow links, both, or of unequal speed; and two processors that weigh instructions in another way, qemu's translator
# and valgrind's without a tool. And one that is another: a bundle of programs goes there and rows come back (Bundle.pm).
package Machines;
use strict;
use warnings;
use Exporter 'import';
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(build top);
use File::Temp qw(tempdir);
use List::Util qw(min);
use Testbed;
use Time::HiRes qw(time);

our @EXPORT_OK = qw(machine machine_names swept_names home_of run_on why_failed work_dir work_in machines_end);

my $LIMIT_S = 300; # of one run
# What mpirun adds to any failure.
my $LAUNCHER = qr/^-+$|^(?:mpirun detected|the job to be term|Primary job|a non-zero exit)|^\s+(?:Process name|Exit code):/;

# Nodes of one job on different cores: scripts/testbed binds fast1 and slow1 to one, fast2 and slow2 to the other. The slow ones
# have slow links here; half: cores of which processor_share leaves a half. way: of measuring, see Pairs.pm. tries: a probe
# runs so often there, and the quickest counts. One process in fifteen takes two to eight times as long as the others for the same
# floating point on qemu: its own stack lies, modulo 4 KiB, where the registers that it emulates do, and the processor takes the
# one for the other. Where it lies is drawn anew for each process, and shifts with the environment by 16 bytes.
my %machine = (
	home     => {text => 'the traced nodes again', nodes => 'fast'},
	cpu      => {text => 'processor at 50 %', nodes => 'fast', half => [0, 1], way => 4},
	network  => {text => 'network at 100 Mbit/s', nodes => 'slow'},
	both     => {text => 'processor at 50 %, 100 Mbit/s', nodes => 'slow', half => [0, 1], way => 4},
	unequal  => {text => 'one node at 50 %', nodes => 'fast', half => [1], way => 4},
	here     => {text => 'this machine, without emulation', local => []},
	qemu     => {text => 'qemu-user', local => ['qemu-x86_64'], home => 'here', tries => 2, way => 3},
	valgrind => {text => 'valgrind, no tool', local => ['valgrind', '-q', '--tool=none'], home => 'here'},
	host     => {text => 'the traced host again', local => [], home => 'host', bundled => 1},
	remote   => {text => 'another host type', local => [], home => 'host', bundled => 1},
);
my @order = qw(home cpu network both unequal here qemu valgrind host remote);

sub machine_names { return @order }
# Those that one sweep can measure by itself.
sub swept_names { return grep { !$machine{$_}{bundled} } @order }
sub machine { return $machine{$_[0]} // die "no machine '$_[0]'\n" }
sub home_of { return machine($_[0])->{home} // (machine($_[0])->{local} ? 'here' : 'home') }

my $name = $ENV{PRECEDENT_TESTBED} // 'accuracy';
my $SLOW_MBIT = 100;
my ($testbed, $up, $slower, $local_dir);

sub testbed {
	return $testbed if $testbed;
	$up = 1;
	$testbed = Testbed->attach(name => $name, up => ['--plain', '--slow-cpu', 100, '--slow-mbit', $SLOW_MBIT]);
	return $testbed;
}

# From here on what runs on this machine runs in that directory, which stays.
sub work_in { ($local_dir) = @_; return }

# Where programs, traces and skeletons lie, readable on the nodes.
sub work_dir {
	my ($name) = @_;
	if (machine($name)->{local}) {
		$local_dir //= tempdir(CLEANUP => 1);
		return $local_dir;
	}
	return testbed()->dir . '/home/' . testbed()->user;
}

# Of these cores half is left, until whole().
sub halve {
	my $pid = open my $says, '-|', build() . '/tests/bench/processor_share', 50, @_ or die "processor_share: $!\n";
	$slower = {pid => $pid, says => $says};
	(<$says> // '') eq "ready\n" or die "no cores at half their speed\n";
	return;
}

sub whole {
	return if !$slower;
	kill 'KILL', $slower->{pid};
	close $slower->{says};
	undef $slower;
	return;
}

# What a run that failed said, in one line: where its first process crashed if Open MPI's handler told, for that is far from the
# end, and the last of the rest.
sub why_failed {
	my ($text) = @_;
	my ($process) = $text =~ /^(\[[\w.-]+:\d+\]) \*\*\* Process received signal/m;
	my @frames = $process ? $text =~ m{^\Q$process\E \[ *[1-9]\d*\] (?:\S*/)?(\S+?)\[0x[0-9a-f]+\]$}mg : ();
	my $rest = join ' / ', grep { /\S/ && !/$LAUNCHER/ } split /\n/, $text;
	return (@frames ? 'crashed in ' . join(' < ', @frames[0 .. min(7, $#frames)]) . ' / ' : '') . $rest =~ s/.*(?=.{300})//sr;
}

# run_on(MACHINE, RANKS, {options}, CMD...): (seconds, output). Options: dir, where it runs; env => {}; native: without the
# emulation. What takes longer than the limit is ended, and has failed.
sub run_on {
	my ($name, $ranks, $o, @cmd) = @_;
	my $m = machine($name);
	my @env = map { "$_=$o->{env}{$_}" } sort keys %{$o->{env} // {}};
	my $dir = $o->{dir} // work_dir($name);
	my @run = ('timeout', '--kill-after=10', $LIMIT_S);
	if ($m->{local}) {
		my @wrap = $o->{native} ? () : @{$m->{local}};
		push @run, ('env', '-C', $dir, 'mpirun', '--oversubscribe', $ranks <= 2 ? ('--bind-to', 'core') : ('--bind-to', 'none'),
			qw(--mca btl_vader_single_copy_mechanism none), (map { ('-x', $_) } @env), '-n', $ranks, @wrap, @cmd);
	} else {
		my $tb = testbed();
		my $each = $ranks / 2;
		push @run, ('scripts/testbed', '--name', $tb->name, '--chdir', $dir, 'run', 'srun', '-Q', '-p', $m->{nodes}, '-N2',
			"-n$ranks", "--ntasks-per-node=$each", '--overcommit', 'env', 'OMP_NUM_THREADS=1', @env, @cmd);
	}
	halve(@{$m->{half}}) if $m->{half};
	my $begin = time;
	my $r = Testbed::run_command(@run);
	my $took = time - $begin;
	whole();
	if ($r->{rc} != 0) {
		my $why = $r->{rc} == 124 ? "takes more than $LIMIT_S s" : why_failed("$r->{out}$r->{err}");
		die $cmd[0] =~ s{.*/}{}r, " on $name failed ($r->{rc}): $why\n";
	}
	return ($took, $r->{out});
}

# What runs now is ended, if anything, and the testbed goes.
sub machines_end {
	open my $f, '<', "/proc/$$/task/$$/children" or die "/proc: $!\n";
	kill 'TERM', split ' ', <$f> // '';
	whole();
	system("scripts/testbed --name $name down >/dev/null") if $up;
	$up = 0;
	return;
}

1;
