#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent doctor on clusters that are only said to be: scontrol and sacctmgr in front of PATH answer as they are told.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json);
use Test::More;

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

# finding(QOS, {CONFIG}, QOS LINES or undef, WHAT): [verdict, words] about ProbeQos, or what else.
sub finding {
	my ($qos, $config, $lines, $what) = @_;
	my $more = delete $config->{conf} // '';
	my %value = (AccountingStorageType => 'accounting_storage/slurmdbd', PreemptType => 'preempt/qos', PreemptMode => 'CANCEL', %$config);
	put('precedent.conf', "Candidates=fast\n" . ($qos eq '' ? '' : "ProbeQos=$qos\n") . $more);
	put('bin/scontrol', "#!/bin/sh\ncat <<'X'\n" . join('', map { sprintf "%-23s = %s\n", $_, $value{$_} } sort keys %value) . "X\n");
	put('bin/sacctmgr', defined $lines ? "#!/bin/sh\ncat <<'X'\n${lines}X\n" : "#!/bin/sh\necho no >&2\nexit 1\n");
	my $r = precedent('doctor', '--json');
	my ($found) = grep { $_->{what} eq ($what // 'probe qos') } @{ decode_json($r->{out}) };
	return [$found->{verdict}, $found->{found}];
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
is_found(finding('probes', {}, undef), 'warn', qr/cannot tell whether it may be preempted, sacctmgr shows no QOS here/, 'sacctmgr fails');
is_found(finding('probes', {AccountingStorageType => 'accounting_storage/none'}, undef), 'warn',
	qr/cannot tell whether .* no QOS without accounting \(AccountingStorageType=accounting_storage\/none\): take it out$/, 'no accounting');
is_found(finding('probes', {}, 'probes|' . 'x' x 5000 . "\n" . join('', map { "q$_|probes\n" } 1 .. 200)), 'ok', qr/QOS q1, q2, .*q\d+$/, 'very many');


# slurm(WHAT, {CONFIG; conf: lines of precedent.conf}, JOBS): what is said of slurm.conf.
sub slurm {
	my ($what, $config, $jobs) = @_;
	put('bin/squeue', "#!/bin/sh\nyes x | head -n " . ($jobs // 7) . "\n");
	return finding('', $config, '', $what);
}

is_found(slurm('ended jobs', {MinJobAge => '300 sec'}), 'ok', qr/^MinJobAge=300, PollInterval 10 s: every job's end is seen$/, 'MinJobAge as it comes');
is_found(slurm('ended jobs', {MinJobAge => '299 sec'}), 'warn', qr/^MinJobAge=299: jobs that end while precedentd is restarted .*: set 300$/, 'less');
is_found(slurm('ended jobs', {MinJobAge => '60 sec'}), 'warn', qr/^MinJobAge=60: /, 'a minute');
is_found(slurm('ended jobs', {MinJobAge => '59 sec'}), 'FAIL', qr/^MinJobAge=59, PollInterval 10 s: jobs are gone before .*: set MinJobAge=300, at least 60$/, 'less than a minute');
is_found(slurm('ended jobs', {MinJobAge => '100 sec', conf => "PollInterval=40\n"}), 'FAIL', qr/at least 120$/, 'less than three looks');
is_found(slurm('ended jobs', {MinJobAge => '0 sec'}), 'warn', qr/^MinJobAge=0: .* never dropped/, 'never dropped');
is_found(slurm('ended jobs', {}), 'warn', qr/^MinJobAge is not known/, 'not known');
is_found(slurm('job records', {MaxJobCount => 10000}, 8999), 'ok', qr/^8999 jobs, MaxJobCount=10000$/, 'room for jobs');
is_found(slurm('job records', {MaxJobCount => 10000}, 9000), 'warn', qr/^9000 jobs, MaxJobCount=10000: beyond it probes are refused .*: raise it/, 'hardly any');
is_found(slurm('job records', {}), 'warn', qr/^MaxJobCount is not known/, 'not known');
is_found(slurm('scheduler', {SchedulerType => 'sched/backfill', conf => "Mode=limit\n"}), 'ok', qr/^SchedulerType=sched\/backfill$/, 'backfill');
is_found(slurm('scheduler', {SchedulerType => 'sched/builtin'}), 'ok', qr/start nothing earlier$/, 'no backfill, and nothing but observed');
is_found(slurm('scheduler', {SchedulerType => 'sched/builtin', conf => "Mode=limit\n"}), 'warn', qr/start nothing earlier: set sched\/backfill$/, 'no backfill, with limits');
is_found(slurm('scheduler', {SchedulerType => 'sched/builtin', conf => "PartitionMode.fast=place\n"}), 'warn', qr/set sched/, '... in a partition');
is_found(slurm('limits', {conf => "Mode=limit\nMinLimit=00:01:00\n"}), 'warn',
	qr/^MinLimit is 1 min, and limits are raised 80 s before they end: .*: set MinLimit=00:02:00$/, 'limits that are raised at once');
is(slurm('limits', {conf => "Mode=limit\nMinLimit=00:02:00\n"})->[0], undef, 'none such');
is(slurm('limits', {conf => "MinLimit=00:01:00\n"})->[0], undef, 'no limits are set');

done_testing;
