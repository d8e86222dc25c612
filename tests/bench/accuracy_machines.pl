#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How right skeletons are on machines they have never seen: every program is run and its skeleton beside it, pair by
# pair, where it was traced and elsewhere; what each method would have told is compared with what happened.
#   skeleton   the program's time at home x the skeleton's time there / its time at home
#   empty loop the same with a skeleton whose computation is an empty loop, as paper 004 has it
#   kernels    the program's time at home x the mean slowdown of the calibrated kernels: a benchmark ratio
#   clock      the program's time at home: the clocks are the same
#   partial    the program itself, stopped early (precedent predict --partial)
# Results go to a file, a line each, so that the table can be made in pieces.
# Usage: accuracy_machines.pl [--pairs N] [--ranks N] [--results FILE] [--programs A,B] [--machines A,B] [--table]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(build top median lammps_melt espresso_si8);
use Getopt::Long;
use JSON::PP;
use Machines qw(machine machine_names home_of run_on work_dir machines_end);
use Testbed;

my ($pairs, $ranks, $results, $programs, $machines, $table, $seconds) = (5, 2, 'accuracy.jsonl', '', '', 0, 3);
GetOptions('pairs=i' => \$pairs, 'ranks=i' => \$ranks, 'results=s' => \$results, 'programs=s' => \$programs, 'machines=s' => \$machines,
	'table' => \$table, 'seconds=f' => \$seconds) or exit 2;
chdir top() or die top() . ": $!\n";
$| = 1;

# Name, command, arguments; how much smaller on processors that are emulated.
my @programs = (
	[bt => ['bt', 48, 40], ['bt', 24, 20]],
	[cg => ['cg', 700, 8000], ['cg', 300, 800]],
	[ep => ['ep', 300], ['ep', 10]],
	[ft => ['ft', 128, 16], ['ft', 64, 8]],
	[is => ['is', 8192, 80], ['is', 2048, 10]],
	[lu => ['lu', 256, 150], ['lu', 96, 60]],
	[mg => ['mg', 128, 60], ['mg', 64, 15]],
	[sp => ['sp', 64, 60], ['sp', 32, 20]],
	[heat => ['heat', 700, 25000], ['heat', 300, 1500]],
	[lammps => ['lmp', '-in', 'in.lj', '-log', 'none'], ['lmp', '-in', 'in.small', '-log', 'none']],
	[espresso => ['pw.x', '-in', 'si8.in'], ['pw.x', '-in', 'si8.in']],
);

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar <$f> }

sub spill {
	my ($path, $text) = @_;
	open my $f, '>', $path or die "$path: $!\n";
	print {$f} $text;
	close $f or die "$path: $!\n";
	chmod 0755, $path;
	return;
}

# Everything that a program needs, in the directory that its machine sees.
sub furnish {
	my ($dir, $program) = @_;
	my $own = build() . "/tests/programs/$program";
	spill("$dir/in.lj", lammps_melt(900));
	spill("$dir/in.small", lammps_melt(60));
	spill("$dir/si8.in", espresso_si8("$dir/espresso"));
	for my $f ((-e $own ? $own : ()), map { build() . "/$_" } qw(libprecedent_trace.so libprecedent_trace_openmpi.so)) {
		system('cp', '-f', $f, $dir) == 0 or die "cp $f failed\n";
	}
	my ($uid, $gid) = (stat $dir)[4, 5];
	chown $uid, $gid, glob "$dir/*";
	return -e $own ? "$dir/$program" : $program;
}

sub result_of {
	my ($file) = @_;
	my %r;
	for (split /\n/, slurp($file)) {
		/^kernel (\S+) (\S+)/ ? $r{kernel}{$1} = $2 : /^(\w+) (\S+)$/ ? $r{$1} = $2 : ();
	}
	return \%r;
}

# Traced once at home, and its skeleton made: {run => {machine => command}, skeleton => path}.
sub prepare {
	my ($name, $home, @cmd) = @_;
	my $dir = work_dir($home);
	my $trace = "$dir/$name.ptrace";
	$cmd[0] = furnish($dir, $cmd[0]);
	unlink $trace;
	run_on($home, $ranks, {native => 1, env => {LD_PRELOAD => "$dir/libprecedent_trace.so", PRECEDENT_TRACE_FILE => $trace}}, @cmd);
	-s $trace or die "$name left no trace\n";
	my $r = Testbed::run_command(build() . '/precedent', 'skeleton', $trace, '-o', "$dir/$name.skel", '--seconds', $seconds, '--compile');
	die "$name: $r->{err}" if $r->{rc} != 0;
	return {cmd => \@cmd, skeleton => "$dir/$name.skel/skel", cal => "$dir/$name.cal", dir => $dir};
}

# Seconds of the skeleton: [what it stands for, what it took], and its kernels.
sub skeleton {
	my ($p, $machine, $way, @more) = @_;
	my $result = "$p->{dir}/result";
	my $cal = "$p->{cal}.$way";
	unlink $result;
	my ($took) = run_on($machine, $ranks, {}, $p->{skeleton}, $machine eq home_of($machine) ? '--calibrate' : '--calibration', $cal, '--result', $result, @more);
	my $r = result_of($result);
	die "the skeleton left no result\n" if !$r->{skel_s};
	return {stands_for => $r->{skel_s}, took => $took, kernel => $r->{kernel} // {}};
}

sub measure {
	my ($name, $machine, $p) = @_;
	my $home = home_of($machine);
	my %launch = map { $_ => launch($_, $p) } $home, $machine;
	for my $pair (1 .. $pairs) {
		my %t;
		for my $at ($home, $machine) {
			my ($s) = run_on($at, $ranks, {}, @{$p->{cmd}});
			$t{$at}{program} = $s - $launch{$at};
			$t{$at}{skeleton} = skeleton($p, $at, 'mix');
			$t{$at}{empty} = skeleton($p, $at, 'spin', '--empty-loop');
			last if $home eq $machine;
		}
		# Where it was traced the second half of a pair is a run of its own.
		if ($home eq $machine) {
			my ($s) = run_on($home, $ranks, {}, @{$p->{cmd}});
			$t{again} = $s - $launch{$home};
		}
		my $l = line($name, $machine, \%t, $launch{$machine});
		open my $f, '>>', $results or die "$results: $!\n";
		print {$f} JSON::PP->new->canonical->encode($l), "\n";
		close $f or die "$results: $!\n";
		printf "%-9s %-9s pair %d: home %.2f, there %.2f s; skeleton %+.1f %%, empty loop %+.1f %%, kernels %+.1f %%, clock %+.1f %%; probe %.1f %%\n", $name,
			$machine, $pair, @$l{qw(home actual)}, map({ 100 * ($_ / $l->{actual} - 1) } @$l{qw(skeleton empty kernels clock)}), 100 * $l->{probe} / $l->{actual};
	}
	return;
}

# What each method would have told of this pair.
sub line {
	my ($name, $machine, $t, $launch) = @_;
	my $home = $t->{home_of($machine)};
	my $there = $t->{$machine};
	my ($s0, $s1) = map { $_->{skeleton} } $home, $there;
	my @ratio = map { $s1->{kernel}{$_} / $s0->{kernel}{$_} } grep { $s1->{kernel}{$_} } keys %{$s0->{kernel}};
	my $mean = 0;
	$mean += $_ / @ratio for @ratio;
	return {program => $name, machine => $machine, ranks => $ranks, home => $home->{program}, actual => $t->{again} // $there->{program},
		skeleton => $home->{program} * $s1->{stands_for} / $s0->{stands_for},
		empty => $home->{program} * $there->{empty}{stands_for} / $home->{empty}{stands_for},
		kernels => $home->{program} * (@ratio ? $mean : 1), clock => $home->{program}, probe => $s1->{took} - $launch, own => $s0->{stands_for} / $home->{program}};
}

# What it takes to start something that does nothing.
my %launched;
sub launch {
	my ($machine, $p) = @_;
	return $launched{$machine} //= do {
		my $ring = furnish($p->{dir}, 'ring');
		median(map { (run_on($machine, $ranks, {}, $ring, 10))[0] } 1 .. 5);
	};
}

sub wanted { my ($list, $name) = @_; return $list eq '' || grep { $_ eq $name } split /,/, $list }

# ---- the table ----

sub percent { return sprintf '%+.1f', 100 * $_[0] }

sub print_table {
	my %cell;
	for (split /\n/, slurp($results)) {
		my $l = decode_json($_);
		push @{$cell{$l->{machine}}{"$l->{program}, $l->{ranks}"}}, $l;
	}
	for my $m (grep { $cell{$_} } machine_names()) {
		print "\n### ", machine($m)->{text}, "\n\n| program, ranks | pairs | actual s | noise % | skeleton % | worst | empty loop % | kernels % | clock % | under | probe % |\n|",
			' --- |' x 11, "\n";
		my @all;
		for my $p (sort keys %{$cell{$m}}) {
			my @l = @{$cell{$m}{$p}};
			my @e = map { $_->{skeleton} / $_->{actual} - 1 } @l;
			my $actual = median(map { $_->{actual} } @l);
			my $noise = median(map { abs($_->{actual} / $actual - 1) } @l);
			push @all, @e;
			my ($worst) = sort { abs $b <=> abs $a } @e;
			printf "| %s | %d | %.2f | %.1f | %s | %s | %s | %s | %s | %d of %d | %.1f |\n", $p, scalar @l, $actual, 100 * $noise, percent(median(@e)), percent($worst),
				(map { my $k = $_; percent(median(map { $_->{$k} / $_->{actual} - 1 } @l)) } qw(empty kernels clock)), scalar(grep { $_ < 0 } @e), scalar @e,
				100 * median(map { $_->{probe} / $_->{actual} } @l);
		}
		my @abs = sort { $a <=> $b } map { abs } @all;
		printf "\nAll: median of the absolute error %.1f %%, worst %.1f %%, %d of %d predicted too little.\n", 100 * median(@abs), 100 * $abs[-1],
			scalar(grep { $_ < 0 } @all), scalar @all;
	}
	return;
}

if (!$table) {
	eval {
		for my $p (@programs) {
			my ($name, $large, $small) = @$p;
			next if !wanted($programs, $name);
			my %prepared;
			for my $m (grep { wanted($machines, $_) } machine_names()) {
				my $home = home_of($m);
				next if machine($m)->{local} && $m eq 'here' && $machines eq '';
				$prepared{$home} //= eval { prepare($name, $home, $home eq 'here' ? @$small : @$large) };
				warn "$name: $@" if $@;
				next if !$prepared{$home};
				eval { measure($name, $m, $prepared{$home}); 1 } or warn "$name on $m: $@";
			}
		}
		1;
	} or warn $@;
	machines_end();
}
print_table();
