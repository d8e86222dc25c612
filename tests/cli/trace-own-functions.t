# SPDX-License-Identifier: GPL-2.0-or-later
# precedent trace --rules: calls of a library's function are recorded, and rules of problems find what they say.
use strict;
use warnings;
use JSON::PP;
use Test::More;
use File::Temp 'tempdir';
use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Testbed qw(run_command build_dir top);

my $dir = tempdir(CLEANUP => 1);

spew("$dir/solver.c", <<'END');
#include <mpi.h>
int solve(int n, const double *b, double *x, int *iterations);
/* Rank 1 needs 5 iterations, rank 0 needs 2. */
int solve(int n, const double *b, double *x, int *iterations)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	*iterations = 2 + 3 * rank;
	MPI_Allreduce(b, x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return n > 3;
}
END
spew("$dir/app.c", <<'END');
#include <mpi.h>
#include <stdio.h>
int solve(int n, const double *b, double *x, int *iterations);
static int step(int n) { double b = 1, x; int i; return solve(n, &b, &x, &i) + i; }
int main(int argc, char **argv)
{
	int sum = 0;

	MPI_Init(&argc, &argv);
	for (int n = 0; n < 6; n++)
		sum += step(n);
	printf("%d\n", sum);
	return MPI_Finalize();
}
END
for ([qw(-shared -fPIC -o), "$dir/libsolver.so", "$dir/solver.c"], ['-o', "$dir/app", "$dir/app.c", "-L$dir", '-lsolver', "-Wl,-rpath,$dir"]) {
	my $r = run_command('mpicc', '-g', @$_);
	is($r->{rc}, 0, "$_->[-1] is built") or diag $r->{err};
}

sub traced
{
	my ($rules) = @_;
	spew("$dir/my.rules", $rules);
	return precedent('trace', '--rules', "$dir/my.rules", '-o', "$dir/t.ptrace", '--', 'mpirun', '-n', 2, "$dir/app");
}

my $solve = "# the library's\nint solve(int n, const double *b, double *x, int *iterations)\n"
    . "{ n = INT(n) in, iterations = INT(*iterations) out, status = INT(return) out }\n";
my $r = traced($solve);
is($r->{rc}, 0, 'a program with a rule about a function of its library') or diag $r->{err};
is_deeply([sort $r->{out} =~ /\d+/g], [14, 32], '... computes what it did: 6 times 2 or 5, and twice 1'); # n = 4 and 5
unlike($r->{err}, qr/no call of/, '... and each rule found calls');
my $events = precedent('info', "$dir/t.ptrace", '--events', 1)->{out};
is_deeply([$events =~ /Precedent_call\(function=solve\b.*?values=\[(\d+)\]/g], [0 .. 5], 'the trace has the values of each call');
is_deeply([$events =~ /Precedent_return\(.*?values=\[(\d+ \d+)\]/g], [('5 0') x 4, ('5 1') x 2], '... and those of its return');
is(() = $events =~ /Precedent_\w+\(.*# .*app\.c:4\b/g, 12, '... at the place that calls it') or diag $events;

# The whole way: own trace event, own composite event, own problem, own advice.
spew("$dir/problem.rules", <<'END');
defstruct event solve "a call of the solver" param n, iterations, status type int;
declare composite event same_size member (solve as s all 2 by (s.n)) when s.status == 0
parameters (n = s.n, most = max(s.iterations), slow = at_max(s.iterations, s.@rank), least = min(s.iterations));
declare problem for same_size when most > least
parameters (name = "uneven solver", description = "Rank {slow} needs {most} iterations, another rank {least}.",
            advice = "Use a preconditioner.", duration = (most - least) * 1ms);
END
$r = precedent('advise', "$dir/t.ptrace", '--rules', "$dir/problem.rules", '--json');
is($r->{rc}, 0, 'own rules of problems read own events') or diag $r->{err};
my ($p) = @{decode_json($r->{out})->{problems}};
is_deeply([@$p{qw(name times description advice)}],
    ['uneven solver', 4, 'Rank 1 needs 5 iterations, another rank 2.', 'Use a preconditioner.'], '... and give own advice');
is($p->{seconds}, 0.012, '... with the values of call and return: 4 times 3 ms');

# Parameters of MPI calls are there without an own event.
spew("$dir/call.rules", "declare problem for function_call when \@function == \"MPI_Allreduce\" and op == \"MPI_SUM\" and count == 1\n"
    . "parameters (name = \"sum of {bytes} bytes\", description = \"\", advice = \"\", duration = 1ms);\n");
$r = precedent('advise', "$dir/t.ptrace", '--rules', "$dir/call.rules", '--json');
is_deeply([map { "$_->{name} $_->{times}" } @{decode_json($r->{out})->{problems}}], ['sum of 8 bytes 12'], 'parameters of any call');

is(precedent('verify', "$dir/t.ptrace")->{rc}, 0, 'the trace is the program');
my $tree = precedent('skeleton', "$dir/t.ptrace", '-o', "$dir/t.skel", '--tree')->{out};
like($tree, qr/^# 2 ranks, .*; a loop repeats calls that are alike$/m, 'a tree says what its loops are');
is(() = $tree =~ / @ main \(app\.c:\d+\)| @ step \(app\.c:\d+\)/g, () = $tree =~ / @ /g, '... and where each call stands') or diag $tree;

my %wrong = (
	"$solve\n$solve" => '6: a second rule for solve; the first one is in line 2',
	"void f(int n)\n{ n = INT(m) in }" => "2: f has no parameter 'm'",
	"void f(int *n)\n{ n = INT(n) in }" => "2: 'n' is a pointer: INT(*n) is the number that it points to",
	'void f(int n) { n = INT(return) out }' => '1: f returns nothing',
	"\nint f(int n) { n = INT(return) in }" => "2: what f returns is not known at the call: 'out' expected",
	'void f(int n) { n = REAL(n) in }' => "1: 'REAL' found, 'INT' expected",
	'void f(int) { }' => "1: a parameter of f lacks its type or its name: write for instance 'int n'",
	'void f(int (*g)(void)) { }' => "1: '(' found; a declaration has names and '*' only (give a function pointer as void *)",
	'void *malloc(unsigned long n) { }' => '1: malloc is a function of the C library, which the tracer calls itself',
	'int MPI_Barrier(void *c) { }' => '1: MPI_Barrier: functions of MPI are recorded without a rule',
	'# nothing' => ' no rule in it; a rule is such as: void time_step(int n) { n = INT(n) in }',
);
for my $text (sort keys %wrong) {
	$r = traced($text);
	is_deeply([@$r{qw(rc err)}], [1, "precedent: $dir/my.rules:$wrong{$text}\n"], "wrong: $text");
}
$r = traced("\nvoid f(int n, unheard_t *u) { n = INT(n) in }");
like($r->{err}, qr/^precedent: \Q$dir\E\/my\.rules:2:\d+: error: unknown type name 'unheard_t'/, 'what only the compiler sees has its line too');
$r = traced("int step(int n) { n = INT(n) in }");
is($r->{rc}, 0, 'a function inside of the program');
like($r->{err}, qr/my\.rules:1: no call of step was recorded: the function must lie in a shared library \(else see --object\)/, '... is said not to be seen');

# ... unless the program is linked with the wrappers.
spew("$dir/step.c", "int step(int n);\nint step(int n) { return 3 * n; }\n");
spew("$dir/loop.c", <<'END');
#include <mpi.h>
int step(int n);
int main(int argc, char **argv)
{
	int sum = 0;

	MPI_Init(&argc, &argv);
	for (int n = 0; n < 4; n++)
		sum += step(n);
	MPI_Finalize();
	return sum != 18;
}
END
spew("$dir/my.rules", 'int step(int n) { n = INT(n) in, result = INT(return) out }');
$r = precedent('trace', '--rules', "$dir/my.rules", '--object', "$dir/my.o");
is("$r->{rc} $r->{out}", "0 $dir/my.o -Wl,--wrap=step\n", 'wrappers as an object') or diag $r->{err};
$r = run_command('mpicc', '-g', '-o', "$dir/loop", "$dir/loop.c", "$dir/step.c", split ' ', $r->{out});
is($r->{rc}, 0, '... are linked') or diag $r->{err};
is(run_command('mpirun', '-n', 1, "$dir/loop")->{rc}, 0, '... do nothing without the tracer');
$r = precedent('trace', '-o', "$dir/l.ptrace", '--', 'mpirun', '-n', 1, "$dir/loop");
is($r->{rc}, 0, '... and nothing wrong with it') or diag $r->{err};
$events = precedent('info', "$dir/l.ptrace", '--events', 0)->{out};
is_deeply([$events =~ /Precedent_\w+\(function=step\b.*?values=\[(\d+)\]/g], [0, 0, 1, 3, 2, 6, 3, 9], '... but record the calls') or diag $events;
is(precedent('trace', '--object', "$dir/my.o")->{rc}, 2, '--object wants rules');

# The command of the manual page, with the objects of a program beside the rules; a second time with what the first one left.
my ($link) = slurp(top() . '/man/precedent-trace-rules.5') =~ /^ +(mpicc \*\.o .*--object .*)$/m;
mkdir "$dir/page";
is(run_command('mpicc', '-g', '-c', "$dir/$_.c", '-o', "$dir/page/$_.o")->{rc}, 0, "$_.o") for qw(loop step);
spew("$dir/page/my.rules", slurp("$dir/my.rules"));
for my $time ('', ' again') {
	$r = run_command('sh', '-c', "cd $dir/page && PATH=" . build_dir() . ":\$PATH && $link");
	is("$r->{rc} $r->{err}", '0 ', "the page's command links the program$time");
}
is(run_command('mpirun', '-n', 1, "$dir/page/app")->{rc}, 0, '... which runs');

done_testing;
