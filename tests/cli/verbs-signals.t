# SPDX-License-Identifier: GPL-2.0-or-later
# A verb that a signal ends leaves no temporary directory and no process, whatever it did at that moment; it ends by that signal.
use strict;
use warnings;

use Cwd qw(getcwd);
use POSIX qw(SIGTERM SIGINT SIGHUP WIFEXITED _exit);
use Test::More;
use Time::HiRes qw(sleep);
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command build_dir);

# nohup, and shells that start this test in the background, leave these ignored, and verbs inherit that.
$SIG{$_} = 'DEFAULT' for qw(HUP INT QUIT TERM);
my $here = getcwd();
my $trace = trace_of('heat.ptrace', 'heat', 128, 200);
mkdir 'tmp' or die "tmp: $!";
$ENV{TMPDIR} = "$here/tmp"; # also the mark of all processes that a verb starts

# A stand-in for mpicc: `compile` is what it does as compiler; other questions are for the real one.
my ($real) = run_command('sh', '-c', 'command -v mpicc.openmpi || command -v mpicc')->{out} =~ /(\S+)/;

sub compiler {
	my ($name, $compile) = @_;
	mkdir $name;
	spew("$name/mpicc", "#!/bin/sh\ncase \" \$* \" in *\" -E \"*) exec $real \"\$@\" ;; esac\n$compile\n");
	chmod 0755, "$name/mpicc";
	return "$here/$name/mpicc";
}

sub within {
	my ($condition) = @_;
	for (my $i = 0; $i < patience(60) * 100; $i++) {
		return 1 if $condition->();
		sleep 0.01;
	}
	return 0;
}

# Processes that this test's verbs have started, except zombies.
sub started {
	return grep {
		my $environ = eval { slurp("/proc/$_/environ") } // '';
		$_ != $$ && $environ =~ /(?:\A|\0)TMPDIR=\Q$here\E\/tmp(?:\0|\z)/;
	} map { m{/(\d+)$} } glob '/proc/[0-9]*';
}

sub left {
	return grep { !m{/ompi\.} } glob('tmp/* .precedent-*'); # what Open MPI leaves is its own
}

# Runs a verb, sends the signal at the moment, and looks at what is left. The verb must end by the signal, unless `exits`.
sub ended {
	my ($what, $number, $moment, $verb, %option) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		open STDOUT, '>', 'out' and open STDERR, '>', 'err' or _exit(127);
		exec(build_dir() . '/precedent', @$verb) or _exit(127);
	}
	my $came = within($moment);
	kill $number, $pid;
	waitpid $pid, 0;
	ok($came, "$what: the moment came") or diag slurp('err');
	is($? & 127, $option{exits} ? 0 : $number, '... it ends by the signal') or diag slurp('err') if !$option{either};
	ok(within(sub { !started() }), '... no process is left') or diag run_command('ps', '-f', started())->{out};
	is_deeply([left()], [], '... no directory is left');
	unlink 'now';
}

my $file = sub { -e 'now' };
my $exists = sub { my ($pattern) = @_; return sub { scalar(() = glob $pattern) } };
my $running = sub {
	my ($name) = @_;
	return sub { scalar grep { (readlink("/proc/$_/exe") // '') =~ m{/\Q$name\E$} } started() };
};
my @predict = ('predict', '--seconds', 30, $trace);

for my $number (SIGTERM, SIGINT, SIGHUP) {
	local $ENV{MPICC} = compiler('slow', '>now; sleep 600 & wait');
	ended("predict that compiles, signal $number", $number, $file, \@predict);
}
{
	local $ENV{MPICC} = compiler('deaf', "trap '' TERM\n>now; while :; do sleep 600; done");
	ended('a compiler that ignores SIGTERM', SIGTERM, $file, \@predict);
	ended('skeleton --compile', SIGTERM, $file, ['skeleton', $trace, '-o', 'skel', '--compile']);
}
ended('predict that begins', SIGTERM, $exists->('tmp/precedent-*'), \@predict);
my @runs = ('predict', '--seconds', 30, trace_of('runs.ptrace', 'heat', 512, 4000)); # long enough to be seen
ended('predict that runs the skeleton', SIGTERM, $running->('skel'), \@runs);
ended('... and Ctrl-C', SIGINT, $running->('skel'), \@runs);

my @command = ('--', 'mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2, 'sh', '-c', '>now; sleep 600');
for my $number (SIGTERM, SIGINT) {
	ended("predict that traces, signal $number", $number, $file, ['predict', @command]);
}
ended('trace: the command ends and says how', SIGTERM, $file, ['trace', '-o', 'x.ptrace', @command], exits => 1);
ended('trace that begins', SIGTERM, $exists->('.precedent-*'), ['trace', '-o', 'x.ptrace', '--', 'sleep', 600], either => 1);
ended('trace of a command that goes on', SIGTERM, $file, ['trace', '-o', 'x.ptrace', '--', 'sh', '-c', "trap 'exit 0' TERM; >now; while :; do sleep 0.1; done"],
	exits => 1);

SKIP: {
	my $r = precedent('predict', '--partial', '--json', '--seconds', 0.3, $trace);
	skip 'no sandbox here', 2 if $r->{out} =~ /"refused": "[^"]*(?:namespaces|sandbox)/;
	my $long = trace_of('long.ptrace', 'heat', 256, 1000);
	ended('predict that runs the program itself', SIGTERM, $exists->('tmp/precedent-*/partial/*stop*'), ['predict', '--partial', '--seconds', 4, $long]);
	mkdir 7;
	rename $long, '7/0.ptrace';
	ended('probe that runs the program itself', SIGTERM, $exists->('7/partial.*/*stop*'),
		['probe', '--dir', 7, '--candidate', 'a', '--source', '--seconds', 4, '--partial=on']);
	is_deeply([glob('7/partial.*/ 7/*.result')], [], '... and no record');
}

done_testing();
