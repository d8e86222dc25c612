#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What users and broken servers may do to the SPANK plugin, on a real cluster: names that were taken first, processes
# that stay behind the collector, options of an outer job, and file servers that do not answer.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'step', up => ['--build', build_dir()]);
my $dir = $testbed->dir;
my (undef, undef, $uid) = getpwnam $testbed->user;
my (undef, undef, $other_uid, $other_gid) = getpwnam $testbed->other_user;
my $spool = "$dir/spool/precedent";
my $collector = "$dir/precedent/lib/precedent/precedent-collect";
my $steps = 2000;
my $option = 'SLURM_SPANK__SLURM_SPANK_OPTION_precedent_predict';
my @marked = ('--export=ALL,SLURM_PRECEDENT_TRACE=1', '-t', 5);

END {
	my $status = $?;
	$testbed->testbed('down') if $testbed;
	$? = $status;
}

$testbed->program('dies');

# Its probes would take the nodes, and wait for a spool that does not answer. Jobs are traced without it for that long.
$testbed->conf_set(HeartbeatTimeout => 900);
is($testbed->daemon('stop')->{rc}, 0, 'no daemon');

# ---- helpers ----

my $word = 'a';

# Submits a marked job. Each has a word of its own, so that it is another program to Precedent.
sub submit_marked {
	my ($body, @more) = @_;
	$body =~ s/(dies \w+ \d+)/"$1 " . $word++/e;
	my ($job, undef, $err) = $testbed->submit("#!/bin/sh\n$body\n", @marked, @more);
	die "sbatch: $err" if !defined $job;
	return $job;
}

# Runs a marked job to its end: (job id, state).
sub job {
	my $job = submit_marked(@_);
	my $end = $testbed->wait_job($job, 40);
	diag $testbed->run('sh', '-c', "squeue; sinfo -N -l; scontrol show job $job")->{out} if !$end;
	return ($job, $end ? $end->{state} : 'does not end');
}

sub traces {
	my ($job) = @_;
	my @found = glob "$spool/$uid/$job/*.ptrace";
	return scalar @found;
}

# Lines of a node's log that the plugin wrote since `from`.
sub said {
	my ($node, $from) = @_;
	return [grep { /precedent: error/ } split /\n/, substr($testbed->log("slurmd-$node"), $from)];
}

sub log_size { return length $testbed->log("slurmd-$_[0]") }

# Mount a file system that never answers. Closing the file ends it.
sub hang {
	my ($machine, $at) = @_;
	local $^F = 100; # mount inherits it
	open my $fuse, '+<', '/dev/fuse' or return undef;
	my $r = $testbed->testbed('node', $machine, 'mount', '-i', '-t', 'fuse', '-o',
		'fd=' . fileno($fuse) . ',rootmode=40000,user_id=0,group_id=0,allow_other', 'hangs', $at);
	diag $r->{err} if $r->{rc} != 0;
	return $r->{rc} == 0 ? $fuse : undef;
}

sub answer {
	my ($machine, $at, $fuse) = @_;
	close $fuse;
	is($testbed->testbed('node', $machine, 'umount', '-l', $at)->{rc}, 0, "$at answers again");
	return;
}

# ---- the option of an outer job ----

subtest 'an inner job has its own option, or the mode of the site' => sub {
	$testbed->write('inner.sh', "#!/bin/sh\necho inner \$1\nenv | grep -i spank\nexit 0\n", 0755);
	for my $outer (qw(off place)) {
		my $inner = "sbatch -W --oversubscribe -o inner.out inner.sh $outer; sbatch -W --oversubscribe --predict=limit -o own.out inner.sh own";
		my ($job, undef, $err) = $testbed->submit("#!/bin/sh\nsrun -n1 env | grep OPTION\n$inner\n", '-o', 'outer.out', "--predict=$outer");
		is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', "an outer job with $outer");
		my ($seen, $own) = map { $testbed->read($_) } qw(inner.out own.out);
		like($testbed->read('outer.out'), qr/^$option=$outer$/m, 'its steps have its option');
		like($seen, qr/^inner $outer$/m, 'the inner job ran');
		unlike($seen, qr/_OPTION_/, 'without that option');
		like($seen, qr/FINGERPRINT/, 'it is not off');
		like($own, qr/^$option=limit$/m, 'an option of its own counts');
		for my $name ("_SLURM_SPANK_OPTION_precedent_predict", "SPANK__SLURM_SPANK_OPTION_precedent_predict", $option) {
			my $r = $testbed->run({env => {SLURM_JOB_ID => 1, $name => $outer}}, 'sbatch', '-W', '-o', 'inner.out', 'inner.sh', 'simulated');
			is($r->{rc}, 0, "sbatch in a job, with $name");
			unlike($testbed->read('inner.out'), qr/_OPTION_/, 'does not pass it on');
		}
		my $r = $testbed->run('salloc', "--predict=$outer", 'sh', '-c', 'sbatch -W --oversubscribe -o inner.out inner.sh salloc');
		is($r->{rc}, 0, "inside salloc with $outer");
		unlike($testbed->read('inner.out'), qr/_OPTION_/, 'the same');
		$testbed->run('sh', '-c', "salloc --predict=$outer salloc --oversubscribe -p slow env >inner.out");
		unlike($testbed->read('inner.out'), qr/_OPTION_precedent_predict=$outer/, 'salloc inside salloc');
	}
	my $r = $testbed->run({env => {$option => 'off'}}, 'sbatch', '-W', '-o', 'inner.out', 'inner.sh', 'login');
	like($testbed->read('inner.out'), qr/^$option=off$/m, 'on a login node the variable is the user\'s wish');
};

# The variables of Slurm 23 and later. An older Slurm leaves the values of the environment.
subtest 'programs see the end that their user asked for' => sub {
	my $times = 'SLURM_JOB_START_TIME=1000 SLURM_JOB_END_TIME=1300';
	my $show = q{srun -n1 sh -c 'echo end $((SLURM_JOB_END_TIME - SLURM_JOB_START_TIME))'};
	my ($job) = job("$times SLURM_PRECEDENT_LIMITS=30:5 $show\n$times SLURM_PRECEDENT_LIMITS=30:4 $show");
	is_deeply([$testbed->output($job) =~ /^end (\d+)$/mg], [1800, 300], 'with the limit that Precedent has set, and with another');
};

# ---- names in LocalDir ----

my $dies = "srun -K --mpi=pmix ./dies kill $steps";

subtest 'another user takes names in LocalDir' => sub {
	my ($last) = job('true');
	for my $node (qw(fast1 fast2)) {
		for my $job ($last + 1 .. $last + 9) {
			mkdir "$dir/tmp/$node/precedent-$uid-$job" or die "mkdir: $!\n";
			chown $other_uid, $other_gid, "$dir/tmp/$node/precedent-$uid-$job";
		}
	}
	my $r = $testbed->run({as => $testbed->other_user}, 'sh', '-c', "mkdir $dir/tmp/fast1/precedent/$uid-9");
	isnt($r->{rc}, 0, 'no user can make a name where names count');
	my ($job) = job($dies, '-N2', '-n2', '-p', 'fast');
	ok(wait_until(30, sub { traces($job) == 1 }), 'a run that dies leaves its trace');
	is_deeply([glob "$dir/tmp/*/precedent/$uid-$job"], [], 'and nothing on the nodes');

	run_command('rm', '-rf', "$dir/tmp/fast1/precedent");
	mkdir "$dir/victim";
	symlink "$dir/victim", "$dir/tmp/fast1/precedent" or die "symlink: $!\n";
	my $from = log_size('fast1');
	my $state;
	($job, $state) = job("srun --mpi=pmix ./dies none $steps", '-n2', '-w', 'fast1');
	is($state, 'COMPLETED', 'a link of that name: the job runs');
	is(traces($job), 1, 'and is traced');
	is_deeply([glob "$dir/victim/*"], [], 'nothing is made behind the link');
	like(said('fast1', $from)->[0], qr/job $job leaves nothing if it dies: LocalDir: \S+\/precedent: .*; remove it/, 'the log says what to do');
	unlike($testbed->output($job), qr/precedent/, 'the job\'s output does not');
	unlink "$dir/tmp/fast1/precedent";
};

subtest 'mpirun after a step of srun' => sub {
	my ($job, $state) = job("srun --mpi=pmix ./dies none $steps\nmpirun -n 2 ./dies none 1$steps", '-n2', '-w', 'fast1');
	is($state, 'COMPLETED', 'the job runs');
	is(traces($job), 2, 'both are traced');
	ok(!-e "$spool/$uid/$job/tracer.err", 'and both were protected against a crash');
	ok(wait_until(20, sub { !glob "$dir/tmp/*/precedent/$uid-$job" }), 'nothing stays on the node');
};

# ---- the collector ----

subtest 'the collector' => sub {
	is(sprintf('%o', (stat $collector)[2] & 07777), '711', 'cannot be read by users, and so not be traced');
	isnt($testbed->run('cat', $collector)->{rc}, 0, '... indeed');
	rename $collector, "$collector.real" or die "$collector: $!\n";
	# A collector that another process of the user has taken over. It tells where it runs, and stays in the background.
	$testbed->write($collector, <<"SH", 0755);
#!/bin/sh
[ "\$1" != stay ] || exec sleep 54321
cat /proc/self/cgroup >"\$5/cgroup"
setsid "\$0" stay &
sleep 54321 &
SH
	my ($job, $state) = job($dies, '-n2', '-w', 'fast2');
	is($state, 'FAILED', 'a collector that leaves processes: the job ends as ever');
	my $left = sub { return run_command('pgrep', '-u', $uid, '-f', 'sleep 54321')->{out} };
	ok(wait_until(20, sub { -e "$spool/$uid/$job/cgroup" }), 'it has run');
	ok(wait_until(20, sub { $left->() eq '' }), 'none of its processes outlives the job');
	rename "$collector.real", $collector or die "$collector: $!\n";
};

# ---- file servers that do not answer ----

subtest 'an input on a server that does not answer' => sub {
	my $at = $testbed->path('hung');
	mkdir $at;
	my $fuse = hang('login', $at) or plan skip_all => 'no /dev/fuse';
	my ($job, $out, $err) = $testbed->submit({timeout => 20}, "#!/bin/sh\necho ./dies hung/input.dat\n", '-v');
	ok($job, 'the job is submitted') or diag $err;
	like($err, qr/precedent: no fingerprint: an input file: no answer/, 'and sbatch -v says why it has no fingerprint');
	answer('login', $at, $fuse);
	is($job && $testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'it runs');
};

subtest 'a spool that does not answer' => sub {
	my $fuse = hang('fast1', $spool) or plan skip_all => 'no /dev/fuse';
	my $from = log_size('fast1');
	my ($job, $state) = job("srun --mpi=pmix ./dies none $steps\nsrun true", '-n2', '-w', 'fast1');
	is($state, 'COMPLETED', 'a job runs');
	my ($second, $second_state) = job("srun --mpi=pmix ./dies none $steps", '-n2', '-w', 'fast1');
	is($second_state, 'COMPLETED', 'and another');
	is_deeply([map { s/.*?precedent: //r } @{said('fast1', $from)}], ["error: job $job is not traced: $spool: no answer within 3000 ms"],
		'the log of the node says it once');
	unlike($testbed->output($job), qr/precedent/, 'the job\'s output does not');
	answer('fast1', $spool, $fuse);
	unlink "$dir/tmp/fast1/precedent/spool-silent";
	($job) = job("srun --mpi=pmix ./dies none $steps", '-n2', '-w', 'fast1');
	is(traces($job), 1, 'then jobs are traced again');
};

subtest 'a spool that stops answering while a job runs' => sub {
	my $job = submit_marked("srun --mpi=pmix ./dies hang $steps", '-n2', '-w', 'fast1');
	ok(wait_until(40, sub { my $file = $testbed->path("slurm-$job.out"); -e $file && $testbed->output($job) =~ /^dies: hang/m }), 'it runs');
	my $fuse = hang('fast1', $spool) or plan skip_all => 'no /dev/fuse';
	my $from = log_size('fast1');
	$testbed->run('scancel', $job);
	ok($testbed->wait_job($job, 60), 'the job ends');
	like(join("\n", @{said('fast1', $from)}), qr/does not answer: files of the run stay in \S+\/precedent\/$uid-$job$/m, 'the log says where its files are');
	answer('fast1', $spool, $fuse);
	is(scalar(my @files = glob "$dir/tmp/fast1/precedent/$uid-$job/*.spill"), 2, 'they are there');
};

# Program, nodes of the job, node whose server stops answering. Rank 0 is on the first node.
for (['on the only node', 'fast1', 'fast1'], ['where rank 0 is', 'fast1,fast2', 'fast1'], ['where another rank is', 'fast1,fast2', 'fast2']) {
	my ($where, $nodes, $silent) = @$_;
	subtest "a spool that stops answering before MPI_Finalize, $where" => sub {
		my $go = 'go-' . ++$word;
		my $n = $nodes =~ tr/,// + 1;
		my $job = submit_marked("srun --mpi=pmix ./dies go-$go $steps", "-N$n", '-n2', '-w', $nodes);
		ok(wait_until(40, sub { my $file = $testbed->path("slurm-$job.out"); -e $file && $testbed->output($job) =~ /^dies: go-/m }), 'it runs');
		my $fuse = hang($silent, $spool) or plan skip_all => 'no /dev/fuse';
		$testbed->write($go, '');
		my $end = $testbed->wait_job($job, 90);
		is($end && $end->{state}, 'COMPLETED', 'it ends by itself');
		unlike($testbed->output($job), qr/precedent/, 'and says nothing of the spool');
		is(traces($job), $silent eq 'fast1' ? 0 : 1, 'a trace is there if rank 0 can write it');
		answer($silent, $spool, $fuse);
		unlink "$dir/tmp/$silent/precedent/spool-silent";
	};
}

subtest 'root may not write to the spool' => sub {
	my @read_only = (['mount', '--bind', $spool, $spool], ['mount', '-o', 'remount,bind,ro', $spool]);
	is($testbed->testbed('node', 'fast2', @$_)->{rc}, 0, "@$_") for @read_only;
	my $from = log_size('fast2');
	unlink "$spool/nodes/fast2";
	my ($job, $state) = job("srun --mpi=pmix ./dies none $steps\nsrun true", '-n2', '-w', 'fast2');
	is($state, 'COMPLETED', 'a job runs');
	my $said = said('fast2', $from);
	is(scalar @$said, 1, 'the log says once');
	like($said->[0], qr/job $job is not traced: .*root must be able to write there \(read-only, root_squash\?\)/, 'what is wrong');
	$testbed->testbed('node', 'fast2', 'umount', $spool);
};

subtest 'precedentd does not wait for a spool that does not answer' => sub {
	my $go = 'go-' . ++$word;
	my $logged = sub { my ($what) = @_; return wait_until(60, sub { $testbed->log('precedentd') =~ $what }) };
	is($testbed->daemon('start')->{rc}, 0, 'the daemon');
	my $job = submit_marked("srun --mpi=pmix ./dies go-$go $steps", '-n2', '-w', 'fast1');
	ok(wait_until(40, sub { my $file = $testbed->path("slurm-$job.out"); -e $file && $testbed->output($job) =~ /^dies: go-/m }), 'a job runs');
	my $fuse = hang('login', $spool) or plan skip_all => 'no /dev/fuse';
	$testbed->write($go, '');
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'it ends');
	ok($logged->(qr/SpoolDir \S+ does not answer/), 'the log tells of the spool');
	# The second run of a program is not traced, so its end is known without the spool.
	my (undef, $next) = map { ($testbed->submit("#!/bin/sh\nexit 0\n", '-t', 5))[0] } 1, 2;
	ok($logged->(qr/job $next: COMPLETED/), 'the end of another job is seen');
	answer('login', $spool, $fuse);
	ok($logged->(qr/SpoolDir \S+ answers again/), 'the log tells that it answers');
	ok($logged->(qr/job $job: traced on/), 'the trace is found');
	is($testbed->daemon('stop')->{rc}, 0, 'no daemon again');
};

done_testing();
