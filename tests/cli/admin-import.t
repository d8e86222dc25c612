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
my @columns = qw(JobID JobIDRaw UID Partition JobName Submit Start End Elapsed State SubmitLine);
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
	like($r->{err}, qr/^precedent: jobs:6: 2 fields instead of 11: the line is left out\n\z/, 'which is named');
	$r = precedent('import', '--sacct', 'jobs');
	like($r->{out}, qr/^3 jobs read in .*: 0 added, 3 known before\n/, 'for people');

	spew("$bin/sacct", "#!/bin/sh\n[ \"\$SLURM_TIME_FORMAT\" = %s ] || exit 9\necho \"\$*\" > asked\ncat answer\nexit \$(cat rc)\n");
	chmod 0755, "$bin/sacct";
	spew('answer', table("\x1f", job(900006, JobName => 'a|b', SubmitLine => 'srun ./a')));
	spew('rc', 0);
	imported('sacct itself', [1, 1, 0, 0]);
	like(slurp('asked'), qr/^--allusers --allocations --parsable2 --delimiter=\x1f --starttime=\S+ --format=JobID,/, 'is asked for all jobs');
	# Scripts: sacct is asked again, without a shell, for the jobs that were added.
	spew("$bin/sacct", slurp("$bin/sacct") =~ s/\n/\ncase "\$1" in --batch-script) echo "\$@" >> scripts-asked; cat scripts; exit;; esac\n/r);
	sub script_of { return "Batch Script for $_[0]\n" . '-' x 80 . "\n$_[1]\n" }
	my %by = (SubmitLine => 'sbatch $(touch here) job.sh');
	spew('answer', table("\x1f", job(900010, %by), job(900011, %by), job(900012, UID => 1001, %by), job(900013, SubmitLine => 'srun ./a')));
	spew('scripts', script_of(900012, "#!/bin/sh\n") . script_of(900010, "#!/bin/sh\nsrun ./a\n") . script_of(900011, 'NONE'));
	spew('scripts-asked', '');
	$r = precedent('import', '--sacct');
	is($r->{rc}, 0, 'scripts: it succeeds') or diag $r->{err};
	like($r->{out}, qr/^scripts of 2 jobs are known now$/m, '... and says how many it has found');
	is(slurp('scripts-asked'), "--batch-script --jobs 900012\n--batch-script --jobs 900011,900010\n", 'sacct is asked for the jobs of one user at a time');
	ok(!-e 'here', '... and no command of a user is run');
	spew('scripts-asked', '');
	$r = precedent('import', '--sacct');
	is(slurp('scripts-asked'), '', 'jobs that are known are not asked for again');
	# Two users are two questions, and the first one takes all the time.
	my $quick = slurp("$bin/sacct");
	spew("$bin/sacct", $quick =~ s/cat scripts;/sleep 1.2; cat scripts;/r);
	spew('answer', table("\x1f", job(900020, %by), job(900021, UID => 1001, %by)));
	spew('scripts', script_of(900021, "#!/bin/sh\n"));
	like(precedent('import', '--sacct', '--scripts', 1)->{out},
		qr/^no time was left for the scripts of 1 older jobs: a later import does not ask for these \(see --scripts\)$/m, 'no time is left');
	spew("$bin/sacct", $quick);
	spew('scripts-asked', '');
	precedent('import', '--sacct');
	is(slurp('scripts-asked'), '', '... and a later import does not ask');
	spew('answer', table("\x1f", job(900014, %by)));
	is(precedent('import', '--sacct', '--scripts', 0)->{rc} . slurp('scripts-asked'), '0', '--scripts 0 asks for none');
	spew('answer', table("\x1f", job(900015, %by)));
	spew('scripts', script_of(900015, 'NONE'));
	like(precedent('import', '--sacct')->{out}, qr/^scripts: the accounting keeps none \(AccountingStoreFlags=job_script in slurm\.conf\)$/m,
		'an accounting without scripts is named');
	is(precedent('import', '--sacct', '--scripts', 'x')->{rc}, 2, '--scripts wants seconds');
	spew("$bin/sacct", slurp("$bin/sacct") =~ s/cat scripts; exit;;/exit 3;;/r);
	spew('answer', table("\x1f", job(900016, %by)));
	$r = precedent('import', '--sacct');
	is($r->{rc}, 1, 'sacct fails with scripts');
	like($r->{err}, qr/^precedent: sacct has printed no scripts/, '... says so');
	# An import that was killed when its jobs were added has left their scripts to the next one.
	spew("$bin/sacct", $quick =~ s/cat scripts; exit;;/kill -9 \$PPID; exit;;/r);
	spew('answer', table("\x1f", job(900016, %by), job(900017, %by)));
	isnt(precedent('import', '--sacct')->{rc}, 0, 'the import is killed');
	spew("$bin/sacct", $quick);
	spew('scripts', script_of(900016, "#!/bin/sh\n") . script_of(900017, "#!/bin/sh\n"));
	spew('scripts-asked', '');
	$r = precedent('import', '--sacct');
	like($r->{out}, qr/: 0 added, 2 known before\n.*^scripts of 2 jobs are known now$/ms, '... the next one adds no job, but their scripts');
	is(slurp('scripts-asked'), "--batch-script --jobs 900017,900016\n", '... also of the job whose scripts sacct has failed to print');
	spew('scripts-asked', '');
	precedent('import', '--sacct');
	is(slurp('scripts-asked'), '', '... and the third one asks no more');
	# If the next one reads only a part of these jobs, the others are left to a third one.
	my $killing = $quick =~ s/cat scripts; exit;;/kill -9 \$PPID; exit;;/r;
	my @two = (job(900018, %by), job(900019, %by));
	my @imports = ([$killing, 0, @two], [$quick, 1, $two[0]], [$quick, 0, @two], [$quick, 0, @two]);
	my @asked;
	spew('scripts', script_of(900018, "#!/bin/sh\n") . script_of(900019, "#!/bin/sh\n"));
	for (@imports) {
		my ($sacct, $rc, @jobs) = @$_;
		spew("$bin/sacct", $sacct);
		spew('answer', table("\x1f", @jobs));
		spew('rc', $rc);
		spew('scripts-asked', '');
		precedent('import', '--sacct');
		push @asked, slurp('scripts-asked') =~ /--jobs (\S+)/ ? $1 : '';
	}
	is_deeply(\@asked, ['900019,900018', '900018', '900019', ''], 'after a failure of sacct the jobs that it did not print keep their turn');

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
