#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What users, administrators and failures do to jobs that are planned with less than their users asked. No job is ended before
# its user's limit. The same for each limit guard.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Guards;
use Testbed qw(wait_until);

my $g = Guards->new(name => 'limits-changed', slurm => sub { s/^(PartitionName=slow .*)/$1 OverTimeLimit=1/m });
END { $g->down if $g }
my $testbed = $g->testbed;

sub update {
	my ($who, $job, @what) = @_;
	return is($g->$who('scontrol', 'update', "JobId=$job", @what)->{rc}, 0, "scontrol update JobId=$job @what, as $who");
}

$testbed->write('seconds', "6\n");
$g->learn('slow');
$testbed->write('seconds', "3600\n");

# ---- jobs that wait ----

# With the guard overtime, jobs of slow that are not shortened end two minutes earlier than those of fast.
my @slow = qw(reduced raised-by-root raised-by-user whole-again);
my %job = map { $_ => $g->held($_) } qw(plain queued-again held-again added);
$job{$_} = $g->held($_, '-p', 'slow') for @slow;
$job{list} = $g->held('list', '-p', 'fast,slow');
$job{failed} = $g->held('failed', '-w', 'fast2', '--requeue');
my ($array) = $g->submit('-H', '--array=1-3', '-p', 'slow');
my ($split) = $g->submit('-H', '--array=1-2', '-p', 'slow');
my ($begins, $said) = $g->submit('--begin=now+60');
like($said, $g->told, 'begins: sbatch tells what is planned');
is($g->root('scontrol', 'top', $begins)->{rc}, 0, 'scontrol top');
my ($deadline) = $g->submit('-H', '--deadline=now+1hour', '-p', 'slow');
my ($het) = $testbed->submit("#!/bin/sh\n#SBATCH --hold\n#SBATCH -p slow -n1 -t 3\n#SBATCH hetjob\n#SBATCH -p slow -n1 -t 3\nsleep 3600\n");
my ($signal) = $g->submit('-H', '--signal=B:USR1@60');
$g->is_short($job{$_}, $_) for qw(plain queued-again held-again added failed);
$g->becomes($job{$_}, $g->is_soft ? '00:01:00' : '00:02:00', "$_: the shorter OverTimeLimit counts") for 'list', @slow;

# The node of a running job fails.
$g->release($job{failed});
$g->runs($job{failed}, 'failed');
is($g->root('scontrol', 'update', 'NodeName=fast2', 'State=DOWN', 'Reason=test')->{rc}, 0, 'its node goes down');
ok($testbed->wait_job_state($job{failed}, 'PENDING', 30), '... and it is queued again');
$g->root('scontrol', 'update', 'NodeName=fast2', 'State=RESUME'); # refused if it has come up by itself
ok(wait_until(30, sub { $g->root('sinfo', '-h', '-n', 'fast2', '-o', '%t')->{out} =~ /^(idle|mix)$/m }), '... and up');

# A change between two looks of precedentd is overridden once: by now it has looked at what it set.
my $looked = time + 5;
wait_until(10, sub { time >= $looked });
$g->release($job{'held-again'});
is($g->root('scontrol', 'hold', $job{'held-again'})->{rc}, 0, 'scontrol hold');
update(root => $job{'raised-by-root'}, 'TimeLimit=4');
update(user => $job{'raised-by-user'}, 'TimeLimit=4');
update(user => $job{'whole-again'}, 'TimeLimit=3');
$g->becomes($job{$_}, $g->is_soft ? 'N/A' : '00:04:00', "$_: its limit is left alone") for qw(raised-by-root raised-by-user);
$g->is_whole($job{'whole-again'}, 'whole-again');

# ---- jobs that run ----

is($g->root('scontrol', 'hold', "${split}_2")->{rc}, 0, 'a task gets a record of its own');
$g->becomes("${split}_2", '00:01:00', '... and has the planned time of its array') if $g->is_soft;
$g->release(values %job, $array, "${split}_1", $deadline, $het, $signal);
$g->runs($job{$_}, $_) for grep { $_ ne 'failed' } sort keys %job;
$g->runs($het, 'heterogeneous');
update(root => $job{added}, 'TimeLimit=+1');
update(root => "${array}_2", 'TimeLimit=4');
my ($requeued, $suspended) = @job{qw(queued-again held-again)};
is($g->root('scontrol', 'requeue', $requeued)->{rc}, 0, 'scontrol requeue');
is($g->root('scontrol', 'suspend', $suspended)->{rc}, 0, 'scontrol suspend');
ok($testbed->wait_job_state($suspended, 'SUSPENDED', 30), '... it does not run');
my $until = time + 20;
wait_until(40, sub { time >= $until });
is($g->root('scontrol', 'resume', $suspended)->{rc}, 0, 'scontrol resume');

$g->reconfigure(sub { s/,time_min_as_soft_limit//; s/ OverTimeLimit=1$/ OverTimeLimit=0/m }, 'what keeps limits safe is taken out of slurm.conf');
if ($g->is_soft) {
	$g->becomes("${split}_2", 'N/A', 'the planned time is taken back from the task, too');
} else {
	$g->is_whole($job{reduced}, 'reduced');
}
$g->release("${split}_2");

$g->reaches($job{reduced}, 3, 'reduced');
$g->reaches($job{plain}, 3, 'plain');
$g->reaches($job{list}, 3, 'list');
$g->reaches($suspended, 3, 'held and suspended');
$g->reaches($begins, 3, 'begins');
$g->reaches_whole("${array}_$_", 3, "task $_") for 1, 3;
$g->reaches_whole("${array}_2", 4, 'task 2, raised');
$g->reaches_whole("${split}_$_", 3, "task $_ of another array") for 1, 2;
$g->reaches_whole($job{'raised-by-root'}, 4, 'raised by root');
$g->reaches_whole($job{'raised-by-user'}, 4, 'raised by its user');
$g->reaches_whole($job{'whole-again'}, 3, 'set back by its user');
$g->reaches_whole($job{added}, $g->is_soft ? 4 : 3, 'a minute added by root');
$g->reaches_whole($deadline, 3, 'with a deadline');
$g->reaches_whole($het, 3, 'heterogeneous');
my $end = $testbed->wait_job($signal, 300);
is($end->{info}{ExitCode}, '0:10', '--signal ends its script');
cmp_ok($end->{elapsed_s}, '>=', 55, '... a minute before its own end, or up to a minute earlier');
$g->reaches($job{failed}, 3, 'failed');
$g->reaches($requeued, 3, 'queued again');
unlike($testbed->log('precedentd'), qr/before the limit that its user asked for/, 'precedentd knows of none that ended early');
done_testing;
