# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs traced at three sizes and two numbers of ranks; `precedent model` predicts a fourth size and a third number of
# ranks, and beside it the normal form of total times does.
package OwnPrograms;
use strict;
use warnings;
use Bench qw(build median spread);
use Exporter 'import';
use File::Temp qw(tempdir);
use JSON::PP;

our @EXPORT_OK = qw(own_run own_names);

my $REPEATS = 3; # of a run that is asked for: the median is what happened
my %program = (
	heat => {sizes => [385, 512, 642], other => 577, steps => 600, dims => 1},
	lu   => {sizes => [45, 64, 83], other => 71, steps => 100, dims => 2},
	cg   => {sizes => [193, 258, 383], other => 321, steps => 500, dims => 2},
	ft   => {sizes => [16, 32, 128], other => 64, steps => 20, dims => 1},
	mg   => {sizes => [16, 32, 128], other => 64, steps => 20, dims => 2, ranks => [2, 4, 8], other_ranks => 16},
	sp   => {sizes => [31, 67, 94], other => 58, steps => 20, dims => 2, ranks => [2, 4, 6, 9], other_ranks => 8},
	bt   => {sizes => [31, 67, 94], other => 58, steps => 5, dims => 2, ranks => [2, 4, 6, 9], other_ranks => 8},
	is   => {sizes => [64, 256, 1024], other => 512, steps => 10, dims => 1},
	ep   => {sizes => [2, 8, 32], other => 16, dims => 1},
);
my @ranks = (2, 4);
my $OTHER_RANKS = 8;

sub own_names { return qw(heat lu cg ft mg sp bt is ep) }

sub cores {
	my $n = `getconf _NPROCESSORS_ONLN`;
	return $n + 0;
}

sub output {
	my (@cmd) = @_;
	my $pid = open my $p, '-|';
	die "fork: $!\n" if !defined $pid;
	if (!$pid) {
		open STDERR, '>&', \*STDOUT or exit 127;
		exec @cmd or exit 127;
	}
	my $out = do { local $/; <$p> };
	close $p;
	return ($? >> 8, $out // '');
}

# A traced run, spill files and all; seconds of its slowest rank.
sub traced {
	my ($file, $ranks, @cmd) = @_;
	my $local = tempdir(CLEANUP => 1);
	local @ENV{qw(PRECEDENT_TRACE_LOCAL LD_PRELOAD PRECEDENT_TRACE_FILE)} = ($local, build() . '/libprecedent_trace.so', $file);
	unlink $file;
	my ($rc, $out) = output('mpirun', $ranks > cores() ? ('--oversubscribe', '--bind-to', 'none') : ('--bind-to', 'core'), '-n', $ranks, @cmd);
	die "@cmd failed on $ranks ranks: $out\n" if $rc || !-s $file;
	delete $ENV{LD_PRELOAD};
	($rc, $out) = output(build() . '/precedent', 'info', '--json', $file);
	die "info $file: $out\n" if $rc;
	return decode_json($out)->{wall_s};
}

# Normal form of rows [size, ranks, seconds], at what is asked.
sub form {
	my ($rows, @asked) = @_;
	my $tmp = File::Temp->new;
	print $tmp map { "@$_\n" } @$rows, @asked;
	close $tmp;
	open my $p, '-|', build() . '/tests/bench/model/experiments', 'form', '2', $tmp->filename or die "experiments: $!\n";
	my $out = do { local $/; <$p> };
	close $p or die "experiments form failed\n";
	return decode_json($out);
}

# Seconds that a skeleton of the prediction says, which knows no run of that size on that number of ranks; undef: there is none.
sub skeleton {
	my ($dir, $name, $size, $ranks, $traces) = @_;
	my ($rc, $out) = output(build() . '/precedent', qw(model predict), "$dir/model", '--ranks', $ranks, '--var', "N=$size", '-o', "$dir/predicted",
		map { ('--from', $_) } @$traces);
	return if $rc;
	($rc, $out) = output(build() . '/precedent', 'skeleton', "$dir/predicted", '-o', "$dir/skel", '--seconds', 100, '--compile');
	die "skeleton of a predicted run: $out\n" if $rc;
	my @s;
	my @where = $ranks > cores() ? ('--oversubscribe', '--bind-to', 'none') : ('--bind-to', 'core');
	# A calibration holds for skeletons of the same mixes and ranks.
	($rc, $out) = output('mpirun', @where, '-n', $ranks, "$dir/skel/skel", '--calibrate', "$dir/calibration");
	die "$name, calibration: $out\n" if $rc;
	for (1 .. $REPEATS) {
		($rc, $out) = output('mpirun', @where, '-n', $ranks, "$dir/skel/skel", '--calibration', "$dir/calibration");
		die "$name, skeleton of a predicted run: $out\n" if $rc || $out !~ /^skel_s ([\d.]+)/m;
		push @s, $1;
	}
	return median(@s);
}

sub ask {
	my ($dir, $name, $size, $ranks, $traces) = @_;
	my $p = $program{$name};
	my @cmd = (build() . "/tests/programs/$name", $size, $p->{steps} // ());
	my @s = map { traced("$dir/asked", $ranks, @cmd) } 1 .. $REPEATS;
	my $r = {size => $size, ranks => $ranks, actual_s => median(@s), noise => spread(@s), crowded => $ranks > cores() ? JSON::PP::true : JSON::PP::false};
	my ($rc, $out) = output(build() . '/precedent', qw(model predict), "$dir/model", '--ranks', $ranks, '--var', "N=$size", '--json', '--against', "$dir/asked");
	my ($exact, $calls, $values, $wrong, $unknown) =
		$out =~ /: (\d+) of \d+ ranks make the predicted calls; (\S+) calls and (\S+) values compared, (\d+) values are others, (\d+) were not/;
	$r->{skeleton_s} = skeleton($dir, $name, $size, $ranks, $traces);
	my ($wall) = $out =~ /"wall_s": ([\d.e+-]+)/;
	if (!defined $wall) {
		$r->{refused} = (split /\n/, $out)[-1] // '';
		return $r;
	}
	return {%$r, wall_s => $wall + 0, exact_ranks => ($exact // 0) + 0, calls => $calls // '', values => $values // '', wrong => ($wrong // 0) + 0,
		unknown => ($unknown // 0) + 0};
}

# own_run(PROGRAM): the result of the experiment.
sub own_run {
	my ($name) = @_;
	my $p = $program{$name};
	my $dir = tempdir(CLEANUP => 1);
	my (@traces, @rows, @sizes);
	my @learnt = @{$p->{ranks} // \@ranks};
	my $other = $p->{other_ranks} // $OTHER_RANKS;
	for my $ranks (@learnt) {
		for my $size (@{$p->{sizes}}) {
			my $file = "$dir/$ranks-$size";
			push @rows, [$size, $ranks, traced($file, $ranks, build() . "/tests/programs/$name", $size, $p->{steps} // ())];
			push @traces, $file;
			push @sizes, $size;
		}
	}
	my ($rc, $out) = output(build() . '/precedent', qw(model fit), @traces, '--var', 'N=' . join(',', @sizes), '--dims', $p->{dims}, '-o', "$dir/model");
	die "model fit: $out\n" if $rc;
	my @asked = map { ask($dir, $name, @$_, \@traces) } [$p->{other}, $learnt[0]], [$p->{other}, $learnt[1]], [$p->{sizes}[1], $other], [$p->{other}, $other];
	my $form = form(\@rows, map { [$_->{size}, $_->{ranks}] } @asked);
	$asked[$_]{form_s} = $form->{values}[$_] for 0 .. $#asked;
	return {steps => $p->{steps}, sizes => $p->{sizes}, ranks => \@learnt, fitted => $out =~ s/\n+\z//r, form => $form->{form}, asked => \@asked};
}

1;
