#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How right skeletons are on machines they have never seen: every program is run and its skeleton beside it, pair by
# pair, where it was traced and elsewhere; what each method would have told is compared with what happened.
#   skeleton   what precedentd would tell by its probes' records without partial execution
#   partial    the same by partial execution alone: the program itself under the tracer, stopped in its main loop
#   both       by both, as precedentd has it where partial execution is on
#   direct     what the partial execution there says alone: T_init + N/n T_loop + T_epi, where N/n is by number of iterations
#   empty loop the program's time at home by the ratio of a skeleton whose computation is an empty loop,
#              as in Zhang, Zhang, Zhang 2010
#   kernels    the program's time at home x the mean slowdown of the calibrated kernels: a benchmark ratio
#   clock      the program's time at home: the clocks are the same
# The time of a program is that between MPI_Init and MPI_Finalize: launching it takes a second more or less, at random.
# Results go to a file, a line each, so that the table can be made in pieces: what a sweep that was ended has measured
# stays, and --fill goes on from there. What fails on one machine is a line as well, and no obstacle to the rest.
# Programs are named by the first word: the three that do not fit into the cache are ft-large, mg-large and heat-large,
# those that run for a minute or two lu-minutes, lammps-minutes and gromacs-minutes. Usage: accuracy_machines.pl
# [--pairs N] [--fill] [--minutes M] [--seconds S] [--least S] [--ranks N] [--results FILE] [--programs A,B]
#	[--machines A,B] [--small] [--all-runs]
#	accuracy_machines.pl --table | --document FILE | --prune [--results FILE]
#	accuracy_machines.pl --list
#   --pairs N    pairs of each program on each machine, 5; with --fill what the file has counts, and the fewest come first
#   --minutes M  begin no pair after M minutes
#   --seconds S  skeletons and partial executions are made for a quarter of the run at home, but for 0.4 s at least (emulated: 0.3) and S at most, 3
#   --least S    for S seconds at least, or as long as the program runs
#   --machines   of home,cpu,network,both,unequal (all of these by default), qemu and valgrind; here is the home of the last two
#   --small      the data for emulated processors everywhere, to see that all runs; to a file of its own
#   --all-runs   runs count whether or not the cores are quiet, each at once: for hosts that never are; rows say how many were not
#   --table      all tables of the file, program by program; --document writes the short ones between the marker lines of doc/evaluation/accuracy.md
#   --prune      leave only those lines in the file that the tables are made of: neither of another way nor before the latest five pairs
#   --list       the programs and their data
# Rows of another host are made by accuracy_remote.pl.
# Rows that were measured in another way than today's (Pairs.pm says which) count neither for --fill nor for the tables.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use AccuracyTable qw(counting print_tables print_programs document);
use Bench qw(build top);
use Getopt::Long;
use JSON::PP;
use List::Util qw(min);
use Machines qw(swept_names home_of machines_end);
use Pairs qw(prepare pair_begin pair_row of_this_way);
use Programs qw(named program_names program_of short_name slurp);
use Rows qw(note_row row_text);
use Steady qw(count_all never_steady);

my $FAILURES = 2;  # of a program on a machine: then it is not tried again
my $DISTURBED = 9; # pairs of a program that the cores were not steady for
my %o = (pairs => 5, ranks => 2, results => 'accuracy.jsonl', programs => '', machines => '', seconds => 3, minutes => 1e6);
GetOptions(\%o, 'pairs=i', 'fill', 'minutes=f', 'ranks=i', 'results=s', 'programs=s', 'machines=s', 'seconds=f', 'least=f', 'small', 'all-runs', 'table', 'document=s', 'prune', 'list', 'help') && !@ARGV or exit 2;
if ($o{help}) { print slurp("$FindBin::Bin/$FindBin::Script") =~ /^(# Usage.*?)^use /ms ? $1 =~ s/^#[ ]?//gmr : ''; exit 0 }
chdir top() or die top() . ": $!\n";
chomp(my $commit = `git rev-parse --short HEAD 2>/dev/null`);
my $begin = time;
count_all() if $o{'all-runs'};
$| = 1;

sub lines { return map { decode_json($_) } split /\n/, slurp($o{results}) }

# The file is replaced as a whole, by lines as they are in it.
sub prune {
	my %text;
	my @l = map { my $l = decode_json($_); $text{$l} = "$_\n"; $l } split /\n/, slurp($o{results});
	my @left = counting(@l) or die "no rows of today's way of measuring: $o{results} stays as it is\n";
	open my $f, '>', "$o{results}.new" or die "$o{results}.new: $!\n";
	print {$f} @text{@left} or die "$o{results}.new: $!\n";
	close $f or die "$o{results}.new: $!\n";
	rename "$o{results}.new", $o{results} or die "$o{results}: $!\n";
	printf "%d of %d lines are left in %s\n", scalar @left, scalar @l, $o{results};
	return;
}

sub note { note_row($o{results}, $commit, $_[0]); return }

# ---- what is to do ----

# A program with one home and the machines of that home, each with its number of pairs so far and of failures.
sub tasks {
	my ($names, $machines) = @_;
	my %rows;
	$rows{$_->{program}}{$_->{machine}}++ for grep { $o{fill} && !defined $_->{failed} && $_->{ranks} == $o{ranks} } of_this_way(lines());
	my @tasks;
	for my $name (@$names) {
		for my $home ('home', 'here') {
			my %not = map { $_ => 1 } @{program_of($name)->{not_on} // []};
			my %rows_at = map { $_ => $rows{$name}{$_} // 0 } grep { home_of($_) eq $home && !$not{$_} } @$machines or next;
			push @tasks, {name => $name, home => $home, rows => \%rows_at, failed => {}};
		}
	}
	return @tasks;
}

# Machines where a task lacks pairs, and may yet get them.
sub lacking {
	my ($t) = @_;
	return if ($t->{disturbed} // 0) >= $DISTURBED;
	return grep { $t->{rows}{$_} < $o{pairs} && ($t->{failed}{$_} // 0) < $FAILURES } grep { exists $t->{rows}{$_} } swept_names();
}

# The task to go on with: the one with the fewest pairs anywhere, in turns with --fill, one after the other without.
sub next_task {
	my @open = grep { lacking($_) } @_ or return;
	return $open[0] if !$o{fill};
	return (sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } map { my $t = $open[$_]; [min(@{$t->{rows}}{lacking($t)}) + ($t->{disturbed} // 0), $_, $t] } 0 .. $#open)[0][2];
}

sub failed {
	my ($t, $machine, $why) = @_;
	$why =~ s/\s+\z//;
	$why =~ s/\s*\n\s*/ \/ /g;
	warn "$t->{name} on $machine: $why\n";
	if (never_steady($why)) {
		$t->{disturbed}++;
		return;
	}
	$t->{failed}{$machine}++;
	note({program => $t->{name}, machine => $machine, ranks => $o{ranks}, failed => $why});
	return;
}

# One pair of a task on the machines where it lacks one: at home first, the others right after it.
sub go_on {
	my ($t) = @_;
	my @at = lacking($t);
	my ($p, $at_home);
	eval {
		$t->{prepared} //= prepare($t->{name}, $t->{home}, $o{ranks}, $o{seconds}, $o{small} || $t->{home} eq 'here', $o{least});
		$p = {%{$t->{prepared}}};
		$at_home = pair_begin($p);
	};
	if (!$at_home) {
		my $why = $@;
		failed($t, $_, $why) for never_steady($why) ? $at[0] : @at;
		return;
	}
	for my $machine (@at) {
		my $l = eval { pair_row({%$p}, $machine, $at_home) }; # what cannot be stopped on one machine is tried on the next
		if (!$l) {
			my $why = $@;
			failed($t, $machine, $why);
			last if never_steady($why); # home is measured anew
			next;
		}
		note($l);
		printf "%s; at %d min\n", row_text(++$t->{rows}{$machine}, $l), (time - $begin) / 60;
	}
	return;
}

sub sweep {
	my %by = map { short_name($_) => $_ } program_names();
	my @names = $o{programs} eq '' ? program_names() : @by{named($o{programs}, sort keys %by)};
	my @machines = $o{machines} eq '' ? grep { home_of($_) eq 'home' } swept_names() : named($o{machines}, swept_names());
	my @tasks = tasks(\@names, \@machines);
	while (my $t = next_task(@tasks)) {
		last if time - $begin > 60 * $o{minutes};
		go_on($t);
	}
	return;
}

# Whoever ends the sweep ends what it has started.
sub ended {
	my ($signal) = @_;
	$SIG{$_} = sub { } for qw(INT TERM HUP);
	warn "accuracy_machines: ended by SIG$signal; --fill goes on from here\n";
	machines_end();
	exit 1;
}

if ($o{list}) {
	print_programs();
	exit 0;
}
if ($o{prune}) {
	prune();
	exit 0;
}
if (defined $o{document}) {
	document($o{document}, lines());
	exit 0;
}
if (!$o{table}) {
	$SIG{$_} = \&ended for qw(INT TERM HUP);
	my $done = eval { sweep(); 1 };
	my $why = $@;
	machines_end();
	die $why if !$done;
}
print_tables(lines());
