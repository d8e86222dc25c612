#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The testbed itself: a cluster with fast and slow nodes, normal users, MPI over two nodes by srun
# and mpirun, triggers; several side by side; and `down` leaves nothing, also after a crash.
# Speed: whether quota and link rate are in force, not how fast it is.
use strict;
use warnings;

use File::Temp qw(tempdir);
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(run_command wait_until top);

my $script = top() . '/scripts/testbed';
my $name = $ENV{PRECEDENT_TESTBED} // 'check';
my $second = "$name-2";

sub testbed_of {
	my ($name, @arguments) = @_;
	return run_command($script, '--name', $name, @arguments);
}

# What the kernel knows of a testbed: processes by cgroup, namespace and command line, and more.
sub namespaces_of {
	my ($name) = @_;
	my %ns;
	for my $pid (cgroup_pids($name)) {
		for my $kind (qw(mnt net uts ipc)) {
			my $id = readlink "/proc/$pid/ns/$kind" // next;
			$ns{$id} = 1 if $id ne readlink "/proc/self/ns/$kind";
		}
	}
	return \%ns;
}

sub cgroup_dir {
	my ($name) = @_;
	my ($dir) = grep { -d } "/sys/fs/cgroup/cpu/precedent-testbed/$name", "/sys/fs/cgroup/precedent-testbed/$name";
	return $dir;
}

sub cgroup_pids {
	my ($name) = @_;
	my $dir = cgroup_dir($name) // return;
	return map { chomp; $_ } `cat $dir/*/cgroup.procs`;
}

sub text_of {
	my ($path) = @_;
	open my $fh, '<', $path or return '';
	local $/;
	return readline($fh) // '';
}

# Traces of a testbed: a list of texts, empty when it is gone altogether.  A dead process that the
# system's init has not reaped yet has no namespace and no command line, and is none.
sub traces_of {
	my ($name, $namespaces) = @_;
	my $dir = "/var/lib/precedent-testbed/$name";
	my @found;
	push @found, $dir if -e $dir;
	push @found, cgroup_dir($name) if cgroup_dir($name);
	push @found, grep { index($_, "$dir/") >= 0 } split /^/, text_of('/proc/self/mountinfo');
	for my $process (glob '/proc/[0-9]*') {
		# The kernel gives the number of a namespace that is gone to a new one, of another testbed.
		next if text_of("$process/cgroup") =~ m{/precedent-testbed/(?!\Q$name\E/)};
		my $line = text_of("$process/cmdline") =~ tr/\0/ /r;
		my @in = grep { $namespaces->{readlink("$process/ns/$_") // ''} } qw(mnt net uts ipc);
		push @found, "$process: $line" if @in || index($line, "$dir/") >= 0;
	}
	return @found;
}

sub network_of_host {
	return join '', sort map { s/^\d+: //r } grep { !/^\s/ } split /^/, `ip -o link show; ip netns list`;
}

sub leaves_nothing {
	my ($name, $namespaces, $what) = @_;
	is_deeply([traces_of($name, $namespaces)], [], "$what leaves no process, namespace, mount, cgroup or file");
}

# ping's figures: {hosts, latency_us, bandwidth_mb_s, compute_mflop_s, cpu_share}
sub figures_of {
	my ($text) = @_;
	return {$text =~ /^(hosts|latency_us|bandwidth_mb_s|compute_mflop_s|cpu_share) (.*)$/mg};
}

# How often the CPU quota stopped the processes of a node.
sub throttled {
	my ($node) = @_;
	return text_of(cgroup_dir($name) . "/$node/cpu.stat") =~ /^nr_throttled (\d+)$/m ? $1 : 0;
}

my $network_before = network_of_host();

subtest 'command line' => sub {
	my $r = run_command($script, '--help');
	is($r->{rc}, 0, '--help');
	like($r->{out}, qr/^usage: testbed/, 'tells the usage');
	for my $case (['no command'], ['unknown command', 'sideways'], ['unknown option', 'up', '--fast'],
		['option without value', 'up', '--slow-cpu'], ['bad name', '--name', '../x', 'down'],
		['bad share', 'up', '--slow-cpu', '200'], ['bad rate', 'up', '--slow-mbit', 'much'])
	{
		my ($what, @arguments) = @$case;
		$r = run_command($script, @arguments);
		is($r->{rc}, 2, "$what: exit 2");
		like($r->{err}, qr/\Atestbed: [^\n]+\n\z/, "$what: one line");
	}
	$r = testbed_of('absent', 'run', 'true');
	is($r->{rc}, 1, 'run without a testbed: exit 1');
	is($r->{err}, "testbed: testbed absent is not up\n", 'run without a testbed: says so');
	is(testbed_of('absent', 'down')->{rc}, 0, 'down without a testbed is no error');
};

subtest 'refusals' => sub {
	my $r = run_command('setpriv', '--reuid=65534', '--clear-groups', $script, '--name', 'refused', 'up');
	is($r->{rc}, 1, 'without root: exit 1');
	like($r->{err}, qr/\Atestbed: must be run as root[^\n]*\n\z/, 'without root: one clear line');
	$r = run_command('setpriv', '--bounding-set=-sys_admin', '--inh-caps=-sys_admin', $script, '--name', 'refused',
		'up', '--plain');
	is($r->{rc}, 1, 'without CAP_SYS_ADMIN: exit 1');
	like($r->{err}, qr/\Atestbed: this machine does not permit namespaces[^\n]*\n\z/, 'one clear line');
	ok(!-e '/var/lib/precedent-testbed/refused', 'a refusal leaves nothing');
};

# From scratch, so that the tests run what was built.
is(testbed_of($name, 'down')->{rc}, 0, 'down, should one be left');
my $testbed = Testbed->attach;
# These tests are about the cluster alone.
my @alone = $testbed->has_precedent ? ('--predict=off') : ();

subtest 'four nodes' => sub {
	my $r = testbed_of($name, 'status');
	is($r->{rc}, 0, 'status: up');
	my @idle = $r->{out} =~ /^(\w+)\s+1\s+(?:fast\*|slow)\s+idle\s/mg;
	is_deeply([sort @idle], [qw(fast1 fast2 slow1 slow2)], 'four idle nodes in two partitions');
	$r = $testbed->testbed('up');
	is($r->{rc}, 0, 'up again: exit 0');
	is($r->{out}, "testbed $name is up already\n", 'up again: says so');
	for my $partition (qw(fast slow)) {
		$r = $testbed->run('srun', @alone, '-p', $partition, '-N2', '-n2', 'hostname');
		is_deeply([sort split /\n/, $r->{out}], ["${partition}1", "${partition}2"], "srun on $partition");
	}
};

subtest 'users' => sub {
	my $r = $testbed->run('sh', '-c', 'id -un; pwd; echo $HOME');
	my $home = $testbed->path('.') =~ s{/\.$}{}r;
	is($r->{out}, $testbed->user . "\n$home\n$home\n", 'run is the first user, at home');
	is($testbed->run({as => 'root'}, 'id', '-u')->{out}, "0\n", 'run as root');
	is($testbed->run('sh', '-c', 'exit 7')->{rc}, 7, 'run hands on the exit status');
	is($testbed->run({stdin => "abc\n"}, 'cat')->{out}, "abc\n", 'run hands on the standard input');
	$testbed->write('secret', "mine\n", 0644);
	is($testbed->run('cat', 'secret')->{out}, "mine\n", 'a user reads the own files');
	isnt($testbed->run({as => $testbed->other_user}, 'cat', $testbed->path('secret'))->{rc}, 0, 'another does not');
	my ($job, $out) = $testbed->submit({as => $testbed->other_user}, "#!/bin/sh\nid -un\n", @alone);
	like($out, qr/^Submitted batch job \d+$/, 'the other user submits');
	my $end = $testbed->wait_job($job, 60);
	is($end->{state}, 'COMPLETED', 'and the job ends well');
	is($testbed->output($job, $testbed->other_user), $testbed->other_user . "\n", 'as the other user');
	like($testbed->run({as => 'root'}, 'ps', '-o', 'user=', '-C', 'slurmctld')->{out}, qr/^slurm$/m,
		'slurmctld is not root');
};

subtest 'job_info' => sub {
	my $comment = 'Key=Value with spaces Nice=7';
	my ($job) = $testbed->submit("#!/bin/sh\ntrue\n", '-H', '-t', '00:07:00', '-N2',
	    "--comment=$comment", @alone);
	my $info = $testbed->job_info($job);
	is($info->{Comment}, $comment, 'a free text whole');
	is_deeply([@$info{qw(JobState TimeLimit NumNodes Partition)}], ['PENDING', '00:07:00', '2-2', 'fast'], 'fields');
	is($testbed->wait_job($job, 0), undef, 'wait_job is bounded');
	$testbed->run('scancel', $job);
	is($testbed->wait_job($job, 30)->{state}, 'CANCELLED', 'a cancelled job');
	is($testbed->job_info(999999), undef, 'no such job');
};

subtest 'MPI over two nodes, fast and slow' => sub {
	my $program = $testbed->program('ping');
	my %figures;
	for my $partition (qw(fast slow)) {
		my $r = $testbed->run('srun', @alone, '-p', $partition, '-N2', '-n2', $program);
		is($r->{rc}, 0, "srun on $partition");
		is($r->{err}, '', "srun on $partition says nothing else");
		$figures{$partition} = figures_of($r->{out});
		is($figures{$partition}{hosts}, "${partition}1 ${partition}2", 'a rank on each node');
		my ($job, $out, $err) =
		    $testbed->submit("#!/bin/sh\nmpirun -n 2 $program\n", @alone, '-p', $partition, '-N2', '-n2');
		is($testbed->wait_job($job, 120)->{state}, 'COMPLETED', "mpirun inside sbatch on $partition");
		my $output = $testbed->output($job);
		is(figures_of($output)->{hosts}, "${partition}1 ${partition}2", 'a rank on each node');
		is(scalar(split /\n/, $output), 5, 'and no complaint in its output');
	}
	my ($fast, $slow) = @figures{qw(fast slow)};
	diag(map { "$_: fast $fast->{$_}, slow $slow->{$_}\n" } qw(latency_us bandwidth_mb_s compute_mflop_s cpu_share));
	# What else runs here can only lower what goes over a link: the best of some runs is what it can do.
	my $best = $fast->{bandwidth_mb_s};
	wait_until(120, sub {
		return 1 if $best > 4 * $slow->{bandwidth_mb_s};
		my $again = figures_of($testbed->run('srun', @alone, '-p', 'fast', '-N2', '-n2', $program)->{out});
		$best = $again->{bandwidth_mb_s} if ($again->{bandwidth_mb_s} // 0) > $best;
		return 0;
	});
	cmp_ok($best, '>', 4 * $slow->{bandwidth_mb_s}, 'the fast link is clearly faster');
	cmp_ok($slow->{bandwidth_mb_s}, '<', 13.5, 'the slow link keeps to 100 Mbit/s');
	# Other work on this machine can only lower these shares.
	cmp_ok($slow->{cpu_share}, '<', 0.7, 'the slow CPU keeps to half a core');
	cmp_ok($_->{cpu_share}, '>', 0, 'a CPU is not stopped') for $fast, $slow;
	# Where others leave it less than half a core the quota has nothing to do: until once they do not.
	ok(wait_until(120, sub {
		return throttled('slow1') || !$testbed->run('srun', @alone, '-p', 'slow', '-N2', '-n2', $program);
	}), 'by its quota');
	is(throttled('fast1'), 0, 'a fast one has none');
};

# What the accuracy table takes for a slow processor. Other work on this machine can only lower a share.
subtest 'half a core' => sub {
	my $build = $ENV{PRECEDENT_BUILD} // 'build';
	my $made = run_command('make', '--silent', '-C', top(), "B=$build", "$build/tests/bench/processor_share");
	is($made->{rc}, 0, 'it is built') or diag($made->{err});
	my $tool = Testbed::build_dir() . '/tests/bench/processor_share';
	is(run_command($tool, @$_)->{rc}, 2, "'@$_' is no use of it") for [], [50], [3, 0], [50, '0x'], [50, -1];
	chomp(my $core = `nproc --all`);
	$core--;
	my $pid = open my $says, '-|', $tool, 50, $core or die "$tool: $!\n";
	SKIP: {
		skip 'no process of real-time priority can be had here', 2 if (<$says> // '') ne "ready\n";
		my $share = run_command('taskset', '-c', $core, $^X, '-MTime::HiRes=time', '-e',
			'my $s = time; 1 while time < $s + 1; my ($u, $k) = times; print +($u + $k) / (time - $s)')->{out};
		cmp_ok($share, '<', 0.6, 'half of a core is left');
		cmp_ok($share, '>', 0, '... and not nothing');
	}
	kill 'KILL', $pid;
	close $says;
	ok(wait_until(10, sub { return !grep { text_of("$_/cmdline") =~ /^\Q$tool\E\0/ } glob '/proc/[0-9]*' }), 'killed, it leaves no process');
};

subtest 'a trigger fires and extends a job' => sub {
	my $trigger = $testbed->write('extend.sh', "#!/bin/sh\nscontrol update JobId=\$1 TimeLimit=00:05:00\n", 0755);
	# slurmctld runs a trigger's program, as the user slurm: it must get at the program.
	my $program = "$testbed->{dir}/state/extend.sh";
	run_command('install', '-o', 'slurm', '-m', '755', $trigger, $program);
	my ($job) = $testbed->submit("#!/bin/sh\nsleep 300\n", '-t', '1', @alone);
	ok($testbed->wait_job_state($job, 'RUNNING', 30), 'a job with a limit of one minute runs');
	my $r = $testbed->run({as => 'slurm'}, 'strigger', '--set', "--jobid=$job", '--time', '--offset=-55',
		"--program=$program");
	is($r->{rc}, 0, 'slurm sets a trigger 55 s before the limit') or diag($r->{err});
	ok(wait_until(60, sub { $testbed->job_info($job)->{TimeLimit} eq '00:05:00' }), 'it raises the limit');
	$testbed->run('scancel', $job);
	ok($testbed->wait_job($job, 30), 'the job ends');
};

subtest 'reload keeps jobs' => sub {
	my ($job) = $testbed->submit("#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.2; done\necho went\n", @alone);
	ok($testbed->wait_job_state($job, 'RUNNING', 30), 'a job runs');
	my $r = $testbed->testbed('reload');
	is($r->{rc}, 0, 'reload') or diag($r->{err});
	$testbed->write('go', '');
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'it ends well after the reload');
	is($testbed->output($job), "went\n", 'with its output');
};

subtest 'a second testbed beside the first' => sub {
	my $r = testbed_of($second, 'up', '--plain', '--users', 'testbed-anna testbed-ben', '--slow-cpu', '25');
	is($r->{rc}, 0, 'up') or diag($r->{err});
	like(testbed_of($second, 'list')->{out}, qr/^\Q$second\E$/m, 'list');
	is(testbed_of($second, 'run', 'sh', '-c', 'id -un; srun -p slow -N2 hostname | sort')->{out},
		"testbed-anna\nslow1\nslow2\n", 'it runs jobs of its own user');
	is($testbed->run('srun', @alone, '-N2', 'hostname')->{rc}, 0, 'and so does the first');
	is(network_of_host(), $network_before, 'the host sees no interface or namespace of either');
	my $namespaces = namespaces_of($second);
	is(scalar(keys %$namespaces), 20, 'five machines of four namespaces');
	is(testbed_of($second, 'down')->{rc}, 0, 'down');
	leaves_nothing($second, $namespaces, 'down');
	is(getpwnam('testbed-anna'), undef, 'its accounts are gone');
	ok(defined getpwnam($testbed->user), 'those of the first are not');
	is($testbed->run('srun', @alone, '-N2', 'hostname')->{rc}, 0, 'the first runs on');
};

subtest 'down after a crash' => sub {
	is(testbed_of($second, 'up', '--plain')->{rc}, 0, 'up');
	my $namespaces = namespaces_of($second);
	kill KILL => cgroup_pids($second);
	isnt(testbed_of($second, 'status')->{rc}, 0, 'status tells that every process was killed');
	is(testbed_of($second, 'down')->{rc}, 0, 'down');
	leaves_nothing($second, $namespaces, 'down after a crash');

	is(testbed_of($second, 'up', '--plain')->{rc}, 0, 'up');
	# Daemons run short programs at their start. These have ended when two looks are alike.
	my (@before, @last);
	wait_until(20, sub { @last = @before; @before = cgroup_pids($second); sleep 1; return "@last" eq "@before" });
	my ($controller) = grep { (readlink "/proc/$_/exe" // '') =~ /slurmctld/ } cgroup_pids($second);
	kill KILL => $controller;
	like(testbed_of($second, 'status')->{out}, qr/broken/, 'status tells that slurmctld was killed');
	is(testbed_of($second, 'up', '--plain')->{rc}, 0, 'up boots a new one');
	my %after;
	ok(wait_until(20, sub { %after = map { $_ => 1 } cgroup_pids($second); return keys %after == @before }),
		'with as many processes') or diag scalar(keys %after), ' and ', scalar @before;
	is(scalar(grep { $after{$_} } @before), 0, 'none of them an old one');
	is(testbed_of($second, 'down')->{rc}, 0, 'down');
};

# Starts `up`, with a munged of TEXT if there is one, and sends it SIGNAL once FILE is there.
# Returns its exit status and what it said.
sub up_interrupted {
	my ($signal, $file, $munged) = @_;
	my $bin = tempdir(CLEANUP => 1);
	if (defined $munged) {
		open my $fh, '>', "$bin/munged" or die "$bin/munged: $!\n";
		print {$fh} "#!/bin/sh\n$munged\n";
		close $fh;
		chmod 0755, $bin, "$bin/munged";
	}
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDOUT, '>', "$bin/out";
		open STDERR, '>&', \*STDOUT;
		$ENV{PATH} = "$bin:$ENV{PATH}";
		exec $script, '--name', $second, 'up', '--plain';
	}
	if ($signal) {
		wait_until(30, sub { -e $file });
		kill $signal => $pid;
	}
	waitpid $pid, 0;
	return ($?, text_of("$bin/out"));
}

subtest 'down after an interrupted up' => sub {
	my $dir = '/var/lib/precedent-testbed/' . $second;
	my %stage = (
		'with the first file' => "$dir/run",
		'with one machine' => "$dir/run/login.pid",
		'with all machines' => "$dir/run/slow2.pid",
		'with slurmctld' => "$dir/logs/slurmctld.log",
	);
	for my $stage (sort keys %stage) {
		up_interrupted('KILL', $stage{$stage});
		my $namespaces = namespaces_of($second);
		is(testbed_of($second, 'down')->{rc}, 0, "down after up was killed $stage");
		leaves_nothing($second, $namespaces, 'it');
	}
	# munged that makes no socket: up waits for it for 10 s.
	my ($status, $said) = up_interrupted('TERM', "$dir/munge/key", 'exit 0');
	is($status >> 8, 1, 'up that is told to stop fails');
	is($said, "testbed: interrupted\n", 'and says so');
	leaves_nothing($second, {}, 'it takes down what it made and');

	($status, $said) = up_interrupted(undef, undef, 'echo "munged: Error: no entropy" >&2; exit 1');
	is($status >> 8, 1, 'up fails when a daemon does not start');
	is($said, "testbed: munged did not start: munged: Error: no entropy\n", 'and says which and why');
	leaves_nothing($second, {}, 'it takes down what it made and');
};

is(network_of_host(), $network_before, 'the host\'s network is as before');

done_testing;
