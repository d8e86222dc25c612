#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent import --sacct: the accounting's past jobs come into the store of precedentd; sacct itself is asked where no file is
# named; wrong input is told in one line.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command build_dir);

my $make = build_dir() . '/tests/bench/make_history';
my ($state) = slurp($ENV{PRECEDENT_CONF}) =~ /^StateDir=(.*)$/m;
my ($bin) = split /:/, $ENV{PATH};
my $store = "$state/precedent.db";
my @columns = qw(JobID JobIDRaw UID Partition JobName Submit Start End Elapsed State);
my $submit = time - 1000;

# A table of jobs, each a hash.
sub table {
	my ($separator, @jobs) = @_;
	return join('', map { join($separator, @$_) . "\n" } \@columns, map { my $j = $_; [map { $j->{$_} // '' } @columns] } @jobs);
}

sub job {
	my ($id, %more) = @_;
	return { JobID => $id, JobIDRaw => $id, UID => 1000, Partition => 'fast', JobName => 'melt', Submit => $submit, Start => $submit,
		End => $submit + 60, Elapsed => '00:01:00', State => 'COMPLETED', %more };
}

sub imported {
	my ($title, $want, @arguments) = @_;
	my $r = precedent('import', '--sacct', '--json', @arguments);
	is($r->{rc}, 0, "$title: it succeeds") or diag $r->{err};
	my $json = eval { decode_json($r->{out}) } // {};
	is_deeply([@$json{qw(jobs added left_out bad_lines)}], $want, '... and says what it has read');
	return $r;
}

spew('jobs', table('|', job(900001), job('900001.0'), job(900002), job(900003, State => 'RUNNING')));
my $r = precedent('import', '--sacct', 'jobs');
is($r->{rc}, 1, 'there is no store');
like($r->{err}, qr/^precedent: \Q$store\E: No such file or directory: start precedentd, which makes the store\n\z/, 'says so');

SKIP: {
	skip 'make_history is not built', 1 unless -x $make;
	mkdir $state;
	is(run_command($make, $store, 5, 2)->{rc}, 0, 'a store');
	imported('a file', [2, 2, 2, 0], 'jobs');
	imported('the same again', [2, 0, 2, 0], 'jobs');
	spew('jobs', slurp('jobs') . "900005|cut\n" . table('|', job(900004)) =~ s/^.*\n//r);
	$r = imported('one more, and a bad line', [3, 1, 2, 1], 'jobs');
	like($r->{err}, qr/^precedent: jobs:6: 2 fields instead of 10: the line is left out\n\z/, 'which is named');
	$r = precedent('import', '--sacct', 'jobs');
	like($r->{out}, qr/^3 jobs read in .*: 0 added, 3 known before\n/, 'for people');

	spew("$bin/sacct", "#!/bin/sh\n[ \"\$SLURM_TIME_FORMAT\" = %s ] || exit 9\necho \"\$*\" > asked\ncat answer\nexit \$(cat rc)\n");
	chmod 0755, "$bin/sacct";
	spew('answer', table("\x1f", job(900006, JobName => 'a|b')));
	spew('rc', 0);
	imported('sacct itself', [1, 1, 0, 0]);
	like(slurp('asked'), qr/^--allusers --allocations --parsable2 --delimiter=\x1f --starttime=\S+ --format=JobID,/, 'is asked for all jobs');
	spew('rc', 1);
	$r = precedent('import', '--sacct');
	is($r->{rc}, 1, 'sacct has failed');
	like($r->{err}, qr/^precedent: sacct has failed/, 'says so');

	spew('empty', '');
	spew('other', "a,b\n");
	for ([1, qr/jobs are missing: No such file/, 'jobs are missing'], [1, qr/empty: is empty/, 'empty'], [1, qr/other: has no column JobID/, 'other'],
		[2, qr/one file at a time/, 'a', 'b'], [2, qr/--sacct writes no trace/, 'jobs', '--stats']) {
		my ($rc, $why, @arguments) = @$_;
		$r = precedent('import', '--sacct', @arguments);
		is($r->{rc}, $rc, "@arguments: exit code $rc");
		like($r->{err}, qr/^precedent[^\n]*$why[^\n]*\n\z/, '... in one line');
	}
}

done_testing;
