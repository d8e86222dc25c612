#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A job is known by its launches: traced in one directory, it is predicted from another one, through a pipe, with other paths
# and other commands around mpirun. Another program or another argument is another job.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(wait_until build_dir);

my $testbed = Testbed->attach(name => 'launches', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }

my $heat = $testbed->program('heat');
$testbed->install($heat, "$_/heat") for qw(one two);
$testbed->install(build_dir() . '/tests/programs/ring', 'three/heat') if $testbed->program('ring');

my @options = ('-p', 'fast', '-N2', '-n2', '-t', 10);

# sbatch in a directory, with a script there or in a pipe: (job, message).
sub submit {
	my ($dir, $script, @more) = @_;
	my $home = $testbed->path($dir);
	$testbed->write("$dir/job.sh", $script);
	my @command = @more && $more[0] eq 'pipe' ? ('sh', '-c', "cat job.sh | sbatch @options -H") : ('sbatch', @options, @more, 'job.sh');
	my $r = $testbed->run({chdir => $home}, @command);
	my ($job) = $r->{out} =~ /^Submitted batch job (\d+)/m;
	return ($job, $r->{err});
}

sub shown {
	my ($job) = @_;
	my $r = $testbed->run('precedent', 'show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

$testbed->conf_set(PollInterval => 1, ProbeSeconds => 1);
$testbed->daemon('stop');
is($testbed->daemon('start')->{rc}, 0, 'precedentd runs');
ok(wait_until(30, sub { ($testbed->submit("#!/bin/sh\n#SBATCH -p fast -N1 -t 10\nsrun ./asks\n", '-H'))[2] =~ /it is traced/ }),
	'slurmctld has seen it');

my ($first, $said, $program);
# On a busy machine a prediction may be withheld for being too uncertain: then the job is traced again.
for my $try (1 .. 3) {
	($first, $said) = submit('one', "#!/bin/bash\nmpirun ./heat 256 4000\n");
	like($said, qr/first run of this job: it is traced/, 'the first run is traced')
		or BAIL_OUT('sbatch does not work');
	is(($testbed->wait_job($first, 120) // {})->{state}, 'COMPLETED', '... and ends');
	wait_until(240, sub {
		$program = shown($first)->{program} // {};
		return ($program->{state} // '') =~ /^(?:ready|failed)$/;
	});
	last if ($program->{reason} // '') !~ /too uncertain/ || $try == 3;
	diag("once more: $program->{reason}");
	$testbed->run('precedent', 'retrace', $first);
}
is($program->{state}, 'ready', '... and is probed') or diag $program->{reason} // '', $testbed->log('precedentd');

my $same = qr/^sbatch: precedent: .*; same program, arguments and inputs as job $first; /m;
my $two = $testbed->path('two');
my $learned;
$testbed->write('two/step.sh', "#!/bin/sh\nmpirun ./heat 256 \$1\necho done\n", 0755);
for (
	['another directory', "#!/bin/bash\nmpirun ./heat 256 4000\n"],
	['time, set, date and echo', "#!/bin/bash\nset -e\ndate\ntime mpirun ./heat 256 4000\necho done\n"],
	['$SLURM_SUBMIT_DIR', "#!/bin/sh\ncd \$SLURM_SUBMIT_DIR\nmpirun \$SLURM_SUBMIT_DIR/heat 256 4000\n"],
	['an absolute path', "#!/bin/sh\nmpirun $two/heat 256 4000 > log\n"],
	['a script within the script', "#!/bin/sh\nbash --login step.sh 4000\n"],
	['... run by its path', "#!/bin/sh\ndate\n./step.sh 4000 > log\n"],
	['a pipe', "#!/bin/sh\n# in a pipe\nmpirun ./heat 256 4000 && echo ok\n", 'pipe'],
) {
	my ($what, $script, @more) = @$_;
	my ($job, $message) = submit('two', $script, @more ? @more : '-H');
	like($message, $same, "$what: predicted");
	is(shown($job)->{job}{key} // '', shown($first)->{job}{key}, '... as the same job') if wait_until(30, sub { shown($job)->{job} });
	$learned //= $job;
	$testbed->run({as => 'root'}, 'scancel', $job) if $job != $learned;
}
$testbed->run({as => 'root'}, 'scontrol', 'release', $learned);
is(($testbed->wait_job($learned, 120) // {})->{state}, 'COMPLETED', 'the first of them runs');
ok(wait_until(30, sub { grep { $_->{job} == $learned } @{ shown($first)->{history} // [] } }), '... and its run is learned');
my $words = $testbed->run('precedent', 'explain', $learned)->{out};
like($words, qr/^Known by:  program, arguments and inputs are those of job $first; the text of the script is new\.$/m, 'explain says it');

for (
	['two', 'another argument', "#!/bin/bash\nmpirun ./heat 256 4001\n"],
	['two', 'another argument of a script within', "#!/bin/bash\n./step.sh 4001\n"],
	['two', 'a loop', "#!/bin/bash\nfor i in 1; do mpirun ./heat 256 4000; done\n"],
	['three', 'another program', "#!/bin/bash\ntime mpirun ./heat 256 4000\n"],
) {
	my ($dir, $what, $script) = @$_;
	my ($job, $message) = submit($dir, $script, '-H');
	unlike($message, qr/same program, arguments and inputs/, "$what: another job");
	$testbed->run({as => 'root'}, 'scancel', $job);
}

# ---- jobs without a script that is understood: observed, and explained ----

my $tell = 'echo $SLURM_JOB_ID; sleep 2';
my %observed = (
	srun => $testbed->run('srun', '-p', 'fast', '-n1', 'sh', '-c', $tell)->{out} =~ /^(\d+)$/m,
	salloc => $testbed->run('salloc', '-p', 'fast', '-n1', 'sh', '-c', $tell)->{out} =~ /^(\d+)$/m,
	heterogeneous => ($testbed->submit("#!/bin/sh\n#SBATCH -p fast -n1 -t 3\n#SBATCH hetjob\n#SBATCH -p slow -n1 -t 3\nsleep 2\n"))[0],
);
for my $kind (sort keys %observed) {
	my $job = $observed{$kind};
	ok($job, "$kind: a job runs") or next;
	ok(wait_until(60, sub { (shown($job)->{job}{state} // '') eq 'COMPLETED' }), '... and its end is seen');
	my $r = $testbed->run('precedent', 'explain', $job);
	like($r->{out}, qr/^Nothing was predicted for job $job /m, '... explain answers') or diag $r->{err};
	like($r->{out}, qr/^Trace: +none: only batch scripts are traced, not srun, salloc or heterogeneous jobs\.$/m, '... and says why');
}

done_testing();
