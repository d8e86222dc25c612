#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Three runs of a program with other numbers are traced on a real cluster. Two numbers vary, so their times alone say nothing of a
# fourth run. The probe of the last one computes points from the three traces, and the fourth run is told. The program sleeps, so that a
# busy machine does no harm.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'inputs', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }

my (undef, undef, $uid) = getpwnam $testbed->user;
my $spool = $testbed->dir . '/spool/precedent';
is(run_command('install', '-m', 755, build_dir() . '/tests/programs/paced', $testbed->path('paced'))->{rc}, 0, 'the program is there');
$testbed->write('steps.sh', "#!/bin/sh\n#SBATCH -p fast -N1 -n2 -t 10\nsrun ./paced \$1 \$2\n", 0755);
$testbed->conf_set(ProbeSeconds => 1, PollInterval => 1);
$testbed->daemon('stop');
is($testbed->daemon('start')->{rc}, 0, 'precedentd runs');
ok(wait_until(30, sub { ($testbed->submit("#!/bin/sh\n#SBATCH -p fast -N1 -t 10\nsrun ./asks\n", '-H'))[2] =~ /it is traced/ }),
	'slurmctld has seen it');

# The job, and what sbatch said.
sub submitted {
	my ($numbers, @options) = @_;
	my $r = $testbed->run('sbatch', @options, 'steps.sh', @$numbers);
	my ($job) = $r->{out} =~ /^Submitted batch job (\d+)/m;
	ok($job, "@$numbers: a job is submitted") or BAIL_OUT($r->{err});
	return ($job, $r->{err});
}

sub shown {
	my ($job) = @_;
	my $r = $testbed->run('precedent', 'show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

sub record {
	my ($job) = @_;
	return run_command('cat', "$spool/$uid/$job/probe.fast.result")->{out};
}

my @numbers = ([40, 200], [60, 300], [80, 250]);
my @jobs;
for my $numbers (@numbers) {
	my ($job, $said) = submitted($numbers);
	like($said, qr/it is traced/, '... which is a first run');
	is(($testbed->wait_job($job, 120) // {})->{state}, 'COMPLETED', '... that ends');
	# The skeleton of a program that sleeps predicts nothing for slow: points are taken in all the same.
	ok(wait_until(240, sub { (shown($job)->{program}{state} // '') =~ /^(ready|failed)$/ }), '... and is probed') or diag $testbed->log('precedentd');
	push @jobs, $job;
}
unlike(record($_), qr/^(un)?point/m, 'the probe of one or two runs computes nothing') for @jobs[0, 1];
like(record($jobs[2]), qr/^point 2,1,1,0,80,250\S* \S+ \S+$/m, 'the probe of the third run computes points') or diag record($jobs[2]);
my $told = qr/00:00:1\d on fast \([0-9:]+-[0-9:]+, from a model over inputs of [369] runs\)/;
my ($model, $fourth, $said);
# Some seconds of delay in one run leave open what the numbers do: then each pair of numbers runs once more.
for my $try (1 .. 3) {
	wait_until(30, sub {
		($model) = grep { $_->{candidate} eq 'fast' } @{shown($jobs[0])->{models} // []};
		return $model && $model->{law} && $model->{runs} >= 3 * $try;
	});
	($fourth, $said) = submitted([49 + $try, 280], '-H');
	last if $said =~ $told || $try == 3;
	diag("once more: $said");
	$testbed->run('scancel', $fourth);
	my @again = map { (submitted($_))[0] } @numbers;
	is(($testbed->wait_job($_, 120) // {})->{state}, 'COMPLETED', 'each pair of numbers runs once more') for @again;
}
ok($model->{law}, 'there is a law') or diag explain $model;
is($model->{inputs}, 3, '... of three runs');
like($testbed->run('precedent', 'explain', $jobs[2])->{out}, qr/^ +Fitted in part to \d+ points computed by the program's model from its traces\.$/m,
	'... and points, as is explained');
like($said, $told, 'a fourth run is told');
$testbed->run({as => 'root'}, 'scontrol', 'release', $fourth);
is(($testbed->wait_job($fourth, 120) // {})->{state}, 'COMPLETED', '... and ends');
ok(wait_until(30, sub { (shown($fourth)->{job}{state} // '') eq 'COMPLETED' }), '... which precedentd sees');
is(shown($fourth)->{job}{predicted}{kind}, 'model', 'its evidence is on record');

done_testing();
