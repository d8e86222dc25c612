# SPDX-License-Identifier: GPL-2.0-or-later
#
# One pair of the accuracy table: a program and its skeleton, the skeleton with an empty loop and the partial execution at
# home and elsewhere, and what each method would have told of it. What precedentd would have told is its own estimator's
# answer (make_estimate) to the records that its probes would have left.
package Pairs;
use strict;
use warnings;
use Bench qw(build median);
use Exporter 'import';
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use JSON::PP;
use List::Util qw(max min);
use Machines qw(home_of run_on work_dir);
use Programs qw(program_of furnish slurp spill owned);
use Testbed;

our @EXPORT_OK = qw(prepare pair_begin pair_row);

my @make_partial = (build() . '/tests/bench/make_partial');
my @make_estimate = (build() . '/tests/bench/make_estimate');

# Probes take a part of what a program takes, as they do of jobs: as much as they may, and more would only cost time.
my ($PART, $LEAST_S) = (1 / 4, 0.4);

# The skeleton's facts; made of SECONDS at home, compiled or only planned.
sub skeleton_make {
	my ($p, $seconds, @how) = @_;
	my $r = Testbed::run_command(build() . '/precedent', 'skeleton', $p->{trace}, '-o', "$p->{dir}/skel", '--seconds', $seconds, @how, '--json');
	die "no skeleton: $r->{err}" if $r->{rc} != 0;
	return decode_json($r->{out});
}

# Traced once at home, and its skeleton made: once for all pairs of a sweep. Skeleton and partial execution take at most $most seconds
# there.
sub prepare {
	my ($name, $home, $ranks, $most, $small) = @_;
	my $dir = work_dir($home) . '/' . $name =~ s/[^\w-]+/-/gr;
	my %p = (name => $name, home => $home, ranks => $ranks, dir => $dir, trace => "$dir/trace.ptrace", cal => "$dir/cal",
		stop => "$dir/stop", leaves => program_of($name)->{leaves}, cmd => [furnish($dir, $name, $ranks, $small)]);
	unlink $p{trace};
	run(\%p, $home, {native => 1, env => {LD_PRELOAD => "$dir/libprecedent_trace.so", PRECEDENT_TRACE_FILE => $p{trace}}}, @{$p{cmd}});
	-s $p{trace} or die "it left no trace\n";
	my $part = $PART * skeleton_make(\%p, $most)->{traced_s};
	$p{seconds} = min($most, max($part, $LEAST_S));
	$p{facts} = skeleton_make(\%p, $p{seconds}, '--compile');
	owned($dir);
	$p{unpartial} = stop_prepare(\%p);
	return \%p;
}

sub run {
	my ($p, $at, $o, @cmd) = @_;
	unlink "$p->{dir}/$p->{leaves}" if $p->{leaves};
	return run_on($at, $p->{ranks}, {%$o, dir => $p->{dir}}, @cmd);
}

# ---- what is run ----

# The skeleton there, all numbers of its result by name, its kernels, and what it took with its launch.
sub skeleton {
	my ($p, $at, $way, @more) = @_;
	my $result = "$p->{dir}/result";
	my %r;
	unlink $result;
	($r{took}) = run($p, $at, {}, "$p->{dir}/skel/skel", $at eq $p->{home} ? '--calibrate' : '--calibration', "$p->{cal}.$way", '--result', $result, @more);
	for (split /\n/, slurp($result)) {
		/^kernel (\S+) (\S+)/ ? $r{kernel}{$1} = $2 : /^(\w+) (\S+)$/ ? $r{$1} = $2 : ();
	}
	die "the skeleton left no result\n" if !$r{skel_s};
	return \%r;
}

# Where to stop: '' or why it cannot be.
sub stop_prepare {
	my ($p) = @_;
	mkdir $p->{stop};
	my $r = Testbed::run_command(@make_partial, 'plan', $p->{trace}, $p->{seconds}, $p->{stop});
	owned($p->{stop});
	return $r->{rc} == 0 ? '' : $r->{err} =~ s/\s+\z//r;
}

# The program until it stops, there: {whole_s, took, ...}; undef where that cannot be, for the reason then in $p->{unpartial}.
# Programs here are trusted: they are stopped without the sandbox.
sub partial {
	my ($p, $at) = @_;
	return if $p->{unpartial};
	unlink map { "$p->{stop}/$_" } qw(marks .marks refused);
	my %env = (LD_PRELOAD => "$p->{dir}/libprecedent_trace.so", PRECEDENT_STOP_AT => $p->{stop}, PRECEDENT_TRACE_DIR => $p->{stop});
	my ($took) = eval { run($p, $at, {env => \%env}, @{$p->{cmd}}) };
	my $failed = $@;
	my $r = Testbed::run_command(@make_partial, 'estimate', $p->{trace}, $p->{seconds}, $p->{stop});
	my %e = $r->{out} =~ /^(\w+) (\S+)$/mg;
	$p->{unpartial} = "$at: " . ($r->{rc} == 0 ? (split /\n/, $failed)[0] : $r->{err} =~ s/\s+\z//r) if $r->{rc} != 0 || $failed;
	return $p->{unpartial} ? undef : {%e, took => $took};
}

# Seconds of the program there, between MPI_Init and MPI_Finalize.
sub program {
	my ($p, $at) = @_;
	my $file = "$p->{dir}/seconds";
	unlink $file;
	run($p, $at, {env => {LD_PRELOAD => "$p->{dir}/libmpi_timer.so", MPI_TIMER_FILE => $file}}, @{$p->{cmd}});
	my ($s) = slurp($file) =~ /^([0-9.]+)$/m or die "it was not timed\n";
	return $s + 0;
}

# What it takes to start something that does nothing.
my %launched;
sub launch {
	my ($p, $at) = @_;
	return $launched{$at} //= do {
		spill("$p->{dir}/ring", slurp(build() . '/tests/programs/ring'));
		owned($p->{dir});
		median(map { (run($p, $at, {}, "$p->{dir}/ring", 10))[0] } 1 .. 3);
	};
}

# One run of everything there.
sub times_at {
	my ($p, $at) = @_;
	return {program => program($p, $at), skeleton => skeleton($p, $at, 'mix'), empty => skeleton($p, $at, 'spin', '--empty-loop'),
		partial => scalar partial($p, $at)};
}

# ---- what it tells ----

# The record that a probe there would have left: `seconds` are the program's at home.
sub record {
	my ($p, $at, $seconds, $t) = @_;
	my ($s, $part, $f) = (@$t{qw(skeleton partial)}, $p->{facts});
	my $computed = $seconds * $f->{computed_s} / $f->{traced_s};
	my @l = ('precedent-result 1', 'job 1', "candidate $at", 'status ok', 'node_class 0000000000000000 accuracy', 'startup_s 0');
	push @l, sprintf 'trace 0 mpi_s %.9g skel_s %.9g lo_s %.9g hi_s %.9g ran_s %.9g events %d confidence %.6f', $seconds,
		@$s{qw(skel_s lo_s hi_s ran_s)}, @$f{qw(events confidence)};
	push @l, sprintf 'compute 0 traced_s %.9g skel_s %.9g', $computed, $s->{computed_s} if $computed && $s->{computed_s};
	push @l, sprintf 'partial 0 whole_s %.9g lo_s %.9g hi_s %.9g ran_s %.9g', @$part{qw(whole_s lo_s hi_s ran_s)} if $part;
	push @l, sprintf 'partial_compute 0 traced_s %.9g whole_s %.9g', $computed, $part->{computed_s} if $part && $part->{computed_s} && $computed;
	push @l, map({ "kernel $_ $s->{kernel}{$_}" } sort keys %{$s->{kernel} // {}}), "noise $s->{noise}", 'hash 0000000000000000', 'end';
	my $file = "$p->{dir}/record.$at";
	spill($file, join "\n", @l, '');
	return $file;
}

# By skeleton, by partial execution, and by both, with the intervals.
sub told {
	my ($p, $at, $home, $there) = @_;
	my $r = Testbed::run_command(@make_estimate, record($p, $p->{home}, $home->{program}, $home), record($p, $at, $home->{program}, $there), $home->{program});
	die "no estimate: $r->{err}" if $r->{rc} != 0;
	return decode_json($r->{out});
}

# What is measured at home, for the pairs that follow: the program before and after its skeletons. The first of these two is
# what the second one is predicted by, elsewhere their mean counts.
sub pair_begin {
	my ($p) = @_;
	my $t = times_at($p, $p->{home});
	return {%$t, again => program($p, $p->{home})};
}

# The line of one pair: what each method would have told, and what happened.
sub pair_row {
	my ($p, $at, $at_home) = @_;
	my $same = $at eq $p->{home};
	my $home = $same ? $at_home : {%$at_home, program => ($at_home->{program} + $at_home->{again}) / 2};
	my $there = $same ? $at_home : times_at($p, $at);
	my $told = told($p, $at, $home, $there);
	my ($s0, $s1, $p0, $p1) = (map({ $_->{skeleton} } $home, $there), map { $_->{partial} } $home, $there);
	my @ratio = map { $s1->{kernel}{$_} / $s0->{kernel}{$_} } grep { $s1->{kernel}{$_} } keys %{$s0->{kernel}};
	my $mean = 0;
	$mean += $_ / @ratio for @ratio;
	my %row = (program => $p->{name}, machine => $at, ranks => $p->{ranks}, home => $home->{program}, actual => $same ? $at_home->{again} : $there->{program},
		skeleton => $told->{skeleton}{mean}, ratio => $home->{program} * $s1->{skel_s} / $s0->{skel_s}, told => $told,
		empty => $home->{program} * $there->{empty}{skel_s} / $home->{empty}{skel_s}, kernels => $home->{program} * (@ratio ? $mean : 1),
		clock => $home->{program}, probe => $s1->{took} - launch($p, $at), own => $s0->{skel_s} / $home->{program});
	# For who asks later where an error comes from: what the skeleton said of itself at home and there.
	$row{computes} = $p->{facts}{computed_s} / $p->{facts}{traced_s};
	($row{at_home}, $row{there}) = map { my $s = $_; +{map { $_ => $s->{$_} + 0 } grep { defined $s->{$_} } qw(skel_s computed_s noise)} } $s0, $s1;
	$row{slower} = {map { $_ => $s1->{kernel}{$_} / $s0->{kernel}{$_} } grep { $s1->{kernel}{$_} } keys %{$s0->{kernel}}};
	if ($p0 && $p1) {
		@row{qw(partial direct partial_probe)} = ($told->{partial}{mean}, $p1->{whole_s}, $p1->{took} - launch($p, $at));
	}
	$row{unpartial} = $p->{unpartial} if $p->{unpartial};
	return \%row;
}

1;
