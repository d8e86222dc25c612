# SPDX-License-Identifier: GPL-2.0-or-later
# Cut loops run in windows: what the report says of them, and what a skeleton's result says. No time is asserted but
# that figures belong to each other.
use strict;
use warnings;

use Cwd qw(getcwd);
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2);
my $include = "$ENV{PRECEDENT_LIBDIR}/include";
my $library = "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a";

sub result { return { map { /^(\w+) (\S+)$/ ? ($1 => $2) : () } split /\n/, slurp($_[0]) } }

my $r = precedent('trace', '-q', '-o', 'heat.ptrace', '--', @mpirun, program('heat'), 64, 4000, 10);
is($r->{rc}, 0, 'a trace') or diag $r->{err};
is(precedent('skeleton', 'heat.ptrace', '-o', 'cut', '--scale', 8)->{rc}, 0, 'a skeleton of an eighth');

my $report = slurp('cut/report.txt');
like($report, qr/loop of 400 iterations: \d+ run \(/, 'the report names the loop');
my ($windows) = $report =~ /^    in (\d+) windows? of \d+(?: to \d+)? iterations?/m;
cmp_ok($windows // 0, '>=', 1, 'its windows: how many depends on how the traced iterations varied');
like($report, qr/traced iterations of [\d.e+]+ us vary by [\d.e+-]+ %, autocorrelation -?\d\.\d\d/, 'what they rest on');
like($report, qr/expected half-width of the 95 % interval: [\d.e+-]+ %/, 'and what precision is to be expected');
like(slurp('cut/skel.c'), qr/of which \d+ run in windows?/, 'so does the source');

my $built = run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', "-I$include", '-o', 'cut/skel',
	'cut/skel.c', $library, '-lm');
is($built->{rc}, 0, 'it compiles') or diag $built->{err};
my $ran = run_command('timeout', 300, @mpirun, 'cut/skel', '--result', 'result');
is($ran->{rc}, 0, 'it runs') or diag $ran->{err};

my $res = result('result');
my ($id, $n, $loop_s, $half_s, $spikes_s) = slurp('result') =~ /^windows (\d+) (\d+) (\S+) (\S+) (\S+)$/m;
is($n, $windows, 'the result has the windows that the report names');
cmp_ok($loop_s, '>', 0, 'the loop\'s time');
cmp_ok($spikes_s, '>=', 0, 'spikes never shorten it');
# Loop and half-width are one rank's, the interval that of all: another rank may have lasted longer and be surer of it.
cmp_ok($res->{hi_s} + 1e-6, '>=', $loop_s + $half_s, 'the interval holds that of the loop (high)');
cmp_ok($res->{hi_s}, $half_s > 1e-6 ? '>' : '>=', $res->{skel_s}, '... and what was found');
cmp_ok($res->{skel_s}, '>=', $res->{lo_s}, 'the interval holds what was found');
cmp_ok($res->{prologue_s}, '>=', 0, 'what lies before the loop');
cmp_ok($res->{epilogue_s}, '>', 0, 'what lies after it');

# The same trace and wish give the same windows; another wish others.
is(precedent('skeleton', 'heat.ptrace', '-o', 'again', '--scale', 8)->{rc}, 0, 'made again');
is(slurp('again/skel.c.data'), slurp('cut/skel.c.data'), 'it is the same');

is(precedent('skeleton', 'heat.ptrace', '-o', 'other', '--scale', 4)->{rc}, 0, 'made for another time');
isnt(slurp('other/skel.c.data'), slurp('cut/skel.c.data'), 'it has other windows');

done_testing();
