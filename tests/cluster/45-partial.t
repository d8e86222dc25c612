#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Partial execution on a real cluster: switched on by the administrator, probes run the program itself under srun, over two
# nodes, in a sandbox on each; the result enters the estimate of the other partition. Switched off, a job that asks gets it,
# but not where it is forbidden. At the end, since nodes are at two switches here: who talks over both is told so.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'partial', up => ['--build', build_dir(), '--switches']);
END { $testbed->testbed('down') if $testbed }

my (undef, undef, $uid) = getpwnam $testbed->user;
my $spool = $testbed->dir . '/spool/precedent';
my $heat = $testbed->program('heat');

sub files { return run_command('sh', '-c', "find $_[0] -type f ! -name 'slurm-*' -printf '%p %s %T@\\n' | sort")->{out} }

sub record {
	my ($job, $candidate) = @_;
	return run_command('cat', "$spool/$uid/$job/probe.$candidate.result")->{out};
}

$testbed->conf_set(PartialExecution => 'on', ProbeSeconds => 2);
$testbed->daemon('stop');
is($testbed->daemon('start')->{rc}, 0, 'precedentd runs with PartialExecution=on');
like($testbed->run('precedent', 'conf', '--check')->{out}, qr/^\s*partial\s+on$/m, 'conf --check tells');

# slurmctld looks now and then whether the daemon is there; until it has seen it, no job is traced.
ok(wait_until(30, sub { ($testbed->submit("#!/bin/sh\n#SBATCH -p fast -N1 -t 10\nsrun ./asks\n", '-H'))[2] =~ /it is traced/ }),
	'slurmctld has seen it');

my ($job) = $testbed->submit("#!/bin/sh\n#SBATCH -p fast -N2 -n2 -t 10\nsrun $heat 512 20000\n");
ok($job, 'a job is submitted') or BAIL_OUT('sbatch does not work');
is(($testbed->wait_job($job, 300) // {})->{state}, 'COMPLETED', '... and traced');
my $before = files($testbed->path(''));

my $there = wait_until(240, sub { record($job, 'fast') =~ /^end$/m && record($job, 'slow') =~ /^end$/m });
ok($there, 'both partitions are probed') or diag $testbed->log('precedentd');
for my $candidate (qw(fast slow)) {
	my $r = record($job, $candidate);
	like($r, qr/^partial 0 whole_s \S+ lo_s \S+ hi_s \S+ ran_s \S+$/m, "... the program itself on $candidate") or diag $r;
	unlike($r, qr/^unpartial/m, '... without a complaint');
}
is(files($testbed->path('')), $before, 'nothing in the home directory has changed');
ok(!glob("$spool/$uid/$job/partial.*.{fast,slow}"), 'and nothing is left of the sandbox');

my $shown = {};
wait_until(60, sub {
	my $r = $testbed->run('precedent', 'show', $job, '--json');
	$shown = $r->{rc} == 0 ? decode_json($r->{out}) : {};
	return ($shown->{program}{reason} // '') =~ /slow/ || grep { ($_->{candidate} // '') eq 'slow' } @{ $shown->{estimates} // [] };
});
# Where the machine is too noisy for an estimate, that is what is said; where it is so for what the program itself tells, that
# is left out: its windows, there and here, and how far it is off at home, leave more than a quarter, and noise adds to that.
my ($slow) = grep { ($_->{candidate} // '') eq 'slow' } @{ $shown->{estimates} // [] };
my %partial = map { $_->{candidate} => $_->{record}{traces}[0] } @{ $shown->{probes} };
my @width = (abs($partial{fast}{partial}{whole_s} / $partial{fast}{mpi_s} - 1) / 2,
	map { ($_->{partial}{hi_s} - $_->{partial}{lo_s}) / 2 / $_->{partial}{whole_s} } @partial{qw(fast slow)});
my $noisy = sqrt($width[0] ** 2 + $width[1] ** 2 + $width[2] ** 2) > 0.25 ? '|^kind skeleton$' : '';
like($slow ? "kind $slow->{kind}" : $shown->{program}{reason} // '', qr/^kind partial$|slow: too uncertain$noisy/,
	'the estimate for slow is made of both, or withheld for its width') or diag explain \@width, $shown;
like($testbed->run('precedent', 'explain', $job)->{out}, qr/By some iterations of the program itself, it takes [\d.:]+(?: s)? there\./,
	'explain tells of the program itself');

# ---- off, and never on slow: for a job that asks, on fast ----

$testbed->conf_set(PartialExecution => 'off', 'PartialExecution.slow' => 'never', ProbeSeconds => 1);
$testbed->daemon('stop');
is($testbed->daemon('start')->{rc}, 0, 'precedentd runs with PartialExecution=off');
($job) = $testbed->submit({env => {PRECEDENT_PARTIAL => '1'}}, "#!/bin/sh\n#SBATCH -p fast -N2 -n2 -t 10\nsrun $heat 256 4000\n");
ok($job, 'a job that asks for it is submitted') or BAIL_OUT('sbatch does not work');
is(($testbed->wait_job($job, 120) // {})->{state}, 'COMPLETED', '... and traced');
ok(wait_until(240, sub { record($job, 'fast') =~ /^end$/m && record($job, 'slow') =~ /^end$/m }), '... and probed')
	or diag $testbed->log('precedentd');
like(record($job, 'fast'), qr/^partial 0 whole_s /m, 'the program itself was run on fast') or diag record($job, 'fast');
my $r = record($job, 'slow');
like($r, qr/^status ok$/m, 'slow was probed') or diag $r;
unlike($r, qr/^(?:un)?partial/m, '... but the program itself was not run there');

# ---- two switches: rings of all four ranks, and of the two ranks of each node ----

subtest 'switches' => sub {
	my $ring = $testbed->program('ring');
	my ($job) = $testbed->submit("#!/bin/sh\n#SBATCH -p fast -N2 -n4 -t 10\nsrun $ring 200 8 4\nsrun $ring 200 8 2\n");
	is(($testbed->wait_job($job, 300) // {})->{state}, 'COMPLETED', 'a job over both is traced');
	my %trace = map { my $t = $_; (decode_json($testbed->run('precedent', 'info', '--json', $t)->{out})->{arguments} =~ s/.* //r => $t) }
	    glob "$spool/$uid/$job/*.ptrace";
	is_deeply([sort keys %trace], [2, 4], 'both steps') or return;
	for my $size (4, 2) {
		my $info = decode_json($testbed->run('precedent', 'info', '--json', $trace{$size})->{out});
		is_deeply([map { "$_->{host} $_->{switches}" } @{ $info->{per_rank} }], [('fast1 top.leaf1') x 2, ('fast2 top.leaf2') x 2],
			'the trace has the switches of each rank');
		my $advice = decode_json($testbed->run('precedent', 'advise', '--json', $trace{$size})->{out});
		my ($distant) = grep { $_->{id} eq 'distant-ranks' } @{ $advice->{problems} };
		if ($size == 2) {
			ok(!$distant, 'who talks within nodes is not told of distant ranks') or diag explain $distant;
			next;
		}
		cmp_ok($distant->{seconds} // 0, '>', 0, 'who talks across is');
		is_deeply([map { "$_->{function} @{$_->{ranks}}" } grep { $_->{function} eq 'MPI_Recv' } @{ $distant->{places} // [] }],
			['MPI_Recv 0 2'], '... those ranks that receive from the other switch') or diag explain $distant;
	}
};

done_testing;
