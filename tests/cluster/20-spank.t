#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The SPANK plugin alone, without job_submit and with a stand-in for the tracer that only says where it was loaded:
# options, fingerprint, who gets the preload and who does not, the spool, and everything that may be wrong with it.
# Jobs are marked by hand, as job_submit would mark them.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(run_command wait_until build_dir);

plan skip_all => 'this Slurm has no mpi/pmix, by which srun starts programs of Open MPI' if !glob '/usr/lib/*/slurm*/mpi_pmix.so';

my $testbed = Testbed->attach(name => 'spank', up => ['--plain']);
my $dir = $testbed->dir;
my $plugin = "$dir/plugin";
my $spool = "$plugin/spool";
my $tracer = "$plugin/libprecedent_trace.so";
my $user_library = "$plugin/libuser.so";
my (undef, undef, $uid) = getpwnam $testbed->user;
my $slurm_gid = getgrnam 'slurm';
my @marked = ('--export=ALL,SLURM_PRECEDENT_TRACE=1');

END { $testbed->testbed('down') if $testbed }

sub write_root {
	my ($path, $text) = @_;
	open my $fh, '>', $path or die "$path: $!\n";
	print {$fh} $text;
	close $fh or die "$path: $!\n";
	return;
}

sub run_ok {
	my $r = run_command(@_);
	die "@_: $r->{err}" if $r->{rc} != 0;
	return $r->{out};
}

sub plugstack {
	my ($arguments) = @_;
	write_root("$dir/etc/slurm/plugstack.conf", "optional $plugin/spank_precedent.so $arguments\n");
	return;
}

# Libraries that leave a file HOST.PROGRAM.PID with the preload list, where the tracer would write.
sub build_library {
	my ($path, $suffix) = @_;
	write_root("$plugin/stand_in.c", <<'C');
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void)
{
	const char *dir = getenv("PRECEDENT_TRACE_DIR"), *list = getenv("LD_PRELOAD");
	char host[64], path[4096];
	if (!dir || gethostname(host, sizeof(host)))
		return;
	snprintf(path, sizeof(path), "%s/%s.%s.%d" SUFFIX, dir, host, program_invocation_short_name, (int)getpid());
	FILE *f = fopen(path, "a");
	if (f) {
		fprintf(f, "%s\n", list ? list : "");
		fclose(f);
	}
}
C
	run_ok('cc', '-shared', '-fPIC', "-DSUFFIX=\"$suffix\"", '-o', $path, "$plugin/stand_in.c");
	return;
}

mkdir $plugin;
mkdir $spool;
chown 0, $slurm_gid, $spool;
chmod 0755, $plugin, $spool;
run_ok('cp', build_dir() . '/spank_precedent.so', build_dir() . '/precedent-agent', $plugin);
build_library($tracer, '');
build_library($user_library, '.user');
plugstack("spool=$spool lib=$tracer");
my $program = $testbed->program('ring');

# Runs a marked job to its end: (job id, state, output).
sub job {
	my ($script, @arguments) = @_;
	my ($job, undef, $err) = $testbed->submit($script, @arguments);
	die "sbatch: $err" if !defined $job;
	my $end = $testbed->wait_job($job, 60) // die "job $job does not end\n";
	return ($job, $end->{state}, $testbed->output($job));
}

# What the stand-ins left in a job's directory: {'HOST PROGRAM' => number}, and the preload lists.
sub loaded {
	my ($job, $suffix) = @_;
	my (%count, %lists);
	for my $path (glob "$spool/$uid/$job/*") {
		my ($host, $name, $pid, $by) = $path =~ m{/([^/.]+)\.([^/.]+)\.(\d+)(\.user)?$} or next;
		next if ($by // '') ne ($suffix // '');
		$count{"$host $name"}++;
		$lists{$_ =~ s/\n//r} = 1 for split /^/, run_ok('cat', $path);
	}
	return (\%count, [sort keys %lists]);
}

sub fingerprint {
	my ($text) = @_;
	return $text =~ /^SLURM_SPANK_PRECEDENT_FINGERPRINT=(.*)$/m ? $1 : undef;
}

subtest 'option' => sub {
	like($testbed->run('sbatch', '--help')->{out}, qr/--predict=off\|observe\|limit\|place/, 'in the help of sbatch');
	my $script = $testbed->write('true.sh', "#!/bin/sh\ntrue\n");
	for my $case (['sbatch', $script], ['srun', 'true'], ['salloc', 'true']) {
		my ($command, $what) = @$case;
		for my $value ('bad', '', 'OFF ', 'offf') {
			my $r = $testbed->run($command, "--predict=$value", $what);
			isnt($r->{rc}, 0, "$command --predict='$value' fails");
			like($r->{err}, qr/^\w+: error: precedent: --predict=\Q$value\E: say off, observe, limit or place$/m, 'and says why');
			unlike($r->{out}, qr/Submitted/, 'nothing is submitted');
		}
		for my $value (qw(off observe limit place)) {
			is($testbed->run($command, "--predict=$value", $what)->{rc}, 0, "$command --predict=$value");
		}
	}
	my (undef, $out, $err) = $testbed->submit("#!/bin/sh\n#SBATCH --predict=nope\ntrue\n");
	is($out, '', '#SBATCH --predict=nope is not submitted');
	like($err, qr/precedent: --predict=nope: say off/, 'and it is said why');
	my ($job) = $testbed->submit("#!/bin/sh\n#SBATCH --predict=off\ntrue\n");
	ok($job, '#SBATCH --predict=off is') and is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'and runs');
};

subtest 'fingerprint' => sub {
	my $print = "env | grep FINGERPRINT\n";
	$testbed->write('input.dat', "1\n");
	my $script = "#!/bin/sh\n${print}mpirun -n 1 ./absent input.dat >result.dat\ngrep x result.dat\n";
	my @seen;
	push @seen, fingerprint((job($script))[2]);
	like($seen[0], qr/^v1:[0-9a-f]{32}:1$/, 'as agreed');
	$testbed->write('result.dat', "output of a first run\n");
	push @seen, fingerprint((job($script))[2]);
	is($seen[1], $seen[0], 'the same for the same job');
	$testbed->write('input.dat', "2\n");
	push @seen, fingerprint((job($script))[2]);
	isnt($seen[2], $seen[0], 'another for another input');
	is(fingerprint((job($script, '--predict=off'))[2]), undef, 'none with --predict=off');

	my $file = $testbed->write('from-stdin.sh', $script, 0755);
	my $r = $testbed->run('sh', '-c', "sbatch -W -o stdin.out < $file; cat stdin.out");
	is(fingerprint($r->{out}), $seen[2], 'script on standard input, a file');
	$r = $testbed->run('sh', '-c', "cat $file | sbatch -W -o stdin.out; cat stdin.out");
	is(fingerprint($r->{out}), $seen[2], 'script from a pipe, which sbatch still reads');
	$r = $testbed->run('sh', '-c', "sbatch -W -o wrap.out --wrap 'env; ./absent input.dat'; cat wrap.out");
	is(fingerprint($r->{out}), $seen[2], '--wrap');
	my $home = $testbed->path('.');
	$r = $testbed->run({chdir => '/'}, 'sh', '-c',
		"sbatch -W -o $home/chdir.out --chdir $home $file; cat $home/chdir.out");
	is(fingerprint($r->{out}), $seen[2], '--chdir');
	chmod 0, $testbed->path('input.dat');
	like(fingerprint((job($script))[2]), qr/:1$/, 'an input that cannot be read counts too');
	chmod 0644, $testbed->path('input.dat');
};

my $both = "#!/bin/bash\n#SBATCH -N2 -n4 -p fast\n";
my $mpirun = "mpirun -n 4 $program\n";
my $srun = "srun -n4 $program\n";
# A job that prints LD_PRELOAD is traced like any other.
my $environment = "env | grep -E 'LD_PRELOAD|PRECEDENT_TRACE|OMPI_MCA|PRTE_MCA' | sort\n";

subtest 'a node that nobody knows: none of the job is traced' => sub {
	my ($job, $state, $out) = job("$both$environment$mpirun$srun", @marked);
	is($state, 'COMPLETED', 'the job runs');
	is_deeply((loaded($job))[0], {}, 'without the tracer on either node');
	is($out =~ /^(SLURM_PRECEDENT_TRACE=.*)$/m && $1, 'SLURM_PRECEDENT_TRACE=0', 'the steps know');
	like(run_ok('cat', "$spool/$uid/$job/untraced.txt"), qr/^node fast\d has not said that it has the tracer/, 'a note says why');
	ok(wait_until(20, sub { -e "$spool/nodes/fast1" && -e "$spool/nodes/fast2" }), 'both nodes have said by now that they have it');
};

subtest 'srun and mpirun, two nodes' => sub {
	my $each = {'fast1 ring' => 2, 'fast2 ring' => 2};
	my ($job, $state, $out) = job("$both${environment}cat /dev/null; /bin/true\n${mpirun}", @marked);
	is($state, 'COMPLETED', 'mpirun runs');
	my ($count, $lists) = loaded($job);
	is_deeply($count, $each, 'the tracer is in the MPI processes of both nodes and in nothing else');
	is_deeply($lists, [$tracer], 'once');
	unlike($out, qr/^LD_PRELOAD/m, 'the shell has no preload');
	unlike($out, qr/ld\.so|precedent:|error/i, 'nothing is said in the output');

	($job, $state) = job("${both}mpirun -x PATH -n 4 $program\n", @marked);
	is($state, 'COMPLETED', 'mpirun -x runs');
	is_deeply((loaded($job))[0], $each, 'traced on both nodes');

	($job, $state, $out) = job("$both$srun", @marked);
	is($state, 'COMPLETED', 'srun runs');
	($count, $lists) = loaded($job);
	is_deeply($count, $each, 'traced on both nodes');
	is_deeply($lists, [$tracer], 'once');
	unlike($out, qr/ld\.so|precedent:|error/i, 'nothing is said in the output');

	($job) = job("${both}srun -n2 bash -c 'exec $program'\n$mpirun", @marked);
	($count) = loaded($job);
	is($count->{'fast1 ring'} + $count->{'fast2 ring'}, 6, 'several steps of both kinds in one job');
	is_deeply([sort keys %$count], ['fast1 bash', 'fast1 ring', 'fast2 bash', 'fast2 ring'], 'a shell that srun starts, too');
};

# Steps get the mark and the tracer whatever they are told to inherit; how many of the ranks did.
subtest 'every form of --export' => sub {
	for my $form ('--export=NONE', '--export=HOME,PATH', '--export=NIL') {
		# Open MPI 5 does not start without HOME.
		my ($job, $state) = job("${both}srun -n4 $form /usr/bin/env HOME=/ $program\n", @marked);
		is($state, 'COMPLETED', "srun $form runs");
		my ($count) = loaded($job);
		is_deeply([@$count{'fast1 ring', 'fast2 ring'}], [2, 2], 'traced on both nodes');
	}
	# As job_submit marks it, whose mark no option of sbatch takes away.
	my ($job) = job("#!/bin/bash\n#SBATCH -N2 -n4 -p fast --export=SLURM_PRECEDENT_TRACE\n$srun", '--export=SLURM_PRECEDENT_TRACE=1');
	is_deeply((loaded($job))[0], {'fast1 ring' => 2, 'fast2 ring' => 2}, 'a job without an environment of its own is traced');
};

subtest 'one job at most' => sub {
	my ($array) = $testbed->submit("$both$srun", @marked, '--array=2-4');
	wait_until(60, sub { $testbed->run('squeue', '-h', '-j', $array)->{out} eq '' }) or die "array $array does not end\n";
	my @job = map { $testbed->run('scontrol', 'show', 'job', "${array}_$_")->{out} =~ /^JobId=(\d+)/ } 2 .. 4;
	is_deeply([map { scalar keys %{(loaded($_))[0]} } @job], [2, 0, 0], 'of an array the first task is traced');
	ok(!-e "$spool/$uid/$job[1]" && !-e "$spool/$uid/$job[2]", 'and the others, which may be thousands, leave nothing in the spool');
	my ($job) = $testbed->submit("${both}srun -n4 $program\ntest \"\$SLURM_RESTART_COUNT\" || sleep 60\n", @marked, '--requeue');
	ok(wait_until(60, sub { keys %{(loaded($job))[0]} == 2 }), 'a job is traced');
	unlink glob "$spool/$uid/$job/*ring*";
	$testbed->run({as => 'root'}, 'scontrol', 'requeue', $job);
	ok($testbed->wait_job_state($job, 'PENDING', 60), 'it is queued again');
	my $state;
	for my $try (1 .. 3) {
		sleep 2; # a node refuses a job that starts in the second in which the node ended it: then the job fails
		$testbed->run({as => 'root'}, 'scontrol', 'update', "JobId=$job", 'StartTime=now');
		$state = ($testbed->wait_job($job, 180) // {})->{state};
		last if ($state // '') ne 'FAILED' || $try == 3;
		$testbed->run({as => 'root'}, 'scontrol', 'requeue', $job);
		ok($testbed->wait_job_state($job, 'PENDING', 60), 'it is queued once more');
	}
	is($state, 'COMPLETED', 'it runs to its end');
	is_deeply((loaded($job))[0], {}, 'without the tracer');
};

subtest 'spool' => sub {
	my ($job) = job("$both$srun", @marked,);
	for my $case ([$uid, 'of the user', '42770'], ["$uid/$job", 'of the job', '42770']) {
		my ($path, $what, $wanted) = @$case;
		my ($mode, $owner, $group) = (lstat "$spool/$path")[2, 4, 5];
		is(sprintf('%o', $mode), $wanted, "directory $what: mode");
		is_deeply([$owner, $group], [$uid, $slurm_gid], 'owner and group');
	}
	my ($file) = glob "$spool/$uid/$job/*.ring.*";
	is((stat $file)[5], $slurm_gid, 'files get the group of the daemon');
	isnt($testbed->run({as => $testbed->other_user}, 'ls', "$spool/$uid")->{rc}, 0, 'another user sees nothing');
	my $r = $testbed->run('sh', '-c', "umask 077; sbatch -W $marked[0] --wrap 'srun $program'");
	my ($private) = $r->{out} =~ /job (\d+)/;
	is(sprintf('%o', (stat "$spool/$uid/$private")[2]), '42770', 'the umask of the user changes nothing');
};

subtest 'the user\'s own preload' => sub {
	for my $case (['srun', $srun], ['mpirun', $mpirun]) {
		my ($name, $step) = @$case;
		my ($job) = job("$both$step", "$marked[0],LD_PRELOAD=$user_library");
		my ($count, $lists) = loaded($job);
		is($count->{'fast1 ring'} + $count->{'fast2 ring'}, 4, "$name: traced");
		ok(!(grep { $_ !~ /^\Q$tracer:$user_library\E$/ && $_ ne $user_library } @$lists), 'in front of the user\'s own');
		($count) = loaded($job, '.user');
		is($count->{'fast1 ring'} + $count->{'fast2 ring'}, 4, 'which is there on both nodes');
	}
	my ($job, undef, $out) = job("${both}export LD_PRELOAD=$user_library\n${environment}$mpirun", @marked);
	is_deeply((loaded($job))[0], {}, 'a script that sets LD_PRELOAD: mpirun is left alone');
	unlike($out, qr/OMPI_MCA_mca_base_env_list/, 'altogether');
	($job) = job("${both}mpirun --mca mca_base_env_list A=1 -n 4 $program\n", @marked);
	is($testbed->job_info($job)->{JobState}, 'COMPLETED', 'a script with mca_base_env_list runs');
	$testbed->write('.openmpi/mca-params.conf', "mca_base_env_list = A=1\n");
	($job) = job("$both$mpirun", @marked);
	is($testbed->job_info($job)->{JobState}, 'COMPLETED', 'and so it does with mca-params.conf');
	unlink $testbed->path('.openmpi/mca-params.conf');
	($job) = job("${both}mpirun -n 4 bash -c 'test \"\$A\" = 1 && exec $program'\n", "$marked[0],OMPI_MCA_mca_base_env_list=A=1");
	is($testbed->job_info($job)->{JobState}, 'COMPLETED', 'an environment with it keeps it');
	is((loaded($job))[0]{'fast2 ring'}, 2, 'and is traced');
};

# PRRTE (mpirun since Open MPI 5) starts processes by an exec agent. Older ones do not read it.
subtest 'the exec agent of mpirun' => sub {
	my ($job, $state) = job("${both}cp $program here\nmpirun -n 4 here\n", @marked);
	is($state, 'COMPLETED', 'a program in the working directory, without ./, runs');
	is_deeply((loaded($job))[0], {'fast1 here' => 2, 'fast2 here' => 2}, 'traced on both nodes');
	for my $name (qw(PRTE_MCA_odls_base_exec_agent OMPI_MCA_odls_base_exec_agent)) {
		($job, $state, my $out) = job("${both}env | grep ^...._MCA_odls_base_exec_\n$mpirun",
			"$marked[0],$name=/usr/bin/env");
		is($state, 'COMPLETED', "a job with $name runs");
		like($out, qr{^\Q$name\E=/usr/bin/env\n}, 'which stays');
		is(() = $out =~ /exec_agent/g, 1, 'alone');
		is(run_ok('cat', "$spool/$uid/$job/untraced.txt"), "mpirun: $name is set to another program, which stays\n", 'a note says so');
	}
};

subtest 'left alone' => sub {
	for my $case (['--predict=off', @marked, '--predict=off'], ['a job that is not marked'],
		['another value of the mark', '--export=ALL,SLURM_PRECEDENT_TRACE=yes'])
	{
		my ($what, @arguments) = @$case;
		my ($job, $state, $out) = job("$both$environment$mpirun$srun", @arguments);
		is($state, 'COMPLETED', $what);
		ok(!-e "$spool/$uid/$job", 'no directory');
		unlike($out, qr/LD_PRELOAD|PRECEDENT_TRACE_DIR|env_list|exec_agent/, 'no variable');
	}
	my ($job) = job("#!/bin/bash\nsbatch -W -o inner.out inner.sh\nsrun true\n", @marked, '-n1', '--oversubscribe')
	    if $testbed->write('inner.sh', "#!/bin/sh\n#SBATCH -p slow\nenv\nsrun $program\n", 0755);
	unlike($testbed->read('inner.out'), qr/^(?:SLURM_)?PRECEDENT_TRACE|libprecedent_trace/m, 'a job submitted inside a traced job');
	is_deeply([grep { /ring/ } glob "$spool/$uid/$job/*"], [], 'does not write into its directory');
};

subtest 'what may be in the way' => sub {
	my $runs = sub {
		my ($what, @arguments) = @_;
		my ($job, $state, $out) = job("$both$mpirun$srun", @marked, @arguments);
		is($state, 'COMPLETED', "$what: the job runs");
		unlike($out, qr/ld\.so|precedent|error/i, 'its output is clean');
		return $job;
	};
	my $mine = "$spool/$uid";
	rename $mine, "$spool/aside" or die "rename: $!\n";

	mkdir "$plugin/victim";
	chmod 0711, "$plugin/victim";
	symlink "$plugin/victim", $mine or die "symlink: $!\n";
	$runs->('a link to a directory of root\'s');
	is_deeply([(stat "$plugin/victim")[2, 4, 5]], [040711, 0, 0], 'which is as it was');
	is_deeply([glob "$plugin/victim/*"], [], 'and empty');
	unlink $mine;

	write_root($mine, "precious\n");
	$runs->('a file');
	is(run_ok('cat', $mine), "precious\n", 'which is as it was');
	unlink $mine;

	mkdir $mine;
	chown 65534, 65534, $mine;
	$runs->('somebody else\'s directory');
	is((stat $mine)[4], 65534, 'which stays so');
	rmdir $mine;
	rename "$spool/aside", $mine or die "rename: $!\n";

	my ($held) = $testbed->submit("$both$mpirun$srun", @marked, '-H');
	run_ok('ln', '-s', "$plugin/victim", "$mine/$held");
	$testbed->run('scontrol', 'release', $held);
	is($testbed->wait_job($held, 60)->{state}, 'COMPLETED', 'a link where the job\'s directory goes: the job runs');
	is_deeply([glob "$plugin/victim/*"], [], 'nothing is written through it');

	chmod 01777, $spool;
	my $job = $runs->('a spool that anybody may write');
	ok(!-e "$mine/$job", 'it is not used');
	chmod 0755, $spool;

	plugstack("spool=$plugin/absent lib=$tracer");
	$runs->('no spool');
	plugstack("spool=$spool lib=$plugin/absent.so");
	$job = $runs->('no tracer');
	ok(!-e "$mine/$job", 'nothing is made');
	ok(!-e "$spool/nodes/fast1", 'the nodes say that they have none');
	plugstack("conf=$plugin/absent.conf");
	$runs->('no configuration');
	write_root("$plugin/bad.conf", "SpoolDirectory=/x\n");
	plugstack("conf=$plugin/bad.conf");
	$runs->('a configuration with an unknown key');
	write_root("$plugin/good.conf", "SpoolDir=$spool\n");
	plugstack("conf=$plugin/good.conf lib=$tracer");
	$runs->('a good configuration again');
	$job = $runs->('and once more');
	is((loaded($job))[0]{'fast2 ring'}, 4, 'traced: SpoolDir is that of the configuration');
};

subtest 'slurmd says what its node has' => sub {
	plugstack("spool=$spool lib=$tracer");
	unlink glob "$spool/nodes/*";
	my $pid = run_ok('cat', "$dir/run/slurmd-slow1.pid") + 0;
	kill TERM => $pid;
	ok(wait_until(20, sub { !kill 0 => $pid or run_command('grep', '-q', '^State:.Z', "/proc/$pid/status")->{rc} == 0 }),
		'slurmd stops');
	is($testbed->testbed('node', 'slow1', 'slurmd', '-N', 'slow1')->{rc}, 0, 'and starts');
	ok(wait_until(20, sub { -e "$spool/nodes/slow1" }), 'its node is known before it has run a job');
	is(run_ok('cat', "$spool/nodes/slow1"), "$tracer precedent-agent\n", 'with the tracer that it has');
};

done_testing;
