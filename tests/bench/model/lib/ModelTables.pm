# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tables of the experiments with models: every prediction for the terminal, summaries for doc/evaluation/models.md.
package ModelTables;
use strict;
use warnings;
use Bench qw(median);
use Exporter 'import';

our @EXPORT_OK = qw(tables tables_write);

sub table {
	my ($head, @rows) = @_;
	return join '', map { '| ' . join(' | ', @$_) . " |\n" } $head, [('---') x @$head], @rows;
}

sub percent { return sprintf '%.1f %%', 100 * $_[0] }
sub sign { return $_[0] ? '+' : '-' }
sub note { return sprintf "(load %.1f at the beginning, took %.0f s)\n", $_[0]{load}, $_[0]{took_s} }

sub seconds {
	my ($s) = @_;
	my $abs = abs $s;
	return $abs >= 1 ? sprintf('%.3g s', $s) : $abs >= 1e-3 ? sprintf('%.3g ms', 1e3 * $s) : $abs >= 1e-6 ? sprintf('%.3g us', 1e6 * $s)
		: sprintf('%.3g ns', 1e9 * $s);
}

sub lag {
	my ($r) = @_;
	return table(['', 'learnt from', 'asked', 'median error', 'largest error'],
		['model of the algorithm', "$r->{runs} runs, step by step", $r->{asked}, sprintf('%.1e', $r->{model_median}), sprintf('%.1e', $r->{model_worst})],
		['the same, up to 10 times the steps', '', 20, '', sprintf('%.1e', $r->{far_worst})],
		['direct approximation', "$r->{direct_runs} runs, inputs and result", $r->{asked}, sprintf('%.1e', $r->{direct_median}), sprintf('%.1e', $r->{direct_worst})])
		. sprintf "\nA step takes %.1f ns in the program and %.1f ns in the compiled model (%s bits as interpreted); an answer of the direct approximation %.0f ns.\n",
		$r->{program_ns}, $r->{compiled_ns}, $r->{same_bits} ? 'the same' : 'OTHER', $r->{direct_ns};
}

sub brusselator {
	my ($r) = @_;
	return table(['K', 'predicted, one core', 'measured, one core', 'two cores', 'two / one', 'advice', 'two cores faster', 'normal form', 'its advice'],
		map { [$_->{k}, seconds($_->{model_s}), seconds($_->{one_s}), seconds($_->{two_s}), sprintf('%.2f', $_->{two_of_one}), sign($_->{advice}),
			sign($_->{faster}), seconds($_->{form_s}), sign($_->{form_advice})] } @{$r->{sizes}})
		. sprintf "\nP(2) = %s, medians of %d turns. Normal form: time(K) = %s\n", seconds($r->{start_s}), $r->{turns}, $r->{form};
}

sub plate {
	my ($r) = @_;
	my @rows = (['model with the inner variables', $r->{runs}, 'model_errors'], ['fit of totals, without them', $r->{totals}, 'totals_errors'],
		['normal form of totals', $r->{totals}, 'form_errors'], ['normal form of totals', $r->{runs}, 'form_few_errors'], ['noise: one run and the median of its runs', '', 'noise']);
	return table(['', 'runs learnt from', 'median error', 'largest'],
		map { [$_->[0], $_->[1], percent($r->{$_->[2]}{median}), percent($r->{$_->[2]}{worst})] } @rows)
		. sprintf "\n%d other inputs, %s to %s; every control point and variable in its place: %s. Learnt from %d passages in %s.\nNormal form: %s\n",
		$r->{asked}, seconds($r->{least_s}), seconds($r->{most_s}), $r->{sequence} ? 'yes' : 'NO', $r->{rows}, seconds($r->{learn_s}), $r->{form};
}

sub halo {
	my ($r) = @_;
	return table(['through', 'block', 'exchange every', 'each exchanged', 'extrapolated', 'change of time (quartiles)', 'noise (quartiles)', 'pairs', 'error', 'of the grid'],
		map { [$_->{through}, "$_->{columns} x $_->{rows}", $_->{every}, seconds($_->{exchange_s}), seconds($_->{extrapolate_s}),
			sprintf('%+.1f %% (%+.1f to %+.1f)', map { 100 * ($_ - 1) } @$_{qw(ratio ratio_low ratio_high)}),
			sprintf('%+.1f %% (%+.1f to %+.1f)', map { 100 * ($_ - 1) } @$_{qw(noise noise_low noise_high)}), $_->{pairs},
			sprintf('%.1e', $_->{error}), sprintf('%.1e', $_->{discretisation})] } @{$r->{sizes}});
}

sub own {
	my ($r) = @_;
	return table(['asked', 'ranks', 'learnt on', 'calls', 'sequence', 'values', 'predicted', 'interval', 'happened', 'error', 'noise', 'its skeleton', 'normal form'],
		map { my $a = $_;
			[$a->{size}, $a->{ranks} . ($a->{crowded} ? ' (oversubscribed)' : ''), $a->{learnt}, $a->{calls} // '',
			$a->{refused} ? "refused: $a->{refused}" : "$a->{exact_ranks} of $a->{ranks} ranks",
			$a->{refused} ? '' : "$a->{wrong} of $a->{values} others, $a->{unknown} not predicted",
			$a->{refused} ? '' : seconds($a->{wall_s}), $a->{refused} ? '' : seconds($a->{low_s}) . ' to ' . seconds($a->{high_s}), seconds($a->{actual_s}),
			$a->{refused} ? '' : sprintf('%+.1f %%', 100 * ($a->{wall_s} / $a->{actual_s} - 1)), defined $a->{noise} ? percent($a->{noise}) : '',
			defined $a->{skeleton_s} ? sprintf('%+.1f %%', 100 * ($a->{skeleton_s} / $a->{actual_s} - 1)) : 'none',
			defined $a->{form_s} ? sprintf('%+.1f %%', 100 * ($a->{form_s} / $a->{actual_s} - 1)) : ''] } @{$r->{asked}})
		. "\n$r->{fitted}\n";
}

# ---- summaries ----

sub lag_summary {
	my ($r) = @_;
	return table(['', 'learnt from', 'median error', 'largest error'],
		['model of the algorithm', "$r->{runs} runs, every step", sprintf('%.1e', $r->{model_median}), sprintf('%.1e', $r->{model_worst})],
		['the same model, up to 10 times the steps', '', '', sprintf('%.1e', $r->{far_worst})],
		['direct approximation', "$r->{direct_runs} runs, inputs and result", sprintf('%.1e', $r->{direct_median}), sprintf('%.1e', $r->{direct_worst})]);
}

sub brusselator_summary {
	my ($r) = @_;
	return table(['K', 'predicted, one core', 'measured', 'measured, two cores', 'advice', 'of the normal form', 'faster'],
		map { my $size = $_;
			[$size->{k}, (map { seconds($size->{$_}) } qw(model_s one_s two_s)), (map { $size->{$_} ? 'two' : 'one' } qw(advice form_advice faster))] } @{$r->{sizes}});
}

sub plate_summary {
	my ($r) = @_;
	my @rows = (['model with inner variables', $r->{runs}, 'model_errors'], ['the same fit of total times', $r->{totals}, 'totals_errors'],
		['normal form of total times', $r->{totals}, 'form_errors'], ['normal form of total times', $r->{runs}, 'form_few_errors'], ['noise of one run', '', 'noise']);
	return table(['', 'runs learnt from', 'median error', 'largest error'],
		map { [$_->[0], $_->[1], percent($r->{$_->[2]}{median}), percent($r->{$_->[2]}{worst})] } @rows);
}

sub halo_summary {
	my ($r) = @_;
	my $spread = sub { sprintf '%+.1f %% (%+.1f, %+.1f)', map { 100 * ($_ - 1) } @_ };
	return table(['messages through', 'block', 'exchange every', 'change of time (quartiles)', 'noise (quartiles)', 'error / discretisation error'],
		map { [$_->{through}, "$_->{columns} x $_->{rows}", $_->{every}, $spread->(@$_{qw(ratio ratio_low ratio_high)}),
			$spread->(@$_{qw(noise noise_low noise_high)}), percent($_->{error} / $_->{discretisation})] } @{$r->{sizes}});
}

my @own_head = ('program', 'predicted', 'exact', 'values not predicted', 'median error', 'largest', 'noise', 'within interval', 'skeleton',
	'normal form', 'load');

# Median of the absolute errors of one kind of prediction, of the runs that have one.
sub median_error {
	my ($key, @asked) = @_;
	my @error = map { abs($_->{$key} / $_->{actual_s} - 1) } grep { defined $_->{$key} } @asked;
	return @error ? percent(median(@error)) : 'none';
}

# One row: the predictions of a program.
sub own_summary {
	my ($name, $r) = @_;
	my @asked = @{$r->{asked}};
	my @told = grep { !$_->{refused} } @asked;
	my @exact = grep { $_->{exact_ranks} == $_->{ranks} && !$_->{wrong} } @told;
	my @kept = grep { $_->{low_s} <= $_->{actual_s} && $_->{actual_s} <= $_->{high_s} } @told;
	my @noise = map { $_->{noise} // () } @asked;
	my ($unknown, $largest) = (0, 0);
	for (@told) {
		my $error = abs($_->{wall_s} / $_->{actual_s} - 1);
		$unknown += $_->{unknown};
		$largest = $error if $error > $largest;
	}
	return [$name, @told . '/' . @asked, @exact . '/' . @told, $unknown, median_error('wall_s', @told), percent($largest), @noise ? percent(median(@noise)) : '',
		@kept . '/' . @told, median_error('skeleton_s', @asked), median_error('form_s', @asked), sprintf('%.1f', $r->{load})];
}

# The rows of the programs that have a result, and those of the others as they are in the text.
sub own_rows {
	my ($text, $result, @names) = @_;
	my %row = map { /^\| (\w+) \|/ ? ($1 => "$_\n") : () } split /\n/, $text;
	$row{$_->[0]} = '| ' . join(' | ', @$_) . " |\n" for map { own_summary($_, $result->{$_}) } grep { $result->{$_} } @names;
	return table(\@own_head) . join '', map { $row{$_} // () } @names;
}

my @own = qw(heat lu cg ft mg sp bt is ep);
my @parts = (
	['lag', 'First-order lag by Euler\'s method', \&lag, \&lag_summary],
	['brusselator', 'Going parallel: the Brusselator', \&brusselator, \&brusselator_summary],
	['plate', 'Plate under a moving load', \&plate, \&plate_summary],
	['halo', 'Halos: extrapolation instead of exchange', \&halo, \&halo_summary],
	['network', 'Halos over 100 Mbit/s', \&halo, \&halo_summary],
	(map { [$_, "Own: $_", \&own] } @own),
);

sub part {
	my ($part, $r) = @_;
	return $part->[2]->($r) . "\n" . note($r);
}

# tables({name => result}): text, every prediction.
sub tables {
	my ($result) = @_;
	return join "\n", map { "## $_->[1]\n\n" . part($_, $result->{$_->[0]}) } grep { $result->{$_->[0]} } @parts;
}

# Replaces the text between the lines "<!-- NAME -->" and "<!-- end -->" by what $of makes of it; dies if there is no such place.
sub place {
	my ($file, $text, $name, $of) = @_;
	$text =~ /^<!-- \Q$name\E -->\n(.*?)^<!-- end -->$/ms or die "$file has no place for $name: no line '<!-- $name -->' before a line '<!-- end -->'\n";
	return substr($text, 0, $-[1]) . "\n" . $of->($1) . "\n" . substr($text, $+[1]);
}

# tables_write(FILE, {name => result}): the summaries into the places of a document. Without a result a summary stays as it is.
sub tables_write {
	my ($file, $result) = @_;
	open my $f, '<', $file or die "$file: $!\n";
	my $text = do { local $/; <$f> };
	for my $part (grep { $_->[3] && $result->{$_->[0]} } @parts) {
		my $r = $result->{$part->[0]};
		$text = place($file, $text, $part->[0], sub { $part->[3]->($r) . sprintf "\nLoad average at the start: %.1f.\n", $r->{load} });
	}
	$text = place($file, $text, 'own', sub { own_rows($_[0], $result, @own) }) if grep { $result->{$_} } @own;
	open $f, '>', "$file.new" or die "$file.new: $!\n";
	print $f $text;
	close $f or die "$file.new: $!\n";
	rename "$file.new", $file or die "$file: $!\n";
	return;
}

1;
