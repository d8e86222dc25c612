#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent queue of saved answers: when jobs begin and end, with an estimate and without one.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(encode_json decode_json);
use Test::More;

$ENV{TZ} = 'UTC';

my $takes = { seconds => 5400, lo_s => 5100, hi_s => 6000, candidate => 'fast' };
my %job = (job => 7, id => '7', name => 'heat', partition => 'fast', state => 'RUNNING', reason => 'None', limit_min => 240);

# The row of a job at noon of 29 November 2026.
sub row {
	my %more = @_;
	spew('queue.json', encode_json({ now => '2026-11-29T12:00:00Z', queue => [{ %job, %more }] }));
	my $r = precedent('queue', '--from', 'queue.json');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($r->{rc}, 0, 'the table is printed') or diag $r->{err};
	unlike($r->{out}, qr/^.{101,}$/m, 'within a hundred columns');
	return (split /\n/, $r->{out})[1];
}

my %estimated = (start => '2026-11-29T11:00:00Z', limit_end => '2026-11-29T15:00:00Z', takes => $takes, end => '2026-11-29T12:30:00Z',
	end_lo => '2026-11-29T12:25:00Z', end_hi => '2026-11-29T12:40:00Z');

is(row(%estimated), '7         heat       fast      RUNNING    04:00:00  01:30:00       11:00  12:30 (12:25-12:40)', 'a job with an estimate');
like(row(%estimated, map { $_ => $estimated{$_} =~ s/-29T/-30T/r } qw(start end end_lo end_hi)), qr/ 11-30 11:00  11-30 12:30 \(12:25-12:40\)$/,
	'the day is told where it is another one');
like(row(%estimated, end_hi => '2026-11-30T00:10:00Z'), qr/ 12:30 \(12:25-11-30 00:10\)$/, '... and of a bound');
like(row(%estimated, end_hi => '2026-11-29T11:59:00Z'), qr/ late, by 15:00$/, 'a job later than its estimate ends by its limit');
like(row(start => '2026-11-29T11:00:00Z', limit_end => '2026-11-29T15:00:00Z'), qr/ 04:00:00 +- +11:00  by 15:00$/, 'without an estimate');
like(row(state => 'PENDING', start => undef, takes => $takes), qr/ PENDING +04:00:00  01:30:00 +-  -$/, 'a job whose start is not known');
like(row(id => '12345_[1-4000]', name => "long name\e[31m"), qr/^12345_\[1- long name[ ?] /, 'long words are cut, and no escape is printed');

spew('queue.json', encode_json({ now => '2026-11-29T12:00:00Z', queue => [] }));
is(precedent('queue', '--from', 'queue.json')->{out}, "no jobs in the queue\n", 'an empty queue');

# squeue in front of PATH answers as it is told.
mkdir 'bin' or die "bin: $!";
sub squeue {
	my ($script) = @_;
	spew('bin/squeue', "#!/bin/sh\n$script\n");
	chmod 0755, 'bin/squeue' or die "bin/squeue: $!";
	local $ENV{PATH} = "bin:$ENV{PATH}";
	return precedent('queue');
}
my $r = squeue('exit 3');
is($r->{rc}, 1, 'without an answer of squeue the exit code is 1');
is($r->{err}, "precedent: squeue gave no list of jobs: see whether 'squeue' works\n", '... and it is said');
is(squeue('exit 127')->{err}, "precedent: there is no squeue here: run this on a host with Slurm's commands\n", 'a host without Slurm');

done_testing;
