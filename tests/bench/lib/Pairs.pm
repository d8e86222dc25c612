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
use List::Util qw(max min sum);
use Machines qw(home_of machine run_on work_dir);
use Programs qw(program_of furnish slurp spill owned);
use Steady qw(quiet_speed steadily unsteady_runs);
use Testbed;

our @EXPORT_OK = qw(prepare pair_begin pair_row of_this_way of_sides quickest runs_until way_of);

# How a pair is measured, in its row: rows of different ways have no place in one table. 1, without the field: every program
# runs once, twice at home. 2: medians of several runs before the probes and several after. 3: the quickest of several runs of a
# probe besides, on machines that want it. 4: half a processor by processor_share, no longer by a quota.
my $WAY = 2;

sub way_of { return machine($_[0])->{way} // $WAY }
sub of_this_way { return grep { ($_->{way} // 1) == way_of($_->{machine}) } @_ }

my @make_partial = (build() . '/tests/bench/make_partial');
my @make_estimate = (build() . '/tests/bench/make_estimate');

# Probes take a part of what a program takes, as they do of jobs: as much as they may, and more would only cost time. Of what
# is emulated the least is less: it takes up to 30 times as long there.
my ($PART, %LEAST_S) = (1 / 4, home => 0.4, host => 0.4, here => 0.3);

# Runs of the program before the probes, and as many after: until they have taken so many seconds, so many at most, a second
# one in any case if the first is shorter than that. Where it takes longer than `twice` it runs before them only.
my %HOME_RUNS = (seconds => 3, most => 5, twice => 1e9);
my %ELSEWHERE_RUNS = (seconds => 2, most => 3, twice => 15);

my $GROWN = 1.03; # the quiet speed of the cores, when what was measured before is of other cores

# The skeleton's facts; made of SECONDS at home, compiled or only planned.
sub skeleton_make {
	my ($p, $seconds, @how) = @_;
	my $r = Testbed::run_command(build() . '/precedent', 'skeleton', $p->{trace}, '-o', "$p->{dir}/skel", '--seconds', $seconds, @how, '--json');
	die "no skeleton: $r->{err}" if $r->{rc} != 0;
	return decode_json($r->{out});
}

# Traced once at home, and its skeleton made: once for all pairs of a sweep. Skeleton and partial execution take at most $most seconds
# there, and $least at least if that is given.
sub prepare {
	my ($name, $home, $ranks, $most, $small, $least) = @_;
	my $dir = work_dir($home) . '/' . $name =~ s/[^\w-]+/-/gr;
	my %p = (name => $name, home => $home, ranks => $ranks, dir => $dir, trace => "$dir/trace.ptrace", cal => "$dir/cal",
		stop => "$dir/stop", leaves => program_of($name)->{leaves}, cmd => [furnish($dir, $name, $ranks, $small)]);
	steadily(sub {
		unlink $p{trace};
		run(\%p, $home, {native => 1, env => {LD_PRELOAD => "$dir/libprecedent_trace.so", PRECEDENT_TRACE_FILE => $p{trace}}}, @{$p{cmd}});
	});
	-s $p{trace} or die "it left no trace\n";
	my $part = $PART * skeleton_make(\%p, $most)->{traced_s};
	$p{seconds} = min($most, max($part, $least // $LEAST_S{$home}));
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

# The skeleton there, all numbers of its result by name, and its kernels. What it took is from MPI_Init to MPI_Finalize.
sub skeleton {
	my ($p, $at, $way, @more) = @_;
	my $result = "$p->{dir}/result";
	my %r;
	unlink $result;
	run($p, $at, {}, "$p->{dir}/skel/skel", $at eq $p->{home} ? '--calibrate' : '--calibration', "$p->{cal}.$way", '--result', $result, @more);
	for (split /\n/, slurp($result)) {
		/^kernel (\S+) (\S+)/ ? $r{kernel}{$1} = $2 : /^(\w+) (\S+)$/ ? $r{$1} = $2 : ();
	}
	die "the skeleton left no result\n" if !$r{skel_s};
	$r{took} = $r{wall_s} - $r{init_s};
	$r{calibration} = slurp("$p->{cal}.$way") if $at eq $p->{home};
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

# Seconds of the program there, between MPI_Init and MPI_Finalize; what its launch took besides is kept.
sub program {
	my ($p, $at) = @_;
	my $file = "$p->{dir}/seconds";
	unlink $file;
	my ($took) = run($p, $at, {env => {LD_PRELOAD => "$p->{dir}/libmpi_timer.so", MPI_TIMER_FILE => $file}}, @{$p->{cmd}});
	my ($s) = slurp($file) =~ /^([0-9.]+)$/m or die "it was not timed\n";
	push @{$p->{launched}{$at}}, $took - $s;
	return $s + 0;
}

# Times of several runs, one after the other, by a rule as above.
sub runs_until {
	my ($rule, $once) = @_;
	my @s = $once->();
	push @s, $once->() while $s[0] < $rule->{seconds} && @s < $rule->{most} && (@s < 2 || sum(@s) < $rule->{seconds});
	return \@s;
}

# Of as many results as the machine wants the least by that field; undef if any of them is.
sub quickest {
	my ($at, $by, $once) = @_;
	my @r = map { scalar $once->() } 1 .. (machine($at)->{tries} // 1);
	return if grep { !defined } @r;
	return (sort { $a->{$by} <=> $b->{$by} } @r)[0];
}

# Everything there, in the order of its runs: `before` and `after` are the program's.
sub times_at {
	my ($p, $at) = @_;
	my $rule = $at eq $p->{home} ? \%HOME_RUNS : \%ELSEWHERE_RUNS;
	my $once = sub { steadily(sub { program($p, $at) }) };
	my ($unsteady, $quiet) = (unsteady_runs(), quiet_speed());
	my $before = runs_until($rule, $once);
	my ($skeleton, $empty) = map { my @how = @$_; quickest($at, 'skel_s', sub { steadily(sub { skeleton($p, $at, @how) }) }) } ['mix'], ['spin', '--empty-loop'];
	if ($at eq $p->{home}) { # of the runs that count, which need not be the last
		spill("$p->{cal}.mix", $skeleton->{calibration});
		spill("$p->{cal}.spin", $empty->{calibration});
	}
	my $partial = quickest($at, 'whole_s', sub { steadily(sub { scalar partial($p, $at) }) });
	my $after = $before->[0] < $rule->{twice} ? runs_until($rule, $once) : [];
	return {before => $before, after => $after, program => of_sides($before, $after), skeleton => $skeleton, empty => $empty, partial => $partial,
		quiet => $quiet, unsteady => unsteady_runs() - $unsteady};
}

# Mean of the medians of both sides, so that a drift is in neither.
sub of_sides { my @m = map { median(@$_) } grep { @$_ } @_; return sum(@m) / @m }

# ---- what it tells ----

# The record that a probe there would have left: `seconds` are the program's at home.
sub record {
	my ($p, $at, $seconds, $t) = @_;
	my ($s, $part, $f) = (@$t{qw(skeleton partial)}, $p->{facts});
	my $computed = $seconds * $f->{computed_s} / $f->{traced_s};
	my @l = ('precedent-result 1', 'job 1', "candidate $at", 'status ok', 'node_class 0000000000000000 accuracy', 'startup_s 0');
	push @l, sprintf 'trace 0 mpi_s %.9g skel_s %.9g lo_s %.9g hi_s %.9g ran_s %.9g events %d confidence %.6f', $seconds,
		@$s{qw(skel_s lo_s hi_s ran_s)}, @$f{qw(events reproduced)};
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

# What is measured at home, for the pairs that follow.
sub pair_begin {
	my ($p) = @_;
	my $t = times_at($p, $p->{home});
	return $t if !grown($t);
	return times_at($p, $p->{home});
}

# Whether the cores have been faster since than they were in the quiet moments known when those times were measured.
sub grown { return quiet_speed() > $GROWN * $_[0]{quiet} }

# The line of one pair: what each method would have told, and what happened. On the traced machine what the program took before
# the probes predicts what it takes after them, elsewhere its time at home is the mean of both.
sub pair_row {
	my ($p, $at, $at_home) = @_;
	my $same = $at eq $p->{home};
	my $home = $same ? {%$at_home, program => of_sides($at_home->{before})} : $at_home;
	my $there = $same ? {%$at_home, program => of_sides($at_home->{after})} : times_at($p, $at);
	die "the cores were not steady at home: they are faster now\n" if grown($home);
	my $told = told($p, $at, $home, $there);
	my ($s0, $s1, $p0, $p1) = (map({ $_->{skeleton} } $home, $there), map { $_->{partial} } $home, $there);
	my @ratio = map { $s1->{kernel}{$_} / $s0->{kernel}{$_} } grep { $s1->{kernel}{$_} } keys %{$s0->{kernel}};
	my %row = (program => $p->{name}, machine => $at, ranks => $p->{ranks}, home => $home->{program}, actual => $there->{program},
		home_runs => [$same ? $at_home->{before} : @$at_home{qw(before after)}], actual_runs => [$same ? $at_home->{after} : @$there{qw(before after)}],
		skeleton => $told->{skeleton}{mean}, ratio => $home->{program} * $s1->{skel_s} / $s0->{skel_s}, told => $told,
		empty => $home->{program} * $there->{empty}{skel_s} / $home->{empty}{skel_s}, kernels => $home->{program} * (@ratio ? sum(@ratio) / @ratio : 1),
		made_s => $p->{seconds}, clock => $home->{program}, probe => $s1->{took}, launch => median(@{$p->{launched}{$at}}), own => $s0->{skel_s} / $home->{program});
	$row{unsteady} = $home->{unsteady} + ($same ? 0 : $there->{unsteady});
	# For who asks later where an error comes from: what the skeleton said of itself at home and there.
	$row{computes} = $p->{facts}{computed_s} / $p->{facts}{traced_s};
	($row{at_home}, $row{there}) = map { my $s = $_; +{map { $_ => $s->{$_} + 0 } grep { defined $s->{$_} } qw(skel_s computed_s noise)} } $s0, $s1;
	$row{slower} = {map { $_ => $s1->{kernel}{$_} / $s0->{kernel}{$_} } grep { $s1->{kernel}{$_} } keys %{$s0->{kernel}}};
	if ($p0 && $p1) {
		@row{qw(partial direct partial_probe)} = ($told->{partial}{mean}, $p1->{whole_s}, max(0, $p1->{took} - $row{launch}));
		@row{qw(partial_home partial_there)} = map { my $e = $_; +{map { $_ => $e->{$_} + 0 } qw(whole_s lo_s hi_s ran_s ratio)} } $p0, $p1;
	}
	$row{unpartial} = $p->{unpartial} if $p->{unpartial};
	return \%row;
}

1;
