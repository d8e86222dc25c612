# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that compute longer between two calls than a skeleton may run, in no loop that could be cut: a share of each
# computation runs and stands for all of it, also where ranks wait for each other's in turn.
use strict;
use warnings;

use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2);

sub trace {
	my ($file, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return;
}

sub skeleton {
	my ($file, @options) = @_;
	my $r = precedent('skeleton', $file, '-o', 'skel', '--compile', @options);
	is($r->{rc}, 0, "$file: a skeleton is made") or diag $r->{err};
	return ($r, slurp('skel/skel.c'), slurp('skel/report.txt'));
}

sub result { return { map { /^(\w+) (\S+)$/ ? ($1 => $2) : () } split /\n/, slurp('result') } }

# The calls of a rank.
sub calls {
	my ($file, $rank) = @_;
	return [map { /\b(MPI_(?:Allreduce|Reduce|Bcast|Send|Recv)\(.*?\))/ ? $1 : () } split /\n/,
		precedent('info', $file, '--events', $rank)->{out}];
}

# Four turns of a second; a rank sleeps two of them. Without the meetings each rank would add its own two only.
trace('alternate.ptrace', program('alternate'), 1000, 4);
my ($made, $source, $report) = skeleton('alternate.ptrace', '--seconds', 1);
like($source, qr/^\tskel_share\(200000000, 0\.\d+\);$/m, 'alternate: a share of long computations runs');
like($source, qr/skel_gap\(\d+\);[^\n]*\n\s*skel_meet\(MPI_COMM_WORLD\);\n\s*\/\*[^\n]*\n\s*MPI_Allreduce/, 'alternate: clocks meet before the call that waits for all');
like($report, qr/of every computation between two calls longer than 0\.2 s, [0-9.]+ % run, at least 0\.2 s/, 'alternate: the report says so');
unlike($report, qr/none is cut/, 'alternate: and does not say the contrary');
my ($share) = $source =~ /skel_share\(200000000, (0\.\d+)\)/;
# A busy machine keeps a rank from its processor when its sleep is over: that is taken out.
my ($delayed, $unit) = $made->{out} =~ /others had a rank's processor for ([\d.]+) (ms|s)/ ? ($1, $2) : (0, 's');
$delayed /= 1000 if $unit eq 'ms';
for my $way (['compiled', 'skel/skel'], ['interpreted', "$ENV{PRECEDENT_LIBDIR}/precedent-replay", 'skel/skel.ops']) {
	my ($name, @command) = @$way;
	my $r;
	for (1 .. 5) { # the machine may stall where the skeleton waits
		my $run = run_command('timeout', 300, @mpirun, @command, '--result', 'result');
		is($run->{rc}, 0, "alternate, $name: it runs") or diag $run->{err};
		$r = result();
		last if $r->{ran_s} < 0.7 * $r->{skel_s};
	}
	cmp_ok($r->{ran_s}, '<', 0.7 * $r->{skel_s}, "alternate, $name: it takes less time than it stands for");
	ok(!exists $r->{computed_s}, "alternate, $name: it does not say what of that is computation");
	cmp_ok($r->{skel_s}, '>', 0.8 * (4 - $delayed), "alternate, $name: turns are added up that ranks wait for");
	cmp_ok($r->{skel_s}, '<', $r->{ran_s} / $share, "alternate, $name: each of them once: no second stands for more than was cut");
	cmp_ok($r->{lo_s}, '<=', $r->{skel_s}, "alternate, $name: the interval holds the estimate (low)");
	cmp_ok($r->{hi_s}, '>=', $r->{skel_s}, "alternate, $name: the interval holds the estimate (high)");
}
trace('again.ptrace', 'skel/skel', '--result', 'result');
for my $rank (0, 1) {
	my @again = @{calls('again.ptrace', $rank)};
	is(scalar(grep { /count=1, type=MPI_INT, op=MPI_SUM/ && /Allreduce/ } @again), 4, "alternate: rank $rank makes its four calls");
}

# One computation of seconds, then reductions.
trace('ep.ptrace', program('ep'), 200);
($made, $source, $report) = skeleton('ep.ptrace', '--scale', 3);
like($source, qr/skel_share\(200000000, /, 'ep: a share of its one computation runs');
my ($ran, $stands) = (1, 0);
for (1 .. 5) { # the machine may stall
	is(run_command('timeout', 300, @mpirun, 'skel/skel', '--result', 'result')->{rc}, 0, 'ep: it runs');
	($ran, $stands) = @{result()}{qw(ran_s skel_s)};
	last if $stands > 1.5 * $ran;
}
cmp_ok($stands, '>', 1.5 * $ran, 'ep: and stands for more than it runs');

# Nothing long, or nothing to save.
trace('heat.ptrace', program('heat'), 96, 40);
(undef, $source) = skeleton('heat.ptrace', '--scale', 2);
unlike($source, qr/skel_share|skel_meet/, 'heat: short computations run whole');
(undef, $source, $report) = skeleton('ep.ptrace', '--seconds', 1000);
unlike($source, qr/skel_share|skel_meet/, 'ep: within the budget it runs whole');
like($report, qr/none is cut/, 'ep: and the report says so');

done_testing();
