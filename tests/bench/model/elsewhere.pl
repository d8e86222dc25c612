#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# How long does a program take in another partition, with inputs that never ran? "Elsewhere" is this machine with messages
# through TCP instead of memory. Three inputs run and are traced with messages through memory. One other input lies between
# the runs, and one up to half beyond. They are measured elsewhere, and predicted in two ways.
#
#   ratio     The model computes points for messages through memory. The skeletons of the three traces run elsewhere, and the
#             law over inputs scales the points to them, as precedentd does. Its intervals are not widened by the skeletons'.
#   skeleton  The model predicts a trace, and the skeleton of this trace runs elsewhere.
# A line has the median of the measured runs and half of their range, and the errors of both.
# It needs `make all programs build/tests/bench/model/experiments`.
#
#   elsewhere.pl [PROGRAM...] [--rounds N] [--dir DIR]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Bench qw(build median output);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;
use Time::HiRes qw(time);

my %elsewhere = (OMPI_MCA_btl => 'tcp,self');
my %words = (jacobi => ['compute-first'], diffuse => []);
my @programs = (
	['heat', [300, 3000], [420, 4000], [520, 2000], [360, 3500], [600, 3000]],
	['jacobi', [400, 2000], [560, 1500], [700, 1000], [500, 1600], [800, 1400]],
	['lu', [48, 400], [64, 250], [72, 150], [60, 220], [80, 280]],
	['cg', [200, 2000], [256, 1500], [320, 1000], [280, 1400], [370, 1700]],
	['diffuse', [20, 200], [24, 150], [28, 80], [26, 110], [32, 90]],
	['ft', [32, 200], [64, 20], [64, 50], [32, 160], [64, 70]],
	['sp', [36, 80], [48, 60], [56, 30], [50, 50], [64, 50]],
	['bt', [24, 30], [32, 15], [38, 12], [30, 20], [44, 18]],
);
my ($rounds, $dir) = (3, build() . '/model-elsewhere');
GetOptions('rounds=i' => \$rounds, 'dir=s' => \$dir) or die "usage: elsewhere.pl [PROGRAM...] [--rounds N] [--dir DIR]\n";
@programs = grep { my $p = $_; grep { $_ eq $p->[0] } @ARGV } @programs if @ARGV;
make_path($dir);

sub arguments {
	my ($name, @numbers) = @_;
	return (@{$words{$name} // []}, @numbers, $name eq 'diffuse' ? (0) : ());
}

# Seconds of the whole command, with messages through memory (and traced, into a file) or through TCP.
sub seconds {
	my ($name, $numbers, $file) = @_;
	local %ENV = (%ENV, $file ? (PRECEDENT_TRACE_LOCAL => tempdir(CLEANUP => 1), LD_PRELOAD => build() . '/libprecedent_trace.so',
		PRECEDENT_TRACE_FILE => $file) : %elsewhere);
	unlink $file if $file;
	my $begin = time;
	my ($rc, $out) = output('timeout', 120, qw(mpirun --bind-to core -n 2), build() . "/tests/programs/$name", arguments($name, @$numbers));
	die "$name @$numbers: $out\n" if $rc;
	return time - $begin;
}

sub precedent {
	my (@words) = @_;
	my ($rc, $out) = output('timeout', 300, build() . '/precedent', @words);
	return $rc ? undef : $out;
}

sub info {
	my ($file) = @_;
	return decode_json(precedent('info', '--json', $file))->{wall_s};
}

# What the skeleton of a trace gives elsewhere, from MPI_Init to MPI_Finalize.
sub skeleton {
	my ($trace) = @_;
	local %ENV = (%ENV, %elsewhere);
	my $out = precedent('predict', $trace, '--seconds', 2, '--json');
	return defined $out && $out =~ /"predicted_s": ([\d.e+-]+)/ ? $1 : undef;
}

sub vars { return join ',', 2, 1, 1, 0, @{$_[0]} }

sub law {
	my ($runs, $points, $asked) = @_;
	my $tmp = File::Temp->new;
	print $tmp map { "$_\n" } (map { 'run ' . vars($_->{of}) . " $_->{s}" } @$runs), (map { "point $_->{vars} $_->{s} $_->{error}" } @$points),
		map { 'ask ' . vars($_) } @$asked;
	close $tmp;
	my ($rc, $out) = output('timeout', 120, build() . '/tests/bench/model/experiments', 'law', $tmp->filename);
	die "experiments law: $out\n" if $rc;
	return decode_json($out);
}

# Nothing if the model computes no points; then the law has nothing to refuse.
sub points {
	my ($runs, $beside) = @_;
	my ($rc, $out) = output('timeout', 120, build() . '/tests/bench/model/experiments', 'points', map { vars($_->{of}) . "=$_->{file}" } @$runs);
	print "no points: $out\n" if $rc;
	return $rc ? undef : [map { +{%$_, s => $_->{s} + $beside} } @{decode_json($out)}];
}

sub shown {
	my ($s, $true) = @_;
	return defined $s ? sprintf('%.2f s (%+.1f %%)', $s, 100 * ($s / $true - 1)) : 'refused';
}

sub one {
	my ($name, @inputs) = @_;
	my (@runs, @truth);
	for my $i (0 .. 2) {
		my $file = "$dir/$name.$i";
		push @runs, {of => $inputs[$i], file => $file, elapsed_s => seconds($name, $inputs[$i], $file), mpi_s => info($file)};
	}
	for (1 .. $rounds) {
		push @{$truth[$_]}, seconds($name, $inputs[3 + $_]) for 0, 1;
	}
	my $beside = median(map { $_->{elapsed_s} - $_->{mpi_s} } @runs);
	my @there = grep { defined $_->{s} } map { my $s = skeleton($_->{file}); +{of => $_->{of}, s => defined $s ? $s + $beside : undef} } @runs;
	my @asked = @inputs[3, 4];
	my $points = points(\@runs, $beside);
	my $law = $points ? law(\@there, $points, \@asked) : [];
	precedent(qw(model fit), (map { $_->{file} } @runs), (map { my $n = $_; ('--var', "n$n=" . join ',', map { $_->{of}[$n - 1] } @runs) } 1, 2),
		'-o', "$dir/$name.model");
	for my $q (0, 1) {
		my $file = "$dir/$name.predicted.$q";
		unlink $file;
		my $made = precedent(qw(model predict), "$dir/$name.model", qw(--ranks 2), (map { ('--var', "n$_=$asked[$q][$_ - 1]") } 1, 2),
			(map { ('--from', $_->{file}) } @runs), '-o', $file);
		my $s = defined $made && -s $file ? skeleton($file) : undef;
		my ($true, $answer) = (median(@{$truth[$q]}), $law->[$q]);
		my @spread = sort { $a <=> $b } @{$truth[$q]};
		printf "%-8s %-9s %6.2f s +- %2.0f %% | ratio %-18s [%s] | skeleton %s\n", $name, join('x', @{$asked[$q]}), $true,
			50 * ($spread[-1] - $spread[0]) / $true, $points ? shown($answer->{mean}, $true) : 'no points', defined $answer->{lo} ? sprintf('%.2f-%.2f', @$answer{qw(lo hi)}) : '', shown(defined $s ? $s + $beside : undef, $true);
	}
}

-x build() . '/tests/bench/model/experiments' or die "make build/tests/bench/model/experiments first\n";
$| = 1;
one(@$_) for @programs;
