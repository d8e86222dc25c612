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

our @EXPORT_OK = qw(steadily is_steady unsteady_runs steady_speed);

# A look is slow below SLOW of the speed that a tenth of all looks so far exceed; a run is steady with so many of them at most.
# Between programs' runs here, launches included, 8 to 19 % are slow when they take 1.44 to 1.48 s, 23 % when 1.55, 60 % when 1.94.
my ($SLOW, $MOST_SLOW) = (0.92, 0.20);
my ($FIRST_LOOK_S, $WAIT_S, $LOOK_S) = (5, 60, 1);
my ($TRIES, $TRIES_S) = (8, 90); # of one run: what is still not steady then counts all the same, and is counted

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

# Whether those looks are a steady machine's, whose quiet speed that is.
sub is_steady {
	my ($speed, @looks) = @_;
	return !@looks || grep({ $_ < $SLOW * $speed } @looks) <= $MOST_SLOW * @looks;
}

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

# What ONCE returns, in scalar context, of a run with steady cores.
sub steadily {
	my ($once) = @_;
	begin();
	my ($begin, $result) = time;
	for (1 .. $TRIES) {
		for (my $until = time + $WAIT_S; $watch && time < $until;) {
			looks();
			sleep $LOOK_S;
			last if is_steady(steady_speed(%seen), looks());
		}
		$result = $once->();
		return $result if is_steady(steady_speed(%seen), looks());
		last if time > $begin + $TRIES_S;
	}
	$unsteady++;
	return $result;
}

1;
