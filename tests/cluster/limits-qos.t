#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# QOS and associations with a real slurmdbd, the same for each limit guard. A job that asked for more than its QOS allows does not
# start because Precedent plans it with less. A job that is preempted keeps its grace time. Where a job may start only if it can
# end within the minutes of its account, it is planned with what its user asked.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Guards;
use Testbed qw(wait_until);

my $g = Guards->new(name => 'limits-qos', up => ['--dbd'], asked => 2, overtime => 1);
END { $g->down if $g }
my $testbed = $g->testbed;

sub sacctmgr {
	my $r = $g->root('sacctmgr', '-i', @_);
	return is($r->{rc}, 0, "sacctmgr @_") || diag $r->{err}, $r->{out};
}

sacctmgr('add', 'qos', 'brief', 'MaxWall=1');
sacctmgr('add', 'qos', 'graced', 'GraceTime=60');
sacctmgr('add', 'qos', 'heavy', 'UsageFactor=3');
sacctmgr('modify', 'account', 'science', 'set', 'qos+=brief,graced,heavy');
ok(wait_until(30, sub { my $job = ($g->submit('-H', '--qos=heavy'))[0] or return 0; $testbed->run('scancel', $job); return 1 }), 'the QOS can be used');
$testbed->daemon('stop'); # asks once a minute
$testbed->daemon('start');
ok(wait_until(20, sub { $g->user('precedent', 'jobs')->{rc} == 0 }), 'precedentd answers');

my ($brief) = $g->submit('-H', '--qos=brief');
my ($graced) = $g->submit('-H', '--qos=graced');
my %job = (plain => $g->held('plain'), heavy => $g->held('heavy', '--qos=heavy'), moved => $g->held('moved'));
$g->is_short($job{$_}, $_) for sort keys %job; # and has seen those before
if (!$g->is_soft) {
	my $doctor = $g->root('precedent', 'doctor')->{out};
	like($doctor, qr/^ok +limit.rules +these jobs keep their limits: .*QOS \Q$_\E/m, "doctor names a QOS that keeps limits: $_") for 'brief (above MaxWall)', 'graced (GraceTime)';
}
is($g->planned($brief), $g->is_soft ? $g->planned($brief) : '00:02:00', 'MaxWall=1: a job of two minutes is planned with two');
is($g->planned($graced), '00:02:00', 'GraceTime: so is one that has a grace time') if !$g->is_soft;
my $moved = delete $job{moved};
is($g->user('scontrol', 'update', "JobId=$moved", 'QOS=brief')->{rc}, 0, 'a user changes the QOS of a waiting job');
is($g->info($moved)->{TimeLimit}, '00:02:00', '... which takes its own limit along');
$g->release($brief, $moved, $graced, values %job);
$g->runs($job{$_}, $_) for sort keys %job;
$g->runs($graced, 'graced');
ok(wait_until(30, sub { ($g->info($brief)->{Reason} // '') =~ /MaxWall/ }), 'a job that asked for more than MaxWall waits')
	or diag explain $g->info($brief);

# AccountingStorageEnforce=safe promises that a job which has started is not ended for the minutes of its account.
my $waits = $g->held('waits');
$g->is_short($waits, 'waits');
sacctmgr('modify', 'account', 'science', 'set', 'GrpTRESMins=cpu=100000');
$g->reconfigure(sub { s/^AccountingStorageEnforce=.*/AccountingStorageEnforce=limits,qos,safe/m }, 'safe: minutes of the account count');
if ($g->is_soft) {
	is($g->planned($waits), '00:01:00', 'slurmctld compares minutes with the limit, which is whole');
} else {
	ok(wait_until(90, sub { $g->planned($waits) eq '00:02:00' }), '... and a waiting job gets its own limit back') or diag $testbed->log('precedentd');
}

$g->reaches_whole($_, 2, 'it') for $graced, values %job; # restored, and so as any job of the site
# Rules that keep limits are named.
my $doctor = $g->root('precedent', 'doctor')->{out};
if ($g->is_soft) {
	unlike($doctor, qr/limit.rules/, 'no rule matters to the soft guard');
} else {
	like($doctor, qr/^warn +limit.rules +all jobs keep their limits: account science has GrpTRESMins: take/m, 'doctor names the limit of minutes');
	like($g->user('precedent', 'explain', $graced)->{out}, qr/By rules of the site all jobs keep their limits: account science/, 'explain, too');
}

is($g->info($_)->{JobState}, 'PENDING', 'a job that asked for more than MaxWall waits to the end') for $brief, $moved;
done_testing;
