#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Limits of accounting with a real slurmdbd. slurmctld compares GrpTRESRunMins with the time limits of running jobs: with
# shortened limits, more jobs would start than the site allows. So no limit is shortened then.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(wait_until build_dir);

my $testbed = Testbed->attach(name => 'accounting', up => ['--build', build_dir(), '--overtime', 10, '--dbd']);
END { $testbed->testbed('down') if $testbed }

my $script = "#!/bin/sh\nsrun true\n: a program with a past\nsleep \$(cat \$HOME/seconds)\n";
my @options = ('-N1', '-n1', '-t', 15);

sub precedent { return $testbed->run('precedent', @_) }
sub info_of { return $testbed->job_info($_[0]) // {} }

sub becomes {
	my ($job, $limit, $what) = @_;
	return ok(wait_until(90, sub { (info_of($job)->{TimeLimit} // '') eq $limit }), $what) || diag info_of($job)->{TimeLimit},
		$testbed->log('precedentd');
}

sub minutes_are {
	my ($minutes, $what) = @_;
	my $r = $testbed->run({as => 'root'}, 'sacctmgr', '-i', 'modify', 'account', 'science', 'set', "GrpTRESRunMins=cpu=$minutes");
	is($r->{rc}, 0, $what) or diag $r->{err};
	return;
}

$testbed->write('seconds', "5\n");
$testbed->conf_set(Mode => 'limit', LimitGuard => 'overtime', MinLimit => '00:01:00', PollInterval => 2);
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees it');
for my $run (1, 2) {
	my ($job) = $testbed->submit($script, @options);
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', "run $run of the program");
}
ok(wait_until(60, sub { ($testbed->submit($script, @options, '-H'))[2] =~ /limit will be 00:05:00/ }), 'it is predicted')
	or diag $testbed->log('precedentd');
my ($held) = $testbed->submit($script, @options, '-H');
becomes($held, '00:05:00', 'its limit is shortened by OverTimeLimit');

minutes_are(20, 'the account may run jobs of 20 processor minutes');
becomes($held, '00:15:00', 'a waiting job gets its own limit back');
like($testbed->log('precedentd'), qr/TRESRunMins.*: no limit is shortened/, '... the log says why');
$testbed->write('seconds', "300\n");
ok(wait_until(60, sub { ($testbed->submit($script, @options, '-H'))[2] !~ /limit will be/ }), 'sbatch tells no limit');
my ($first) = $testbed->submit($script, @options);
my ($second) = $testbed->submit($script, @options);
ok($testbed->wait_job_state($first, 'RUNNING', 30), 'one job of 15 minutes starts');
ok(wait_until(30, sub { (info_of($second)->{Reason} // '') =~ /RunMinutes/ }), '... the second waits as the site says')
	or diag info_of($second)->{JobState}, info_of($second)->{Reason};
is(info_of($first)->{TimeLimit}, '00:15:00', '... and the first has its own limit');

minutes_are(-1, 'the rule is removed');
my @after;
ok(wait_until(90, sub { @after = $testbed->submit($script, @options, '-H'); return $after[2] =~ /limit will be 00:05:00/ }), 'sbatch tells limits again')
	or diag "@after[1, 2]", $testbed->log('precedentd'), $testbed->log('slurmctld');
becomes($after[0], '00:05:00', '... and they are shortened') if $after[0];
done_testing();
