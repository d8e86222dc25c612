#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that a tracer could harm: each ends and prints as it does without the tracer, with both MPI libraries and both sources of
# samples, and its trace has every call (tests/programs/quirks.c).
use strict;
use warnings;

use Cwd qw(getcwd);
use File::Copy qw(copy);
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use JSON::PP;
use Test::More;
use Testbed qw(run_command build_dir top);

grep { -x "$_/mpirun" } split /:/, $ENV{PATH} or plan skip_all => 'no mpirun here';
my $build = build_dir();
my $loader = "$build/libprecedent_trace.so";
my $here = getcwd();
my $work = "$here/files";
mkdir $work or die "$work: $!\n";

my %mpi = (
	openmpi => {cc => 'mpicc.openmpi', cxx => 'mpicxx.openmpi', run => [qw(mpirun --oversubscribe --bind-to none)],
		set => sub { map { ('-x', $_) } @_ }},
	mpich => {cc => 'mpicc.mpich', cxx => 'mpicxx.mpich', run => ['mpirun.mpich'],
		set => sub { map { ('-genv', split /=/, $_, 2) } @_ }},
);
my @library = grep { -e "$build/libprecedent_trace_$_.so" && run_command($mpi{$_}{cc}, '--version')->{rc} == 0 } sort keys %mpi;

my $n_dir = 0;
# Runs a command of MPI on n ranks, traced when `set` is a list of further variables: {rc, out, err, trace}.
sub run_ranks {
	my ($library, $n, $set, @command) = @_;
	my $m = $mpi{$library};
	my $dir = "$here/traces" . ++$n_dir;
	mkdir $dir or die "$dir: $!\n";
	my @set = $set ? $m->{set}->("LD_PRELOAD=$loader", "PRECEDENT_TRACE_DIR=$dir", "PRECEDENT_TRACE_LOCAL=$here/local", @$set) : ();
	my $r = run_command('timeout', patience(100), @{$m->{run}}, '-n', $n, @set, @command);
	$r->{out} = join '', map { "$_\n" } sort split /\n/, $r->{out}; # ranks print in any order
	($r->{trace}) = glob "$dir/*.ptrace";
	$r->{said} = -e "$dir/tracer.err" ? slurp("$dir/tracer.err") : '';
	return $r;
}

# The calls of a function in a trace, on all ranks.
sub calls {
	my ($trace, $function) = @_;
	my $r = $trace ? precedent('info', '--json', '--all', $trace) : {rc => 1};
	return $r->{rc} ? -1 : (map { $_->{calls} } grep { $_->{name} eq $function } @{decode_json($r->{out})->{functions}})[0] // 0;
}

sub source { # of the samples
	my ($trace) = @_;
	my $r = $trace ? precedent('info', '--json', $trace) : {rc => 1};
	return $r->{rc} ? '' : decode_json($r->{out})->{samples} // '';
}

# Traced as without, and every call in the trace.
sub is_undisturbed {
	my ($library, $n, $expect, @command) = @_;
	my %option = ref $expect ? %$expect : (calls => $expect);
	my $plain = run_ranks($library, $n, undef, @command);
	my $traced = run_ranks($library, $n, $option{set} // [], @{$option{before} // []}, @command);
	is($traced->{rc}, $plain->{rc}, 'the same exit status');
	is($traced->{out}, $plain->{out}, 'the same output');
	is($traced->{err}, $plain->{err}, 'the same messages') if !$option{speaks};
	if ($option{calls}) {
		is(calls($traced->{trace}, $option{of} // 'MPI_Allreduce'), $option{calls}, 'every call is in the trace') or diag($traced->{said});
		is(precedent('verify', $traced->{trace} // 'none')->{rc}, 0, 'and the trace is sound');
	}
	return ($traced, $plain);
}

my @mode = (
	['every', 100], ['urgent', 100], ['signalfd', 100], ['sigwait', 100], ['altstack', 100], ['timers', 100], ['first-timer', 100], ['protect', 100],
	['possessions', 100], ['files', 100], ['fsize', 100, 65536], ['fsize', 100, 49152],
	['environ', 100], ['children', 100], ['chdir', 100], ['atexit', 100],
	['jump', 100], ['callback', 100], ['coroutines', 100],
);
# MPICH over UCX crashes on stacks that it has not met, without the tracer too.
my %not_with = (mpich => qr/^coroutines$/, openmpi => qr/^$/);
for my $library (@library) {
	my $quirks = $library eq 'mpich' ? "$build/tests/programs-mpich/quirks" : program('quirks');
	for my $of (@mode) {
		my ($mode, $calls, @argument) = @$of;
		next if $mode =~ $not_with{$library};
		subtest "$library: $mode" => sub {
			# mpirun names processes when one ends with another status than 0
			is_undisturbed($library, 2, {calls => $calls, speaks => $mode eq 'atexit'}, $quirks, $mode, @argument);
		};
	}
	# Where the kernel forbids perf_event_open timers take the samples.
	for my $mode (qw(every urgent signalfd sigwait altstack timers protect possessions coroutines)) {
		next if $mode =~ $not_with{$library};
		subtest "$library: $mode, sampled by timers" => sub {
			my ($traced) = is_undisturbed($library, 2, {calls => 100, before => [program('without_perf')]}, $quirks, $mode);
			is(source($traced->{trace}), 'timer', 'there were timers');
		};
	}
	# Calls at ever new places, and their order: a call site keeps so many places, and the trace is whole all the same.
	for my $of (['halo', 'Put', 32_000], ['walk', 'Put', 35_568], ['table', 'Accumulate', 40_000], ['locks', 'Get', 13_334]) {
		my ($pattern, $function, $calls) = @$of;
		my $onesided = $library eq 'mpich' ? "$build/tests/programs-mpich/onesided" : program('onesided');
		subtest "$library: one-sided, $pattern" => sub {
			is_undisturbed($library, 2, {calls => $calls, of => "MPI_$function"}, $onesided, $pattern, 20_000);
		};
	}
	# No call is in the trace that cannot be written; nothing is lost by that.
	subtest "$library: fsize, without any room" => sub {
		is_undisturbed($library, 2, {calls => 0}, $quirks, 'fsize', 0);
	};
	subtest "$library: all descriptors closed, and used again" => sub {
		# MPI itself cannot go on then, which MPICH says with numbers of processes
		my ($plain, $traced) = map { run_ranks($library, 1, $_, $quirks, 'close', $work) } undef, [];
		is($traced->{rc}, $plain->{rc}, 'the same exit status');
		is($traced->{out}, $plain->{out}, 'the same output') if $library eq 'openmpi';
		like($traced->{out}, qr/files that were touched 0$/m, 'no file of the program is written to') if $library eq 'openmpi';
	};
	subtest "$library: an executable that deletes itself" => sub {
		my @same = map { copy($quirks, "$here/deleted.$_") or die $!; chmod 0755, "$here/deleted.$_"; "$here/deleted.$_" } 1, 2;
		my $plain = run_ranks($library, 1, undef, $same[0], 'deleted');
		my $traced = run_ranks($library, 1, [], $same[1], 'deleted');
		is("$traced->{rc}$traced->{out}$traced->{err}", "$plain->{rc}$plain->{out}$plain->{err}", 'the same');
		like(decode_json(precedent('info', '--json', $traced->{trace})->{out})->{program}, qr{/deleted\.2$}, 'the trace has its name');
	};
	# The stack: what the tracer needs of it beyond what MPI does. MPICH 4.0 reduces with 128 KiB on the stack if a rank is
	# late, without the tracer too. On smaller stacks its programs crash now and then.
	my $stack = $library eq 'mpich' ? 256 : 64;
	for my $sampled ([], [program('without_perf')]) {
		subtest "$library: a stack of $stack KiB" . (@$sampled ? ', sampled by timers' : '') => sub {
			my ($traced, $plain) = is_undisturbed($library, 2, {calls => 100, speaks => 1, before => $sampled}, $quirks, 'stack', $stack << 10);
			my ($before, $after) = map { (sort { $b <=> $a } $_->{err} =~ /^stack (\d+)/mg)[0] } $plain, $traced;
			SKIP: {
				skip 'the stack of MPICH hides it', 1 if $before >= 128 << 10 || $after >= 128 << 10;
				cmp_ok($after - $before, '<', 8192, 'of which the tracer takes little');
			}
		};
	}
	subtest "$library: little memory" => sub {
		my ($traced, $plain) = (run_ranks($library, 1, [], $quirks, 'memory'), run_ranks($library, 1, undef, $quirks, 'memory'));
		plan skip_all => 'the program itself does not go on' if $plain->{rc};
		is("$traced->{rc}$traced->{out}", "$plain->{rc}$plain->{out}", 'the same');
	};
}

# ---- exceptions, sanitizers, other languages ----
spew('throws.cc', <<'C');
#include <mpi.h>
#include <cstdio>
#include <stdexcept>

static void leave(MPI_Comm *, int *, ...)
{
	throw std::runtime_error("mpi");
}

static __attribute__((noinline)) void deep(int n)
{
	volatile char pad[400];
	int one = 1, sum;

	pad[n] = 1;
	if (n)
		deep(n - 1);
	else
		for (int i = 0; i < 10; i++)
			MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	pad[0] = 2;
}

int main(int argc, char **argv)
{
	int size, caught = 0;
	MPI_Errhandler handler;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_create_errhandler(leave, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	for (int k = 0; k < 5; k++) {
		try {
			MPI_Send(&size, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
		} catch (std::exception &) {
			caught++;
		}
		deep(k);
	}
	printf("caught %d\n", caught);
	MPI_Finalize();
}
C
spew('clean.c', <<'C');
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int one = 1, sum, *p = malloc(100 * sizeof(int));

	MPI_Init(&argc, &argv);
	for (int i = 0; i < 50; i++)
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	p[argc] = sum;
	printf("%d\n", p[argc]);
	free(p);
	MPI_Finalize();
	return 0;
}
C
spew('plug.c', <<'C');
#include <mpi.h>
int plug_sum(void)
{
	int one = 1, sum = 0;

	for (int i = 0; i < 10; i++)
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}
C
spew('deep.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int mode = argc > 2 ? RTLD_NOW | RTLD_DEEPBIND : RTLD_NOW;
	void *plug = dlopen(argv[1], mode);
	int (*sum)(void) = plug ? (int (*)(void))dlsym(plug, "plug_sum") : NULL;

	MPI_Init(&argc, &argv);
	printf("%d\n", sum ? sum() : -1);
	MPI_Finalize();
	return 0;
}
C
for my $library (@library) {
	my $m = $mpi{$library};
	subtest "$library: a library of the program, opened late" => sub {
		my @built = map { run_command($m->{cc}, '-fPIC', '-o', @$_)->{rc} } ["plug_$library.so", '-shared', 'plug.c'],
			["deep_$library", 'deep.c'];
		is("@built", '0 0', 'the program is built');
		is_undisturbed($library, 2, 20, "$here/deep_$library", "$here/plug_$library.so");
		# Its calls go past whatever is preloaded.
		my ($traced) = is_undisturbed($library, 2, 0, "$here/deep_$library", "$here/plug_$library.so", 'deep');
		is($traced->{trace}, undef, 'with RTLD_DEEPBIND there is no trace, which would lack its calls');
		like($traced->{said}, qr/: no trace: MPI calls of \S*plug_\S+ cannot be recorded, as it was opened with RTLD_DEEPBIND$/, 'and a reason');
		my $r = precedent('trace', '-o', 'deep.ptrace', '--', @{$m->{run}}, '-n', 2, "$here/deep_$library", "$here/plug_$library.so", 'deep');
		is(scalar(my @line = $r->{err} =~ /^precedent: no trace: MPI calls of .*/mg), 1, 'which precedent trace says');
		is(scalar(@line = $r->{err} =~ /^precedent: /mg), 1, 'and nothing else');
	};
	subtest "$library: C++ exceptions out of an error handler" => sub {
		my $r = run_command($m->{cxx}, '-O1', '-o', "throws_$library", 'throws.cc');
		is($r->{rc}, 0, 'the program is built') or diag $r->{err};
		is_undisturbed($library, 2, 100, "$here/throws_$library");
	};
	for my $sanitizer (qw(address undefined thread leak)) {
		my $built = run_command($m->{cc}, '-g', "-fsanitize=$sanitizer", '-o', "$sanitizer\_$library", 'clean.c');
		subtest "$library: -fsanitize=$sanitizer" => sub {
			plan skip_all => "no -fsanitize=$sanitizer here" if $built->{rc};
			local $ENV{ASAN_OPTIONS} = 'detect_leaks=0'; # of MPI's own
			local $ENV{LSAN_OPTIONS} = 'exitcode=0:report_objects=0';
			plan skip_all => 'MPI itself does not run with it' if run_ranks($library, 1, undef, "$here/$sanitizer\_$library")->{rc};
			my ($traced, $plain) = is_undisturbed($library, 1, {calls => 50, speaks => scalar($sanitizer =~ /leak|thread/)},
				"$here/$sanitizer\_$library");
			is(leaks($traced->{err}), leaks($plain->{err}), 'no leak more') if $sanitizer eq 'leak';
			unlike($traced->{err}, qr/libprecedent/, 'nothing is reported of the tracer');
		};
	}
}

sub leaks { return scalar(() = $_[0] =~ /^(?:Direct|Indirect) leak/mg) }

# Its runtime takes every signal, and has goroutines on small stacks.
SKIP: {
	skip 'no gccgo here', 1 if run_command('gccgo', '--version')->{rc} || !grep { $_ eq 'openmpi' } @library;
	spew('mpi.c', <<'C');
#include <mpi.h>
void begin(void) { MPI_Init(0, 0); }
int sum(int v) { int s; MPI_Allreduce(&v, &s, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); return s; }
void end(void) { MPI_Finalize(); }
C
	spew('main.go', <<'GO');
package main

import (
	"os"
	"runtime"
)

//extern begin
func begin()

//extern sum
func sum(v int32) int32

//extern end
func end()

func fill(c chan int) {
	x := 1
	for i := 0; i < 20000000; i++ {
		x = x*3 + i
	}
	c <- x
}

func main() {
	runtime.LockOSThread()
	begin()
	c := make(chan int)
	for i := 0; i < 50; i++ {
		if i < 8 {
			go fill(c)
		}
		if sum(1) != 2 {
			println("wrong sum")
		}
	}
	for i := 0; i < 8; i++ {
		<-c
	}
	runtime.GC()
	os.Stderr.WriteString("done\n") // at once: ranks share it
	end()
}
GO
	my $made = run_command('mpicc.openmpi', '-O1', '-c', 'mpi.c');
	$made = run_command('gccgo', '-o', 'go', 'main.go', 'mpi.o', split ' ', run_command('mpicc.openmpi', '--showme:link')->{out}) if !$made->{rc};
	skip 'gccgo does not link with MPI here', 2 if $made->{rc};
	subtest 'a Go program' => sub { is_undisturbed('openmpi', 2, 100, "$here/go") };
	subtest 'a Go program, where perf_event_open is forbidden' => sub {
		is_undisturbed('openmpi', 2, {calls => 100, before => [program('without_perf')]}, "$here/go");
	};
}

# ---- a debugger, another user's rights ----
for my $library (@library) {
	my $quirks = $library eq 'mpich' ? "$build/tests/programs-mpich/quirks" : program('quirks');
	subtest "$library: under gdb" => sub {
		plan skip_all => 'no gdb here' if run_command('gdb', '--version')->{rc};
		my ($plain, $traced) = map { run_ranks($library, 1, $_, qw(gdb -batch -quiet -ex run -ex bt --args), $quirks, 'environ') } undef, [];
		is($traced->{rc}, $plain->{rc}, 'the same exit status');
		like($traced->{out}, qr/exited normally/, 'to its end');
		is(calls($traced->{trace}, 'MPI_Allreduce'), 50, 'and traced');
	};
	subtest "$library: setuid" => sub {
		my $copy = "$here/setuid_$library";
		copy($quirks, $copy) or die $!;
		chmod 04755, $copy or die $!;
		plan skip_all => 'needs another user' if $> || run_command(qw(setpriv --reuid=65534 --clear-groups true))->{rc};
		chmod 0755, $_ for $here, "$here/..";
		my ($plain, $traced) = map {
			run_command('timeout', 60, qw(setpriv --reuid=65534 --clear-groups env HOME=/tmp), @$_, $copy, 'callback')
		} [], ["LD_PRELOAD=$loader", "PRECEDENT_TRACE_DIR=$work"];
		is("$traced->{rc}$traced->{out}$traced->{err}", "$plain->{rc}$plain->{out}$plain->{err}", 'as without');
	};
}

# ---- what a checkpoint of a process would have to restore is not there ----
subtest 'a program under DMTCP' => sub {
	spew('dmtcp.c', 'int dmtcp_is_enabled(void) { return 1; }'); # as its library, which is preloaded into programs
	is(run_command('cc', '-shared', '-fPIC', '-o', 'libdmtcp.so', 'dmtcp.c')->{rc}, 0, 'a library like that of DMTCP');
	my $r = run_ranks($library[0], 2, ["LD_PRELOAD=$loader:$here/libdmtcp.so"], $library[0] eq 'mpich' ? "$build/tests/programs-mpich/ring" : program('ring'));
	is($r->{rc}, 0, 'the program runs') or diag $r->{err};
	is($r->{trace}, undef, 'without a trace');
	is(scalar(() = $r->{said} =~ /: no trace: the program runs under DMTCP/g), 1, 'one rank says why');
};

# ---- the run is the one that was started, whichever of its processes ends last ----
subtest 'processes that a program starts' => sub {
	# PRRTE of Debian 13 may wait for ever, without the tracer too.
	my @run = ('timeout', '--kill-after=5', patience(60), qw(mpirun --oversubscribe -n 2), program('calls_dyn'), 'spawn');
	plan skip_all => 'this MPI library cannot start processes here' if run_command(@run)->{rc};
	is(precedent('trace', '-q', '-o', 'dyn.ptrace', '--', @run)->{rc}, 0, 'it is traced');
	is(calls("$here/dyn.ptrace", 'MPI_Comm_spawn'), 2, 'the trace is that of the program');
	is(calls("$here/dyn.spawned.ptrace", 'MPI_Comm_get_parent'), 1, 'that of a process that it starts has another name');
	like(precedent('skeleton', 'dyn.spawned.ptrace', '-o', 'dyn')->{err}, qr/started by another program .MPI_Comm_spawn.: trace that/,
		'no skeleton is made of it');
};

# ---- without any sampling a prediction is still made, and says that ----
subtest 'without samples' => sub {
	# One rank, which waits for nobody: beside other work ranks mostly wait for each other, and nothing of that is sampled.
	my @run = (qw(mpirun --oversubscribe -n 1), program('heat'), 512, 200, 10);
	local $ENV{PRECEDENT_TRACE_SAMPLE} = 0;
	my $r = precedent('predict', '--json', '--seconds', 1, '--', @run);
	is($r->{rc}, 0, 'a prediction is made') or diag $r->{err};
	my $p = eval { decode_json($r->{out}) } // {};
	cmp_ok($p->{predicted_s} // 0, '>', 0, 'it says how long');
	cmp_ok($p->{reproduced} // 1, '<', 0.5, 'of which it reproduces little');
	delete $ENV{PRECEDENT_TRACE_SAMPLE};
	$p = decode_json(precedent('predict', '--json', '--seconds', 1, '--', @run)->{out});
	cmp_ok($p->{reproduced}, '>', 0.9, 'with more where there are samples');
};

done_testing;
