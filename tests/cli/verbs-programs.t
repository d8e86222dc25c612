#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# All verbs that read a trace, on traces of programs of all kinds: each succeeds without a message, or fails with one line. What is
# for other programs is read by one: JSON by a parser, OTF2 by otf2-print.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use BothMpi;
use Cwd qw(getcwd);
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command);

use constant PAGE_B => 20e6;

my ($open, $mpich) = libraries();

# Ranks, program and arguments; with '!' a run that ends badly, so that its trace is partial.
my @runs = (
	(map { [2, 'irregular', $_, 40, 200] } qw(steps solver panels refine farm fetch some branch)),
	[2, 'MPICH irregular', 'refine', 40, 200], [2, 'MPICH rma', 400, 20],
	[1, 'heat', 64, 30], [6, 'heat', 64, 30], [4, 'cg', 100, 20],
	[3, 'master_worker', 60, 200], [2, 'varying', 20], [2, 'varying_loops', 20], [2, 'zero_counts'], [3, 'sizes', 3],
	[2, 'poll', 300], [2, 'onesided'], [2, 'rma', 400, 20], [2, 'mpiio', '.', 16, 3], [2, 'tiles', 16, 2],
	[2, 'calls'], [2, 'calls_dyn'], [2, 'calls_f08'], [2, 'heatf'],
	[2, 'threads', 20], [2, 'thread_order'], [2, 'mprobe_threads', 'both', 100, 3], [2, 'planted', 'late-send:mprobe', '--reps', 3],
	[2, '!dies', 'kill', 10], [2, '!crash'], [2, '!nofinalize'], [2, '!abort'],
);

# Threads can return from calls in an order that one thread cannot repeat. A line says why there is no skeleton.
my %no_skeleton = (thread_order => 1, calls_dyn => 1, threads => 1);

# A verb did what it should, or, where it may, said in one line why not. Returns whether it succeeded.
sub told {
	my ($what, $r, $may_refuse) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $good = $r->{rc} == 0 ? $r->{err} eq ''
		: $may_refuse && ($r->{rc} == 1 || $r->{rc} == 2) && $r->{out} eq '' && $r->{err} =~ /\Aprecedent: [^\n]+\n\z/;
	ok($good, $may_refuse ? "$what: done, or one line says why not" : "$what: done") or diag "exit code $r->{rc}\n$r->{out}$r->{err}";
	note $r->{err} if $r->{rc};
	return $r->{rc} == 0;
}

sub is_json {
	my ($what, $text) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(eval { decode_json($text) }, "$what: JSON") || diag $@ . substr($text, 0, 200);
}

sub look {
	my ($what, $file, $partial, $may_refuse) = @_;
	is_json("$what, info", precedent('info', '--json', $file)->{out}) if told("$what, info", precedent('info', $file));
	is_json("$what, advise", precedent('advise', '--json', $file)->{out}) if told("$what, advise", precedent('advise', $file));
	is_json("$what, verify", precedent('verify', '--json', $file)->{out}) if told("$what, verify", precedent('verify', $file), $partial);
	my $r = precedent('skeleton', '--json', '--seconds', 0.1, '-o', 'skel', $file);
	is_json("$what, skeleton", $r->{out}) if told("$what, skeleton", $r, $partial || $may_refuse);
	told("$what, model", precedent('model', 'fit', $file, '-o', 'model'), 1);
	return;
}

sub written {
	my ($what, $file) = @_;
	if (told("$what, view", precedent('view', '-o', 'page.html', $file))) {
		cmp_ok(-s 'page.html', '<', PAGE_B, "$what, view: a small page");
		is_json("$what, view", slurp('page.html') =~ m{<script type="application/json" id="meta">(.*?)</script>}s ? $1 : '');
	}
	is_json("$what, chrome", slurp('x.json')) if told("$what, chrome", precedent('export', '--format', 'chrome', '-o', 'x.json', $file));
	if (told("$what, csv", precedent('export', '--format', 'csv', '-o', 'x.csv', $file))) {
		my ($head, @lines) = map { scalar(() = /,/g) } split /\n/, slurp('x.csv') =~ s/"[^"]*"//gr;
		is_deeply([grep { $_ != $head } @lines], [], "$what, csv: all lines have as many columns as the first");
	}
	return if !told("$what, otf2", precedent('export', '--format', 'otf2', '-o', 'x.otf2', $file));
	my $r = run_command('sh', '-c', 'otf2-print x.otf2/*.otf2 >otf2.txt');
	is("$r->{rc} $r->{err}", '0 ', "$what, otf2: otf2-print reads it");
	run_command('rm', '-rf', 'x.otf2');
	return;
}

sub traced {
	my ($mpi, $file, $fails, $ranks, $name, @arguments) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @{ $mpi->{run} }, '-n', $ranks, program_of($mpi, $name), @arguments);
	my $made = ok(-s $file && ($fails || $r->{rc} == 0), "$mpi->{name}, $name @arguments on $ranks: traced");
	diag "exit code $r->{rc}: $r->{err}" if !$made;
	return $made;
}

# What the metalayer makes of three runs.
sub modelled {
	my ($what, @files) = @_;
	return if !told("$what, model", precedent('model', 'fit', @files, '-o', 'model'), 1);
	told("$what, show", precedent('model', 'show', 'model'));
	my $r = precedent('model', 'predict', '--json', '--ranks', 2, '--var', 'arg2=80', 'model');
	is_json("$what, predicted", $r->{out}) if told("$what, predicted", $r, 1);
	return;
}

for my $run (@runs) {
	my ($ranks, $name, @arguments) = @$run;
	my $mpi = $name =~ s/^MPICH // ? $mpich : $open;
	my $fails = $name =~ s/^!//;
	my $what = join ' ', $mpi ? $mpi->{name} : 'no MPICH', $name, @arguments, "on $ranks";
	unlink 'x.ptrace';
	next if !$mpi || !traced($mpi, 'x.ptrace', $fails, $ranks, $name, @arguments);
	look($what, 'x.ptrace', $fails, $no_skeleton{$name});
	written($what, 'x.ptrace');
	next if $mpi != $open || $name ne 'irregular' || $arguments[0] !~ /^(?:steps|refine|farm)$/;
	traced($open, "$_.ptrace", 0, $ranks, $name, $arguments[0], $_, 200) for 10, 20;
	modelled($what, '10.ptrace', '20.ptrace', 'x.ptrace');
}

done_testing;
