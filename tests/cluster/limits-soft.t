#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# LimitGuard = soft: Slurm plans a job with its time_min, and ends it at the user's own limit, whether Precedent lives or not.
# A job starts earlier because of it, runs past its soft end, and is ended at its user's limit. Jobs that must not be touched
# have no time_min; where the administrator takes the parameter away, ours are taken back. Needs Slurm 23.11.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my ($version) = run_command('slurmctld', '-V')->{out} =~ /(\d+\.\d+)/;
plan skip_all => "Slurm $version has no time_min_as_soft_limit (23.11 and later have)" if $version < 23.11;

my $testbed = Testbed->attach(name => 'soft', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }

my $dir = $testbed->dir;
my $script = "#!/bin/sh\nsrun true\n: a program with a past\nsleep \$(cat \$HOME/seconds)\n";
my $soft = 'time_min_as_soft_limit';

sub precedent { return $testbed->run('precedent', @_) }
sub scontrol { return $testbed->run({as => 'root'}, 'scontrol', @_) }
sub info_of { return $testbed->job_info($_[0]) // {} }
sub seconds_are { $testbed->write('seconds', "$_[0]\n"); return }

# Change slurm.conf by a substitution, and have slurmctld read it.
sub reconfigure {
	my ($change) = @_;
	my $file = "$dir/etc/slurm/slurm.conf";
	local $_ = $testbed->read($file);
	$change->();
	open my $fh, '>', $file or die "$file: $!\n";
	print {$fh} $_;
	close $fh or die "$file: $!\n";
	is(scontrol('reconfigure')->{rc}, 0, 'slurmctld reads its configuration again');
	return;
}

sub time_min_becomes {
	my ($job, $want, $what) = @_;
	my $got;
	wait_until(30, sub { $got = info_of($job)->{TimeMin} // ''; return $got eq $want });
	is($got, $want, $what) or diag $testbed->log('precedentd');
	return;
}

# precedentd sees a plan in the look after the one that set it.
sub explained {
	my ($job, $what, $title) = @_;
	my $words;
	ok(wait_until(10, sub { ($words = $testbed->run('precedent', 'explain', $job)->{out}) =~ $what }), $title) or diag $words;
	return;
}

# ---- a program with a past ----

seconds_are(5);
$testbed->conf_set(Mode => 'limit', LimitGuard => 'soft', MinLimit => '00:02:00', PollInterval => 2);
reconfigure(sub { s/^(SchedulerParameters=\S+)/$1,$soft/m });
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees it');
my ($array) = $testbed->submit("#!/bin/sh\n: an array without a past\nsleep 20\n", '-p', 'slow', '-N1', '-n1', '-t', 10, '--array', '1-6%1');
is(info_of("${array}_6")->{TimeMin} // '', 'N/A', 'where the user has no past, an array has no soft end');
# Two runs that a busy machine makes unlike predict nothing.
my @past = map { ($testbed->submit($script, '-N1', '-n1', '-t', 20))[0] } 1 .. 3;
is($testbed->wait_job($_, 60)->{state}, 'COMPLETED', 'a run of the program') for @past;
ok(wait_until(60, sub { ($testbed->submit($script, '-N1', '-n1', '-t', 20, '--hold'))[2] =~ /Slurm plans with 00:02:00, your limit of 00:20:00 stays/ }),
	'it is predicted, and its limit stays') or diag $testbed->log('precedentd');
ok(wait_until(120, sub { (info_of("${array}_6")->{TimeMin} // '') eq '00:02:00' }), 'waiting tasks of the array have a soft end when others have ended')
	or diag info_of("${array}_6")->{JobState}, $testbed->log('precedentd');
my $sixth = info_of("${array}_6");
is("$sixth->{JobState} $sixth->{TimeLimit}", 'PENDING 00:10:00', '... while they wait, with the limit of their user');
explained($array, qr/^Now:.*^ +Slurm plans with 00:02:00: the job's TimeMin/ms, '... and explain says what is known now');
$testbed->run('scancel', $array);

# ---- since 25.05 select/cons_tres too takes a running job to end at its soft end ----

my ($runs) = $testbed->submit("#!/bin/sh\nsleep 600\n", '-w', 'slow1', '-p', 'slow', '--exclusive', '-t', 60, '--time-min', 10, '--predict=off');
ok($testbed->wait_job_state($runs, 'RUNNING', 30), 'a job with a soft end runs on slow1');
my $next = $testbed->run('sbatch', '--test-only', '-w', 'slow1', '-p', 'slow', '--exclusive', '-t', 1, '--predict=off', '--wrap', 'true')->{err};
my ($starts) = $next =~ /to start at (\S+)/;
isnt($starts, undef, 'slurmctld says when another one would start there') or diag $next;
is(($starts // '') lt info_of($runs)->{EndTime} ? 'soft end' : 'own limit', $version >= 25.05 ? 'soft end' : 'own limit',
	"Slurm $version takes the job to end at its soft end or at its own limit"); # times of one clock compare as texts
$testbed->run('scancel', $runs);

# ---- a job starts in a gap that is too short for its limit, and runs to its limit ----

my ($blocker) = $testbed->submit("#!/bin/sh\nsleep 600\n", '-w', 'fast1', '--exclusive', '-t', 3, '--predict=off');
ok($testbed->wait_job_state($blocker, 'RUNNING', 30), 'fast1 is in use for three minutes');
my ($large) = $testbed->submit("#!/bin/sh\n:\n", '-p', 'fast', '-N2', '--exclusive', '-t', 10, '--predict=off');
scontrol('update', "JobId=$large", 'Priority=4000000000');
seconds_are(3600);
my ($plain) = $testbed->submit("#!/bin/sh\nsleep 1\n", '-p', 'fast', '-N1', '--exclusive', '-t', 4, '--predict=off');
my ($job, undef, $said) = $testbed->submit($script, '-p', 'fast', '-N1', '-n1', '--exclusive', '-t', 4);
like($said, qr/your limit of 00:04:00 stays/, 'sbatch says that the limit stays');
ok($testbed->wait_job_state($job, 'RUNNING', 60), 'a job of four minutes that is predicted starts in the gap')
	or diag $testbed->run('squeue')->{out}, $testbed->log('precedentd');
is(info_of($job)->{TimeLimit}, '00:04:00', '... with its own limit');
is(info_of($job)->{TimeMin}, '00:02:00', '... planned for two minutes');
is(info_of($plain)->{JobState}, 'PENDING', 'one of four minutes that is not predicted waits');
# ---- meanwhile, jobs that wait: what is touched, and what is not ----

my @wait = ('-p', 'fast', '-N1', '-n1', '--hold', '-t', 10);
my ($waits) = $testbed->submit($script, @wait);
time_min_becomes($waits, '00:02:00', 'a waiting job gets its soft end');
my ($own) = $testbed->submit($script, @wait, '--time-min', 5);
my ($deadline) = $testbed->submit($script, @wait, '--deadline', 'now+3hours');
my ($signal) = $testbed->submit($script, @wait, '--signal=B:USR1@60');
my ($het) = $testbed->submit("#!/bin/sh\n#SBATCH --hold\n#SBATCH -p fast -n1 -t 10\n#SBATCH hetjob\n#SBATCH -p fast -n1 -t 10\n"
	. ($script =~ s/^#!.*\n//r));
time_min_becomes($signal, '00:02:00', 'a job with --signal too: it is told before its own end');
my ($first) = $testbed->submit("#!/bin/sh\nsrun true\n: never ran before\n", @wait);
time_min_becomes($first, '00:02:00', 'a job that never ran is planned by similar runs of its user');
like(info_of($first)->{AdminComment}, qr/ act=trace .* similar=/, '... and is traced') or diag info_of($first)->{AdminComment};
explained($first, qr/^Similar:.*^ +Slurm plans with 00:02:00: the job's TimeMin/ms, '... and explain says so');
is(info_of($own)->{TimeMin}, '00:05:00', '--time-min stays the user\'s');
is(info_of($deadline)->{TimeMin}, 'N/A', 'a job with --deadline is not touched');
is(info_of($het)->{TimeMin}, 'N/A', 'nor a heterogeneous job') if $het;

# ---- limits that users and administrators change ----

is($testbed->run('scontrol', 'update', "JobId=$waits", 'TimeLimit=1')->{rc}, 0, 'a user lowers his limit below our soft end');
my $changed = info_of($waits);
is($changed->{TimeLimit}, '00:01:00', '... and gets it');
is($testbed->run('scontrol', 'update', "JobId=$signal", 'TimeLimit=5')->{rc}, 0, 'a user lowers his limit');
time_min_becomes($signal, 'N/A', '... and the job is not touched any more');
is(info_of($signal)->{TimeLimit}, '00:05:00', '... with the limit that he wants');

# ---- a reservation made later ----

my ($before) = $testbed->submit($script, @wait);
time_min_becomes($before, '00:02:00', 'another waiting job');
is(scontrol('create', 'reservation', 'reservationname=later', 'starttime=now+5minutes', 'duration=10', 'nodes=fast2', 'users=root',
	'flags=ignore_jobs')->{rc},
	0, 'a reservation within its limit is made');
time_min_becomes($before, 'N/A', '... and takes its soft end');
my ($after) = $testbed->submit($script, @wait);
is(scontrol('delete', 'reservationname=later')->{rc}, 0, 'the reservation is deleted');
time_min_becomes($after, '00:02:00', '... and jobs have a soft end again');

# ---- the parameter is taken away ----

reconfigure(sub { s/,$soft// });
time_min_becomes($after, 'N/A', 'without the parameter the soft end of waiting jobs is taken back');
like($testbed->run({as => 'root'}, 'precedent', 'doctor')->{out}, qr/$soft/, 'doctor names the parameter');
my (undef, undef, $without) = $testbed->submit($script, @wait);
like($without, qr/precedent: 00:0/, 'a job is predicted,');
unlike($without, qr/limit will be|Slurm plans/, '... and no limit is told');
reconfigure(sub { s/^(SchedulerParameters=\S+)/$1,$soft/m });

# ---- all of us are dead: the job ends where its user asked ----

$testbed->daemon('kill');
my $end = $testbed->wait_job($job, 400);
is($end->{state}, 'TIMEOUT', 'the job ends at a limit, with precedentd dead');
cmp_ok($end->{elapsed_s}, '>=', 240, '... at its own');
$testbed->daemon('start');
done_testing();
