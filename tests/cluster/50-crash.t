#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs that die on a real cluster: a rank killed by a signal, an aborting peer, the time limit, scancel, a node whose
# slurmstepd is killed, a LocalDir that cannot be used, memory that runs out, a collector that hangs. Each time a partial trace of what happened until then comes to the
# spool, it says that it is partial and why, the job's own output is as always, and nothing stays on the nodes.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'crash', up => ['--build', build_dir()]);
my $dir = $testbed->dir;
my (undef, undef, $uid) = getpwnam $testbed->user;
my $spool = "$dir/spool/precedent";
my $steps = 2000;
my @nodes = map { m{/slurmd-([^/]+)\.log$} } glob "$dir/logs/slurmd-*.log";

END {
	my $status = $?;
	$testbed->testbed('down') if $testbed;
	$? = $status;
}

$testbed->program($_) for qw(dies);
# The plugin looks at the store once a second: what is submitted before it sees the daemon's heartbeat passes unmarked.
wait_until(60, sub { return ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ })
	or BAIL_OUT('no job is marked for tracing');

# ---- helpers ----

my $word = 'a';

# Each job has a word of its own, so that it is another program to Precedent. With another number alone it would not be traced after a
# traced run that failed.
sub submit_script {
	my ($body, @options) = @_;
	$body =~ s/(dies \w+ \d+)/"$1 " . $word++/e;
	return $testbed->submit("#!/bin/sh\n$body\n", @options);
}

# The traces of a job in the spool, and what info says of each.
sub traces {
	my ($job) = @_;
	my @found = glob "$spool/$uid/$job/*.ptrace";
	return @found;
}

sub info {
	my ($file) = @_;
	my $r = $testbed->run('precedent', 'info', '--json', $file);
	return $r->{rc} == 0 ? decode_json($r->{out}) : {said => $r->{err}};
}

sub events {
	my ($file, $rank, $function) = @_;
	my $r = $testbed->run('precedent', 'info', $file, '--events', $rank);
	return scalar grep { /\b$function\b/ } split /\n/, $r->{out};
}

# What a job has printed, also before it began.
sub printed {
	my ($job) = @_;
	my $file = $testbed->path("slurm-$job.out");
	return -e $file ? $testbed->output($job) : '';
}

# What is left on the nodes.
sub left_over {
	my ($job) = @_;
	my @found = glob "$dir/tmp/*/precedent/*-$job";
	return @found;
}

# Processes of this testbed whose command line is such (other testbeds may have jobs of the same number).
sub processes {
	my ($pattern) = @_;
	my @found;
	for my $proc (glob '/proc/[0-9]*') {
		open my $cgroup, '<', "$proc/cgroup" or next;
		next if !grep { m{/precedent-testbed/crash/} } <$cgroup>;
		open my $cmdline, '<', "$proc/cmdline" or next;
		push @found, $proc =~ /(\d+)/ if (<$cmdline> // '') =~ $pattern;
	}
	return @found;
}

# The one trace of an ended job once it has come, and what info says of it.
sub partial_trace {
	my ($job) = @_;
	wait_until(30, sub { return traces($job) && !left_over($job) && !glob "$spool/$uid/$job/*.spill" });
	my @traces = traces($job);
	is(scalar @traces, 1, 'one trace in the spool')
		or diag join "\n", @traces, left_over($job),
			grep { /\bprecedent: |\b$job\b/ } map { split /\n/, $testbed->log("slurmd-$_") } @nodes;
	return ($traces[0], @traces ? info($traces[0]) : {});
}

# Each rank's exchanges before the end are all there: the shared mapping loses nothing when a process dies.
sub whole_until_the_end {
	my ($file, $info, $ended) = @_;
	ok($info->{partial}, 'it says that it is partial');
	like(join(' ', map { $_->{ended} // '' } @{$info->{per_rank} // []}), $ended, 'and why');
	is(scalar @{$info->{per_rank} // []}, 2, 'both ranks are in it');
	is(events($file, $_, 'MPI_Sendrecv'), $steps, "rank $_: every exchange until the end") for 0, 1;
	return;
}

# ---- ranks that die (-K: the others, which wait for them, end too) ----

# It takes longest: it runs beside all the others.
my ($limited) = submit_script("srun --mpi=pmix ./dies hang $steps", '-p', 'slow', '-N2', '-n2', '-t', 1);

my @death = (
	['kill', 'srun -K --mpi=pmix ./dies', qr/signal 9/],
	['segv', 'srun -K --mpi=pmix ./dies', qr/signal 11|exit code 139/],
	['abort', 'srun -K --mpi=pmix ./dies', qr/MPI_Abort|exit code|signal/],
	['exit', 'srun -K --mpi=pmix ./dies', qr/exit code|signal/],
	['kill', 'mpirun -n 2 ./dies', qr/exit code|signal/],
	['abort', 'mpirun -n 2 ./dies', qr/MPI_Abort|exit code|signal/],
);
my @jobs = map { (submit_script("$_->[1] $_->[0] $steps", '-N2', '-n2', '--exclusive', '-t', 5))[0] } @death;

for my $i (0 .. $#death) {
	my ($how, $command, $ended) = @{$death[$i]};
	subtest "$how under " . ($command =~ /^(\w+)/)[0] => sub {
		my $end = $testbed->wait_job($jobs[$i], 120);
		ok($end, 'the job ended') or return;
		like(printed($jobs[$i]), qr/^dies: $how after $steps steps$/m, 'its output is its own');
		my ($file, $info) = partial_trace($jobs[$i]);
		whole_until_the_end($file, $info, $ended) if $file;
		is_deeply([left_over($jobs[$i])], [], 'nothing stays on the nodes');
		is_deeply([glob "$spool/$uid/$jobs[$i]/*.spill"], [], 'and no parts in the spool');
	};
}

# ---- the time limit, and scancel ----

my ($cancelled) = submit_script("srun --mpi=pmix ./dies hang $steps", '-N2', '-n2', '-t', 5);

subtest 'scancel' => sub {
	$testbed->wait_job_state($cancelled, 'RUNNING', 120) or return fail('it runs');
	wait_until(60, sub { return printed($cancelled) =~ /^dies: hang/m });
	$testbed->run('scancel', $cancelled);
	ok($testbed->wait_job($cancelled, 60), 'the job ended');
	my ($file, $info) = partial_trace($cancelled);
	whole_until_the_end($file, $info, qr/signal/) if $file;
};

subtest 'time limit' => sub {
	my $end = $testbed->wait_job($limited, 240);
	is($end->{state}, 'TIMEOUT', 'Slurm ended it at its limit');
	my ($file, $info) = partial_trace($limited);
	whole_until_the_end($file, $info, qr/signal/) if $file;
};

# ---- what must not matter ----

subtest 'a run that ends well leaves one whole trace and nothing else' => sub {
	my ($job) = submit_script("srun --mpi=pmix ./dies none $steps", '-N2', '-n2', '-t', 5);
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'it completed');
	my @traces = traces($job);
	is(scalar @traces, 1, 'one trace');
	ok(!info($traces[0])->{partial}, 'it is whole');
	is_deeply([left_over($job)], [], 'nothing stays on the nodes');
};

subtest 'a LocalDir that cannot be used' => sub {
	my $old = $testbed->conf_set(LocalDir => '/proc/nowhere');
	my ($job) = submit_script("srun --mpi=pmix ./dies none $steps", '-N2', '-n2', '-t', 5);
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'the job does not notice');
	is(scalar traces($job), 1, 'it is traced all the same');
	my ($dead) = submit_script("srun -K --mpi=pmix ./dies kill $steps", '-N2', '-n2', '-t', 5);
	is($testbed->wait_job($dead, 60)->{state}, 'FAILED', 'a run that dies ends as it would');
	is(scalar traces($dead), 0, 'and leaves no trace');
	$testbed->conf_restore($old);
};

subtest 'a node whose slurmstepd is killed' => sub {
	my ($job) = submit_script("srun --mpi=pmix ./dies hang $steps\ntrue", '-N2', '-n2', '-t', 5);
	wait_until(60, sub { return printed($job) =~ /^dies: hang/m });
	is(scalar kill('KILL', processes(qr/^slurmstepd: \[$job\.0\]/)), 2, 'both step daemons are gone');
	kill 'KILL', processes(qr/^\S*dies\b/);
	$testbed->run('scancel', $job);
	ok($testbed->wait_job($job, 120), 'the job ends');
	my ($file, $info) = partial_trace($job);
	ok($info->{partial}, 'the batch step made a partial trace of what its node had') if $file;
};

# ---- memory that runs out ----

# A memory cgroup of so many bytes: {procs, killed: how many it has killed}; else a string, the reason why there is none.
my $memory_group;

sub memory_group_make {
	my ($bytes) = @_;
	my ($root, $v2);
	open my $mounts, '<', '/proc/mounts' or return "/proc/mounts: $!";
	for (<$mounts>) {
		my (undef, $at, $type, $options) = split / /;
		($root, $v2) = ($at, 0) if $type eq 'cgroup' && ",$options," =~ /,memory,/;
		($root, $v2) = ($at, 1) if $type eq 'cgroup2' && !$root;
	}
	return 'no cgroup is mounted' if !$root;
	my $group = "$root/precedent-crash-memory";
	run_command('sh', '-c', "echo +memory >$root/cgroup.subtree_control") if $v2;
	mkdir $group or -d $group or return "$group: $!";
	$memory_group = $group;
	my $limit = "$group/" . ($v2 ? 'memory.max' : 'memory.limit_in_bytes');
	return "no memory controller in $root" if !-e $limit;
	my $r = run_command('sh', '-c', "echo $bytes >$limit");
	return "$limit: $r->{err}" if $r->{rc} != 0;
	run_command('sh', '-c', "echo $bytes >$group/memory.memsw.limit_in_bytes") if -e "$group/memory.memsw.limit_in_bytes";
	run_command('sh', '-c', "echo 0 >$group/memory.swap.max") if -e "$group/memory.swap.max";
	my $count = "$group/" . ($v2 ? 'memory.events' : 'memory.oom_control');
	return {procs => "$group/cgroup.procs", killed => sub {
		my ($n) = run_command('cat', $count)->{out} =~ /^oom_kill (\d+)/m;
		return $n // 0;
	}};
}

sub memory_group_remove {
	wait_until(10, sub { return rmdir($memory_group) || !-d $memory_group }) if $memory_group;
	return;
}

subtest 'a memory limit' => sub {
	my $group = memory_group_make(256 << 20);
	plan skip_all => $group if !ref $group;
	# Root puts each rank into the group before it begins: a user may not everywhere.
	$testbed->write('in-group', <<'SH', 0755);
#!/bin/sh
echo $$ >"$HOME/in-group.$SLURM_PROCID.new" && mv "$HOME/in-group.$SLURM_PROCID.new" "$HOME/in-group.$SLURM_PROCID"
i=0
while ! grep -q precedent-crash-memory /proc/self/cgroup && [ $((i += 1)) -lt 600 ]; do sleep 0.1; done
exec "$@"
SH
	my ($job) = submit_script("srun -K --mpi=pmix ./in-group ./dies oom $steps", '-N2', '-n2', '-t', 5);
	for my $rank (0, 1) {
		my $file = $testbed->path("in-group.$rank");
		ok(wait_until(60, sub { return -e $file }), "rank $rank waits") or return;
		chomp(my $pid = $testbed->read("in-group.$rank"));
		is(run_command('sh', '-c', "echo $pid >$group->{procs}")->{rc}, 0, '... and is limited');
	}
	ok($testbed->wait_job($job, 120), 'the job ended') or return;
	like(printed($job), qr/^dies: oom after $steps steps$/m, 'its output is its own');
	cmp_ok($group->{killed}->(), '>=', 1, 'the kernel has killed one for want of memory');
	my ($file, $info) = partial_trace($job);
	whole_until_the_end($file, $info, qr/killed by signal 9 /) if $file;
	is_deeply([left_over($job)], [], 'nothing stays on the nodes');
};
memory_group_remove();

# ---- a collector that hangs ----

# precedent collect as the job's user on a node, by hand.
sub collect_by_hand {
	my ($node, $job) = @_;
	return $testbed->testbed('node', $node, 'setpriv', '--reuid', $testbed->user, '--regid', $testbed->user, '--init-groups',
		"$dir/precedent/bin/precedent", 'collect', '--from', "/tmp/precedent/$uid-$job", '--into', "$spool/$uid/$job", '--last');
}

subtest 'a collector that hangs' => sub {
	my ($program, $plugstack) = ("$dir/precedent/lib/precedent/precedent-collect", "$dir/etc/slurm/plugstack.conf");
	my $line = $testbed->read($plugstack);
	rename $program, "$program.real" or die "$program: $!\n";
	$testbed->write($program, "#!/bin/sh\necho \$\$ >>\"\$5/stopped\"\nkill -STOP \$\$\n", 0755);
	$testbed->write($plugstack, $line =~ s/\n/ collect_wait=2\n/r);
	my ($job) = submit_script("srun -K --mpi=pmix ./dies kill $steps", '-N2', '-n2', '-t', 5);
	ok($testbed->wait_job($job, 120), 'the job ends all the same');
	my $stopped = "$spool/$uid/$job/stopped";
	my @pids;
	wait_until(30, sub { return (@pids = -e $stopped ? split /\n/, $testbed->read($stopped) : ()) >= 3 });
	is(scalar @pids, 3, 'a collector began for the step on each node, and one for the batch script');
	ok(wait_until(30, sub { return !processes(qr/precedent-collect/) }), 'none is left');
	rename "$program.real", $program or die "$program: $!\n";
	$testbed->write($plugstack, $line);
	is(scalar traces($job), 0, 'nothing was brought');
	is(scalar(my @parts = glob "$dir/tmp/*/precedent/$uid-$job/*.spill"), 2, 'and nothing is lost');
	my @nodes = map { m{/tmp/([^/]+)/precedent/} } left_over($job);
	collect_by_hand($_, $job) for @nodes;
	my ($file, $info) = partial_trace($job);
	whole_until_the_end($file, $info, qr/./) if $file;
	is_deeply([glob "$dir/tmp/*/precedent/$uid-$job/*"], [], 'it is brought by hand');
};

done_testing();
