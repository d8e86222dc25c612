#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tracer and the plugins' code under valgrind: nothing of ours reads what it may not or has not been set, writes where it
# may not, or loses memory. What the MPI library does with itself is its own affair: an error is ours when the first
# function of it that is neither valgrind's nor the C library's is.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use Test::More;
use Testbed qw(run_command top build_dir);

my $build = build_dir();
grep { -x "$_/valgrind" } split /:/, $ENV{PATH} or plan skip_all => 'valgrind is not installed';
patience(1) > 1 and plan skip_all => 'a sanitizer and valgrind exclude each other';

my @valgrind = (qw(valgrind -q --error-limit=no --leak-check=full --show-leak-kinds=definite --xml=yes), "--xml-file=errors.%p");

# The errors of processes since the last time, those that are ours: "KIND: FUNCTION <- FUNCTION ...".
sub errors_of {
	my ($ours) = @_;
	my ($ended, @found) = (0);
	for my $file (glob 'errors.*') {
		my $text = slurp($file);
		$ended += $text =~ m{</valgrindoutput>\s*\z}; # not those that a test kills
		for my $error ($text =~ m{<error>(.*?)</error>}sg) {
			my ($kind) = $error =~ m{<kind>(.*?)</kind>};
			my ($stack) = $error =~ m{<stack>(.*?)</stack>}s;
			my @frames = $stack =~ m{<frame>(.*?)</frame>}sg;
			my ($first) = grep { !m{<obj>[^<]*/(?:vgpreload_[^/]*|libc\.so[^/]*)</obj>} } @frames;
			next if !$first || $first !~ m{<obj>[^<]*$ours</obj>};
			push @found, "$kind: " . join ' <- ', map { m{<fn>(.*?)</fn>} ? $1 : '?' } @frames;
		}
		unlink $file;
	}
	ok($ended, 'valgrind looked on until the end');
	return @found;
}

subtest 'errors are seen' => sub {
	spew('wrong.c', "#include <stdlib.h>\nint main(void)\n{\n\tvolatile char *p = malloc(3);\n\n\tp[3] = 1;\n\treturn p[1];\n}\n");
	is(run_command(qw(cc -g -o wrong wrong.c))->{rc}, 0, 'a program with an error');
	run_command('timeout', 100, @valgrind, './wrong');
	like(join("\n", errors_of('/wrong')), qr/^InvalidWrite: main$/m, '... is caught');
};

for my $of (['ring', 20, 8], ['calls'], ['threads']) {
	my ($name, @arguments) = @$of;
	subtest "$name under the tracer" => sub {
		local $ENV{PRECEDENT_TRACE_FILE} = "$name.ptrace";
		my $r = run_command('timeout', 400, qw(mpirun --oversubscribe -n 2 -x), "LD_PRELOAD=$build/libprecedent_trace.so", @valgrind,
			program($name), @arguments);
		is($r->{rc}, 0, 'it runs') or diag $r->{err};
		is(join("\n", errors_of('/libprecedent_trace[^/]*')), '', 'without an error in the tracer');
		is(precedent('verify', "$name.ptrace")->{rc}, 0, 'and its trace is sound');
	};
}

# What of the plugins runs without Slurm, and what the tracer does when a process ends.
for my $name (qw(plugin/test_job_submit spank/test_task_side spank/tracer/test_ends)) {
	subtest $name => sub {
		my $path = "$build/tests/unit/$name";
		is(run_command('make', '--silent', '-C', top(), "B=$ENV{PRECEDENT_BUILD}", "$ENV{PRECEDENT_BUILD}/tests/unit/$name")->{rc}, 0, 'it is built') if !-x $path;
		my $r = run_command('timeout', 400, @valgrind, $path);
		is($r->{rc}, 0, 'it passes') or diag $r->{out} . $r->{err};
		is(join("\n", errors_of("/$name")), '', 'without an error');
	};
}

done_testing;
