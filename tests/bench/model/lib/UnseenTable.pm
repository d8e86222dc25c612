# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tables of unseen.pl: every prediction for the terminal, and the summary for doc/evaluation/models.md.
package UnseenTable;
use strict;
use warnings;
use Bench qw(median);
use Exporter 'import';

our @EXPORT_OK = qw(unseen_table unseen_write);

my $RATIO_MAX = 2; # a wider interval is refused, as everywhere (ESTIMATE_MAX_RATIO)
my @where = ('between the runs', 'up to half beyond', 'farther');
my @ways = (['law', 'law over totals'], ['model', 'model of the calls'], ['both', 'law with computed points']);

sub table {
	my ($head, @rows) = @_;
	return join '', map { '| ' . join(' | ', @$_) . " |\n" } $head, [('---') x @$head], @rows;
}

sub percent { return sprintf '%.1f %%', 100 * $_[0] }

sub told {
	my ($answer) = @_;
	return !$answer->{why} && $answer->{hi} <= $RATIO_MAX * $answer->{lo};
}

# [answer, seconds that it took] of all programs.
sub answers {
	my ($results, $runs, $way, $where) = @_;
	return map { [$_->{told}{$runs}{$way}[$where], $_->{actual_s}[$where]] } @$results;
}

sub error_of { return abs($_[0][0]{mean} / $_[0][1] - 1) }

sub row {
	my ($results, $runs, $way, $where) = @_;
	my @all = answers($results, $runs, $way->[0], $where);
	my @told = grep { told($_->[0]) } @all;
	my @kept = grep { $_->[0]{lo} <= $_->[1] && $_->[1] <= $_->[0]{hi} } @told;
	my @error = sort { $a <=> $b } map { error_of($_) } @told;
	return [$runs, $where[$where], $way->[1], scalar @all, @all - @told, scalar @told, scalar @kept, @error ? (percent(median(@error)), percent($error[-1])) : ('-', '-')];
}

sub summary {
	my ($results) = @_;
	my @rows;
	for my $runs (3, 5) {
		for my $where (0 .. $#where) {
			push @rows, map { row($results, $runs, $_, $where) } @ways;
		}
	}
	return table(['runs', 'input', 'predicted by', 'asked', 'refused', 'told', 'within interval', 'median error', 'largest'], @rows)
		. sprintf "\n%d programs: %s. Spread of three runs, median: %s.\n", scalar @$results, join(', ', map { $_->{name} } @$results),
		percent(median(map { $_->{noise} } @$results));
}

sub cell {
	my ($answer, $actual) = @_;
	return 'refused: ' . substr($answer->{why} =~ s/^precedent: //r, 0, 60) if $answer->{why};
	return sprintf '%+.1f %% (%.2f to %.2f s)%s', 100 * ($answer->{mean} / $actual - 1), $answer->{lo}, $answer->{hi},
		!told($answer) ? ', too wide' : $answer->{lo} <= $actual && $actual <= $answer->{hi} ? '' : ', OUTSIDE';
}

# Every prediction, and the summary.
sub unseen_table {
	my ($results) = @_;
	my @rows;
	for my $r (@$results) {
		for my $where (0 .. $#where) {
			my $actual = $r->{actual_s}[$where];
			push @rows, map { my $runs = $_; ["$r->{name} ($r->{kind})", $where[$where], sprintf('%.2f s', $actual), $runs, map { cell($r->{told}{$runs}{$_->[0]}[$where], $actual) } @ways] } 3, 5;
		}
	}
	return table(['program', 'input', 'took', 'runs', map { $_->[1] } @ways], @rows) . "\n" . summary($results);
}

# The summary into its place in the document; dies if there is none.
sub unseen_write {
	my ($file, $results) = @_;
	open my $f, '<', $file or die "$file: $!\n";
	my $text = do { local $/; <$f> };
	my $summary = summary($results);
	$text =~ s/^<!-- unseen -->\n.*?^<!-- end -->$/<!-- unseen -->\n\n$summary\n<!-- end -->/ms
		or die "$file has no place for unseen: no line '<!-- unseen -->' before a line '<!-- end -->'\n";
	open $f, '>', "$file.new" or die "$file.new: $!\n";
	print $f $text;
	close $f or die "$file.new: $!\n";
	rename "$file.new", $file or die "$file: $!\n";
	return;
}

1;
