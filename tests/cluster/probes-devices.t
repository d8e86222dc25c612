#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs with GPUs and licences on a real cluster, whose fast nodes have GPUs and whose slow nodes have none. Probes ask for the same
# GPUs. They run the program itself, with its licence, or nothing at all; where there are no GPUs, nothing is predicted. The GPUs are
# names in slurm.conf, and the program is linked to a library of one line that has the name of CUDA's.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'devices', up => ['--build', build_dir(), '--gres']);
END { $testbed->testbed('down') if $testbed }

my (undef, undef, $uid) = getpwnam $testbed->user;
my $spool = $testbed->dir . '/spool/precedent';
my $why = qr/2 of 2 ranks use CUDA, whose work no skeleton repeats/;

# The program and its library, in the user's home.
my $home = $testbed->path('');
$home =~ s{/\z}{};
$testbed->write('cuda.c', "int stand_in(void) { return 0; }\n");
my $built = run_command('sh', '-c', 'cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$1/libcuda.so.1" "$1/cuda.c" && ' .
	'mpicc -O2 -o "$1/heat" "$2" -Wl,--no-as-needed -Wl,-rpath,"$1" "$1/libcuda.so.1" -lm', 'sh', $home, Testbed::top() . '/tests/programs/heat.c');
is($built->{rc}, 0, 'the program is built') or diag $built->{err};

sub record {
	my ($job, $candidate) = @_;
	return run_command('cat', "$spool/$uid/$job/probe.$candidate.result")->{out};
}

sub restart {
	$testbed->conf_set(@_);
	$testbed->daemon('stop');
	is($testbed->daemon('start')->{rc}, 0, "precedentd runs with @_");
}

# A traced job of this size, whose probe on fast has come to an end: its id and what Slurm says of the probe.
sub traced_and_probed {
	my ($size) = @_;
	my ($job) = $testbed->submit("#!/bin/sh\n#SBATCH -p fast -N2 -n2 -t 10 --gres=gpu:1 -L matlab:1\nsrun $home/heat $size 4000\n");
	ok($job, 'a job with GPUs is submitted') or BAIL_OUT('sbatch does not work');
	is(($testbed->wait_job($job, 300) // {})->{state}, 'COMPLETED', '... and traced');
	ok(wait_until(240, sub { record($job, 'fast') =~ /^end$/m }), '... and probed on fast') or diag $testbed->log('precedentd');
	my ($probe) = record($job, 'fast') =~ /^job (\d+)$/m;
	return ($job, $testbed->job_info($probe) // {});
}

restart(PartialExecution => 'on', ProbeSeconds => 1);
ok(wait_until(30, sub { ($testbed->submit("#!/bin/sh\n#SBATCH -p fast -N1 -t 10\nsrun ./asks\n", '-H'))[2] =~ /it is traced/ }),
	'slurmctld has seen it');
my ($job, $probe) = traced_and_probed(256);
like($probe->{TresPerNode} // '', qr/^gres.gpu.1$/, 'the probe has the GPUs') or diag explain $probe;
like($probe->{Licenses} // '', qr/^matlab/, '... and a licence, since it runs the program');
my $record = record($job, 'fast');
like($record, qr/^status ok$/m, '... which it does') or diag $record;
like($record, qr/^unskeleton $why/m, '... and no skeleton');
like($record, qr/^partial 0 whole_s /m, '... whose seconds are those of the program');
ok(wait_until(120, sub { $testbed->log('precedentd') =~ /probe on slow .* cannot be submitted: / }), 'where there are no GPUs, there is no probe')
	or diag $testbed->log('precedentd');
like($testbed->log('precedentd'), qr/probe on slow .* cannot be submitted: slow: .*not available/, '... and Slurm says why');

restart(PartialExecution => 'off');
($job, $probe) = traced_and_probed(200);
like($probe->{TresPerNode} // '', qr/^gres.gpu.1$/, 'a probe that may not run the program has the GPUs');
unlike($probe->{Licenses} // '', qr/matlab/, '... but no licence');
like(record($job, 'fast'), qr/^status failed\nreason $why/m, '... and runs nothing');
my $said = '';
ok(wait_until(60, sub { ($said = $testbed->run('precedent', 'explain', $job)->{out} =~ s/\s+/ /gr) =~ /at present there is no prediction: .*$why/ }),
	'explain says why') or diag $said;
unlike($said, qr/It may be traced again/, '... and that it is not traced again');
ok(wait_until(60, sub {
	(undef, undef, $said) = $testbed->submit("#!/bin/sh\n#SBATCH -p fast -N2 -n2 -t 10 --gres=gpu:1 -L matlab:1\nsrun $home/heat 200 4000\n", '-H');
	return $said =~ /^sbatch: precedent: no prediction: .*$why/m;
}), 'sbatch says so too') or diag $said;

done_testing;
