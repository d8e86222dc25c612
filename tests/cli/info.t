#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent info: the screen (facts, split, balance, calls, loops, messages), what fits where, the JSON behind it, and the
# check of a file for damage.
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Encode qw(decode);
use File::Copy qw(copy);
use JSON::PP qw(decode_json);
use List::Util qw(sum max);
use POSIX qw(mkfifo);
use Test::More;

binmode(Test::More->builder->$_, ':utf8') for qw(output failure_output);

# The screen in a locale of block characters or a plain one.
sub screen {
	my ($locale, @arguments) = @_;
	local $ENV{LC_ALL} = $locale;
	my $r = precedent('info', @arguments);
	is($r->{rc}, 0, "info @arguments") or diag $r->{err};
	return decode('UTF-8', $r->{out});
}

sub json_of {
	my $r = precedent('info', '--json', @_);
	is($r->{rc}, 0, "info --json @_") or diag $r->{err};
	return eval { decode_json($r->{out}) } // {};
}

my $heat;
for (1 .. 3) { # the run takes some ms: on a busy machine no call site may have a part of them that counts
	$heat = trace_of('heat.ptrace', 'heat', 64, 500);
	last if precedent('info', $heat)->{out} =~ / % in MPI, largest: /;
}

sub traced {
	my ($file, $ranks, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', 'mpirun', '--oversubscribe', '-n', $ranks, @command);
	is($r->{rc}, 0, "trace of @command") or diag $r->{err};
	return $file;
}

subtest 'more ranks than processors' => sub {
	my $ranks = 2 * Testbed::run_command('nproc')->{out};
	plan skip_all => 'too many processors to be crowded' if $ranks > 64;
	my $crowd = traced('crowd.ptrace', $ranks, '--bind-to', 'none', program('heat'), 400, 200);
	my ($info, $advise) = map { precedent($_, $crowd)->{out} } qw(info advise);
	like($info, qr/^  crowded  $ranks ranks on \S+ share \d+ processors?: all times hold waits for a turn\n\n\d+ % computing/m, 'info says it before any figure');
	like($advise, qr/\A(?:\S.*\n)+\nRanks lack processors, which lengthens all that follows:\n\n[^\n]* %  more ranks than processors: /, 'it is the first problem of advise');
	unlike(screen('C.UTF-8', $heat), qr/crowded/, 'nothing of it where each rank has a processor');
};

subtest 'the screen' => sub {
	my $text = screen('C.UTF-8', $heat);
	like($text, qr/\Aheat\.ptrace: 2 ranks, [\d,]+ events, [\d.]+ m?s, /, 'one line of facts');
	like($text, qr/^  on 1 node \(.+\), Open MPI/m, 'where it ran');
	like($text, qr/^\d+ % computing, \d+ % in MPI, largest: MPI_\w+ in \S+ \(heat\.c:\d+\), \d+ %$/m, 'the answer');
	like($text, qr/^(?:Balanced: rank [01] computes longest, and costs|Not balanced: rank [01] computes [\d.]+ % longer than the mean, )/m, 'balanced or not');
	like($text, qr/^  computing +[█▏▎▍▌▋▊▉]* +[\d.]+ %/m, 'the split has bars');
	like($text, qr/^  computing  [▁▂▃▄▅▆▇█]{2}  .* \(rank [01]\) to .* \(rank [01]\), mean /m, 'a bar for each rank');
	like($text, qr/^ +[\d.]+ % .* MPI_Sendrecv +\S+ \(heat\.c:\d+\)$/m, 'call sites');
	like($text, qr/^ +[\d.]+ % +50 +\S+ \S+ +\d+ %  [▁▂▃▄▅▆▇█ ]+ main \(heat\.c:\d+\)$/m, 'the loop of 10 steps each');
	like($text, qr/^ +[\d.]+ % +50 x 10 /m, 'and the steps in it');
	like($text, qr/^Messages: 1,000 of /m, 'messages');
	like($text, qr/busiest of 2 pairs: .*0→1 /, 'who sends to whom');
	like($text, qr/^  counted  .*MPI_Comm_rank 2/m, 'functions that are only counted');
	my ($tracer) = $text =~ /^  tracer   (.*)$/m;
	my ($ns) = $tracer =~ /^(\d+) ns a call, [\d.]+ % of the time/;
	my ($pauses) = $tracer =~ /([\d.]+ \w+) \([\d.]+ %\) in pauses$/;
	my $json = json_of($heat);
	cmp_ok(abs(($ns // 0) * 1e-9 * $json->{events} + ($pauses ? $json->{paused_s} : 0) - $json->{overhead_s}), '<=', 1e-9 * $json->{events},
		'what the tracer took: calls, and pauses if they were long');
	cmp_ok(scalar split(/\n/, $text), '<=', 42, 'all on one screen');
	unlike($text, qr/\e/, 'no colours where there is no terminal');
};

subtest 'a plain terminal' => sub {
	local $ENV{COLUMNS} = 80;
	my $text = screen('C', $heat);
	unlike($text, qr/[^\x00-\x7f]/, 'ASCII in a locale without block characters');
	# On a busy machine the computing of so short a run is less than one mark.
	like($text, qr/^  (?:computing|send and receive|collectives) +#+ /m, 'bars of another kind');
	unlike($text, qr/^.{81,}$/m, 'lines fit into $COLUMNS');
	local $ENV{COLUMNS} = 130;
	unlike(screen('C.UTF-8', $heat), qr/^.{131,}$/m, 'into wider ones too');
};

subtest 'all of it' => sub {
	my $text = screen('C.UTF-8', '--all', $heat);
	like($text, qr/^ +1 .* [\d,]+$/m, 'a row for each rank');
	like($text, qr/MPI_Finalize/, 'every call');
	like($text, qr/the slowest is number \d+/, 'the spread of loops');
	cmp_ok(length $text, '>', length screen('C.UTF-8', $heat), 'more than without --all');
	is(screen('C.UTF-8', '-a', $heat), $text, '-a is short for it');
};

subtest 'JSON' => sub {
	my $j = json_of($heat);
	is($j->{ranks}, 2, 'ranks');
	is($j->{messages}, 1000, 'messages: two steps of 500 on each of two ranks');
	is(sum(map { $_->{messages} } @{ $j->{message_sizes} }), 1000, 'by size');
	is(sum(map { $_->{messages} } @{ $j->{pairs} }), 1000, 'by pair');
	is_deeply([sort map { "$_->{from} $_->{to}" } @{ $j->{pairs} }], ['0 1', '1 0'], 'of neighbours');
	is(sum(map { $_->{bytes} } @{ $j->{pairs} }), $j->{bytes_sent}, 'bytes add up');
	my $whole = $j->{compute_s} + $j->{mpi_s} + $j->{polling_s};
	cmp_ok(abs(sum(map { @{ $_->{states_s} }{qw(waiting working sending receiving)} } @{ $j->{per_rank} }) - $whole), '<',
		1e-6 * $whole, 'states add up to the time of all ranks');
	my ($outer) = grep { $_->{iterations} == 50 } @{ $j->{loops_of}{loops} };
	my ($inner) = grep { $_->{iterations} == 500 } @{ $j->{loops_of}{loops} };
	ok($outer && $inner, 'the program\'s loops') or return;
	is($inner->{executions}, 50, 'the inner one is entered in every iteration of the outer one');
	is($j->{loops_of}{loops}[ $inner->{parent} ]{iterations}, 50, 'and lies in it');
	is($inner->{iterations_min}, 10, 'ten steps');
	cmp_ok($outer->{each_s}{min}, '<=', $outer->{each_s}{mean}, 'times of an iteration: least');
	cmp_ok($outer->{each_s}{max}, '>=', $outer->{each_s}{mean}, '... and most');
	cmp_ok(scalar @{ $outer->{curve_s} }, '==', 50, '... and all of them, being few');
	like($outer->{site}, qr/main \(heat\.c:\d+\)/, 'where it stands');
	is_deeply($j->{damage}, [], 'no damage');
};

subtest 'four ranks' => sub {
	my $lu = traced('lu.ptrace', 4, program('lu'));
	my $text = screen('C.UTF-8', $lu);
	like($text, qr/^Balance of 4 ranks$/m, 'balance');
	like($text, qr/^ *from\\to  0  1  2  3$/m, 'a matrix of few ranks');
	like($text, qr/^ +0    [░▒▓█]{2} [░▒▓█]{2} +$/m, 'who sends to whom: two neighbours of a corner');
	my $j = json_of($lu);
	is_deeply([sort map { "$_->{from}$_->{to}" } @{ $j->{pairs} }], [qw(01 02 10 13 20 23 31 32)], 'pairs of a 2 x 2 grid');
};

subtest 'master and workers' => sub {
	my $mw = traced('mw.ptrace', 3, program('master_worker'));
	my $j = json_of($mw);
	is_deeply([grep { $_->{from} && $_->{to} } @{ $j->{pairs} }], [], 'workers do not talk to each other');
};

subtest 'polls' => sub {
	my $poll = traced('poll.ptrace', 2, program('poll'));
	like(screen('C.UTF-8', $poll), qr/^  unsuccessful tests .* 2,000 calls$/m, 'tests that found nothing take time too');
	cmp_ok(json_of($poll)->{polling_s}, '>', 0, 'in the JSON too');
};

# Functions of C++ by names that need no compiler of it; c++filt gives the same, with the arguments.
subtest 'names of C++' => sub {
	my %name = (_ZN6Solver4GridC1EPNS_3BoxE => 'Solver::Grid::Grid', _ZN6Solver4GridD2Ev => 'Solver::Grid::~Grid', _ZN6Solver4GridEv => 'Solver::Grid',
		_ZN6Solver4sendISt6vectorI3BoxSaIS2_EEEEvRKT_ => 'Solver::send', _ZN6SolverIiLi3EE4stepEv => 'Solver::step',
		_ZNSt5queueIN3Box4CellEED1Ev => 'std::queue::~queue', _ZSt4sortIPdEvT_S1_ => 'std::sort', _ZN4TreeIA3_dE4growEv => 'Tree::grow',
		_ZN6Solver4callIXadL_Z1fvEEEEvv => '_ZN6Solver4callIXadL_Z1fvEEEEvv');
	open my $f, '>', 'grid.c' or die "grid.c: $!\n";
	print $f "#include <mpi.h>\n";
	for my $symbol (sort keys %name) {
		print $f "__attribute__((noinline)) void f$symbol(void) __asm__(\"$symbol\");\n",
			"void f$symbol(void) { MPI_Barrier(MPI_COMM_WORLD); __asm__ volatile(\"\"); }\n";
	}
	print $f 'int main(int c, char **v) { MPI_Init(&c, &v); ', map({ "f$_(); " } sort keys %name), "MPI_Finalize(); return 0; }\n";
	close $f or die "grid.c: $!\n";
	my $r = Testbed::run_command('mpicc', '-g', '-O1', '-o', 'grid', 'grid.c');
	is($r->{rc}, 0, 'a program with such names') or return diag $r->{err};
	my $text = screen('C.UTF-8', '--all', traced('grid.ptrace', 2, './grid'));
	like($text, qr/MPI_Barrier +\Q$_\E \(grid\.c:\d+\)$/m, $_) for values %name;
};

subtest 'check' => sub {
	my $r = precedent('info', '--check', $heat);
	is($r->{rc}, 0, 'a whole file');
	like($r->{out}, qr/\Aheat\.ptrace: sound: \d+ pages, [^\n]+\n\z/, 'is called sound');
	my $bytes = slurp($heat);
	$bytes =~ /PPG1\x04\0\0\0.{96}/s or die "no page of times\n"; # its header; then compressed data
	substr($bytes, $+[0] + 3, 1) ^= "\x10";
	spew('flipped.ptrace', $bytes);
	$r = precedent('info', '--check', 'flipped.ptrace');
	is($r->{rc}, 1, 'a flipped bit: fails');
	like($r->{out}, qr/\Aflipped\.ptrace: page \d+ \([^)]+\) at byte \d+: bad checksum\n\z/, 'names the page');
	like($r->{err}, qr/\Aprecedent: flipped\.ptrace: 1 of its pages [^\n]+\n\z/, 'and says so in one line');
	is(precedent('info', 'flipped.ptrace')->{rc}, 0, 'the rest is shown');
	spew('longer.ptrace', slurp($heat) . 'x');
	$r = precedent('info', '--check', 'longer.ptrace');
	is($r->{rc}, 1, 'an appended byte: fails');
	spew('shorter.ptrace', substr(slurp($heat), 0, -1));
	is(precedent('info', '--check', 'shorter.ptrace')->{rc}, 1, 'a missing one too');
	like(screen('C.UTF-8', 'shorter.ptrace'), qr/^  PARTIAL  the file is not whole.*^  damage   \S/ms, 'the screen says it');
};

# The trace says which files hold its symbols. Opening a pipe would wait for a writer.
subtest 'a module that is no file' => sub {
	copy(program('ring'), 'moved') && chmod 0755, 'moved' or die "copy: $!\n";
	traced('moved.ptrace', 2, './moved', 20, 8);
	unlink 'moved' or die "moved: $!\n";
	mkfifo('moved', 0600) or die "mkfifo: $!\n";
	like(screen('C.UTF-8', 'moved.ptrace'), qr/ moved\+0x/, 'sites are shown by their offsets');
};

subtest 'calls through a library' => sub {
	my $main = "#include <mpi.h>\nvoid meet(void), step(void); void step(void) { meet(); __asm__ volatile(\"\"); }\n"
		. "int main(int n, char **a)\n{\n\tMPI_Init(&n, &a);\n"
		. "\tfor (int i = 0; i < 10; i++)\n\t\tMEET();\n\tMPI_Barrier(MPI_COMM_WORLD);\n\treturn MPI_Finalize();\n}\n";
	spew('meet.c', "#include <mpi.h>\nvoid meet(void);\nvoid meet(void)\n{\n\tMPI_Barrier(MPI_COMM_WORLD);\n}\n");
	spew('user.c', $main);
	my %site;
	for (['-g0', 'step'], ['-g0', 'meet'], ['-g', 'meet']) {
		my ($lines, $meet) = @$_;
		for (['-shared', '-fPIC', '-o', 'libmeet.so', 'meet.c'], ['-o', 'user', 'user.c', '-L.', '-lmeet', '-Wl,-rpath,$ORIGIN']) {
			my $r = Testbed::run_command('mpicc', $lines, "-DMEET=$meet", @$_);
			is($r->{rc}, 0, "mpicc @$_") or diag $r->{err};
		}
		my $r = precedent('trace', '-q', '-o', "$meet$lines.ptrace", '--', 'mpirun', '--oversubscribe', '-n', 2, './user');
		is($r->{rc}, 0, "a trace of the program with $lines") or diag $r->{err};
		my $events = precedent('info', '--events', 0, "$meet$lines.ptrace")->{out};
		$site{"$meet$lines"}{$_}++ for $events =~ /MPI_Barrier.*# (.*)$/mg;
	}
	is_deeply($site{'meet-g'}, { 'main (user.c:7) via meet (meet.c:5)' => 10, 'main (user.c:8)' => 1 },
		'the line of the program comes first');
	is_deeply($site{'meet-g0'}, { 'meet (libmeet.so)' => 10, 'main (user)' => 1 }, 'if it is known');
	like(screen('C.UTF-8', 'meet-g.ptrace'), qr/^ .* 10 .*main \(user\.c:7\) via meet/m, 'so does that of the loop');
	is_deeply($site{'step-g0'}, { 'step (user) via meet (libmeet.so)' => 10, 'main (user)' => 1 },
		'without lines, the function that calls the library');
};

# Templates and inline functions of installed headers call MPI: the user's line is that of their call.
subtest 'calls through headers' => sub {
	spew('headers.cc', "#include <mpi.h>\nstatic void meet()\n{\n\tMPI::COMM_WORLD.Barrier();\n}\n"
		. "int main()\n{\n\tMPI::Init();\n\tmeet();\n\tMPI::Finalize();\n}\n");
	for my $level ('-O2', '-O0') {
		my $r = Testbed::run_command('mpicxx', '-g', $level, '-fno-ipa-icf', '-fno-inline-functions-called-once', '-o', 'headers', 'headers.cc');
		plan skip_all => 'mpi.h has no functions of C++' if $r->{rc} != 0;
		precedent('trace', '-q', '-o', 'headers.ptrace', '--', 'mpirun', '--oversubscribe', '-n', 2, './headers');
		like(precedent('info', '--events', 0, 'headers.ptrace')->{out}, qr/MPI_Barrier.*# (meet|main) \(headers\.cc:4\)/, "compiled with $level");
	}
};

# The lines of Python from which MPI is called: functions of the user's own file, and of a module that was installed.
subtest 'calls from Python' => sub {
	my $python = '/usr/bin/python3';
	my $known = 'import ctypes, sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 13))';
	plan skip_all => 'no Python from 3.8 to 3.13 here' if Testbed::run_command($python, '-c', $known)->{rc} != 0;
	my ($library) = Testbed::run_command('ldd', program('ring'))->{out} =~ /=> (\S*libmpi\.so\S*)/;
	plan skip_all => 'the programs are not of Open MPI' if !$library;
	mkdir 'site-packages';
	spew('site-packages/helper.py', "def pass_on(mpi, world):\n    mpi.MPI_Barrier(world)\n");
	spew('lines.py', <<"END");
import ctypes, sys
sys.path.insert(0, "site-packages")
import helper
mpi = ctypes.CDLL("$library", mode=ctypes.RTLD_GLOBAL)
world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
meet = lambda: mpi.MPI_Barrier(world)
def deep(n):
    if n:
        deep(n - 1)
    else:
        mpi.MPI_Barrier(world)
        mpi.MPI_Barrier(
            world)
mpi.MPI_Init(None, None)
for i in range(5):
    deep(i)
    meet()
    helper.pass_on(mpi, world)
mpi.MPI_Finalize()
END
	my $r = precedent('trace', '-q', '-o', 'lines.ptrace', '--', 'mpirun', '--oversubscribe', '-n', 2, $python, 'lines.py');
	is($r->{rc}, 0, 'a trace of Python') or diag $r->{err};
	my %site;
	$site{$_}++ for precedent('info', '--events', 0, 'lines.ptrace')->{out} =~ /MPI_Barrier.*# (.*)$/mg;
	is_deeply({ map { s/ via lib.*//r => $site{$_} } keys %site }, { 'deep (lines.py:11)' => 5, 'deep (lines.py:12)' => 5,
		'<lambda> (lines.py:6)' => 5, '<module> (lines.py:18) via pass_on (helper.py:2)' => 5 }, 'each line has its calls');
	(my $dies = slurp('lines.py')) =~ s/mpi.MPI_Finalize\(\)/import os\nif os.environ["OMPI_COMM_WORLD_RANK"] == "1":\n    os.kill(os.getpid(), 9)\nmpi.MPI_Barrier(world)/;
	spew('dies.py', $dies);
	precedent('trace', '-q', '-o', 'dies.ptrace', '--', 'mpirun', '--oversubscribe', '-n', 2, $python, 'dies.py');
	my ($stopped) = precedent('info', 'dies.ptrace')->{out} =~ /^  stopped +rank 0 was in (MPI_Barrier.*)$/m;
	unlike($stopped // '', qr/\.py/, 'a call that did not return has no line of another call');
};

# Rank 1 sleeps between unsuccessful probes: it waits for rank 0, and works for a quarter of the time at most.
subtest 'sleeps between unsuccessful tests' => sub {
	my $file = traced('naps.ptrace', 2, program('polls_asleep'), 40, 20);
	my $rank = json_of($file)->{per_rank}[1];
	cmp_ok($rank->{compute_s}, '<', 0.7 * $rank->{wall_s}, 'are no computation');
	cmp_ok($rank->{polling_s}, '>', 0.3 * $rank->{wall_s}, 'but wait');
	my $advice = precedent('advise', $file)->{out};
	like($advice, qr/late send: .*, on rank 0: /s, 'for the rank that sends late');
	unlike($advice, qr/polling:/, 'and take no processor');
};

subtest 'a program that is loaded at a fixed address' => sub {
	spew('fixed.c', "#include <mpi.h>\nint main(int n, char **a)\n{\n\tMPI_Init(&n, &a);\n\tMPI_Barrier(MPI_COMM_WORLD);\n\treturn MPI_Finalize();\n}\n");
	my $r = Testbed::run_command('mpicc', '-g', '-no-pie', '-o', 'fixed', 'fixed.c');
	is($r->{rc}, 0, 'mpicc -no-pie') or diag $r->{err};
	like(screen('C.UTF-8', '--all', traced('fixed.ptrace', 2, './fixed')), qr/MPI_Barrier +main \(fixed\.c:5\)$/m, 'its lines are known');
};

subtest 'an imported trace' => sub {
	my $text = '';
	for my $t (1 .. 100) {
		$text .= "$t $_ " . ($t <= 25 * ($_ + 1) ? 1 : 0) . " 0 0 0 0 0 0 0 0 0 0 0\n" for 0 .. 3;
	}
	spew('states.txt', $text);
	is(precedent('import', '-q', 'states.txt')->{rc}, 0, 'imported');
	my $screen = screen('C.UTF-8', 'states.ptrace');
	like($screen, qr/^\s+3 +0 +100 +0 +0$/m, 'marks of each processor');
	like($screen, qr/^  working +█+\S* +62\.5 %  ▂▄▆█$/m, 'a bar for the sum, and one for each processor');
	like($screen, qr/^  sending +0\.0 %/m, 'of every state');
	is(precedent('info', '--events', 0, 'states.ptrace')->{rc}, 1, 'there are no events');
	is(precedent('info', '--check', 'states.ptrace')->{rc}, 0, 'it is checked as others are');
	is(json_of('states.ptrace')->{imported}, JSON::PP::true, 'the JSON says that it was imported');
};

subtest 'one call' => sub {
	# no other call: under load, it would be as small a part of the time
	spew('abort.c', "#include <mpi.h>\nint main(int n, char **a)\n{\n\tMPI_Init(&n, &a);\n\treturn MPI_Abort(MPI_COMM_WORLD, 3);\n}\n");
	is(Testbed::run_command('mpicc', '-o', 'abort', 'abort.c')->{rc}, 0, 'mpicc');
	precedent('trace', '-q', '-o', 'abort.ptrace', '--', 'mpirun', '-n', 1, './abort');
	like(screen('C.UTF-8', 'abort.ptrace'), qr/^  other calls .* 1 call$/m, 'is no calls');
};

done_testing;
