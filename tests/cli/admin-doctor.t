#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent doctor on clusters that are only said to be: scontrol and sacctmgr in front of PATH answer as they are told.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Cwd qw(getcwd);
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command top build_dir);

mkdir 'bin';
$ENV{PATH} = "bin:$ENV{PATH}";
$ENV{PRECEDENT_CONF} = 'precedent.conf';

sub put {
	my ($path, $text) = @_;
	open my $fh, '>', $path or die "$path: $!\n";
	print {$fh} $text;
	close $fh or die "$path: $!\n";
	chmod 0755, $path;
	return;
}

# What is not said otherwise: no nodes, no partitions, and no munged is asked.
put("bin/$_", "#!/bin/sh\nexit 1\n") for qw(sinfo squeue slurmctld);
put('slurm.conf', "SlurmUser=root\n");
$ENV{SLURM_CONF} = 'slurm.conf';

# finding(QOS, {CONFIG}, QOS LINES or undef, WHAT): [verdict, words] about ProbeQos, or what else.
sub finding {
	my ($qos, $config, $lines, $what) = @_;
	my $more = delete $config->{conf} // '';
	my %value = (AccountingStorageType => 'accounting_storage/slurmdbd', PreemptType => 'preempt/qos', PreemptMode => 'CANCEL', %$config);
	put('precedent.conf', "Candidates=fast\n" . ($qos eq '' ? '' : "ProbeQos=$qos\n") . $more);
	put('bin/scontrol', "#!/bin/sh\ncat <<'X'\n" . join('', map { sprintf "%-23s = %s\n", $_, $value{$_} } sort keys %value) . "X\n");
	put('bin/sacctmgr', defined $lines ? "#!/bin/sh\ncat <<'X'\n${lines}X\n" : "#!/bin/sh\necho no >&2\nexit 1\n");
	my $r = precedent('doctor', '--json');
	my ($found) = grep { $_->{check} eq ($what // 'probe_qos') } @{ decode_json($r->{out})->{findings} };
	return [$found->{verdict}, join ': ', grep { length } @{$found}{qw(found remedy)}];
}

sub is_found {
	my ($found, $verdict, $words, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($found->[0], $verdict, $what);
	like($found->[1], $words, '... in words');
	return;
}

my $good = "normal|\nhigh|normal,probes\nlow|\nprobes|\n";
is_found(finding('', {}, $good), 'ok', qr/^no ProbeQos: a probe that runs, for seconds, is not preempted;/, 'none is set');
is_found(finding('probes', {}, $good), 'ok', qr/^ProbeQos probes may be preempted by jobs of QOS high$/, 'one that another may preempt');
is_found(finding('probes', {}, "normal|probes\nhigh|normal,probes\nprobes|\n"), 'ok', qr/ of QOS normal, high$/, 'by several');
is_found(finding('low', {}, $good), 'warn', qr/^ProbeQos low: no other QOS may preempt it: sacctmgr modify qos normal set preempt\+=low$/, 'one that none may');
is_found(finding('probe', {}, $good), 'FAIL', qr/^ProbeQos probe: there is no such QOS, every probe is refused: sacctmgr add qos probe$/, 'one that there is not');
is_found(finding('probes', {PreemptType => 'preempt/none', PreemptMode => 'OFF'}, $good), 'warn',
	qr/is not preempted: slurm\.conf says PreemptType=preempt\/none, PreemptMode=OFF: set preempt\/qos and CANCEL or REQUEUE$/, 'no preemption');
is_found(finding('probes', {PreemptMode => 'OFF'}, $good), 'warn', qr/PreemptMode=OFF/, 'preemption off');
is_found(finding('probes', {}, undef), 'warn', qr/cannot tell whether it may be preempted, sacctmgr shows no QOS here: see whether slurmdbd is up/, 'sacctmgr fails');
is_found(finding('probes', {AccountingStorageType => 'accounting_storage/none'}, undef), 'warn',
	qr/cannot tell whether .* no QOS without accounting \(AccountingStorageType=accounting_storage\/none\): take it out$/, 'no accounting');
is_found(finding('probes', {}, 'probes|' . 'x' x 5000 . "\n" . join('', map { "q$_|probes\n" } 1 .. 200)), 'ok', qr/QOS q1, q2, .*q\d+$/, 'very many');


# slurm(WHAT, {CONFIG; conf: lines of precedent.conf}, JOBS): what is said of slurm.conf.
sub slurm {
	my ($what, $config, $jobs) = @_;
	put('bin/squeue', "#!/bin/sh\nyes x | head -n " . ($jobs // 7) . "\n");
	return finding('', $config, '', $what);
}

is_found(slurm('ended_jobs', {MinJobAge => '300 sec'}), 'ok', qr/^MinJobAge=300, PollInterval 10 s: every job's end is seen$/, 'MinJobAge as it comes');
is_found(slurm('ended_jobs', {MinJobAge => '299 sec'}), 'warn', qr/^MinJobAge=299: jobs that end while precedentd is restarted .*: set 300$/, 'less');
is_found(slurm('ended_jobs', {MinJobAge => '60 sec'}), 'warn', qr/^MinJobAge=60: /, 'a minute');
is_found(slurm('ended_jobs', {MinJobAge => '59 sec'}), 'FAIL', qr/^MinJobAge=59, PollInterval 10 s: jobs are gone before .*: set MinJobAge=300, at least 60$/, 'less than a minute');
is_found(slurm('ended_jobs', {MinJobAge => '100 sec', conf => "PollInterval=40\n"}), 'FAIL', qr/at least 120$/, 'less than three looks');
is_found(slurm('ended_jobs', {MinJobAge => '0 sec'}), 'warn', qr/^MinJobAge=0: .* never dropped/, 'never dropped');
is_found(slurm('ended_jobs', {}), 'warn', qr/^MinJobAge is not known: set 60 or more/, 'not known');
is_found(slurm('job_records', {MaxJobCount => 10000}, 8999), 'ok', qr/^8999 jobs, MaxJobCount=10000$/, 'room for jobs');
is_found(slurm('job_records', {MaxJobCount => 10000}, 9000), 'warn', qr/^9000 jobs, MaxJobCount=10000: beyond it probes are refused .*: raise it/, 'hardly any');
is_found(slurm('job_records', {}), 'warn', qr/^MaxJobCount is not known/, 'not known');
is_found(slurm('scheduler', {SchedulerType => 'sched/backfill', conf => "Mode=limit\n"}), 'ok', qr/^SchedulerType=sched\/backfill$/, 'backfill');
is_found(slurm('scheduler', {SchedulerType => 'sched/builtin'}), 'ok', qr/start nothing earlier$/, 'no backfill, and nothing but observed');
is_found(slurm('scheduler', {SchedulerType => 'sched/builtin', conf => "Mode=limit\n"}), 'warn', qr/start nothing earlier: set sched\/backfill$/, 'no backfill, with limits');
is_found(slurm('scheduler', {SchedulerType => 'sched/builtin', conf => "PartitionMode.fast=place\n"}), 'warn', qr/set sched/, '... in a partition');
is_found(slurm('limits', {conf => "Mode=limit\nLimitGuard=raise\nMinLimit=00:01:00\n"}), 'warn',
	qr/^MinLimit is 1 min, and limits are raised 80 s before they end: .*: set MinLimit=00:02:00$/, 'limits that are raised at once');
for (['0 min', 'warn', qr/^OverTimeLimit=0: no limit is shortened, .*: set OverTimeLimit=60 in slurm.conf/], ['60 min', 'ok', qr/^OverTimeLimit=60/],
	['UNLIMITED', 'ok', qr/^OverTimeLimit=UNLIMITED/]) {
	my ($value, $verdict, $words) = @$_;
	is_found(slurm('limit_guard', {OverTimeLimit => $value, conf => "Mode=limit\n"}), $verdict, $words, "OverTimeLimit = $value");
}
is_found(slurm('limit_guard', {OverTimeLimit => '60 min', conf => "Mode=limit\n"}), 'ok', qr/may run on for as long .*EndAtAsked = yes ends them/, 'other jobs run on');
is_found(slurm('limit_guard', {OverTimeLimit => '60 min', conf => "Mode=limit\nEndAtAsked=yes\n"}), 'ok', qr/are cancelled a minute after their limit$/, '... or are ended');
is(slurm('limit_guard', {OverTimeLimit => '0 min', conf => "Mode=limit\nLimitGuard=raise\n"})->[0], undef, '... matters to that guard alone');
my %soft = (SchedulerType => 'sched/backfill', SchedulerParameters => 'bf_interval=2,time_min_as_soft_limit', OverTimeLimit => '0 min');
for (['24.11.5', {}, 'auto', 'ok', qr/^time_min_as_soft_limit: Slurm plans with predicted times, and limits stay$/],
	['23.11.0', {}, 'soft', 'ok', qr/^time_min_as_soft_limit/],
	['22.05.8', {}, 'soft', 'warn', qr/^LimitGuard=soft needs Slurm 23\.11 or later: set LimitGuard = overtime$/],
	['22.05.8', {}, 'auto', 'warn', qr/^OverTimeLimit=0: no limit is shortened/],
	['24.11.5', {SchedulerParameters => 'bf_interval=2'}, 'auto', 'warn', qr/: add time_min_as_soft_limit to SchedulerParameters in slurm\.conf, and/],
	['24.11.5', {SchedulerParameters => '(null)', OverTimeLimit => '60 min'}, 'auto', 'ok', qr/^OverTimeLimit=60/],
	['24.11.5', {SchedulerType => 'sched/builtin'}, 'soft', 'warn', qr/: set SchedulerType=sched\/backfill, add time_min_as_soft_limit/],
	['24.11.5', {}, 'overtime', 'warn', qr/^OverTimeLimit=0/]) {
	my ($version, $change, $guard, $verdict, $words) = @$_;
	is_found(slurm('limit_guard', {%soft, %$change, SLURM_VERSION => $version, conf => "Mode=limit\nLimitGuard=$guard\n"}), $verdict, $words,
		"LimitGuard = $guard of Slurm $version");
}
is(slurm('backup_controller', {'SlurmctldHost[0]' => 'one'})->[0], undef, 'one controller');
my %two = ('SlurmctldHost[0]' => 'one', 'SlurmctldHost[1]' => 'two(10.0.0.2)');
is_found(slurm('backup_controller', {%two, conf => "Mode=limit\n"}), 'ok', qr/^while two\(10\.0\.0\.2\) is in charge, .*jobs pass unchanged/, 'two controllers');
is_found(slurm('backup_controller', {%two, 'SlurmctldHost[2]' => 'three', conf => "Mode=limit\n"}), 'ok',
	qr/^while two\(10\.0\.0\.2\) or three is in charge, the store and precedentd are out of reach: /, 'three');
is_found(slurm('backup_controller', {%two, conf => "Mode=limit\nLimitGuard=raise\n"}), 'FAIL', qr/: set LimitGuard = auto$/, '... and limits that are raised');
is(slurm('limits', {conf => "Mode=limit\nLimitGuard=raise\nMinLimit=00:02:00\n"})->[0], undef, 'none such');
is(slurm('limits', {conf => "MinLimit=00:01:00\n"})->[0], undef, 'no limits are set');

# tracing(STATE, ROWS...): what is said of a store with such pairs of runs; a row: uid, pair (3: the traced run alone failed), days ago.
my $make = build_dir() . '/tests/bench/make_history';
run_command('make', '--silent', '-C', top(), "B=$ENV{PRECEDENT_BUILD}", "$ENV{PRECEDENT_BUILD}/tests/bench/make_history") if !-x $make;

sub tracing {
	my ($state, @rows) = @_;
	my $n = 0;
	my $sql = "DELETE FROM trials; INSERT OR REPLACE INTO meta VALUES('tracing', '$state 1700000000');";
	for my $row (@rows) {
		my ($uid, $pair, $days) = @$row;
		$n++;
		$sql .= sprintf "INSERT INTO trials VALUES(x'%032x', x'%032x', %d, 0, 0, '', 0, 0, 0, 0, '', 0, %d, %d, %d, %d);", $n, $n, $uid, $pair,
			1000 + $n, 2000 + $n, time - 86400 * ($days // 0) - $n;
	}
	is(run_command('sqlite3', 'state/precedent.db', $sql)->{rc}, 0, 'a store');
	return finding('', {conf => 'StateDir=' . getcwd() . "/state\n"}, '', 'tracing');
}

mkdir 'state';
is(run_command($make, 'state/precedent.db', 10, 2)->{rc}, 0, 'a store is made');
is_found(tracing('on'), 'ok', qr/^of 0 programs that ran with the tracer and without, 0 failed with it alone and 0 without it alone$/, 'nothing ran');
is_found(tracing('on', [0, 1], [0, 2], [0, 3], [0, 4], [0, 4]), 'ok', qr/^of 5 programs .*, 1 failed with it alone and 2 without it alone$/, 'nothing is suspected');
is_found(tracing('suspected', [0, 3], [4_000_000_000, 3], [0, 4], [0, 3, 91]), 'warn',
	qr/^suspected of making jobs fail: of 3 programs .*, 2 failed with it alone and 1 without it alone: compare jobs 1001 and 2001 \(root\), 1002 and 2002 \(uid 4000000000\)$/,
	'suspected: which jobs to look at');
is_found(tracing('stopped', map { [0, 3] } 1 .. 9), 'FAIL',
	qr/^stopped since 2023-11-1\d \d\d:\d\d: of 9 programs .*: compare jobs 1001 and 2001 \(root\), .* 1008 and 2008 \(root\), \.\.\.; precedent retrace --all resumes tracing$/,
	'stopped: so much, and the way out');

done_testing;
