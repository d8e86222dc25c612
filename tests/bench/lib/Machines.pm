# SPDX-License-Identifier: GPL-2.0-or-later
#
# The machines of the accuracy table, made from this one: nodes of a testbed at full speed, at half the processor, with
# slow links, both, or of unequal speed; and two processors that weigh instructions in another way, qemu's translator
# and valgrind's without a tool.
package Machines;
use strict;
use warnings;
use Exporter 'import';
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(build top);
use File::Temp qw(tempdir);
use Testbed;
use Time::HiRes qw(time);

our @EXPORT_OK = qw(machine machine_names home_of run_on work_dir machines_end);

# Nodes of one job on different cores: scripts/testbed binds fast1 and slow1 to one, fast2 and slow2 to the other.
my %machine = (
	home     => {text => 'the traced nodes again', nodes => 'fast1,fast2', partition => 'fast'},
	cpu      => {text => 'processor at 50 %', nodes => 'slow1,slow2', partition => 'slow', cpu => 50, mbit => 0},
	network  => {text => 'network at 100 Mbit/s', nodes => 'slow1,slow2', partition => 'slow', cpu => 100, mbit => 100},
	both     => {text => 'both', nodes => 'slow1,slow2', partition => 'slow', cpu => 50, mbit => 100},
	unequal  => {text => 'one node at 50 %', nodes => 'fast1,slow2', partition => 'mixed', cpu => 50, mbit => 0},
	here     => {text => 'this machine, without emulation', local => []},
	qemu     => {text => 'qemu-user', local => ['qemu-x86_64'], home => 'here'},
	valgrind => {text => 'valgrind, no tool', local => ['valgrind', '-q', '--tool=none'], home => 'here'},
);
my @order = qw(home cpu network both unequal here qemu valgrind);

sub machine_names { return @order }
sub machine { return $machine{$_[0]} // die "no machine '$_[0]'\n" }
sub home_of { return machine($_[0])->{home} // (machine($_[0])->{local} ? 'here' : 'home') }

my ($testbed, $slow, $local_dir);

sub testbed {
	return $testbed if $testbed;
	$testbed = Testbed->attach(name => $ENV{PRECEDENT_TESTBED} // 'accuracy', up => ['--plain']);
	$testbed->run({as => 'root'}, 'scontrol', 'create', 'PartitionName=mixed', 'Nodes=fast1,slow2', 'State=UP');
	return $testbed;
}

# Where programs, traces and skeletons lie, readable on the nodes.
sub work_dir {
	my ($name) = @_;
	if (machine($name)->{local}) {
		$local_dir //= tempdir(CLEANUP => 1);
		return $local_dir;
	}
	return testbed()->dir . '/home/' . testbed()->user;
}

# run_on(MACHINE, RANKS, {options}, CMD...): (seconds, output). Options: env => {}, dir.
sub run_on {
	my ($name, $ranks, $o, @cmd) = @_;
	my $m = machine($name);
	my @env = map { "$_=$o->{env}{$_}" } sort keys %{$o->{env} // {}};
	my @run;
	if ($m->{local}) {
		my @wrap = $o->{native} ? () : @{$m->{local}};
		@run = ('env', '-C', work_dir($name), 'mpirun', '--oversubscribe', $ranks <= 2 ? ('--bind-to', 'core') : ('--bind-to', 'none'),
			qw(--mca btl_vader_single_copy_mechanism none), (map { ('-x', $_) } @env), '-n', $ranks, @wrap, @cmd);
	} else {
		my $tb = testbed();
		my $want = defined $m->{cpu} ? "$m->{cpu} $m->{mbit}" : $slow // '';
		if ($want ne ($slow // '')) {
			my $r = $tb->testbed('slow', '--slow-cpu', $m->{cpu}, '--slow-mbit', $m->{mbit});
			die "testbed slow: $r->{err}" if $r->{rc} != 0;
			$slow = $want;
		}
		my $each = $ranks / 2;
		@run = ('scripts/testbed', '--name', $tb->name, '--chdir', work_dir($name), 'run', 'srun', '-Q', '-p', $m->{partition}, '-w', $m->{nodes}, '-N2',
			"-n$ranks", "--ntasks-per-node=$each", '--overcommit', 'env', @env, @cmd);
	}
	my $begin = time;
	my $r = Testbed::run_command(@run);
	my $took = time - $begin;
	die "@cmd on $name failed ($r->{rc}):\n$r->{out}$r->{err}" if $r->{rc} != 0;
	return ($took, $r->{out});
}

sub machines_end {
	$testbed->testbed('down') if $testbed;
	undef $testbed;
	return;
}

1;
