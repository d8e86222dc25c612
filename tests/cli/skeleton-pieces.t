# SPDX-License-Identifier: GPL-2.0-or-later
# Programs whose steps differ: the skeleton is small and short however long the run is, it runs to its end, and it stands for the
# whole run. Kinds of programs: tests/programs/irregular.c.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use JSON::PP;
use List::Util qw(max);
use Test::More;
use Testbed qw(run_command build_dir);

my $LINES = 5000;      # of skel.c
my $BYTES = 8 << 20;   # of skel.c.data
my $WORK = 100;        # operations of a unit of work: calls matter here, not computation

# Programs whose ranks wait for each other at each step have two: where three share two processors, each step takes long.
my %RANKS = ((map { $_ => 2 } qw(steps solver panels refine teams ahead double)),
	(map { $_ => 3 } qw(farm early fetch some branch posted any batch held exact)));

sub run { return ('mpirun', '--oversubscribe', '-n', $RANKS{$_[0]}) }

sub traced {
	my ($file, @arguments) = @_;
	my @trace = (build_dir() . '/precedent', 'trace', '-q', '-o', $file, '--', run($arguments[0]), program('irregular'), @arguments, $WORK);
	my $r = run_command('timeout', '--kill-after=5', patience(600), @trace); # beside ten others, ranks wait long for each other
	return $r->{rc} == 0 && -s $file ? $file : die "no trace: exit status $r->{rc}, $r->{err}\n";
}

sub lines_of { return scalar(() = slurp($_[0]) =~ /\n/g) }

for my $case (['steps', 400], ['solver', 100], ['panels', 3000], ['refine', 6000], ['farm', 3000], ['early', 3000], ['fetch', 3000], ['some', 1500], ['branch', 3000],
	['teams', 1600], ['ahead', 2000], ['posted', 750], ['any', 1500], ['batch', 3000],
	['double', 400], ['held', 3000], ['exact', 3000]) {
	my ($kind, $steps) = @$case;
	for my $times (1, 4) {
		my $seconds = 0.1;
		my ($used, $judged);
		# A starved trace has few pieces that are short enough: then the program is traced again.
		for my $try (1 .. 3) {
			my $trace = traced("$kind.$times.ptrace", $kind, $times * $steps);
			my $made = precedent('skeleton', $trace, '-o', "$kind.$times", '--seconds', $seconds);
			is($made->{rc}, 0, "$kind, $times times: a skeleton is made") or diag $made->{err};
			my $report = slurp("$kind.$times/report.txt");
			my ($planned) = $report =~ /planned run time ([\d.]+) s/;
			my $rounds = $report =~ /^of them .*, (\d+) times each$/m ? $1 : 1;
			cmp_ok(lines_of("$kind.$times/skel.c"), '<=', $LINES, '... small');
			cmp_ok(-s "$kind.$times/skel.c.data", '<=', $BYTES, '... with little data');
			cmp_ok($planned, '<=', 1.1 * $seconds, '... short');
			$used = max($planned / $rounds / $seconds, lines_of("$kind.$times/skel.c") / $LINES);
			# Of refine, whose pieces are long, there is sometimes one.
			$judged = $report =~ /^of them/m && $times == 4 && $kind ne 'refine';
			last if !$judged || $used > 0.1;
		}
		cmp_ok($used, '>', 0.1, '... and no smaller than it must be') if $judged;
	}
}

# The same trace has the same skeleton, byte by byte.
for my $kind (qw(farm some)) {
	is(precedent('skeleton', "$kind.4.ptrace", '-o', "$kind.again", '--seconds', 0.1)->{rc}, 0, "$kind: a skeleton is made again");
	is(slurp("$kind.again/$_"), slurp("$kind.4/$_"), "... with the same $_") for qw(skel.c skel.c.data skel.ops report.txt);
}

# Pieces run in rounds for about so many seconds.
sub in_rounds {
	my ($name, $seconds) = @_;
	my $source = slurp("$name/skel.c");
	$source =~ s/^\t\.rounds_s = .*\n//m;
	$source =~ s/^(\t\.bsend_bytes = .*\n)/$1\t.rounds_s = $seconds,\n/m;
	$source =~ s/^\tdo\n(\t\trun\(.*\);\n)\twhile .*\n/$1/m;
	$source =~ s/^\t+(run\(.*\);\n)\tskel_end/\tdo\n\t\t$1\twhile (skel_again());\n\tskel_end/m;
	spew("$name/skel.c", $source);
	return run_command('make', '-s', '-C', $name)->{rc} == 0;
}

# It runs to its end without a request left, and stands for all calls. It may run in rounds.
for my $kind (qw(refine farm early fetch some teams ahead posted any batch double held exact)) {
	in_rounds("$kind.4", 0.3) or fail("$kind: the skeleton does not compile");
	my $r = run_command('timeout', patience(300), run($kind), "$kind.4/skel", '--empty-loop');
	is($r->{rc}, 0, "$kind: the skeleton ends") or diag $r->{err};
	like($r->{out}, qr/^left_requests 0$/m, '... and leaves no request');
	my ($calls) = slurp("$kind.4/report.txt") =~ /^calls (\d+),/m;
	like($r->{out}, qr/^events $calls$/m, '... and stands for the whole run');
}

# A skeleton that is told twice which pieces it is made of, or gets other arrays of how late ranks are, refuses to run.
my $source = slurp('teams.4/skel.c');
for my $bad ([qr/^(\tskel_pieces\(.*\);)$/m, sub { "$1\n$1" }, qr/told twice which pieces/, 'pieces told twice'],
	[qr/^\tskel_late\(\d+\);$/m, sub { "\tskel_late(0);" }, qr/skel\.c\.data is damaged/, 'an array of another length'],
	[qr/^(\tskel_pieces\(.*\);)\n(\tskel_late\(\d+\);)$/m, sub { "$2\n$1" }, qr/skel\.c\.data is damaged/, 'late before there are pieces']) {
	my ($line, $other, $says, $what) = @$bad;
	SKIP: {
		my $changed = $source =~ s/$line/$other->()/er;
		skip "$what: ranks share processors, or messages are under way", 2 if $changed eq $source && $source !~ /skel_late/;
		spew('teams.4/skel.c', $changed);
		run_command('make', '-s', '-C', 'teams.4')->{rc} == 0 or fail("$what: it does not compile");
		my $r = run_command('timeout', patience(300), run('teams'), 'teams.4/skel', '--empty-loop');
		isnt($r->{rc}, 0, "$what: refused");
		like($r->{err}, qr/^skeleton: rank \d+: .*$says/m, '... it says why');
	}
}

# Pieces that are far shorter than the budget and the run are to run in rounds, and the time told is that of one round.
{
	my @run = ('mpirun', '--oversubscribe', '-n', 2);
	my @program = (@run, program('irregular'), 'fetch', 60000, 0);
	is(precedent('trace', '-q', '-o', 'rounds.ptrace', '--', @program)->{rc}, 0, 'rounds: traced');
	is(precedent('skeleton', 'rounds.ptrace', '-o', 'rounds', '--seconds', 1)->{rc}, 0, '... a skeleton is made');
	like(slurp('rounds/report.txt'), qr/^of them \d+ calls .* are run, \d+ times each$/m, '... in rounds');
	like(slurp('rounds/skel.c'), qr/^\tdo\n\t\trun\(.*\);\n\twhile \(skel_again\(\)\);$/m, '... in its source');
	my (%calls, %told);
	for my $seconds (0, 60) {
		in_rounds('rounds', $seconds) or fail("$seconds s of rounds: it does not compile");
		my @skeleton = (@run, 'rounds/skel', '--empty-loop');
		my $r = precedent('trace', '-q', '-o', "rounds.$seconds.ptrace", '--', @skeleton);
		is($r->{rc}, 0, "$seconds s of rounds: it ends") or diag $r->{err};
		($told{$seconds}) = $r->{out} =~ /^skel_s (\S+)$/m;
		$calls{$seconds} = decode_json(precedent('info', '--json', "rounds.$seconds.ptrace")->{out})->{events};
	}
	cmp_ok($calls{60}, '>', 50 * $calls{0}, 'a hundred rounds run');
	cmp_ok($told{60}, '<', 10 * $told{0}, '... and tell the time of one');
}

# A receive that is left would get a message of the next round: there is none.
# A communicator that is left is freed after each round.
for my $left (['requests', 'MPI_Irecv(NULL, 0, MPI_BYTE, 0, 9999, MPI_COMM_SELF, &req[0])'],
	['comms', 'MPI_Comm_dup(MPI_COMM_SELF, &comm[2])']) {
	my ($what, $call) = @$left;
	my $source = slurp('ahead.4/skel.c');
	like($source, qr/^\tskel_pieces\(/m, "$what left: of pieces");
	$source =~ s/n_comms = 2,/n_comms = 3,/;
	$source =~ s/^(\twhile \()(?:MPI_.* && )?(?=skel_again)/$1$call == MPI_SUCCESS && /m or fail('no rounds');
	spew('ahead.4/skel.c', $source);
	run_command('make', '-s', '-C', 'ahead.4')->{rc} == 0 or fail("$what left: it does not compile");
	my $r = run_command('timeout', patience(300), run('ahead'), 'ahead.4/skel', '--empty-loop');
	is($r->{rc}, 0, "$what left: it ends") or diag $r->{err};
	like($r->{out}, qr/^left_$what 2$/m, '... and says so, once for each rank') or diag $r->{out};
}

done_testing;
