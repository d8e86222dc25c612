#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How right skeletons are on machines they have never seen: every program is run and its skeleton beside it, pair by
# pair, where it was traced and elsewhere; what each method would have told is compared with what happened.
#   skeleton   the program's time at home by the skeleton's there and at home: computation by their ratio, and what MPI and
#              waiting take more there added, as precedentd has it
#   empty loop the same with a skeleton whose computation is an empty loop, as paper 004 has it
#   kernels    the program's time at home x the mean slowdown of the calibrated kernels: a benchmark ratio
#   clock      the program's time at home: the clocks are the same
#   partial    the program's time at home x what its partial execution there says / the same at home, as precedentd has it:
#              the program itself under the tracer, stopped in its main loop
#   direct     what the partial execution there says alone: T_init + N/n T_loop + T_epi, where N/n is by traced time
# The time of a program is that between MPI_Init and MPI_Finalize: launching it takes a second more or less, at random.
# Programs here are trusted: they are stopped without the sandbox. Where one cannot be stopped, the line says why.
# Results go to a file, a line each, so that the table can be made in pieces.
# The programs that do not fit into the cache are called ft-large, mg-large and heat-large there.
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
chomp(my $commit = `git rev-parse --short HEAD 2>/dev/null`);
$| = 1;

# Name, command, arguments; how much smaller on processors that are emulated. The first ones work in the second-level cache;
# of the last three the data do not fit: what they take varies with whatever else the memory of the host serves.
my @programs = (
	[bt => ['bt', 20, 600], ['bt', 20, 60]],
	[cg => ['cg', 400, 10000], ['cg', 300, 800]],
	[ep => ['ep', 300], ['ep', 10]],
	[ft => ['ft', 32, 1200], ['ft', 32, 60]],
	[is => ['is', 1024, 250], ['is', 1024, 30]],
	[lu => ['lu', 64, 3000], ['lu', 64, 150]],
	[mg => ['mg', 32, 2500], ['mg', 32, 300]],
	[sp => ['sp', 24, 4000], ['sp', 24, 100]],
	[heat => ['heat', 250, 60000], ['heat', 250, 2500]],
	[lammps => ['lmp', '-in', 'in.lj', '-log', 'none'], ['lmp', '-in', 'in.small', '-log', 'none']],
	[espresso => ['pw.x', '-in', 'si8.in'], ['pw.x', '-in', 'si8.in']],
	['ft, 4 MiB' => ['ft', 64, 300], ['ft', 64, 8]],
	['mg, 16 MiB' => ['mg', 128, 280], ['mg', 64, 15]],
	['heat, 4 MiB' => ['heat', 700, 30000], ['heat', 300, 1500]],
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

# What lies there is its owner's, for whom programs run.
sub owned {
	my ($dir) = @_;
	my ($uid, $gid) = (stat $dir)[4, 5];
	chown $uid, $gid, glob "$dir/* $dir/*/*";
	return;
}

# Everything that a program needs, in the directory that its machine sees.
sub furnish {
	my ($dir, $program) = @_;
	my $own = build() . "/tests/programs/$program";
	spill("$dir/in.lj", lammps_melt(300));
	spill("$dir/in.small", lammps_melt(60));
	spill("$dir/si8.in", espresso_si8("$dir/espresso"));
	for my $f ((-e $own ? $own : ()), map { build() . "/$_" } qw(libprecedent_trace.so libprecedent_trace_openmpi.so tests/bench/libmpi_timer.so)) {
		system('cp', '-f', $f, $dir) == 0 or die "cp $f failed\n";
	}
	owned($dir);
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
	$name =~ s/, .*/-large/;
	my $trace = "$dir/$name.ptrace";
	$cmd[0] = furnish($dir, $cmd[0]);
	unlink $trace;
	run_on($home, $ranks, {native => 1, env => {LD_PRELOAD => "$dir/libprecedent_trace.so", PRECEDENT_TRACE_FILE => $trace}}, @cmd);
	-s $trace or die "$name left no trace\n";
	my $r = Testbed::run_command(build() . '/precedent', 'skeleton', $trace, '-o', "$dir/$name.skel", '--seconds', $seconds, '--compile', '--json');
	die "$name: $r->{err}" if $r->{rc} != 0;
	my $facts = decode_json($r->{out});
	owned($dir);
	return {cmd => \@cmd, computes => $facts->{computed_s} / $facts->{traced_s}, skeleton => "$dir/$name.skel/skel", cal => "$dir/$name.cal", dir => $dir, trace => $trace, stop => "$dir/$name.stop",
		unpartial => stop_prepare($trace, "$dir/$name.stop")};
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
	return {stands_for => $r->{skel_s}, computed => $r->{computed_s}, took => $took, kernel => $r->{kernel} // {}};
}

# ---- partial execution ----

my @make_partial = (build() . '/tests/bench/make_partial');

# Where to stop: '' or why it cannot be.
sub stop_prepare {
	my ($trace, $dir) = @_;
	mkdir $dir;
	my $r = Testbed::run_command(@make_partial, 'plan', $trace, $seconds, $dir);
	my ($uid, $gid) = (stat $trace)[4, 5];
	chown $uid, $gid, $dir, glob "$dir/*";
	return $r->{rc} == 0 ? '' : $r->{err} =~ s/\s+\z//r;
}

# The program until it stops, here: {whole_s, took, ...}; undef where that cannot be, for the reason then in $p->{unpartial}.
sub partial {
	my ($p, $machine) = @_;
	return if $p->{unpartial};
	unlink map { "$p->{stop}/$_" } qw(marks .marks refused);
	my %env = (LD_PRELOAD => "$p->{dir}/libprecedent_trace.so", PRECEDENT_STOP_AT => $p->{stop}, PRECEDENT_TRACE_DIR => $p->{stop});
	my ($took) = eval { run_on($machine, $ranks, {env => \%env}, @{$p->{cmd}}) };
	my $failed = $@;
	my $r = Testbed::run_command(@make_partial, 'estimate', $p->{trace}, $seconds, $p->{stop});
	my %e = $r->{out} =~ /^(\w+) (\S+)$/mg;
	$p->{unpartial} = "$machine: " . ($r->{rc} == 0 ? (split /\n/, $failed)[0] : $r->{err} =~ s/\s+\z//r) if $r->{rc} != 0 || $failed;
	return $p->{unpartial} ? undef : {%e, took => $took};
}

# Seconds of the program there.
sub program {
	my ($p, $at) = @_;
	my $file = "$p->{dir}/seconds";
	unlink $file;
	run_on($at, $ranks, {env => {LD_PRELOAD => "$p->{dir}/libmpi_timer.so", MPI_TIMER_FILE => $file}}, @{$p->{cmd}});
	my ($s) = slurp($file) =~ /^([0-9.]+)$/m or die "@{$p->{cmd}} was not timed\n";
	return $s + 0;
}

# One run of everything there: the program, its skeleton in both ways, its partial execution.
sub times_at {
	my ($p, $at) = @_;
	return {program => program($p, $at), skeleton => skeleton($p, $at, 'mix'), empty => skeleton($p, $at, 'spin', '--empty-loop'),
		partial => scalar partial($p, $at)};
}

sub report {
	my ($pair, $l) = @_;
	printf "%-9s %-9s pair %d: home %.2f, there %.2f s; skeleton %+.1f %%, empty loop %+.1f %%, kernels %+.1f %%, clock %+.1f %%; probe %.1f %%; partial %s\n",
		@$l{qw(program machine)}, $pair, @$l{qw(home actual)}, map({ 100 * ($_ / $l->{actual} - 1) } @$l{qw(skeleton empty kernels clock)}),
		100 * $l->{probe} / $l->{actual},
		$l->{unpartial} // sprintf '%+.1f %%, direct %+.1f %%, its probe %.1f %%', map { 100 * $_ } $l->{partial} / $l->{actual} - 1, $l->{direct} / $l->{actual} - 1,
		$l->{partial_probe} / $l->{actual};
	return;
}

# One pair of a program on all machines of a home: what it takes at home is measured right before, the program itself before
# and after its skeletons. The first of these two is what the second one is predicted by, elsewhere their mean counts.
sub measure {
	my ($name, $home, $pair, $p, @machines) = @_;
	local $p->{unpartial} = $p->{unpartial};
	my $at_home = times_at($p, $home);
	my $again = program($p, $home);
	for my $machine (@machines) {
		local $p->{unpartial} = $p->{unpartial}; # what fails on one machine is tried on the next
		my %t = ($home => $at_home);
		eval {
			if ($home eq $machine) {
				$t{again} = $again;
			} else {
				$t{$home} = {%$at_home, program => ($at_home->{program} + $again) / 2};
				$t{$machine} = times_at($p, $machine);
			}
			my $l = line($name, $machine, $p, \%t, launch($machine, $p));
			$l->{unpartial} = $p->{unpartial} if $p->{unpartial};
			open my $f, '>>', $results or die "$results: $!\n";
			print {$f} JSON::PP->new->canonical->encode($l), "\n";
			close $f or die "$results: $!\n";
			report($pair, $l);
			1;
		} or warn "$name on $machine: $@";
	}
	return;
}

# As predictor/estimate.c has it; `share` of the program's seconds at home is computation.
sub by_skeleton {
	my ($home, $share, $s0, $s1) = @_;
	return $home * $s1->{stands_for} / $s0->{stands_for} if !$s0->{computed} || !$s1->{computed};
	my ($mpi0, $mpi1) = map { $_->{stands_for} - $_->{computed} } $s0, $s1;
	my $mpi = $home * (1 - $share);
	return $home * $share * $s1->{computed} / $s0->{computed} + ($mpi1 >= $mpi0 ? $mpi + $mpi1 - $mpi0 : $mpi * $mpi1 / $mpi0);
}

# What each method would have told of this pair.
sub line {
	my ($name, $machine, $p, $t, $launch) = @_;
	my $home = $t->{home_of($machine)};
	my $there = $t->{$machine};
	my ($s0, $s1) = map { $_->{skeleton} } $home, $there;
	my @ratio = map { $s1->{kernel}{$_} / $s0->{kernel}{$_} } grep { $s1->{kernel}{$_} } keys %{$s0->{kernel}};
	my $mean = 0;
	$mean += $_ / @ratio for @ratio;
	my ($p0, $p1) = map { $_->{partial} } $home, $there;
	my @partial = !$p0 || !$p1 ? () : (partial => $home->{program} * $p1->{whole_s} / $p0->{whole_s}, direct => $p1->{whole_s},
		partial_probe => $p1->{took} - $launch);
	return {@partial, commit => $commit, program => $name, machine => $machine, ranks => $ranks, home => $home->{program}, actual => $t->{again} // $there->{program},
		skeleton => by_skeleton($home->{program}, $p->{computes}, $s0, $s1), ratio => $home->{program} * $s1->{stands_for} / $s0->{stands_for},
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

sub wanted { my ($list, $name) = @_; return $list eq '' || grep { $_ eq ($name =~ s/, .*/-large/r) } split /,/, $list }

# ---- the table ----

# Relative errors of a method, of the lines that have it.
sub errors {
	my ($method, @l) = @_;
	return map { $_->{$method} / $_->{actual} - 1 } grep { defined $_->{$method} } @l;
}

# Median and worst.
sub percents {
	my @e = sort { abs $b <=> abs $a } @_;
	return @e ? map { sprintf '%+.1f', 100 * $_ } median(@e), $e[0] : ('-', '-');
}

sub summary {
	my ($what, @e) = @_;
	my @abs = sort { $a <=> $b } map { abs } @e;
	printf "\n%s: median of the absolute error %.1f %%, worst %.1f %%, %d of %d predicted too little.\n", $what, 100 * median(@abs), 100 * $abs[-1],
		scalar(grep { $_ < 0 } @e), scalar @e;
	return;
}

# All programs of a machine in one line: median and worst of the absolute errors.
sub print_summary {
	my ($cell) = @_;
	my @method = qw(skeleton partial empty kernels clock);
	print "\n| machine | pairs | ", join(' | ', map { ($_ eq 'empty' ? 'empty loop' : $_) . ' % | worst' } @method), " |\n|", ' --- |' x (2 + 2 * @method), "\n";
	for my $m (grep { $cell->{$_} } machine_names()) {
		my @l = map { @$_ } values %{$cell->{$m}};
		my @figures = map {
			my @e = sort { $a <=> $b } map { abs } errors($_, @l);
			@e ? sprintf('%.1f | %.1f', 100 * median(@e), 100 * $e[-1]) : '- | -';
		} @method;
		printf "| %s | %d | %s |\n", machine($m)->{text}, scalar @l, join ' | ', @figures;
	}
	return;
}

sub print_table {
	my %cell;
	for (split /\n/, slurp($results)) {
		my $l = decode_json($_);
		push @{$cell{$l->{machine}}{"$l->{program}, $l->{ranks}"}}, $l;
	}
	print_summary(\%cell);
	for my $m (grep { $cell{$_} } machine_names()) {
		print "\n### ", machine($m)->{text}, "\n\n| program, ranks | pairs | actual s | noise % | skeleton % | worst | partial % | worst | direct % | empty loop % | kernels % |",
			" clock % | under | probe % | its probe % |\n|", ' --- |' x 15, "\n";
		my (@all, @partial, %why);
		for my $p (sort keys %{$cell{$m}}) {
			my @l = @{$cell{$m}{$p}};
			my @e = errors('skeleton', @l);
			my @o = errors('partial', @l);
			my $actual = median(map { $_->{actual} } @l);
			my $noise = median(map { abs($_->{actual} / $actual - 1) } @l);
			push @all, @e;
			push @partial, @o;
			$why{$_}{$p} = 1 for grep { defined } map { $_->{unpartial} } @l;
			printf "| %s | %d | %.2f | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d of %d | %.1f | %s |\n", $p, scalar @l, $actual, @l > 1 ? sprintf('%.1f', 100 * $noise) : '-',
				percents(@e), percents(@o), (map { (percents(errors($_, @l)))[0] } qw(direct empty kernels clock)), scalar(grep { $_ < 0 } @e), scalar @e,
				100 * median(map { $_->{probe} / $_->{actual} } @l),
				@o ? sprintf '%.1f', 100 * median(map { $_->{partial_probe} / $_->{actual} } grep { defined $_->{partial} } @l) : '-';
		}
		summary('Skeletons', @all);
		summary('Partial execution', @partial) if @partial;
		print 'No partial execution of ', join('; ', sort keys %{$why{$_}}), ": $_.\n" for sort keys %why;
	}
	return;
}

if (!$table) {
	eval {
		for my $p (@programs) {
			my ($name, $large, $small) = @$p;
			next if !wanted($programs, $name);
			for my $home ('home', 'here') {
				my @at = grep { wanted($machines, $_) && home_of($_) eq $home && ($_ ne 'here' || $machines ne '') } machine_names() or next;
				my $p = eval { prepare($name, $home, $home eq 'here' ? @$small : @$large) };
				warn "$name: $@" if $@;
				next if !$p;
				for my $pair (1 .. $pairs) {
					eval { measure($name, $home, $pair, $p, @at); 1 } or warn "$name, pair $pair: $@";
				}
			}
		}
		1;
	} or warn $@;
	machines_end();
}
print_table();
