# SPDX-License-Identifier: GPL-2.0-or-later
#
# A pair of the accuracy table as a line of the results' file, and as a line for who waits for it.
package Rows;
use strict;
use warnings;
use Exporter 'import';
use JSON::PP;
use Pairs qw(way_of);

our @EXPORT_OK = qw(note_row row_text);

# note_row(FILE, COMMIT, ROW): appended, with the version and the way of measuring.
sub note_row {
	my ($file, $commit, $l) = @_;
	open my $f, '>>', $file or die "$file: $!\n";
	print {$f} JSON::PP->new->canonical->encode({%$l, way => way_of($l->{machine}), commit => $commit}), "\n";
	close $f or die "$file: $!\n";
	return;
}

# row_text(PAIR, ROW): what every method was off by.
sub row_text {
	my ($pair, $l) = @_;
	my $percent = sub { my ($s) = @_; return defined $s ? sprintf '%+.1f %%', 100 * ($s / $l->{actual} - 1) : '-' };
	my $told = $l->{told}{skeleton};
	return sprintf '%-9s %-9s pair %d: home %.2f, there %.2f s; skeleton %s (%s), empty loop %s, kernels %s, clock %s; probe %.1f s; partial %s',
		@$l{qw(program machine)}, $pair, @$l{qw(home actual)}, $percent->($l->{skeleton}),
		$told->{refused} // sprintf('%.2f to %.2f s', @$told{qw(lo hi)}), map({ $percent->($l->{$_}) } qw(empty kernels clock)), $l->{probe},
		$l->{unpartial} // sprintf('%s, direct %s, its probe %.1f s', $percent->($l->{partial}), $percent->($l->{direct}), $l->{partial_probe});
}

1;
