# SPDX-License-Identifier: GPL-2.0-or-later
# skel.ops and precedent-replay: what is interpreted makes the very calls of what is compiled, with the same parameters,
# on every rank; and damaged or foreign operations are refused.
use strict;
use warnings;

use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command top);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n');
my $include = "$ENV{PRECEDENT_LIBDIR}/include";
my $library = "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a";
my $replay = "$ENV{PRECEDENT_LIBDIR}/precedent-replay";

sub trace_ranks {
	my ($ranks, $file, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, $ranks, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return $file;
}

# Sources of the runtime that call MPI for the program; what the others call is their own begin and end.
my %program = map { $_ => 1 } qw(buffer.c file.c handle.c synchronous.c window.c);
my $own = join '|', map { quotemeta } grep { !$program{$_} } map { s{.*/}{}r } glob top() . '/skelgen/runtime/*.c';

# The calls of a rank with their parameters, without those of the runtime's own.
sub sequence {
	my ($file, $rank) = @_;
	my @lines = grep { !/# \S+ \((?:$own):\d+\)/ } split /\n/, precedent('info', $file, '--events', $rank)->{out};
	return [ map { /\b(MPI_\w+\(.*?\))(?:\s+#.*)?$/ ? $1 : () } @lines ];
}

# The first difference, or nothing.
sub difference {
	my ($one, $other) = @_;
	for my $i (0 .. ($#$one > $#$other ? $#$one : $#$other)) {
		my ($x, $y) = ($one->[$i] // 'nothing', $other->[$i] // 'nothing');
		return "call $i: $x, but $y" if $x ne $y;
	}
	return '';
}

sub same_calls {
	my ($ranks, $one, $other, $title) = @_;
	my $calls = 0;
	for my $rank (0 .. $ranks - 1) {
		my ($x, $y) = (sequence($one, $rank), sequence($other, $rank));
		$calls += @$x;
		is(difference($x, $y), '', "$title, rank $rank");
	}
	cmp_ok($calls, '>', 5 * $ranks, "$title: there are calls");
	return;
}

mkdir 'files' or die "files: $!";
# exact: the program's own calls come back as they are, not only equivalent ones.
my @programs = (
	['exact', 3, 'heat', 96, 40, 10, 'isend'], ['exact', 4, 'lu'], ['exact', 3, 'ring'], ['exact', 3, 'rma', 2000, 20],
	['', 4, 'cg'], ['', 3, 'master_worker'], ['', 2, 'mpiio', 'files', 64, 6], ['', 2, 'calls', 'full'],
	['', 2, 'calls_more', 'files/one', 'full'], ['', 2, 'calls_f08'], ['', 2, 'conform_comms'], ['', 2, 'conform_sentinels'],
);
for my $p (@programs) {
	my ($exact, $ranks, $name, @arguments) = @$p;
	my $title = join ' ', $name, @arguments, "on $ranks";
	trace_ranks($ranks, 'program.ptrace', program($name), @arguments);
	my $made = precedent('skeleton', 'program.ptrace', '-o', 'skel', '--seconds', 1000);
	is($made->{rc}, 0, "$title: a skeleton is made") or diag $made->{err};
	ok(-s 'skel/skel.ops', "$title: with its operations");
	is(run_command('mpicc', '-std=gnu11', '-O1', "-I$include", '-o', 'skel/skel', 'skel/skel.c', $library, '-lm')->{rc}, 0,
		"$title: it compiles");
	my @how = '--empty-loop'; # calls count here; kernels take seconds to calibrate: see below
	trace_ranks($ranks, 'compiled.ptrace', getcwd() . '/skel/skel', @how, '--result', 'compiled');
	trace_ranks($ranks, 'interpreted.ptrace', $replay, 'skel/skel.ops', @how, '--result', 'interpreted');
	same_calls($ranks, 'compiled.ptrace', 'interpreted.ptrace', "$title: compiled and interpreted make the same calls");
	same_calls($ranks, 'program.ptrace', 'interpreted.ptrace', "$title: interpreted it makes the program's calls") if $exact;
	my ($c, $i) = map { my $t = slurp($_); +{ $t =~ /^(program|ranks|events|traced_s|confidence|left_\w+) (\S+)/mg } } qw(compiled interpreted);
	is_deeply($i, $c, "$title: it says the same about the program");
	is($i->{"left_$_"}, 0, "$title: it leaves no $_") for qw(requests comms);
}

# ---- persistent sends in ready mode: standard ones here, which cannot come too early; each start sends ----

my @ready = qw(Send_init Recv_init Start Wait);
trace_ranks(2, 'ready.ptrace', program('ready'), 20);
is(precedent('skeleton', 'ready.ptrace', '-o', 'ready', '--seconds', 1000)->{rc}, 0, 'ready sends: a skeleton is made');
trace_ranks(2, 'again.ptrace', $replay, 'ready/skel.ops', '--empty-loop', '--result', 'again');
for my $rank (0, 1) {
	my $calls = sequence('again.ptrace', $rank);
	is_deeply([ map { my $f = $_; scalar grep { /^MPI_$f\(/ } @$calls } @ready ], [ 1 - $rank, $rank, 20, 20 ], "ready sends: all calls of rank $rank");
}
is({ slurp('again') =~ /^(left_\w+) (\S+)/mg }->{left_requests}, 0, 'ready sends: no request is left');

# ---- cut ----

trace_ranks(2, 'heat.ptrace', program('heat'), 128, 2000, 10);
is(precedent('skeleton', 'heat.ptrace', '-o', 'cut', '--scale', 5)->{rc}, 0, 'a skeleton is cut to a fifth');
my ($ran, %r);
for (1 .. 5) { # the machine may stall outside of the windows that are measured
	$ran = run_command(@mpirun, 2, $replay, 'cut/skel.ops', '--calibrate', 'source', '--result', 'result');
	%r = slurp('result') =~ /^(skel_s|ran_s) (\S+)$/mg;
	last if $ran->{rc} != 0 || $r{skel_s} > 2 * $r{ran_s};
}
is($ran->{rc}, 0, 'its operations run and calibrate') or diag $ran->{err};
is($ran->{out}, '', 'with --result nothing is printed');
like(slurp('result'), qr/^loop 0 200 \d+ [0-9.]+$/m, 'the loop is sampled');
cmp_ok($r{skel_s}, '>', 2 * $r{ran_s}, 'what was left out is accounted for');
is(run_command(@mpirun, 2, $replay, 'cut/skel.ops', '--calibration', 'source', '--result', 'target')->{rc}, 0,
	'it runs with the calibration of another machine');

empty_skeletons();

# ---- where there is no compiler ----

# A directory with every program of the system but the compilers of MPI programs, to be the PATH.
mkdir 'tools' or die "tools: $!";
for my $program (glob '/usr/bin/* /bin/*') {
	my ($name) = $program =~ m{([^/]+)$};
	symlink $program, "tools/$name" if $name !~ /^mpi(?:cc|cxx|c\+\+|f\w+)/ && !-l "tools/$name";
}

subtest 'without a compiler' => sub {
	my ($scontrol) = $ENV{PATH} =~ /^([^:]+):/; # there is no Slurm
	local $ENV{PATH} = join ':', $scontrol, getcwd() . '/tools';
	my $why = qr/the skeleton cannot be compiled here: mpicc cannot be run on \S+: No such file or directory/;
	my $r = precedent('predict', '--seconds', 1, 'heat.ptrace');
	is($r->{rc}, 0, 'predict');
	like($r->{err}, qr/\Aprecedent: the skeleton is interpreted: $why\n\z/, '... says in a line that it interprets, and why');
	my $told = qr/^predicted +\S+(?: \S+)? \(.*\)\ntraced +.*\n(?: +\(.*\n)*skeleton +ran .* of 2 ranks /;
	like($r->{out}, $told, '... and predicts');
	my $json = decode_json(precedent('predict', '--seconds', 1, '--json', 'heat.ptrace')->{out});
	like($json->{interpreted}, qr/\A$why\z/, '... in JSON too');
	ok($json->{lo_s} <= $json->{predicted_s} && $json->{predicted_s} <= $json->{hi_s}, '... with its interval');
	my $traced = decode_json(precedent('info', '--json', 'heat.ptrace')->{out});
	is_deeply([@$json{qw(ranks events)}], [@$traced{qw(ranks events)}], '... for all ranks and calls of the trace');

	mkdir '7' or die "7: $!";
	symlink '../heat.ptrace', '7/0.ptrace' or spew('7/0.ptrace', slurp('heat.ptrace'));
	for my $probe (['home', '--source'], ['away']) {
		my ($candidate, @options) = @$probe;
		my $p = precedent('probe', '--dir', '7', '--candidate', $candidate, @options, '--seconds', 1);
		is($p->{rc}, 0, "a probe, $candidate") or diag $p->{err};
		like(slurp("7/probe.$candidate.result"), qr/^status ok\n(?:.*\n)*interpreted $why\n/m, '... its result says that it interpreted');
	}
	ok(!-e '7/skel.0/skel', '... nothing was compiled');
	ok(-s '7/skel.0/calibration', '... and the source is calibrated');

	my $doctor = precedent('doctor')->{out};
	like($doctor, qr/^warn  mpicc +not in PATH: skeletons are interpreted on this node, not compiled: /m, 'doctor warns');
	like($doctor, qr/^ok +interpreter +for Open MPI: \S+precedent-replay$/m, '... and names the interpreter');

	# A wrapper whose compiler is gone.
	mkdir 'broken' or die "broken: $!";
	spew('broken/mpicc', "#!/bin/sh\nexit 7\n");
	chmod 0755, 'broken/mpicc';
	local $ENV{PATH} = getcwd() . "/broken:$ENV{PATH}";
	$r = precedent('predict', '--seconds', 1, 'heat.ptrace');
	is($r->{rc}, 0, 'a compiler that does not work: predict');
	like($r->{err}, qr/\Aprecedent: the skeleton is interpreted: mpicc failed on \S+skel\.c \(exit 7\)\n\z/, '... says so');
};

# The launcher must be MPICH's, though there is no wrapper to name it.
subtest 'without a compiler, a program of MPICH' => sub {
	my $heat = Testbed::build_dir() . '/tests/programs-mpich/heat';
	my ($launcher) = grep { -x } map { "$_/mpirun.mpich" } split /:/, $ENV{PATH};
	plan skip_all => 'MPICH is not installed' if !$launcher || !-x $heat;
	is(precedent('trace', '-q', '-o', 'mpich.ptrace', '--', $launcher, '-n', 2, $heat, 64, 400)->{rc}, 0, 'a trace');
	local $ENV{PATH} = join ':', $ENV{PATH} =~ /^([^:]+):/, getcwd() . '/tools';
	my $r = precedent('predict', '--seconds', 0.5, 'mpich.ptrace');
	is($r->{rc}, 0, 'predict') or diag $r->{err};
	like($r->{err}, qr/\Aprecedent: the skeleton is interpreted: .*\n\z/, '... says that it interprets');
	like($r->{out}, qr/^skeleton +ran .* of 2 ranks /m, '... and predicts');
};

subtest 'without a compiler and without the interpreter' => sub {
	mkdir 'alone' or die "alone: $!";
	symlink $_, 'alone/' . s{.*/}{}r for grep { !/precedent-replay/ } glob "$ENV{PRECEDENT_LIBDIR}/*";
	local $ENV{PATH} = join ':', $ENV{PATH} =~ /^([^:]+):/, getcwd() . '/tools';
	local $ENV{PRECEDENT_LIBDIR} = getcwd() . '/alone';
	# Beside the program its build directory would be looked through.
	my $program = getcwd() . '/alone/precedent';
	is(run_command('cp', Testbed::build_dir() . '/precedent', $program)->{rc}, 0, 'the program apart');
	my $r = run_command('timeout', 300, $program, 'predict', '--seconds', 1, 'heat.ptrace');
	my $missing = qr/the skeleton cannot be compiled here: .*; and it cannot be interpreted: precedent-replay is not installed/;
	like($r->{out} . $r->{err}, $r->{rc} ? qr/\Aprecedent: nothing to predict: $missing; partial execution: [^\n]*\n\z/ : qr/^skeleton   none: $missing$/m,
		'the program itself predicts, or nothing does: what is missing is said');
	my $doctor = run_command('timeout', 300, $program, 'doctor')->{out};
	like($doctor, qr/^FAIL  mpicc +not in PATH: skeletons cannot be compiled on this node/m, 'doctor fails');
	like($doctor, qr/^warn  interpreter +precedent-replay is not installed/m, '... and misses the interpreter too');
};

# ---- wrong use ----

my $ops = slurp('cut/skel.ops');
my %bad = (
	cut => substr($ops, 0, length($ops) - 8),
	odd => substr($ops, 0, length($ops) - 3),
	empty => '',
	text => 'int main(void) { return 0; }   ',
	flipped => do { my $t = $ops; substr($t, 500, 1) ^= "\x10"; $t },
	version => do { my $t = $ops; substr($t, 8, 1) = "\x7f"; $t },
);
spew("$_.ops", $bad{$_}) for keys %bad;
my @wrong = (
	[[2, $replay, 'nowhere.ops'], 'No such file', 'a file that is not there'],
	[[2, $replay, '.'], 'is not the operations', 'a directory'],
	[[2, $replay, 'cut.ops'], 'cut short', 'a file that is cut'],
	[[2, $replay, 'odd.ops'], 'is not the operations', 'part of a word'],
	[[2, $replay, 'empty.ops'], 'is not the operations', 'an empty file'],
	[[2, $replay, 'text.ops'], 'is not the operations', 'a text'],
	[[2, $replay, 'flipped.ops'], 'is damaged', 'a flipped bit'],
	[[2, $replay, 'version.ops'], 'another version', 'another version'],
	[[3, $replay, 'cut/skel.ops'], 'cannot run on 3', 'another number of ranks'],
	[[2, $replay, 'cut/skel.ops', '--what'], 'unknown argument', 'an unknown argument'],
);
for my $w (@wrong) {
	my ($command, $says, $what) = @$w;
	my $run = run_command('timeout', 300, @mpirun, @$command);
	isnt($run->{rc}, 0, "$what is refused");
	isnt($run->{rc}, 124, "$what: at once");
	like($run->{err}, qr/^(?:precedent-replay|skeleton): .*\Q$says\E/m, "$what: it says why");
}
my $help = run_command($replay, '--help');
is($help->{rc}, 0, '--help');
like($help->{out}, qr/^Usage: .*precedent-replay/, '... says how it is used');

done_testing;
