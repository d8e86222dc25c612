#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nobody is killed by us: jobs that run much longer than predicted reach their user's own limit, whatever dies meanwhile.
# precedentd is killed when a job has just been submitted, when its trigger is set and its limit is not, before it starts, while
# it runs, and when a limit has just been raised; slurmctld is started again without precedentd, and together with it, and killed
# with it. Arrays, jobs that are queued again, limits that users change. The program is no MPI program: it is predicted from its
# past runs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'limits', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }

my $dir = $testbed->dir;
my $script = "#!/bin/sh\nsrun true\n: a program with a past\nsleep \$(cat \$HOME/seconds)\n";

sub precedent { return $testbed->run('precedent', @_) }

sub shown {
	my ($job) = @_;
	my $r = precedent('show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

sub scontrol { return $testbed->run({as => 'root'}, 'scontrol', @_) }

sub limit_of { return $testbed->job_info($_[0])->{TimeLimit} }

sub trigger_of {
	my ($job) = @_;
	return $testbed->run({as => 'root'}, 'strigger', '--get', '--noheader')->{out} =~ /^\s*\d+\s+job\s+$job\s+time\s/m;
}

# TERM, as an administrator does: it saves its state. Killed, it may forget jobs that started in its last seconds, and these end.
sub slurmctld_stop {
	my ($signal) = @_;
	open my $fh, '<', "$dir/run/slurm/slurmctld.pid" or die "slurmctld.pid: $!\n";
	chomp(my $pid = <$fh>);
	kill $signal // 'TERM', $pid;
	wait_until(20, sub { !kill 0, $pid or run_command('grep', '-q', '^State:.Z', "/proc/$pid/status")->{rc} == 0 });
	return;
}

sub slurmctld_start {
	is($testbed->run({as => 'root'}, 'slurmctld')->{rc}, 0, 'slurmctld starts again');
	ok(wait_until(30, sub { $testbed->run('scontrol', 'ping')->{out} =~ /is UP/ }), '... and answers');
	return;
}

# precedentd is dead. slurmctld looks every 15 s, and then raises a limit of one minute of a job that runs.
sub slurmctld_alone_raises {
	my ($job, $what) = @_;
	my $limit = limit_of($job);
	return ok($limit eq '00:01:00' || ($limit eq '00:02:00' && !trigger_of($job)), "$what, or the trigger has raised it")
		|| diag $limit;
}

sub seconds_are { $testbed->write('seconds', "$_[0]\n"); return }

# ---- a program with a past ----

# No job waits for the processor of another one.
$testbed->run({as => 'root'}, 'sed', '-i', 's/^PartitionName=.*/& OverSubscribe=FORCE:8/', "$dir/etc/slurm/slurm.conf");
is(scontrol('reconfigure')->{rc}, 0, 'nodes take many jobs');
seconds_are(5);
$testbed->conf_set(Mode => 'limit', LimitGuard => 'raise', MinLimit => '00:01:00', PollInterval => 10);
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees it');
ok(wait_until(60, sub { $testbed->log('precedentd') =~ /slurmctld lets precedentd raise limits \(job \d+\)/ }), 'raises are proved to work')
	or diag $testbed->log('precedentd');
is($testbed->run('squeue', '-h', '-n', 'precedent-limit')->{out}, '', '... and nothing of that is left in the queue');
my @options = ('-N1', '-n1', '-t', 2);
my ($first, undef, $said) = $testbed->submit($script, @options);
like($said, qr/it is traced/, 'the first run is traced');
my ($second) = $testbed->submit($script, @options);
$testbed->submit($script, @options); # two runs that a busy machine makes unlike predict nothing
my $show;
wait_until(60, sub { $show = shown($first); return grep { $_->{runs} == 3 } @{$show->{estimates} // []} });
is($show->{program}{state}, 'failed', 'it has no trace');
like($show->{program}{reason}, qr/no process called MPI_Init/, '... since it is no MPI program');
is_deeply([map { "$_->{candidate} $_->{kind} $_->{runs}" } @{$show->{estimates}}], ['fast history 3'],
	'... and is predicted from its three runs') or diag $testbed->log('precedentd');
like(precedent('explain', $second)->{out}, qr/past runs|history/, '... explain says from what');

# ---- jobs that will take much longer ----

seconds_are(900);
my %job;
for my $name (qw(both raising running before requeued)) {
	($job{$name}, undef, $said) = $testbed->submit($script, @options, '-H');
	like($said, qr/00:00:\d\d on fast \(.*from past runs\); limit will be 00:01:00 \(you asked 00:02:00\)/,
		"$name: predicted");
	is(limit_of($job{$name}), '00:02:00', '... and not short as yet');
}
my ($array) = $testbed->submit($script, @options, '-H', '--array=1-3');
my ($lowered) = $testbed->submit($script, '-N1', '-n1', '-t', 3, '-H');
is($testbed->run('scontrol', 'update', "JobId=$lowered", 'TimeLimit=2')->{rc}, 0, 'a user lowers the limit of another job');

# No job may be short without a trigger, whenever it is looked at: the limit is asked for first.
my ($looked, $bare) = (0, 0);
sub all_short {
	my @short = grep { limit_of($_) eq '00:01:00' } @_;
	$looked++;
	$bare += !trigger_of($_) for @short;
	return @short == @_;
}

ok(wait_until(60, sub { all_short(values %job) }), 'all get the short limit') or diag $testbed->log('precedentd');
is($bare, 0, "and none is short without a trigger in $looked looks");
like($testbed->job_info($job{both})->{AdminComment}, qr/ user_limit=2 limit=1 /, 'their comments tell it');
is($testbed->job_info($array)->{TimeLimit}, '00:02:00', 'but not the tasks of an array, which would inherit the limit without the trigger');
is(limit_of($lowered), '00:02:00', 'nor a job whose user has changed it');

subtest 'slurmctld lets nobody submit the job that proves raises' => sub {
	my ($job) = $testbed->submit($script, @options, '-H');
	$testbed->daemon('stop');
	is(scontrol('update', 'PartitionName=fast', 'State=INACTIVE')->{rc}, 0, 'the partition takes no jobs');
	$testbed->daemon('start');
	my $says = qr/no limit is lowered: a held job to try with cannot be submitted: fast: /;
	ok(wait_until(60, sub { $testbed->log('precedentd') =~ $says }), 'precedentd says why no limit is lowered')
		or diag $testbed->log('precedentd');
	like($testbed->run({as => 'root'}, 'precedent', 'doctor')->{out}, qr/^FAIL\s+shortened.jobs\s+no limit is lowered: a held job/m, 'doctor too');
	is(limit_of($job), '00:02:00', 'a job keeps its limit');
	is(scontrol('update', 'PartitionName=fast', 'State=UP')->{rc}, 0, 'the partition takes jobs again');
	$testbed->daemon($_) for qw(stop start);
	ok(wait_until(90, sub { limit_of($job) eq '00:01:00' }), 'after the next start of precedentd it is shortened')
		or diag $testbed->log('precedentd');
	unlike($testbed->run({as => 'root'}, 'precedent', 'doctor')->{out}, qr/^FAIL\s+shortened.jobs/m, '... and doctor is content');
	$testbed->run('scancel', $job);
};

$testbed->run('scancel', $array, $lowered);

subtest 'slurmctld and precedentd are killed at once, as when the power fails' => sub {
	$testbed->daemon('kill');
	slurmctld_stop('KILL');
	slurmctld_start();
	($looked, $bare) = (0, 0);
	all_short(values %job);
	is($bare, 0, 'no job is short without a trigger');
	$testbed->daemon('start');
	ok(wait_until(60, sub { all_short(values %job) }), 'all are short again');
	is($bare, 0, '... and were not without a trigger before');
	cmp_ok(scalar(() = $testbed->log('precedentd') =~ /slurmctld lets precedentd raise limits/g), '>=', 2, 'raises were proved anew');
};

subtest 'precedentd is killed when a trigger is set and the limit is not' => sub {
	for my $try (1 .. 3) { # the next look of precedentd, which sets the limit, may come first
		($job{armed}) = $testbed->submit($script, @options, '-H');
		ok(wait_until(40, sub { trigger_of($job{armed}) }), 'the trigger is set');
		$testbed->daemon('kill');
		last if limit_of($job{armed}) eq '00:02:00' || $try == 3;
		$testbed->daemon('start');
		$testbed->run('scancel', $job{armed});
	}
	is(limit_of($job{armed}), '00:02:00', 'the job has its own limit');
	$testbed->daemon('start');
	($looked, $bare) = (0, 0);
	ok(wait_until(60, sub { all_short($job{armed}) }), 'the next precedentd goes on with it');
	is($bare, 0, '... with the trigger');
	is(scalar(() = $testbed->run({as => 'root'}, 'strigger', '--get')->{out} =~ /^\s*\d+\s+job\s+$job{armed}\s/mg), 1, '... one of them');
	is($testbed->run('scontrol', 'update', "JobId=$job{armed}", 'TimeLimit=2')->{rc}, 0, 'its user sets the limit back');
};

subtest 'a job that is queued again while it is short' => sub {
	my $job = delete $job{requeued};
	scontrol('release', $job);
	ok($testbed->wait_job_state($job, 'RUNNING', 30), 'it runs');
	$testbed->daemon('kill');
	my $was = limit_of($job);
	is(scontrol('requeue', $job)->{rc}, 0, "it is queued again with a limit of $was");
	ok($testbed->wait_job_state($job, 'PENDING', 60), 'it waits');
	my $end = time + 20; # slurmctld looks at its triggers every 15 s
	my $lost = 0;
	wait_until(30, sub { $lost ||= limit_of($job) ne '00:02:00' && !trigger_of($job) && limit_of($job) ne '00:02:00'; return time > $end });
	ok(!$lost, 'it is never short without a trigger');
	$testbed->run('scancel', $job);
	$testbed->daemon('start');
	ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd is there again');
	my $armed = delete $job{armed};
	is(limit_of($armed), '00:02:00', 'what a user has set back stays so');
	$testbed->run('scancel', $armed);
};

subtest 'precedentd is killed and slurmctld stopped while a job runs, and both start again' => sub {
	scontrol('release', $job{both});
	ok($testbed->wait_job_state($job{both}, 'RUNNING', 30), 'it runs');
	$testbed->daemon('kill');
	slurmctld_stop();
	slurmctld_start();
	$testbed->conf_set(PollInterval => 2); # further down precedentd is to be quicker than slurmctld
	$testbed->daemon('start');
	ok(wait_until(30, sub { limit_of($job{both}) eq '00:02:00' }), 'its limit is the user\'s own');
};

subtest 'precedentd is killed when it has just raised a limit' => sub {
	my $raised = sub { $testbed->log('precedentd') =~ /job $job{raising}: limit raised from 00:01:00 to 00:02:00/ };
	for my $try (1 .. 3) { # slurmctld, which may raise it first, writes nothing there: then another job is raised
		scontrol('release', $job{raising});
		ok($testbed->wait_job_state($job{raising}, 'RUNNING', 30), 'it runs');
		wait_until(30, sub { limit_of($job{raising}) eq '00:02:00' });
		last if wait_until(2, $raised) || $try == 3;
		$job{"raising, try $try"} = $job{raising};
		($job{raising}) = $testbed->submit($script, @options, '-H');
		ok(wait_until(60, sub { all_short($job{raising}) }), 'another one is short');
	}
	ok($raised->(), 'it is raised');
	# What starts now it does not see.
	$testbed->daemon('kill');
	scontrol('release', $job{running});
	ok($testbed->wait_job_state($job{running}, 'RUNNING', 30), 'another runs');
	($job{unseen}, undef, my $said) = $testbed->submit($script, @options);
	like($said, qr/limit will be 00:01:00/, 'the plugin does not know as yet that it is dead');
	is(limit_of($job{raising}), '00:02:00', 'the one keeps its limit');
	slurmctld_alone_raises($job{running}, 'the other still has the short one');
};

subtest 'precedentd is dead when a job starts, and slurmctld starts again' => sub {
	scontrol('release', $job{before});
	ok($testbed->wait_job_state($job{before}, 'RUNNING', 150), 'it runs');
	slurmctld_alone_raises($job{before}, 'with the short limit');
	slurmctld_stop();
	slurmctld_start();
	for my $name (qw(running before)) {
		ok(wait_until(60, sub { limit_of($job{$name}) eq '00:02:00' }), "slurmctld itself raises the limit of the one that was $name")
			or diag $testbed->run({as => 'root'}, 'strigger', '--get')->{out};
	}
	is(limit_of($job{unseen}), '00:02:00', 'the one that precedentd has not seen has its own');
	ok(!trigger_of($job{unseen}), '... and no trigger');
	isnt($testbed->daemon('status')->{rc}, 0, 'precedentd is dead all the while');
};

subtest 'all of them reach what their user asked for' => sub {
	for my $name (sort keys %job) {
		my $end = $testbed->wait_job($job{$name}, 300);
		ok($end, "$name: ended") or next;
		is($end->{state}, 'TIMEOUT', '... at its limit');
		cmp_ok($end->{elapsed_s}, '>=', 120, '... the user\'s own');
		is($end->{info}{TimeLimit}, '00:02:00', '... and never above it');
	}
};

subtest 'they say something of the next run' => sub {
	$testbed->daemon('start');
	ok(wait_until(30, sub { (shown($job{before})->{job}{state} // '') eq 'TIMEOUT' }), 'precedentd learns of their end');
	$show = shown($job{before});
	is_deeply($show->{estimates}, [], 'nothing is predicted any more');
	like($show->{program}{reason}, qr/past runs: nothing for fast: \d runs? w\w+ ended before the end, the longest after 1\d\d s: two that complete are needed/, '... and why');
	like(precedent('explain', $job{before})->{out} =~ s/\s+/ /gr, qr/ended before the end, the longest after 1\d\d s/, '... in words');
	my (undef, undef, $said) = $testbed->submit($script, @options, '-H');
	unlike($said, qr/limit/, 'the next one keeps its limit');
};

done_testing;
