# SPDX-License-Identifier: GPL-2.0-or-later
# Who runs the program itself in a probe: the job that asked for it (PRECEDENT_PARTIAL=1 when it was traced) where the
# administrator leaves it to jobs, all jobs where it is on, none where it is forbidden.
use strict;
use warnings;

use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

empty_skeletons();
my @run = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2, program('heat'), 256, 1000);

# A job's directory with one trace; asked: what its environment says, or undef.
sub job {
	my ($number, $asked) = @_;
	local $ENV{PRECEDENT_PARTIAL} = $asked;
	delete $ENV{PRECEDENT_PARTIAL} if !defined $asked;
	mkdir $number or die "$number: $!";
	my $r = precedent('trace', '-q', '-o', "$number/0.ptrace", '--', @run);
	die "no trace: $r->{err}" if $r->{rc} != 0 || !-s "$number/0.ptrace";
	return $number;
}

# What the record of a probe says of it: 'ran', why not, or '' for nothing at all.
sub probed {
	my ($job, $candidate, @options) = @_;
	my $r = precedent('probe', '--dir', $job, '--candidate', $candidate, @options, '--seconds', 0.2);
	my $record = $r->{rc} == 0 ? slurp("$job/probe.$candidate.result") : '';
	like($record, qr/^status ok$/m, "a probe of job $job, @options") or diag $r->{err};
	return $record =~ /^partial 0 whole_s \S+ lo_s \S+ hi_s \S+ ran_s \S+$/m ? 'ran' : $record =~ /^unpartial (.*)$/m ? $1 : '';
}

my $asked = job(1, '1');
my $why = probed($asked, 'home', '--source');
plan skip_all => "no sandbox here: $why" if $why =~ /namespaces|sandbox/;
is($why, 'ran', 'a job that asked for it, where it is off: the program itself is run');
is(probed($asked, 'away'), 'ran', '... on the other candidate too');
is(probed($asked, 'forbidden', '--partial=never'), '', '... but not where it is never, and that is no complaint');
my $silent = job(2);
{
	local $ENV{PRECEDENT_PARTIAL} = '1'; # of the probe: it is not asked
	is(probed($silent, 'home', '--source'), '', 'a job that did not ask, where it is off: it is not run');
}
is(probed($silent, 'on', '--partial=on'), 'ran', '... where it is on, it is');
my $declined = job(3, '0');
is(probed($declined, 'home', '--source'), '', 'PRECEDENT_PARTIAL=0 asks for nothing');

my $r = precedent('probe', '--dir', 1, '--candidate', 'a', '--partial=maybe');
is($r->{rc}, 2, 'anything else is refused');
ok(!glob('*/partial.*.{home,away,on}'), 'nothing is left of the sandboxes');

done_testing();
