# SPDX-License-Identifier: GPL-2.0-or-later
# A run that was never made as a trace: four programs traced at three sizes on two numbers of ranks, a fourth size on a
# third number predicted. The oracle is the trace of that very run, call by call and parameter by parameter; a skeleton of
# the prediction, run under the tracer, makes these calls too. It is never taken for a run.
use strict;
use warnings;

use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n');

sub trace {
	my ($file, $ranks, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, $ranks, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return $file;
}

# Calls of each rank in order: [function, parameters, site].
sub calls {
	my ($file) = @_;
	my @rank;
	is(precedent('export', $file, '--format', 'csv', '-o', 'calls.csv')->{rc}, 0, "$file can be exported");
	my ($head, @rows) = split /\n/, slurp('calls.csv');
	for (@rows) {
		my ($rank, $event, $rest) = /^(\d+),(\d+),(.*)$/ or die "row '$_'";
		my ($function, $site, $parameters) = $rest =~ /^[\d.]+,[\d.]+,\w+,(\w+),"(.*?)","(.*)"$/ or die "row '$_'";
		push @{ $rank[$rank] }, [$function, $parameters, $site];
	}
	return \@rank;
}

# Those that carry data and that the program makes: a skeleton has a frame of its own, makes communicators by splits, and
# datatypes and windows once for all ranks (so that they have other numbers); files it reads and writes by its runtime. What
# a wildcard met it names.
sub data {
	my ($calls, $skeleton) = @_;
	my $plain = sub {
		my ($parameters) = @_;
		$parameters =~ s/type=\d+/type=derived/g;
		$parameters =~ s/\bsrc=-1\b(.*) asrc=(\d+)/src=$2$1 asrc=-1/;
		return $parameters;
	};
	return [ map {
		[ map { "$_->[0] " . $plain->($_->[1]) } grep { $_->[0] !~ /^MPI_(Init|Finalize|Cart|Comm|Type|File|Win_create|Win_free)/ && (!$skeleton || $_->[2] =~ /\(skel\)/) } @$_ ]
	} @$calls ];
}

sub predicted {
	my ($model, $ranks, $arguments, @more) = @_;
	return precedent('model', 'predict', $model, '--ranks', $ranks, (map { ('--var', 'arg' . ($_ + 1) . "=$arguments->[$_]") } 0 .. $#$arguments),
		@more);
}

# program, its last words, arguments of two and four ranks, the run that is asked for
my @asked = (
	['heat', [], [[96, 60, 10], [128, 83, 8], [161, 47, 12]], [[96, 61, 8], [128, 50, 12], [161, 72, 10]], 3, [200, 93, 9]],
	['heat', ['isend'], [[96, 60, 10], [128, 83, 8], [161, 47, 12]], [[96, 61, 8], [128, 50, 12], [161, 72, 10]], 3, [200, 93, 9]],
	['lu', [], [[24, 7], [32, 9], [41, 12]], [[24, 8], [32, 12], [41, 10]], 6, [50, 13]],
	['tiles', [], [[24, 3], [33, 5], [47, 4]], [[26, 5], [33, 3], [51, 6]], 3, [40, 7]],
	['cg', [], [[24, 9], [32, 14], [41, 11]], [[24, 17], [32, 10], [41, 13]], 6, [50, 33]],
);
my %runs;
for my $case (@asked) {
	my ($name, $words, $two, $four, $ranks, $arguments) = @$case;
	my $title = join '-', $name, @$words;
	my @files = map { my $n = $_; map { trace("$title-$n-$_->[0].ptrace", $n, program($name), @$_, @$words) } @{ $n == 2 ? $two : $four } } 2, 4;

	$runs{$title} = \@files;
	is(precedent('model', 'fit', @files, '-o', "$title.model")->{rc}, 0, "$title: learnt");
	my $r = predicted("$title.model", $ranks, $arguments, '--from', $files[2], '--from', $files[3], '-o', "$title.ptrace", '--json');
	is($r->{rc}, 0, "$title: a run that was never made is written as a trace") or diag $r->{err};
	my $wall_s = decode_json($r->{out})->{wall_s};

	my $check = precedent('info', '--check', "$title.ptrace");
	is($check->{rc}, 0, 'it is sound') or diag $check->{out};
	my $info = decode_json(precedent('info', '--json', "$title.ptrace")->{out});
	like($info->{predicted}, qr/^\Q$title\E\.model \(6 runs\) for arg1=$arguments->[0], .*on $ranks ranks, with .* from \Q$files[2], $files[3]\E$/,
		'it says what it is');
	cmp_ok(abs($info->{wall_s} - $wall_s), '<', 1e-8, 'it lasts as long as is predicted');
	cmp_ok($info->{compute_s}, '>', 0, 'computation');
	cmp_ok($info->{compute_s}, '<', $info->{wall_s} * $ranks, 'is a part of it');
	like(precedent('info', "$title.ptrace")->{out}, qr/PREDICTED \Q$title\E\.model.*$/m, 'and says so to people');

	my ($is, $was) = (calls("$title.ptrace"), calls(trace("$title-real.ptrace", $ranks, program($name), @$arguments, @$words)));
	is_deeply($is, $was, "$title: every call of every rank is that of the run, with all parameters and call sites");

	my $made = precedent('skeleton', "$title.ptrace", '-o', "$title.skel", '--seconds', 1000);
	is($made->{rc}, 0, "$title: a skeleton of it") or diag $made->{err};
	like(slurp("$title.skel/skel.c"), qr/^ \* The run was never made: it is predicted by \Q$title\E\.model/m, 'says from what');
	my $built = run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', "-I$ENV{PRECEDENT_LIBDIR}/include", '-o', "$title.skel/skel",
		"$title.skel/skel.c", "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a", '-lm');
	is($built->{rc}, 0, 'compiles without a warning') or diag $built->{err};
	trace("$title-again.ptrace", $ranks, getcwd() . "/$title.skel/skel", '--empty-loop', '--result', 'result');
	is_deeply(data(calls("$title-again.ptrace"), 1), data($was), "$title: and makes the calls of the run, rank by rank");
}

# What reads traces reads it.
is(precedent('view', 'cg.ptrace', '-o', 'cg.html')->{rc}, 0, 'it has a timeline');
like(slurp('cg.html'), qr/"predicted":"cg\.model/, '... which knows that the run was never made, and says so');
my $advice = precedent('advise', 'cg.ptrace');
is($advice->{rc}, 0, 'and advice');
like($advice->{out}, qr/^PREDICTED: .*model/, 'which says that the run is none');
ok(decode_json(precedent('advise', 'cg.ptrace', '--json')->{out})->{predicted}, 'in the JSON too');
unlike($advice->{out}, qr/do not get their processors/, 'but none about processors, of which nothing is predicted');

# What learns from runs does not.
sub refused {
	my ($what, $why, @arguments) = @_;
	my $r = precedent('model', @arguments);

	is($r->{rc}, 1, "$what: refused");
	like($r->{err}, $why, 'with the reason');
	is(scalar(() = $r->{err} =~ /\n/g), 1, 'in one line');
}
my @lu = @{ $runs{lu} };
my @six = ('lu.model', '--ranks', 6, '--var', 'arg1=50', '--var', 'arg2=13');
refused('a model of it', qr/lu\.ptrace is predicted: there was no such run/, 'fit', @lu, 'lu.ptrace', '-o', 'x.model');
refused('a prediction from it', qr/lu\.ptrace is itself predicted/, 'predict', @six, '--from', 'lu.ptrace', '-o', 'x.ptrace');
refused('a comparison with it', qr/lu\.ptrace is predicted itself/, 'predict', @six, '--against', 'lu.ptrace');
refused('another program', qr/rank 0, call 0: MPI_Init lu\S* is in none of the given traces/, 'predict', @six, '--from', $runs{cg}[0], '-o', 'x.ptrace');
refused('a place that cannot be written', qr/cannot create/, 'predict', @six, '--from', $lu[0], '-o', 'none/x.ptrace');
ok(!-e 'x.model' && !glob('x.ptrace*'), 'nothing is written then');
is(precedent('model', 'predict', @six, @$_)->{rc}, 2, 'usage: ' . join ' ', @$_) for ['-o', 'x.ptrace'], ['--from', $lu[0]];

done_testing;
