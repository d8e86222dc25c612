# SPDX-License-Identifier: GPL-2.0-or-later
# Traces of 7 million calls that do not repeat: the verbs need little memory, and the skeleton and the page are small. Limits of memory are
# limits of the data segment (prlimit), which a verb that needs more runs into.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use Test::More;
use Testbed qw(run_command build_dir);

my $CALLS = 7_000_000; # of 2 ranks: enough that only the outermost loop is sought (LOOPS_ITEMS_MAX), and that a tree would need 500 MB
my $WHOLE = 100 << 20; # for verbs that read a trace from begin to end: 10 times what they need
my $BUILD = 300 << 20; # for a skeleton

my $make = "$ENV{PRECEDENT_BUILD}/tests/bench/make_trace";
is(run_command('make', '--silent', '-C', Testbed::top(), "B=$ENV{PRECEDENT_BUILD}", patience(1) > 1 ? 'SANITIZE=1' : (), $make)->{rc}, 0,
	'the generator is built');

sub made {
	my ($trace, $calls) = @_;
	is(run_command(build_dir() . '/tests/bench/make_trace', 2, $calls, $trace, 0, 'irregular')->{rc}, 0, "$calls calls");
	return;
}

made('long.ptrace', $CALLS);

# A verb within a limit of memory; sanitizers need much more.
sub limited {
	my ($bytes, @verb) = @_;
	return precedent(@verb) if patience(1) > 1;
	return run_command('timeout', '--kill-after=5', 120, 'prlimit', "--data=$bytes", build_dir() . '/precedent', @verb);
}

my $info = limited($WHOLE, 'info', 'long.ptrace');
is($info->{rc}, 0, 'info') or diag $info->{err};
my ($turns) = $info->{out} =~ /^Loops of rank \d.*\n.*\n +100\.0 % +([\d,]+) .*\n  loops inside are not sought/m;
is(($turns // '') =~ s/,//gr, int($CALLS / 2 * 10 / 55) + 1, '... shows all iterations of the outermost loop') or diag $info->{out};
my ($calls) = $info->{out} =~ /2 ranks, ([\d,]+) events/;

my $verified = limited($WHOLE, 'verify', 'long.ptrace');
is($verified->{rc}, 0, 'verify') or diag $verified->{err};
like($verified->{out}, qr/^long\.ptrace: lossless: \Q$calls\E calls of 2 ranks are exactly what was recorded, folded to /, '... proves all calls');

my $view = limited($BUILD, 'view', '-o', 'page.html', 'long.ptrace');
is($view->{rc}, 0, 'view') or diag $view->{err};
cmp_ok(-s 'page.html', '<', 20e6, '... the page has less than 20 MB');

my $mix = limited($BUILD, 'info', '--mix', 'long.ptrace');
is($mix->{rc}, 0, 'info --mix') or diag $mix->{err};
like($mix->{out}, qr/^  its calls repeat too little: shown are \d+ pieces of the run with \d+ of @{[$calls =~ tr|,||dr]} calls$/m, '... of pieces');

empty_skeletons();
my $partial = precedent('predict', '--partial', '--json', '--seconds', 0.3, 'long.ptrace');
like($partial->{out}, qr/"refused": "partial execution: its calls repeat too little: no main loop is sought/, 'no main loop is sought in it')
	or diag $partial->{err};

# The skeleton does not grow with the run: a 16th of it, all of it.
for my $times (1, 16) {
	my $trace = $times < 16 ? "part.$times.ptrace" : 'long.ptrace';
	made($trace, $CALLS / 16 * $times) if $times < 16;
	my $made = limited($BUILD, 'skeleton', $trace, '-o', "long.$times", '--seconds', 0.5);
	is($made->{rc}, 0, "$times times: a skeleton is made") or diag $made->{err};
	cmp_ok(scalar(() = slurp("long.$times/skel.c") =~ /\n/g), '<=', 5000, '... small');
	cmp_ok(-s "long.$times/skel.c.data", '<=', 8 << 20, '... with little data');
	my ($planned) = slurp("long.$times/report.txt") =~ /planned run time ([\d.]+) s/;
	my ($run) = slurp("long.$times/report.txt") =~ /^of them (\d+) calls in \d+ pieces/m;
	cmp_ok($run, '<=', 1 << 19, '... of few calls');
	cmp_ok($planned, '<=', 1.1 * 0.5, '... short');
}

done_testing;
