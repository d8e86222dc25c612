# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs traced at three sizes and two numbers of ranks; `precedent model` predicts a fourth size and a third number of
# ranks, and beside it the normal form of total times does. Every run is made several times, all in turns: all of those that
# are learnt from are, and what happened is the median of those that are asked for.
package OwnPrograms;
use strict;
use warnings;
use Bench qw(build median median_interval output);
use Exporter 'import';
use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use JSON::PP;

our @EXPORT_OK = qw(own_run own_names own_traced);

my $SKELETONS = 3; # runs of one
my %program = (
	heat => {sizes => [385, 512, 642], other => 577, steps => 5000, dims => 1},
	lu   => {sizes => [45, 64, 83], other => 71, steps => 800, dims => 2},
	cg   => {sizes => [193, 258, 383], other => 321, steps => 5000, dims => 2},
	ft   => {sizes => [16, 32, 128], other => 64, steps => 20, dims => 1, ranks => [2, 4], other_ranks => 8},
	mg   => {sizes => [16, 32, 128], other => 64, steps => 60, dims => 2, ranks => [2, 4, 8], other_ranks => 16},
	sp   => {sizes => [31, 67, 94], other => 58, steps => 20, dims => 2, ranks => [2, 4, 6, 9], other_ranks => 8},
	bt   => {sizes => [31, 67, 94], other => 58, steps => 5, dims => 2, ranks => [2, 4, 6, 9], other_ranks => 8},
	is   => {sizes => [64, 256, 1024], other => 512, steps => 30, dims => 1, ranks => [2, 4], other_ranks => 8},
	ep   => {sizes => [8, 32, 128], other => 64, dims => 1, ranks => [2, 4], other_ranks => 8},
);
my @RANKS = (2, 4, 8); # learnt on two of them, asked of the third, where there are cores for all
my $ROUNDS = 6; # the fewest that tell how far off their median is

sub own_names { return qw(heat lu cg ft mg sp bt is ep) }

sub cores {
	my $n = `getconf _NPROCESSORS_ONLN`;
	return $n + 0;
}

# Where ranks run: a core each, or as many on every core, in turns, or anywhere.
sub where {
	my ($ranks) = @_;
	return ('--bind-to', 'core') if $ranks <= cores();
	return ('--oversubscribe', '--bind-to', $ranks % cores() ? 'none' : 'core:overload-allowed');
}

# A traced run, spill files and all; seconds of its slowest rank.
sub traced {
	my ($file, $ranks, @cmd) = @_;
	my $local = tempdir(CLEANUP => 1);
	local @ENV{qw(PRECEDENT_TRACE_LOCAL LD_PRELOAD PRECEDENT_TRACE_FILE)} = ($local, build() . '/libprecedent_trace.so', $file);
	unlink $file;
	my ($rc, $out) = output('mpirun', where($ranks), '-n', $ranks, @cmd);
	die "@cmd failed on $ranks ranks: $out\n" if $rc || !-s $file;
	delete $ENV{LD_PRELOAD};
	($rc, $out) = output(build() . '/precedent', 'info', '--json', $file);
	die "info $file: $out\n" if $rc;
	return decode_json($out)->{wall_s};
}

# The same of a program of the table.
sub own_traced {
	my ($file, $name, $size, $ranks) = @_;
	return traced($file, $ranks, build() . "/tests/programs/$name", $size, $program{$name}{steps} // ());
}

# Half of the interval in which the median of more such runs lies with 95 %, of the median; undef: too few runs for that.
sub noise {
	my (@s) = @_;
	my ($low, $high) = median_interval(@s);
	return defined $low ? ($high - $low) / 2 / median(@s) : undef;
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
	remove_tree("$dir/skel");
	($rc, $out) = output(build() . '/precedent', 'skeleton', "$dir/predicted", '-o', "$dir/skel", '--seconds', 100, '--compile');
	die "skeleton of a predicted run: $out\n" if $rc;
	my @s;
	my @where = where($ranks);
	# A calibration holds for skeletons of the same mixes and ranks.
	($rc, $out) = output('mpirun', @where, '-n', $ranks, "$dir/skel/skel", '--calibrate', "$dir/calibration");
	die "$name, calibration: $out\n" if $rc;
	for (1 .. $SKELETONS) {
		($rc, $out) = output('mpirun', @where, '-n', $ranks, "$dir/skel/skel", '--calibration', "$dir/calibration");
		die "$name, skeleton of a predicted run: $out\n" if $rc || $out !~ /^skel_s ([\d.]+)/m;
		push @s, $1;
	}
	return median(@s);
}

# run: the runs that were made of it, {file, s}, the quickest first.
sub ask {
	my ($dir, $name, $size, $ranks, $traces, $run) = @_;
	my @s = map { $_->{s} } @$run;
	my $r = {size => $size, ranks => $ranks, actual_s => median(@s), noise => noise(@s), runs => \@s,
		crowded => $ranks > cores() ? JSON::PP::true : JSON::PP::false};
	my ($rc, $out) = output(build() . '/precedent', qw(model predict), "$dir/model", '--ranks', $ranks, '--var', "N=$size", '--json', '--against', $run->[$#s / 2]{file});
	my ($exact, $calls, $values, $wrong, $unknown) =
		$out =~ /: (\d+) of \d+ ranks make the predicted calls; (\S+) calls and (\S+) values compared, (\d+) values are others, (\d+) were not/;
	# The rest of the table does not depend on it.
	$r->{skeleton_s} = eval { skeleton($dir, $name, $size, $ranks, $traces) };
	print STDERR "$name, $size on $ranks ranks: no skeleton: $@" if $@;
	my ($wall, $low, $high) = map { $out =~ /"$_": ([\d.e+-]+)/ } qw(wall_s low_s high_s);
	if (!defined $wall) {
		$r->{refused} = (split /\n/, $out)[-1] // '';
		return $r;
	}
	return {%$r, wall_s => $wall + 0, low_s => $low + 0, high_s => $high + 0, exact_ranks => ($exact // 0) + 0, calls => $calls // '', values => $values // '', wrong => ($wrong // 0) + 0,
		unknown => ($unknown // 0) + 0};
}

# Pairs of numbers of ranks that are learnt from, and of [size, ranks] that are asked for. Ranks that have a core each keep it
# while they wait, and those that share one give it up: what calls take then has nothing to do with what they take alone, so that
# on few cores the two are learnt apart.
sub parts {
	my ($p) = @_;
	my ($size, $cores) = ($p->{sizes}[1], cores());
	my @learnt = @{$p->{ranks} // [@RANKS[0, 1]]};
	my $third = $p->{other_ranks} // $RANKS[2];

	return [\@learnt, [[$p->{other}, $learnt[0]], [$p->{other}, $learnt[1]], [$size, $third], [$p->{other}, $third]]]
		if $p->{ranks} || $third <= $cores || $cores < 2;
	my @alone = $cores < 4 ? ($cores) : (int($cores / 2), $cores);
	my @shared = map { $_ * $cores } 2, 3, 4;
	return ([\@alone, [map { [$p->{other}, $_] } @alone]],
		[[@shared[0, 1]], [[$p->{other}, $shared[0]], [$p->{other}, $shared[1]], [$size, $shared[2]], [$p->{other}, $shared[2]]]]);
}

# Runs of all of [size, ranks], in turns, there and back, as often as is said: {"size-ranks" => [{file, s}, ...]}, the quickest first.
sub runs {
	my ($dir, $name, $rounds, @of) = @_;
	my %run;

	for my $round (1 .. $rounds // $ROUNDS) {
		for ($round % 2 ? @of : reverse @of) {
			my ($size, $ranks) = @$_;
			my $file = "$dir/$ranks-$size-$round";
			push @{$run{"$size-$ranks"}}, {file => $file, s => own_traced($file, $name, $size, $ranks)};
		}
	}
	return {map { $_ => [sort { $a->{s} <=> $b->{s} } @{$run{$_}}] } keys %run};
}

sub part {
	my ($dir, $name, $run, $ranks, $asked) = @_;
	my $p = $program{$name};
	my (@traces, @rows, @sizes, @middle);

	for my $n (@$ranks) {
		for my $size (@{$p->{sizes}}) {
			my @r = @{$run->{"$size-$n"}};
			push @rows, [$size, $n, median(map { $_->{s} } @r)];
			push @traces, map { $_->{file} } @r;
			push @sizes, ($size) x @r;
			push @middle, $r[$#r / 2]{file};
		}
	}
	my ($rc, $out) = output(build() . '/precedent', qw(model fit), @traces, '--var', 'N=' . join(',', @sizes), '--dims', $p->{dims}, '-o', "$dir/model");
	die "model fit: $out\n" if $rc;
	my @answers = map { {%{ask($dir, $name, @$_, \@middle, $run->{"$_->[0]-$_->[1]"})}, learnt => join(', ', @$ranks)} } @$asked;
	my $form = form(\@rows, @$asked);
	$answers[$_]{form_s} = $form->{values}[$_] for 0 .. $#answers;
	return {asked => \@answers, fitted => $out =~ s/\n+\z//r, form => $form->{form}};
}

# own_run(PROGRAM, ROUNDS, KEEP): the result of the experiment. KEEP: a folder in which its traces stay, or undef.
sub own_run {
	my ($name, $rounds, $keep) = @_;
	my $p = $program{$name};
	my $dir = defined $keep ? "$keep/$name" : tempdir(CLEANUP => 1);
	make_path($dir);
	my @parts = parts($p);
	my %of;

	for my $part (@parts) {
		my ($ranks, $asked) = @$part;
		$of{"@$_"} = $_ for @$asked, map { my $n = $_; map { [$_, $n] } @{$p->{sizes}} } @$ranks;
	}
	my $run = runs($dir, $name, $rounds, map { $of{$_} } sort keys %of);
	my @results = map { part($dir, $name, $run, @$_) } @parts;
	return {steps => $p->{steps}, sizes => $p->{sizes}, asked => [map { @{$_->{asked}} } @results], fitted => join("\n\n", map { $_->{fitted} } @results),
		forms => [map { $_->{form} } @results]};
}

1;
