#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A user against the probes of a real cluster. While all nodes of fast are taken, the user's probes wait there, and the user
# does to them what Slurm allows: holds one, raises a limit, lowers a nice value, renames, enlarges and moves. Traces are left
# by hand, and no probe needs to run.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(wait_until build_dir);

my $testbed = Testbed->attach(name => 'hostile', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }

my $spool = $testbed->dir . '/spool/precedent';
my $other = $testbed->other_user;

# A job of one node that leaves a trace; `name` makes it a program of a family of its own.
sub traced {
	my ($name, $as, @options) = @_;
	my (undef, undef, $uid) = getpwnam $as;
	my ($job) = $testbed->submit({as => $as}, "#!/bin/sh\n: $name\nsrun true\nd=$spool/$uid/\$SLURM_JOB_ID\n" .
		"mkdir -p \$d && echo by hand >\$d/0.ptrace\n", '-J', $name, '-N1', '-n2', '-t5', @options);
	return $job;
}

# The waiting probes of a user, ascending.
sub waiting {
	my ($as) = @_;
	my $r = $testbed->run({as => 'root'}, 'squeue', '-h', '-u', $as, '-t', 'PD', '-o', '%i %j');
	return sort { $a <=> $b } $r->{out} =~ /^(\d+) precedent-probe$/mg;
}

sub ended { return ($testbed->job_info($_[0]) // {})->{JobState} // '' }
sub logged {
	my ($pattern) = @_;
	return wait_until(30, sub { $testbed->log('precedentd') =~ $pattern });
}


# What the user sees as the reason of the probe of a traced job.
sub reason {
	my ($job, $as) = @_;
	my $r = $testbed->run({as => $as // $testbed->user}, 'precedent', 'show', $job, '--json');
	my $show = $r->{rc} == 0 ? decode_json($r->{out}) : {};
	return join ' ', map { $_->{reason} } @{ $show->{probes} // [] };
}

ok(wait_until(30, sub { ($testbed->submit({as => $other}, "#!/bin/sh\n: asks\n", '-H', '-pslow'))[2] =~ /it is traced/ }),
	'slurmctld has seen the daemon');
$testbed->daemon('stop'); # probes come only when fast is taken
my @job = map { traced("program$_", $testbed->user, '-pfast') } 1 .. 9;
is((grep { ($testbed->wait_job($_, 60) // {})->{state} eq 'COMPLETED' } @job), 9, 'nine programs are traced');
my ($taken) = $testbed->submit({as => $other}, "#!/bin/sh\nsleep 600\n", '-pfast', '-N2', '--exclusive', '-t', 15);
ok($testbed->wait_job_state($taken, 'RUNNING', 30), 'all nodes are taken');
$testbed->daemon('start');

my @probe;
ok(wait_until(60, sub { (@probe = waiting($testbed->user)) >= 8 }), 'probes wait in the queue') or diag $testbed->log('precedentd');
is(scalar @probe, 8, '... no more than a user may have');

sub scontrol {
	my (@arguments) = @_;
	my $r = $testbed->run('scontrol', @arguments);
	is($r->{rc}, 0, "the user may: scontrol @arguments") or diag $r->{err};
	return;
}

# A held probe leaves its slot to the ninth program.
scontrol('hold', $probe[0]);
ok(wait_until(30, sub { ended($probe[0]) eq 'CANCELLED' }), '... and the held probe is cancelled');
my $ninth;
ok(wait_until(30, sub { ($ninth) = grep { $_ > $probe[-1] } waiting($testbed->user) }), '... another takes its place');

my %change = (
	$probe[1] => [['TimeLimit=60'], 'its time limit was raised'],
	$probe[2] => [['Nice=0'], 'its nice value was lowered to 0'],
	$probe[3] => [['JobName=miner'], 'its name was changed'],
	$probe[4] => [['NumNodes=2-2'], 'its size was changed'],
	$probe[5] => [['Requeue=1'], 'a job that may be queued again'],
	$probe[6] => [['Partition=slow'], 'its partition or its features were changed'],
);
for my $probe (sort { $a <=> $b } keys %change) {
	my ($change, $reason) = @{ $change{$probe} };
	scontrol('update', "JobId=$probe", @$change);
	ok(logged(qr/\(job $probe\) given up: not what was submitted: [^\n]*\Q$reason\E/), "... $reason") or
	    diag $testbed->log('precedentd');
	ok(wait_until(30, sub { ended($probe) !~ /^(?:PENDING|RUNNING)/ }), '... and it does not stay in the queue');
}
like(ended($_), qr/^CANCELLED/, "probe $_ was cancelled") for @probe[1 .. 5];
is_deeply([waiting($testbed->user)], [$probe[7], $ninth], 'the others wait on, as they were submitted') or
    diag $testbed->log('precedentd');
like(join(' ', map { reason($_) } @job), qr/not what was submitted: its time limit was raised/, 'the user is told why');

# From now on the user gets none, and others do.
my $barred = traced('barred', $testbed->user, '-pslow');
my $honest = traced('honest', $other, '-pslow');
ok(logged(qr/probe on slow submitted for job $honest,/), 'another user gets a probe') or diag $testbed->log('precedentd');
ok(wait_until(30, sub { reason($barred) =~ /its user has changed or overrun a probe, and gets none for 24 hours/ }),
	'the user gets none, and is told') or diag reason($barred);
unlike($testbed->log('precedentd'), qr/probe on slow submitted for job $barred,/, '... none was submitted');

# What is hidden in the spool, by a user whose directory is above the quota: precedentd, which is not root, removes it.
my (undef, undef, $uid) = getpwnam $testbed->user;
for my $file ("$spool/$uid/mine", "$spool/$uid/$job[0]/mine") {
	is($testbed->run('sh', '-c', "head -c 2000000 /dev/zero >$file")->{rc}, 0, "the user hides $file");
}
my $empty = "$spool/$uid/$job[1]";
is($testbed->run('sh', '-c', "rm -r $empty/* && touch -d '2 hours ago' $empty")->{rc}, 0, 'and empties another directory');
$testbed->conf_set(SpoolQuota => '1M');
$testbed->daemon('stop');
$testbed->daemon('start');
ok(logged(qr{\Q$spool/$uid\E: above SpoolQuota: \d+ files removed}), 'precedentd says that it removes files') or
    diag $testbed->log('precedentd');
ok(!-e "$spool/$uid/mine", '... that of no job is gone');
ok(-e "$spool/$uid/$job[0]/mine", '... that of a job which slurmctld knows stays for now');
ok(-d $empty, '... and so does its empty directory');
ok(wait_until(30, sub { $testbed->run('precedent', 'explain', $job[0])->{out} =~ /precedentd removed 1 files.*no probes until there is room/s }),
	'the user is told what was removed, and what is refused') or diag $testbed->run('precedent', 'explain', $job[0])->{out};

done_testing;
