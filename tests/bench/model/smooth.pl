#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How smoothly the time of a program of doc/evaluation/models.md depends on its size: the least error of any smooth function of the size.
#
#   smooth.pl [--program lu] [--ranks 2,4,8] [--from 60] [--to 76] [--rounds 3] [--json]
#
# Each size between is run so many times, all sizes and ranks in turns; its time is the median. A law that is smooth is within a tenth of a
# per cent of the mean of the times of the two sizes below and the two above; how far the time is from that is told, beside the noise: what
# the runs of a size are from their median.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../lib";
use Bench qw(median);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;
use OwnPrograms qw(own_names own_traced);

my %o = (program => 'lu', ranks => '2,4,8', from => 60, to => 76, rounds => 3);
GetOptions(\%o, 'program=s', 'ranks=s', 'from=i', 'to=i', 'rounds=i', 'json') && !@ARGV && $o{to} >= $o{from} + 4
    or die "usage: smooth.pl [--program lu] [--ranks 2,4,8] [--from 60] [--to 76] [--rounds 3] [--json]\n";
grep({ $_ eq $o{program} } own_names()) or die "smooth.pl: no program '$o{program}'; there are @{[own_names()]}\n";
my @ranks = split /,/, $o{ranks};
my $file = tempdir(CLEANUP => 1) . '/trace.ptrace';
my %s;
for my $round (1 .. $o{rounds}) {
	for my $size ($o{from} .. $o{to}) {
		push @{$s{$_}{$size}}, own_traced($file, $o{program}, $size, $_) for @ranks;
	}
}

my %out = map { $_ => $o{$_} } qw(program from to rounds);
for my $ranks (@ranks) {
	my %t = map { $_ => median(@{$s{$ranks}{$_}}) } $o{from} .. $o{to};
	my @off = map { my $n = $_; $t{$n} / (($t{$n - 2} + $t{$n - 1} + $t{$n + 1} + $t{$n + 2}) / 4) - 1 } $o{from} + 2 .. $o{to} - 2;
	my @noise = map { my $n = $_; map { abs($_ / $t{$n} - 1) } @{$s{$ranks}{$n}} } $o{from} .. $o{to};
	my @sorted = sort { $a <=> $b } map { abs } @off;
	$out{ranks}{$ranks} = {seconds => \%t, off => median(map { abs } @off), worst => $sorted[-1], noise => median(@noise)};
	next if $o{json};
	printf "%s on %d ranks, sizes %d to %d: off its neighbours by %.1f %% in the median, %.1f %% at most (noise %.1f %%)\n", $o{program}, $ranks, @o{qw(from to)},
	    100 * $out{ranks}{$ranks}{off}, 100 * $sorted[-1], 100 * $out{ranks}{$ranks}{noise};
	printf "  %d: %.3f s%s\n", $_, $t{$_}, $_ >= $o{from} + 2 && $_ <= $o{to} - 2 ? sprintf(', %+.1f %%', 100 * $off[$_ - $o{from} - 2]) : '' for $o{from} .. $o{to};
}
print JSON::PP->new->canonical->pretty->encode(\%out) if $o{json};
