# SPDX-License-Identifier: GPL-2.0-or-later
# Points that a source probe computes from three traced runs of a kin: at which numbers, and what the record says where
# there are none. How right their seconds are is measured by tests/bench/model/unseen.pl.
use strict;
use warnings;

use Cwd qw(getcwd);
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

empty_skeletons();
my @runs = ([120, 200], [200, 300], [160, 400]); # size and steps

sub job {
	my ($number, $size, $steps) = @_;
	mkdir $number or die "$number: $!";
	my $r = precedent('trace', '-q', '-o', "$number/0.ptrace", '--', 'mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2, program('heat'), $size, $steps);
	die "no trace: $r->{err}" if $r->{rc} != 0 || !-s "$number/0.ptrace";
	return "$number=2,1,1,0,$size,$steps";
}

sub probed {
	my (@member) = @_;
	my $r = precedent('probe', '--dir', 3, '--candidate', 'home', '--source', '--seconds', 0.2, map { ('--member', $_) } @member);
	my $record = $r->{rc} == 0 ? slurp('3/probe.home.result') : '';
	like($record, qr/^status ok$/m, 'the probe ends well') or diag $r->{err};
	return $record;
}

my @member = map { job($_ + 1, @{$runs[$_]}) } 0 .. $#runs;
my $record = probed(@member[2, 1, 0]);
my @point = map { [split / /] } $record =~ /^point (.*)$/mg;
cmp_ok(@point, '>=', 12, 'there are points') or diag $record;
is_deeply([map { $_->[0] } @point[0 .. 2]], [map { "2,1,1,0,$_->[0],$_->[1]" } @runs[2, 1, 0]], '... first of the numbers that ran');
is_deeply([grep { my ($ranks, undef, undef, undef, $size, $steps) = split /,/, $_->[0];
	$ranks != 2 || $size % 40 || $steps % 100 || $size < 60 || $size > 240 || $steps < 100 || $steps > 500 } @point], [], '... then of others near these');
my %seen;
is_deeply([grep { $seen{$_->[0]}++ } @point], [], '... each once');
is_deeply([grep { $_->[1] <= 0 || $_->[2] < 0 } @point], [], '... with seconds, and how far off they may be');

# A library stands in for what happens while points are computed: the child's alarm comes at once, or ends its parent as the end of
# the job does.
spew('end.c', '#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
unsigned alarm(unsigned s)
{
	struct rlimit most;
	FILE *f = fopen("limits", "w");

	if (getenv("TOO_LONG"))
		raise(SIGALRM);
	getrlimit(RLIMIT_AS, &most);
	fprintf(f, "%u s, %lu MiB", s, (unsigned long)most.rlim_cur >> 20);
	fclose(f);
	if (!strcmp(program_invocation_short_name, "precedent"))
		kill(getppid(), SIGKILL);
	_exit(1);
}
');
is(run_command('cc', '-shared', '-fPIC', '-o', 'end.so', 'end.c')->{rc}, 0, 'a library that ends the probe');

# With the skeleton that is there.
sub again {
	my ($library, @argument) = @_;
	local %ENV = (%ENV, LD_PRELOAD => $library, ASAN_OPTIONS => 'verify_asan_link_order=0');
	return precedent('probe', '--dir', 3, '--candidate', 'home', '--seconds', 0.2, @argument);
}

unlink '3/probe.home.result' or die;
is(again(getcwd() . '/end.so', map { ('--member', $_) } @member)->{rc}, 137, 'a probe that is ended while it computes points');
like(-e '3/probe.home.result' ? slurp('3/probe.home.result') : '', qr/^status ok\n(?!.*^(?:un)?point).*^end$/ms, '... leaves its record, without points');
like(slurp('limits'), patience(1) > 1 ? qr/^60 s/ : qr/^60 s, 1024 MiB$/, '... and had bounds of time and memory');
{
	local $ENV{TOO_LONG} = 1;
	is(again(getcwd() . '/end.so', '--points-seconds', 7, map { ('--member', $_) } @member)->{rc}, 0, 'points that take too long');
}
like(slurp('3/probe.home.result'), qr/^unpoint a model took longer than 7 s$/m, '... are none');

# Each 1e300 is written again as 1e+300, so the numbers of a point do not fit into its line.
is(again('', map { ('--member', "$_" . ',1e300' x 18) } @member)->{rc}, 0, 'numbers that are too long');
like(slurp('3/probe.home.result'), qr/^unpoint the model computes none$/m, '... are no points');

like(probed(@member[2, 1]), qr/^unpoint only 2 of 2 traces can be used$/m, 'two traces are too few');
rename '1/0.ptrace', '1/gone' or die;
like(probed(@member[2, 1, 0]), qr/^unpoint only 2 of 3 traces can be used$/m, 'a trace that has gone');
rename '1/gone', '1/0.ptrace' or die;
like(probed($member[2], $member[1], '1=4,1,1,0,120,200'), qr/^unpoint 2 ranks ran where the job asked for 4$/m, 'other ranks than were asked for');
open my $f, '>', '1/0.ptrace' or die;
print $f 'no trace';
close $f or die;
like(probed(@member[2, 1, 0]), qr/^unpoint \S.*$/m, 'a damaged trace');
unlike(probed(), qr/^(un)?point/m, 'a probe that was not asked');
for my $bad ('1', '=1,2', 'x=1', '1=' . '1' x 200) {
	my $r = precedent('probe', '--dir', 3, '--candidate', 'home', '--member', $bad);
	is($r->{rc}, 2, 'refused: --member ' . substr $bad, 0, 20);
}

done_testing();
