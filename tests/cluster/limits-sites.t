#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What sites do: a job_submit.lua that lets nobody but root raise a limit, or change any job; preemption, with requeue and with
# grace time; limits by DefaultTime. No job is ended before its user's limit, and none loses its grace time. The same for each
# limit guard.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Guards;
use Time::Piece;
use Testbed qw(wait_until);

my $g = Guards->new(name => 'limits-sites', slurm => sub {
	s/^JobSubmitPlugins=/JobSubmitPlugins=lua,/m;
	s/^(PartitionName=fast .*)DefaultTime=01:00:00/$1DefaultTime=00:03:00/m;
	s/^(PartitionName=slow .*)/$1 GraceTime=40/m;
	s/sched_interval=2/sched_interval=-1/; # all jobs are started by backfill
	$_ .= "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nPartitionName=urgent Nodes=fast2,slow2 PriorityTier=10\n"
		. "PartitionName=open Nodes=fast1 MaxTime=00:03:00 OverSubscribe=FORCE:16\n";
}, before => sub { lua_is($_[0], 'false') });
END { $g->down if $g }
my $testbed = $g->testbed;

# The site's plugin refuses a change where this is true.
sub lua_is {
	my ($t, $condition) = @_;
	$t->write($t->dir . '/etc/slurm/job_submit.lua', <<"LUA");
function slurm_job_submit(job, parts, uid)
	return slurm.SUCCESS
end
function slurm_job_modify(new, job, parts, uid)
	if uid ~= 0 and ($condition) then
		return slurm.ERROR
	end
	return slurm.SUCCESS
end
return slurm.SUCCESS
LUA
	return;
}

sub urgent {
	my ($node) = @_;
	my ($job) = $testbed->submit("#!/bin/sh\nsleep 20\n", '-p', 'urgent', '-w', $node, '--exclusive', '-t', 1, '--predict=off');
	return $job;
}

$testbed->write('seconds', "6\n");
$g->learn($_) for qw(slow open);
$testbed->write('seconds', "3600\n");

# ---- vetoes: the job that is ended last comes first ----

lua_is($testbed, 'true');
my %job = (vetoed => $g->held('vetoed', '-w', 'fast1')); # urgent jobs take fast2
ok(wait_until(30, sub { $testbed->log('precedentd') =~ /job $job{vetoed}: .* cannot be set/ }), 'a plugin that refuses all: nothing can be set')
	or diag $testbed->log('precedentd');
my $doctor = $g->root('precedent', 'doctor')->{out};
like($doctor, qr/^warn +shortened.jobs +slurmctld refused the last limit that precedentd set: .*job_submit plugins/m, '... and doctor says so');
like($doctor, qr/^ok +limit.rules +these jobs keep their limits: partition slow \(GraceTime\)/m, 'doctor names a partition with a grace time') if !$g->is_soft;
$g->release($job{vetoed});
$g->runs($job{vetoed}, 'vetoed');
my $always = "job.job_id == $job{vetoed}";
lua_is($testbed, $always);

# ---- preemption ----

$job{$_} = $g->held($_) for qw(plain restored);
$job{preempted} = $g->held('preempted', '-w', 'fast2');
my ($graced, $said) = $g->submit('-H', '-p', 'slow', '-w', 'slow2');
unlike($said, $g->told, 'a partition with a grace time: no limit is shortened') if !$g->is_soft;
my ($default) = $testbed->submit($g->script, '-N1', '-n1', '-H');
my ($open) = $testbed->submit($g->script, '-N1', '-n1', '-H', '-p', 'open'); # MaxTime, and no DefaultTime
$g->is_short($job{$_}, $_) for qw(plain restored preempted);
$g->is_short($default, 'a job without --time');
$g->is_short($open, 'one that has MaxTime') if !$g->is_soft;
$g->release($graced, $default, $open, $job{preempted});
$g->runs($_, 'it') for $graced, $default, $open, $job{preempted};
my $first = urgent('fast2');
ok($testbed->wait_job($first, 90), 'an urgent job takes a node, and ends');

# ---- a veto against raises ----

lua_is($testbed, "$always or new.time_limit ~= slurm.NO_VAL and new.time_limit > job.time_limit");
is($g->root('scontrol', 'update', "JobId=$job{restored}", 'AdminComment=ops: looked at')->{rc}, 0, 'a comment is replaced: its limit is to be restored');
ok(wait_until(30, sub { $testbed->log('precedentd') =~ /job $job{restored}: limit cannot be restored/ }), '... and the plugin of the site refuses')
	if !$g->is_soft;
$g->release(@job{qw(plain restored)});
$g->runs($job{$_}, $_) for qw(plain restored);

# ---- grace time, past the minute that was planned ----

ok(wait_until(90, sub { Testbed::seconds_of($g->info($graced)->{RunTime} // '0:00') > 70 }), 'graced has run longer than planned');
urgent('slow2');
my $info;
ok(wait_until(60, sub { $info = $g->info($graced); return ($info->{PreemptTime} // 'None') =~ /^2/ }), '... and is preempted') or diag explain $info;
my ($from, $to) = map { Time::Piece->strptime($info->{$_} // '', '%Y-%m-%dT%T')->epoch } qw(PreemptTime EndTime);
is($to - $from, 40, '... with its grace time');
$testbed->run('scancel', $graced);

$g->reaches($default, 3, 'without --time');
$g->reaches($open, 3, 'with MaxTime');
$g->reaches($job{$_}, 3, $_) for qw(plain restored preempted);
$g->reaches_whole($job{vetoed}, 3, 'vetoed');
unlike($testbed->log('precedentd'), qr/job $job{vetoed}: (?:limit set|planned time of \S+ set)/, '... and was never changed');
done_testing;
