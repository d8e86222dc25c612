#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nobody is killed by us: jobs that run much longer than predicted reach their user's own limit, whatever dies meanwhile.
# precedentd is killed before a job starts, while one runs, and when it has just raised a limit; slurmctld is started again
# without precedentd, and together with it. The program is no MPI program: it is predicted from its past runs.
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

# As an administrator does: it saves its state. Killed, it may forget jobs that started in its last seconds, and these end.
sub slurmctld_stop {
	open my $fh, '<', "$dir/run/slurm/slurmctld.pid" or die "slurmctld.pid: $!\n";
	chomp(my $pid = <$fh>);
	kill 'TERM', $pid;
	wait_until(20, sub { !kill 0, $pid or run_command('grep', '-q', '^State:.Z', "/proc/$pid/status")->{rc} == 0 });
	return;
}

sub slurmctld_start {
	is($testbed->run({as => 'root'}, 'slurmctld')->{rc}, 0, 'slurmctld starts again');
	ok(wait_until(30, sub { $testbed->run('scontrol', 'ping')->{out} =~ /is UP/ }), '... and answers');
	return;
}

sub seconds_are { $testbed->write('seconds', "$_[0]\n"); return }

# ---- a program with a past ----

seconds_are(5);
$testbed->conf_set(Mode => 'limit', MinLimit => '00:01:00', PollInterval => 10);
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees it');
my @options = ('-N1', '-n1', '-t', 2);
my ($first, undef, $said) = $testbed->submit($script, @options);
like($said, qr/it is traced/, 'the first run is traced');
my ($second) = $testbed->submit($script, @options);
my $show;
wait_until(60, sub { $show = shown($first); return @{$show->{estimates} // []} });
is($show->{program}{state}, 'failed', 'it has no trace');
like($show->{program}{reason}, qr/never called MPI_Init/, '... since it is no MPI program');
is_deeply([map { "$_->{candidate} $_->{kind} $_->{runs}" } @{$show->{estimates}}], ['fast history 2'],
	'... and is predicted from its two runs') or diag $testbed->log('precedentd');
like(precedent('explain', $second)->{out}, qr/past runs|history/, '... explain says from what');

# ---- jobs that will take much longer ----

seconds_are(900);
my %job;
for my $name (qw(both raising running before)) {
	($job{$name}, undef, $said) = $testbed->submit($script, @options, '-H');
	like($said, qr/00:00:0\d on fast \(.*from past runs\); limit 00:01:00 \(you asked 00:02:00\)/, "$name: predicted and shortened");
}
ok(wait_until(30, sub { 4 == grep { trigger_of($job{$_}) } keys %job }), 'precedentd has set a trigger for each') or
	diag $testbed->run({as => 'root'}, 'strigger', '--get')->{out};

subtest 'precedentd is killed and slurmctld stopped while a job runs, and both start again' => sub {
	scontrol('release', $job{both});
	ok($testbed->wait_job_state($job{both}, 'RUNNING', 30), 'it runs');
	$testbed->daemon('kill');
	slurmctld_stop();
	slurmctld_start();
	$testbed->daemon('start');
	ok(wait_until(30, sub { limit_of($job{both}) eq '00:02:00' }), 'its limit is the user\'s own');
};

subtest 'precedentd is killed when it has just raised a limit' => sub {
	scontrol('release', $job{raising});
	ok($testbed->wait_job_state($job{raising}, 'RUNNING', 30), 'it runs');
	ok(wait_until(30, sub { $testbed->log('precedentd') =~ /job $job{raising}: limit raised from 00:01:00 to 00:02:00/ }), 'it is raised');
	# precedentd has just looked: what starts now it does not see
	scontrol('release', $job{running});
	ok($testbed->wait_job_state($job{running}, 'RUNNING', 30), 'another runs');
	$testbed->daemon('kill');
	is(limit_of($job{raising}), '00:02:00', 'the one keeps its limit');
	is(limit_of($job{running}), '00:01:00', 'the other has still the short one');
};

subtest 'precedentd is dead when a job starts, and slurmctld starts again' => sub {
	scontrol('release', $job{before});
	ok($testbed->wait_job_state($job{before}, 'RUNNING', 30), 'it runs');
	is(limit_of($job{before}), '00:01:00', 'with the short limit');
	slurmctld_stop();
	slurmctld_start();
	for my $name (qw(running before)) {
		ok(wait_until(60, sub { limit_of($job{$name}) eq '00:02:00' }), "slurmctld itself raises the limit of the one that was $name")
			or diag $testbed->run({as => 'root'}, 'strigger', '--get')->{out};
	}
	isnt($testbed->daemon('status')->{rc}, 0, 'precedentd is dead all the while');
};

subtest 'all of them reach what their user asked for' => sub {
	for my $name (sort keys %job) {
		my $end = $testbed->wait_job($job{$name}, 200);
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
	like(precedent('explain', $job{before})->{out}, qr/ended before the end, the longest after 1\d\d s/, '... in words');
	my (undef, undef, $said) = $testbed->submit($script, @options, '-H');
	unlike($said, qr/limit/, 'the next one keeps its limit');
};

done_testing;
