# SPDX-License-Identifier: GPL-2.0-or-later
#
# Results of the experiments with models, as the tables of MODEL.md.
package ModelTables;
use strict;
use warnings;
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
			[$a->{size}, $a->{ranks} . ($a->{crowded} ? ' (crowded)' : ''), $a->{learnt}, $a->{calls} // '',
			$a->{refused} ? "refused: $a->{refused}" : "$a->{exact_ranks} of $a->{ranks} ranks",
			$a->{refused} ? '' : "$a->{wrong} of $a->{values} others, $a->{unknown} not predicted",
			$a->{refused} ? '' : seconds($a->{wall_s}), $a->{refused} ? '' : seconds($a->{low_s}) . ' to ' . seconds($a->{high_s}), seconds($a->{actual_s}),
			$a->{refused} ? '' : sprintf('%+.1f %%', 100 * ($a->{wall_s} / $a->{actual_s} - 1)), defined $a->{noise} ? percent($a->{noise}) : '',
			defined $a->{skeleton_s} ? sprintf('%+.1f %%', 100 * ($a->{skeleton_s} / $a->{actual_s} - 1)) : 'none',
			defined $a->{form_s} ? sprintf('%+.1f %%', 100 * ($a->{form_s} / $a->{actual_s} - 1)) : ''] } @{$r->{asked}})
		. "\n$r->{fitted}\n";
}

my @parts = (
	['lag', 'First-order lag by Euler\'s method', \&lag],
	['brusselator', 'Going parallel: the Brusselator', \&brusselator],
	['plate', 'Plate under a moving load', \&plate],
	['halo', 'Halos: extrapolation instead of exchange', \&halo],
	['network', 'Halos over 100 Mbit/s', \&halo],
	['heat', 'Own: heat', \&own], ['lu', 'Own: lu', \&own], ['cg', 'Own: cg', \&own],
	(map { [$_, "Own: $_", \&own] } qw(ft mg sp bt is ep)),
);

sub part {
	my ($part, $r) = @_;
	return $part->[2]->($r) . "\n" . note($r);
}

# tables({name => result}): text.
sub tables {
	my ($result) = @_;
	return join "\n", map { "## $_->[1]\n\n" . part($_, $result->{$_->[0]}) } grep { $result->{$_->[0]} } @parts;
}

# tables_write(FILE, {name => result}): into the file, where it has the lines "<!-- NAME -->" and "<!-- end -->".
sub tables_write {
	my ($file, $result) = @_;
	open my $f, '<', $file or die "$file: $!\n";
	my $text = do { local $/; <$f> };
	for my $part (grep { $result->{$_->[0]} } @parts) {
		my $table = part($part, $result->{$part->[0]});
		$text =~ s/(<!-- $part->[0] -->\n).*?(<!-- end -->)/$1\n$table\n$2/s or die "$file has no place for $part->[0]\n";
	}
	open $f, '>', "$file.new" or die "$file.new: $!\n";
	print $f $text;
	close $f or die "$file.new: $!\n";
	rename "$file.new", $file or die "$file: $!\n";
	return;
}

1;
