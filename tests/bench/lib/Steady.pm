# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs that count are those in which the cores were as fast as they are in quiet moments: core_watch looks at them forty times a
# second. What it tells does not depend on what runs nor on what any prediction says. Without it (not root) every run counts.
package Steady;
use strict;
use warnings;
use Bench qw(build);
use Exporter 'import';
use IPC::Open2;
use List::Util qw(sum0);
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(steadily count_all is_steady unsteady_runs steady_speed quiet_speed never_steady);

# A look is slow below SLOW of the speed that a tenth of all looks so far exceed; a run is steady with so many of them at most.
# Between programs' runs here, launches included, 8 to 19 % are slow when they take 1.44 to 1.48 s, 23 % when 1.55, 60 % when 1.94.
my ($SLOW, $MOST_SLOW) = (0.92, 0.20);
my ($FIRST_LOOK_S, $LOOK_S, $WAIT_S) = (20, 1, 20); # the wait for steady cores is before each try
my $GIVE_UP_S = 150;                                # of a run that never is steady
my ($LONG_S, $LONG_TRIES) = (8, 3);                 # of a run that takes longer the steadiest of so many counts

my $NOT_STEADY = 'the cores were not steady';
my ($watch, $ask, $answer, %seen);
my ($unsteady, $all) = (0, 0);

# How many runs counted that were not steady.
sub unsteady_runs { return $unsteady }

# From here on every run counts at once: for hosts that are never quiet.
sub count_all { $all = 1; return }

# The looks since the last call, as numbers; none without a watch.
sub looks {
	return if !$watch;
	local $SIG{PIPE} = 'IGNORE';
	my $line = print({$ask} "\n") ? readline $answer : undef;
	if (!defined $line) {
		warn "no core_watch: every run counts from here on\n";
		$watch = 0;
		return;
	}
	my @l = split ' ', $line;
	$seen{$_}++ for @l;
	return @l;
}

# The speed that a tenth of the looks exceed: (speed => how many looks had it).
sub steady_speed {
	my (%n) = @_;
	my $left = 0.1 * sum0(values %n);
	for my $speed (sort { $b <=> $a } keys %n) {
		$left -= $n{$speed};
		return $speed if $left <= 0;
	}
	return 0;
}

# Which part of those looks is slow, where that is the quiet speed.
sub slow_part {
	my ($speed, @looks) = @_;
	return @looks ? grep({ $_ < $SLOW * $speed } @looks) / @looks : 0;
}

# Whether they are a steady run's.
sub is_steady { return slow_part(@_) <= $MOST_SLOW }

# The quiet speed as far as it is known by now; 0 without a watch, and where it does not matter.
sub quiet_speed { return $all ? 0 : steady_speed(%seen) }

sub begin {
	return if defined $watch;
	my @cores = 0 .. -1 + `getconf _NPROCESSORS_ONLN`;
	$watch = $> == 0 ? eval { open2($answer, $ask, build() . '/tests/bench/core_watch', @cores) } // 0 : 0;
	warn "no core_watch: every run counts\n" if !$watch;
	$ask->autoflush(1) if $watch;
	sleep $FIRST_LOOK_S if $watch;
	looks();
	return;
}

# Until the cores are steady, or so many seconds have passed.
sub await {
	my ($until) = (time + $_[0]);
	return if !$watch;
	do {
		looks();
		sleep $LOOK_S;
	} while (!is_steady(quiet_speed(), looks()) && time < $until);
	return;
}

# What ONCE returns, in scalar context, of a run with steady cores; of a long one that never has these, of the steadiest. It dies
# where a short one is in vain.
sub steadily {
	my ($once) = @_;
	begin();
	my ($begin, $least, $long, $best) = (time, 2, 0);
	looks() if $all; # what was before is no matter
	do {
		await($long ? $LOOK_S : $WAIT_S) if !$all;
		my $start = time;
		my $result = $once->();
		$long++ if time > $start + $LONG_S;
		my $part = slow_part(steady_speed(%seen), looks());
		($least, $best) = ($part, $result) if $part < $least;
		return $best if $least <= $MOST_SLOW;
		die "$NOT_STEADY for $GIVE_UP_S s\n" if !$all && !$long && time > $begin + $GIVE_UP_S;
	} while (!$all && $long < $LONG_TRIES);
	$unsteady++;
	return $best;
}

# Whether it was such a run that ended a pair: no failure of what was measured.
sub never_steady { return $_[0] =~ /^\Q$NOT_STEADY/ }

1;
