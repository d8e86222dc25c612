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

# finding(QOS, {CONFIG}, QOS LINES or undef): [verdict, words] about ProbeQos.
sub finding {
	my ($qos, $config, $lines) = @_;
	my %value = (AccountingStorageType => 'accounting_storage/slurmdbd', PreemptType => 'preempt/qos', PreemptMode => 'CANCEL', %$config);
	put('precedent.conf', "Candidates=fast\n" . ($qos eq '' ? '' : "ProbeQos=$qos\n"));
	put('bin/scontrol', "#!/bin/sh\ncat <<'X'\n" . join('', map { sprintf "%-23s = %s\n", $_, $value{$_} } sort keys %value) . "X\n");
	put('bin/sacctmgr', defined $lines ? "#!/bin/sh\ncat <<'X'\n${lines}X\n" : "#!/bin/sh\necho no >&2\nexit 1\n");
	my $r = precedent('doctor', '--json');
	my ($found) = grep { $_->{what} eq 'probe qos' } @{ decode_json($r->{out}) };
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

done_testing;
