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

our @EXPORT_OK = qw(steadily is_steady unsteady_runs steady_speed quiet_speed);

# A look is slow below SLOW of the speed that a tenth of all looks so far exceed; a run is steady with so many of them at most.
# Between programs' runs here, launches included, 8 to 19 % are slow when they take 1.44 to 1.48 s, 23 % when 1.55, 60 % when 1.94.
my ($SLOW, $MOST_SLOW) = (0.92, 0.20);
my ($FIRST_LOOK_S, $LOOK_S, $WAIT_S) = (20, 1, 20); # the wait for steady cores is before each try
my ($TRIES, $TRIES_S, $TRIES_LEAST) = (8, 30, 3);     # of one run: so many, or those that begin within so long, but three of long ones

my ($watch, $ask, $answer, %seen, $unsteady);

# How many runs counted that were not steady.
sub unsteady_runs { return $unsteady // 0 }

# The looks since the last call, as numbers; none without a watch.
sub looks {
	return if !$watch;
	print {$ask} "\n" or return;
	my @l = split ' ', readline($answer) // '';
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

# The quiet speed as far as it is known by now; 0 without a watch.
sub quiet_speed { return steady_speed(%seen) }

sub begin {
	return if defined $watch;
	local $SIG{PIPE} = 'IGNORE';
	my @cores = 0 .. -1 + `getconf _NPROCESSORS_ONLN`;
	$watch = $> == 0 ? eval { open2($answer, $ask, build() . '/tests/bench/core_watch', @cores) } // 0 : 0;
	$ask->autoflush(1) if $watch;
	sleep $FIRST_LOOK_S if $watch;
	looks();
	return;
}

# What ONCE returns, in scalar context, of a run with steady cores, or else of the steadiest of some.
sub steadily {
	my ($once) = @_;
	begin();
	my ($begin, $least, $best) = (time, 2);
	for (1 .. $TRIES) {
		last if time > $begin + $TRIES_S && $_ > $TRIES_LEAST;
		for (my $until = time + $WAIT_S; $watch && time < $until;) {
			looks();
			sleep $LOOK_S;
			last if is_steady(quiet_speed(), looks());
		}
		my $result = $once->();
		my $part = slow_part(quiet_speed(), looks());
		($least, $best) = ($part, $result) if $part < $least;
		return $best if $least <= $MOST_SLOW;
	}
	$unsteady++;
	return $best;
}

1;
