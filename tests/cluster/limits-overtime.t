#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# LimitGuard = overtime on a real slurmctld: a shortened job reaches its user's own limit with precedentd dead and whatever
# somebody wrote into AdminComment. OverTimeLimit is two minutes, the jobs ask for three, and one is enough by the prediction.
# The program is no MPI program: it is predicted from its past runs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Time::Piece ();
use Testbed qw(wait_until build_dir);

my $testbed = Testbed->attach(name => 'overtime', up => ['--build', build_dir(), '--overtime', 2]);
END { $testbed->testbed('down') if $testbed }

my $script = "#!/bin/sh\nsrun true\n: a program with a past\nsleep \$(cat \$HOME/seconds)\n";
my @options = ('-N1', '-n1', '-t', 3);

sub precedent { return $testbed->run('precedent', @_) }
sub scontrol { return $testbed->run({as => 'root'}, 'scontrol', @_) }
sub limit_of { return $testbed->job_info($_[0])->{TimeLimit} }
sub becomes {
	my ($job, $limit, $what) = @_;
	return ok(wait_until(30, sub { limit_of($job) eq $limit }), $what) || diag limit_of($job), $testbed->log('precedentd');
}

sub shown {
	my ($job) = @_;
	my $r = precedent('show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

sub seconds_of { return Time::Piece->strptime($_[0], '%Y-%m-%dT%H:%M:%S')->epoch }

# slurm.conf with this OverTimeLimit.
sub overtime_is {
	my ($minutes) = @_;
	my $path = $testbed->dir . '/etc/slurm/slurm.conf';
	(my $text = Testbed::slurp($path)) =~ s/^OverTimeLimit=.*$/OverTimeLimit=$minutes/m;
	open my $fh, '>', $path or die "$path: $!\n";
	print {$fh} $text;
	close $fh or die "$path: $!\n";
	is(scontrol('reconfigure')->{rc}, 0, "OverTimeLimit is $minutes now");
	return;
}

# ---- a program with a past ----

$testbed->write('seconds', "5\n");
$testbed->conf_set(Mode => 'limit', MinLimit => '00:01:00', PollInterval => 2);
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees it');
my ($first) = $testbed->submit($script, @options);
$testbed->submit($script, @options) for 2, 3; # two runs that a busy machine makes unlike predict nothing
ok(wait_until(60, sub { grep { $_->{runs} == 3 } @{shown($first)->{estimates} // []} }),
	'it is predicted from its three runs') or diag $testbed->log('precedentd');
$testbed->write('seconds', "900\n");

# ---- what keeps or restores a limit ----

sub held {
	my ($what) = @_;
	my ($job, undef, $said) = $testbed->submit($script, @options, '-H');
	like($said, qr/; limit will be 00:01:00 \(you asked 00:03:00\)/, "$what: the limit is told");
	return $job;
}

subtest 'a reservation' => sub {
	my $job = held('a job that waits');
	becomes($job, '00:01:00', 'it is short');
	is(scontrol('create', 'reservation', 'ReservationName=later', 'StartTime=now+2minutes', 'Duration=5', 'Nodes=fast1', 'Users=root')->{rc},
		0, 'a reservation is made within its own limit');
	becomes($job, '00:03:00', 'it has its own limit again');
	my $other = held('another');
	ok(wait_until(20, sub { shown($other)->{job} }), 'precedentd knows it');
	is(limit_of($other), '00:03:00', 'it is not shortened before the reservation');
	is(scontrol('delete', 'ReservationName=later')->{rc}, 0, 'the reservation goes');
	becomes($other, '00:01:00', 'now it is');
	$testbed->run('scancel', $job, $other);
};

subtest 'OverTimeLimit is taken away' => sub {
	my $job = held('a job that waits');
	becomes($job, '00:01:00', 'it is short');
	overtime_is(0);
	becomes($job, '00:03:00', 'it has its own limit again');
	ok(wait_until(30, sub { ($testbed->submit($script, @options, '-H'))[2] !~ /limit will be/ }), 'no limit is told any more');
	overtime_is(2);
	ok(wait_until(30, sub { ($testbed->submit($script, @options, '-H'))[2] =~ /limit will be/ }), '... until it is back');
	$testbed->run('scancel', '-u', $testbed->user);
};

subtest 'jobs that look at their limit' => sub {
	for my $option ('--signal=B:USR1@60', '--mail-type=TIME_LIMIT_80', '--time-min=2', '--deadline=now+1hour') {
		my ($job, undef, $said) = $testbed->submit($script, @options, '-H', $option);
		unlike($said, qr/limit will be/, "$option: none is told");
	}
	my (undef, undef, $said) = $testbed->submit("$script# squeue -h -j \$SLURM_JOB_ID -o %L\n", @options, '-H');
	like($said, qr/^sbatch: precedent: 00:00:\d\d on fast/m, 'a script that asks squeue is predicted');
	unlike($said, qr/limit will be/, '... and keeps its limit');
	$testbed->run('scancel', '-u', $testbed->user);
};

my %job = map { $_ => held($_) } qw(dead appended cleared late lowered);
becomes($job{$_}, '00:01:00', "$_: short") for sort keys %job;

subtest 'AdminComment' => sub {
	my $comment = $testbed->job_info($job{appended})->{AdminComment};
	is(scontrol('update', "JobId=$job{appended}", "AdminComment=$comment | ops: looked at")->{rc}, 0, 'a text is appended');
	is(scontrol('update', "JobId=$job{cleared}", 'AdminComment=')->{rc}, 0, 'another is cleared');
	becomes($job{cleared}, '00:03:00', 'a job without our comment has its own limit');
	is(limit_of($job{appended}), '00:01:00', 'one with more text is as it was');
};

subtest 'a user lowers the limit' => sub {
	is($testbed->run('scontrol', 'update', "JobId=$job{lowered}", 'TimeLimit=2')->{rc}, 0, 'of a job that is short, to two minutes')
		or is($testbed->run({as => 'root'}, 'scontrol', 'update', "JobId=$job{lowered}", 'TimeLimit=2')->{rc}, 0, '... as root');
	ok(wait_until(20, sub { $testbed->log('precedentd') =~ /job $job{lowered}: its limit was changed by somebody else/ }), 'precedentd sees it');
	is(limit_of($job{lowered}), '00:02:00', 'and leaves it alone');
	$testbed->run('scancel', delete $job{lowered});
};

# OverTimeLimit is two minutes. slurmctld moves no end into the past, so the limit is lowered when the first minute is nearly over.
subtest 'a limit above the user\'s less OverTimeLimit' => sub {
	$testbed->conf_set(MinLimit => '00:02:00');
	$testbed->daemon($_) for qw(stop start);
	my ($job, undef, $said);
	ok(wait_until(30, sub {
		$testbed->run('scancel', $job) if $job;
		($job, undef, $said) = $testbed->submit($script, @options, '-H');
		return $said =~ /limit will be 00:02:00/;
	}), 'is told');
	becomes($job, '00:02:00', 'it is set');
	scontrol('release', $job);
	ok($testbed->wait_job_state($job, 'RUNNING', 60), 'the job runs');
	becomes($job, '00:01:00', 'the limit is lowered');
	my $info = $testbed->job_info($job);
	my ($start, $end) = map { seconds_of($info->{$_}) } qw(StartTime EndTime);
	is($end - $start, 60, 'with OverTimeLimit, slurmctld ends it at its user\'s limit');
	$testbed->run('scancel', $job);
};

# ---- nobody of us is alive ----

$testbed->daemon('kill');
is(scontrol('update', "JobId=$job{late}", 'AdminComment=ops: looked at')->{rc}, 0, 'a comment is replaced when precedentd is dead');
scontrol('release', $_) for values %job;
ok($testbed->wait_job_state($job{$_}, 'RUNNING', 60), "$_: runs") for sort keys %job;
is(limit_of($job{$_}), '00:01:00', "... with the short limit: $_") for qw(dead appended late);
for my $name (qw(dead appended late)) {
	my $end = $testbed->wait_job($job{$name}, 400);
	ok($end, "$name: ended") or next;
	is($end->{state}, 'TIMEOUT', '... at its limit');
	cmp_ok($end->{elapsed_s}, '>=', 180, '... which is the user\'s own');
	cmp_ok($end->{elapsed_s}, '<', 300, '... and not more');
}
# It has its own limit, and so ends with OverTimeLimit as any job of the site.
is($testbed->job_info($job{cleared})->{JobState}, 'RUNNING', 'the one that was restored runs on');
isnt($testbed->daemon('status')->{rc}, 0, 'precedentd was dead all the while');
$testbed->conf_set(EndAtAsked => 'yes');
$testbed->daemon('start');
my $end = $testbed->wait_job($job{cleared}, 120);
is($end->{state}, 'CANCELLED', '... until EndAtAsked is set, and precedentd ends it') or diag $testbed->log('precedentd');
cmp_ok($end->{elapsed_s}, '>=', 240, '... a minute after its limit');
like($testbed->log('precedentd'), qr/job $job{cleared}: cancelled, as its limit of 00:03:00 is over/, '... and says so');
my %ended = (dead => 'TIMEOUT', appended => 'TIMEOUT', late => 'TIMEOUT', cleared => 'CANCELLED');
for my $name (sort keys %ended) {
	ok(wait_until(30, sub { (shown($job{$name})->{job}{state} // '') eq $ended{$name} }), "precedentd learns of the end of $name");
}
my $all = decode_json(precedent('accuracy', '--json')->{out});
is($all->{all}{cut_short} // $all->{cut_short} // 'none', 0, 'none counts as cut short') or diag explain $all;

done_testing;
