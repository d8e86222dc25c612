#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Accounting with a real slurmdbd: Only by account, limits, and the ends of jobs that precedentd did not see. slurmctld compares
# GrpTRESRunMins with the time limits of running jobs: with shortened limits, more jobs would start than the site allows. So no
# limit is shortened then.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
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

$testbed->write('seconds', "12\n"); # with five seconds, a busy machine makes runs too unlike
$testbed->conf_set(Mode => 'limit', LimitGuard => 'overtime', MinLimit => '00:01:00', PollInterval => 2);
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees it');

# Past jobs that Precedent never saw come from slurmdbd, once each, and a job like them finds them.
my $past = "#!/bin/sh\n: from before\nsleep 2\n";
my @alike = ('-N1', '-n1', '-t', 13, '-J', 'before', '-A', 'science');
$testbed->wait_job($_, 60) for map { ($testbed->submit($past, @alike, '--predict=off'))[0] } 1 .. 3;
sub imported { return eval { decode_json($testbed->run({as => 'root'}, 'precedent', 'import', '--sacct', '--json')->{out}) } // {} }
my $added = 0;
ok(wait_until(60, sub { ($added += imported()->{added} // 0) >= 3 }), 'import asks slurmdbd for past jobs');
is(imported()->{added}, 0, '... and adds them once');
is($testbed->run('precedent', 'import', '--sacct')->{rc}, 1, '... for administrators alone');
my ($found) = $testbed->submit($past, @alike, '-H');
like(info_of($found)->{AdminComment}, qr/ similar=script\/[1-9]\d*\//, 'a job like them is estimated at its first submission');
$testbed->run('scancel', $found);

# Only by account: as the job names it, else its user's default account.
my ($one, $other, $number) = ($testbed->user, $testbed->other_user, 0);
sub accounts { my $r = $testbed->run({as => 'root'}, 'sacctmgr', '-i', @_); return is($r->{rc}, 0, "sacctmgr @_") || diag $r->{err} }
sub said_to { my ($user, @more) = @_; return ($testbed->submit({as => $user}, "#!/bin/sh\n: only " . ++$number . "\n", '-H', @more))[2] }
accounts('add', 'account', 'physics');
accounts('add', 'user', $_, 'account=physics') for $one, $other;
$testbed->conf_set(Only => 'account:Physics');
ok(wait_until(60, sub { said_to($one, '-A', 'science') eq '' }), 'Only: a job of another account is left alone');
like(said_to($one, '-A', 'physics'), qr/it is traced/, '... and one of the account is not');
is(said_to($_), '', "the default account of $_ is another one") for $one, $other;
accounts('modify', 'user', $other, 'set', 'DefaultAccount=physics');
$testbed->daemon($_) for qw(stop start); # precedentd asks once a minute
ok(wait_until(60, sub { said_to($other) =~ /it is traced/ }), 'with the account as default, a job need not name it') or diag $testbed->log('precedentd');
is(said_to($other, '-A', 'science'), '', '... but may name another one');
is(said_to($one), '', '... and the other user is left alone as before');
accounts('modify', 'user', $other, 'set', 'DefaultAccount=science');
$testbed->conf_set(Only => undef);
ok(wait_until(60, sub { said_to($one) =~ /it is traced/ }), 'without Only, nobody is left alone');
$testbed->run({as => 'root'}, 'scancel', '--state=PENDING');

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
like($testbed->log('precedentd'), qr/all jobs keep their limits: account science has GrpTRESRunMins$/m, '... the log says why');
$testbed->write('seconds', "300\n");
ok(wait_until(60, sub { ($testbed->submit($script, @options, '-H'))[2] !~ /limit will be/ }), 'sbatch tells no limit');
my ($first) = $testbed->submit($script, @options);
my ($second) = $testbed->submit($script, @options);
ok($testbed->wait_job_state($first, 'RUNNING', 30), 'one job of 15 minutes starts');
ok(wait_until(30, sub { (info_of($second)->{Reason} // '') =~ /RunMinutes/ }), '... the second waits as the site says')
	or diag info_of($second)->{JobState}, info_of($second)->{Reason};
is(info_of($first)->{TimeLimit}, '00:15:00', '... and the first has its own limit');

minutes_are(-1, 'the rule is removed');
$testbed->daemon($_) for qw(stop start); # precedentd asks once a minute, and has shown above that it does
my @after;
ok(wait_until(90, sub { @after = $testbed->submit($script, @options, '-H'); return $after[2] =~ /limit will be 00:05:00/ }), 'sbatch tells limits again')
	or diag "@after[1, 2]", $testbed->log('precedentd'), $testbed->log('slurmctld');
becomes($after[0], '00:05:00', '... and they are shortened') if $after[0];
# precedentd is dead, OverTimeLimit is taken away, and slurmctld forgets the job: the worst that can happen to a shortened job.
sub conf_is {
	my (%values) = @_;
	my $path = $testbed->dir . '/etc/slurm/slurm.conf';
	my $text = Testbed::slurp($path);
	$text =~ s/^$_=.*$/$_=$values{$_}/m for keys %values;
	open my $fh, '>', $path or die "$path: $!\n";
	print {$fh} $text;
	close $fh or die "$path: $!\n";
	is($testbed->run({as => 'root'}, 'scontrol', 'reconfigure')->{rc}, 0, 'slurmctld reads its configuration');
	return;
}

$testbed->write('seconds', "900\n");
my ($lost, undef, $said) = $testbed->submit($script, '-N1', '-n1', '-t', 11, '-H');
like($said, qr/limit will be 00:01:00 \(you asked 00:11:00\)/, 'a job gets the shortest limit');
becomes($lost, '00:01:00', '... and has it');
$testbed->daemon('kill');
conf_is(OverTimeLimit => 0, MinJobAge => 5);
$testbed->run({as => 'root'}, 'scontrol', 'release', $lost);
is($testbed->wait_job($lost, 200)->{state}, 'TIMEOUT', 'without precedentd and OverTimeLimit it is ended early');
ok(wait_until(150, sub { $testbed->run('scontrol', 'show', 'job', $lost)->{rc} != 0 }), 'slurmctld forgets it');
$testbed->daemon('start');
ok(wait_until(90, sub { $testbed->log('precedentd') =~ /job $lost: ended by its limit after \d+ s, before the limit that its user asked for/ }),
	'precedentd learns of it from slurmdbd, and says so') or diag $testbed->log('precedentd');
my $all = decode_json(precedent('accuracy', '--json')->{out})->{all};
is($all->{cut_short}, 1, 'accuracy counts it');
like($testbed->run({as => 'root'}, 'precedent', 'doctor')->{out}, qr/^FAIL\s+shortened.jobs\s+1 ended by a limit below what their user asked for, .* job $lost/m,
	'doctor names it');

# SlurmUser has no account here.
$testbed->conf_set(LimitGuard => 'raise');
$testbed->daemon($_) for qw(stop start);
ok(wait_until(60, sub { $testbed->log('precedentd') =~ /no limit is lowered: a held job to try with cannot be submitted: fast: Invalid account/ }),
	'LimitGuard = raise lowers no limit where SlurmUser may not submit jobs') or diag $testbed->log('precedentd');
done_testing();
