#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# How long do programs take with inputs that never ran? Each program runs with five inputs. Three other inputs are predicted from the
# first three runs and from all five. The law over total times (estimate/scaling_model.h), the model of the calls (precedent model)
# and the law with computed points predict them. Every run is made three times, all runs in turns, and its median counts.
#
#   unseen.pl [PROGRAM...] [--again] [--rounds N] [--dir DIR] [--json | --write doc/evaluation/models.md]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/lib";
use Bench qw(build median output);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;
use Time::HiRes qw(time);
use UnseenTable qw(unseen_table unseen_write);

# runs, ask: [ranks, numbers...]. The first question is within the range of the runs. The second is beyond the range by at most
# half, and the third by more than half. command: the words around the numbers.
my @programs = (
	{name => 'heat', kind => 'stencil', runs => [[2, 300, 3000], [2, 420, 4000], [2, 520, 2000], [1, 360, 1500], [1, 440, 2500]],
		ask => [[2, 360, 3500], [2, 600, 3000], [2, 760, 3000]]},
	{name => 'jacobi', kind => 'stencil', command => sub { ('compute-first', @_) }, runs => [[2, 400, 2000], [2, 560, 1500], [2, 700, 1000], [1, 480, 1500], [1, 640, 1000]],
		ask => [[2, 500, 1600], [2, 800, 1400], [2, 1000, 1000]]},
	{name => 'lu', kind => 'wavefront', runs => [[2, 48, 400], [2, 64, 250], [2, 72, 150], [1, 56, 200], [1, 66, 120]], ask => [[2, 60, 220], [2, 80, 280], [2, 96, 200]]},
	{name => 'cg', kind => 'solver', runs => [[2, 200, 2000], [2, 256, 1500], [2, 320, 1000], [1, 240, 1500], [1, 300, 1000]], ask => [[2, 280, 1400], [2, 370, 1700], [2, 450, 1500]]},
	{name => 'diffuse', kind => 'solver', command => sub { (@_, 0) }, runs => [[2, 20, 200], [2, 24, 150], [2, 28, 80], [1, 22, 100], [1, 26, 60]], ask => [[2, 26, 110], [2, 32, 90], [2, 40, 50]]},
	{name => 'ft', kind => 'transform', runs => [[2, 32, 200], [2, 64, 20], [2, 64, 50], [1, 32, 120], [1, 64, 30]], ask => [[2, 32, 160], [2, 64, 70], [2, 128, 6]]},
	{name => 'mg', kind => 'multigrid', runs => [[2, 32, 400], [2, 64, 60], [2, 64, 100], [1, 32, 200], [1, 64, 40]], ask => [[2, 64, 80], [2, 64, 140], [2, 128, 20]]},
	{name => 'sp', kind => 'line sweeps', runs => [[2, 36, 80], [2, 48, 60], [2, 56, 30], [1, 40, 50], [1, 52, 30]], ask => [[2, 50, 50], [2, 64, 50], [2, 80, 40]]},
	{name => 'bt', kind => 'line sweeps', runs => [[2, 24, 30], [2, 32, 15], [2, 38, 12], [1, 28, 15], [1, 34, 6]], ask => [[2, 30, 20], [2, 44, 18], [2, 52, 10]]},
	{name => 'is', kind => 'sort', runs => [[2, 512, 80], [2, 1024, 50], [2, 2048, 20], [1, 768, 30], [1, 1536, 20]], ask => [[2, 1280, 40], [2, 2560, 30], [2, 4096, 25]]},
	{name => 'ep', kind => 'Monte Carlo', runs => [[2, 12], [2, 20], [2, 32], [1, 8], [1, 16]], ask => [[2, 24], [2, 40], [2, 64]]},
	{name => 'master_worker', kind => 'farm', runs => [[2, 4000, 20000], [2, 6000, 30000], [2, 8000, 10000], [2, 5000, 25000], [2, 3000, 40000]],
		ask => [[2, 4500, 24000], [2, 9000, 30000], [2, 16000, 20000]]},
	{name => 'irregular', kind => 'farm, tasks unlike', command => sub { ('farm', @_) }, runs => [[2, 150], [2, 300], [2, 500], [2, 220], [2, 400]], ask => [[2, 340], [2, 650], [2, 900]]},
	{name => 'ring', kind => 'pipeline', runs => [[2, 4000, 50000], [2, 8000, 80000], [2, 3000, 120000], [2, 6000, 60000], [2, 5000, 100000]], ask => [[2, 4500, 70000], [2, 9500, 100000], [2, 9000, 240000]]},
);
my $dir = build() . '/model-unseen';
my ($again, $rounds, $as_json, $write) = (0, 3);
my $usage = "usage: unseen.pl [PROGRAM...] [--again] [--rounds N] [--dir DIR] [--json | --write FILE]\n";
GetOptions(again => \$again, 'rounds=i' => \$rounds, 'dir=s' => \$dir, json => \$as_json, 'write=s' => \$write) or die $usage;
for my $name (@ARGV) {
	die "unseen.pl: there is no program '$name'\n$usage" if !grep { $_->{name} eq $name } @programs;
}
@programs = grep { my $p = $_; grep { $_ eq $p->{name} } @ARGV } @programs if @ARGV;
my $json = JSON::PP->new->canonical->pretty;

# Seconds from MPI_Init to MPI_Finalize.
sub wall {
	my ($file) = @_;
	my ($rc, $out) = output('timeout', 120, build() . '/precedent', 'info', '--json', $file);
	die "info $file: $out\n" if $rc;
	return decode_json($out)->{wall_s};
}

# A traced run: seconds of the whole command, and of its slowest rank from MPI_Init to MPI_Finalize.
sub traced {
	my ($file, $p, $ranks, @numbers) = @_;
	my $local = tempdir(CLEANUP => 1);
	my @arguments = $p->{command} ? $p->{command}->(@numbers) : @numbers;
	my @where = $ranks > 2 ? ('--oversubscribe', '--bind-to', 'none') : ('--bind-to', 'core');
	my ($rc, $out, $elapsed);
	{
		local @ENV{qw(PRECEDENT_TRACE_LOCAL LD_PRELOAD PRECEDENT_TRACE_FILE)} = ($local, build() . '/libprecedent_trace.so', $file);
		unlink $file;
		my $begin = time;
		($rc, $out) = output('timeout', 120, 'mpirun', @where, '-n', $ranks, build() . "/tests/programs/$p->{name}", @arguments);
		$elapsed = time - $begin;
	}
	die "$p->{name} @arguments failed on $ranks ranks: $out\n" if $rc || !-s $file;
	return {file => $file, elapsed_s => $elapsed, mpi_s => wall($file)};
}

# For each run and question its median run, by the seconds of the command.
sub measure {
	my ($p) = @_;
	my @of = (@{$p->{runs}}, @{$p->{ask}});
	my @runs;

	make_path("$dir/$p->{name}");
	for my $round (1 .. $rounds) {
		push @{$runs[$_]}, traced("$dir/$p->{name}/" . join('-', @{$of[$_]}, $round), $p, @{$of[$_]}) for $round % 2 ? 0 .. $#of : reverse 0 .. $#of;
	}
	return [map { my @r = sort { $a->{elapsed_s} <=> $b->{elapsed_s} } @{$runs[$_]}; +{%{$r[$#r / 2]}, of => $of[$_], all_s => [map { $_->{elapsed_s} } @r]} } 0 .. $#of];
}

sub vars {
	my ($ranks, @numbers) = @_;
	return join ',', $ranks, 1, 1, 0, @numbers;
}

# points: {vars, s, error}.
sub law {
	my ($runs, $asked, @points) = @_;
	my $tmp = File::Temp->new;
	print $tmp map { "$_\n" } (map { 'run ' . vars(@{$_->{of}}) . " $_->{elapsed_s}" } @$runs), (map { "point $_->{vars} $_->{s} $_->{error}" } @points),
		map { 'ask ' . vars(@$_) } @$asked;
	close $tmp;
	my ($rc, $out) = output('timeout', 120, build() . '/tests/bench/model/experiments', 'law', $tmp->filename);
	die "experiments law: $out\n" if $rc;
	return decode_json($out);
}

# What runs take beside MPI_Init to MPI_Finalize.
sub beside {
	my ($runs) = @_;
	return median(map { $_->{elapsed_s} - $_->{mpi_s} } @$runs);
}

# The law over runs and computed points.
sub both {
	my ($runs, $asked) = @_;
	my ($rc, $out) = output('timeout', 120, build() . '/tests/bench/model/experiments', 'points', map { vars(@{$_->{of}}) . "=$_->{file}" } @$runs);
	return law($runs, $asked) if $rc;
	my $beside = beside($runs);
	return law($runs, $asked, map { {%$_, s => $_->{s} + $beside, error => $_->{error} * $_->{s} / ($_->{s} + $beside)} } @{decode_json($out)});
}

# The model's seconds plus what the runs took beside MPI_Init to MPI_Finalize.
sub model {
	my ($runs, $asked, @how) = @_;
	my $file = File::Temp->new->filename;
	my $numbers = $#{$asked->[0]};
	my @var = map { my $n = $_; ('--var', "n$n=" . join ',', map { $_->{of}[$n] } @$runs) } 1 .. $numbers;
	my ($rc, $out) = output('timeout', 120, build() . '/precedent', qw(model fit), (map { $_->{file} } @$runs), @var, '-o', $file);
	my $beside = beside($runs);
	my @answers;
	for my $of (@$asked) {
		if ($rc) {
			push @answers, {why => (split /\n/, $out)[-1]};
			next;
		}
		my ($no, $text) = output('timeout', 120, build() . '/precedent', qw(model predict), $file, '--ranks', $of->[0], (map { ('--var', "n$_=$of->[$_]") } 1 .. $numbers), '--json', @how);
		my ($wall, $lo, $hi) = map { $text =~ /"$_": ([\d.e+-]+)/ } qw(wall_s low_s high_s);
		push @answers, $no || !defined $wall ? {why => (split /\n/, $text)[-1] // ''} : {mean => $wall + $beside, lo => $lo + $beside, hi => $hi + $beside};
	}
	unlink $file;
	return \@answers;
}

sub predict {
	my ($p, $measured) = @_;
	my @runs = @$measured[0 .. $#{$p->{runs}}];
	my @asked = @$measured[@{$p->{runs}} .. $#$measured];
	my @of = map { $_->{of} } @asked;
	my %r = (name => $p->{name}, kind => $p->{kind}, actual_s => [map { $_->{elapsed_s} } @asked],
		noise => median(map { ($_->{all_s}[-1] - $_->{all_s}[0]) / 2 / $_->{elapsed_s} } @$measured));
	for my $n (3, 5) {
		my @from = @runs[0 .. $n - 1];
		$r{told}{$n} = {law => law(\@from, \@of), model => model(\@from, \@of), both => both(\@from, \@of)};
	}
	return \%r;
}

sub measured {
	my ($p) = @_;
	my $file = "$dir/$p->{name}.json";
	if (!$again && open my $f, '<', $file) {
		my $m = eval { $json->decode(do { local $/; <$f> }) };
		return $m if $m;
	}
	print STDERR "$p->{name} ...\n";
	my $m = measure($p);
	open my $f, '>', "$file.new" or die "$file.new: $!\n";
	print $f $json->encode($m);
	close $f or die "$file.new: $!\n";
	rename "$file.new", $file or die "$file: $!\n";
	return $m;
}

my @results = map { predict($_, measured($_)) } @programs;
if ($as_json) {
	print $json->encode(\@results);
} elsif (defined $write) {
	unseen_write($write, \@results);
} else {
	print unseen_table(\@results);
}
