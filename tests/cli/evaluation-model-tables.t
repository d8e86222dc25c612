#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The summary tables of doc/evaluation/models.md: written by tables_write, against figures computed by hand.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../bench/lib", "$FindBin::Bin/../bench/model/lib";
use File::Temp qw(tempdir);
use ModelTables qw(tables tables_write);
use Test::More;
use UnseenTable qw(unseen_table unseen_write);

my $page = "$FindBin::Bin/../../doc/evaluation/models.md";
my $dir = tempdir(CLEANUP => 1);

sub slurp {
	my ($file) = @_;
	open my $f, '<', $file or die "$file: $!\n";
	local $/;
	return scalar <$f>;
}

sub spill {
	my ($file, $text) = @_;
	open my $f, '>', $file or die "$file: $!\n";
	print $f $text;
	close $f or die "$file: $!\n";
	return $file;
}

sub between {
	my ($text, $name) = @_;
	my ($part) = $text =~ /^<!-- $name -->\n(.*?)^<!-- end -->$/ms;
	return $part;
}

# A prediction of 1 s that errs by so much.
sub asked {
	my ($error, %more) = @_;
	return {size => 64, ranks => 2, learnt => '2, 4', exact_ranks => 2, wrong => 0, unknown => 0, calls => '10', values => '20', wall_s => 1 + $error, low_s => 0.9, high_s => 1.1, actual_s => 1,
		noise => 0.04, skeleton_s => 0.98, form_s => 1.3, %more};
}

my %result = (
	plate => {runs => 10, totals => 60, asked => 24, least_s => 1, most_s => 2, sequence => 1, rows => 7, learn_s => 1, form => '1', load => 0.5, took_s => 1,
		map { $_ => {median => 0.0125, worst => 0.5} } qw(model_errors totals_errors form_errors form_few_errors noise)},
	network => {load => 2, took_s => 1, sizes => [{through => 'tcp', columns => 8, rows => 4, every => 2, exchange_s => 1, extrapolate_s => 1, ratio => 0.9, ratio_low => 0.8, ratio_high => 1, noise => 1,
		noise_low => 0.99, noise_high => 1.01, pairs => 3, error => 1e-4, discretisation => 1e-2}]},
	lu => {load => 1.5, took_s => 1, fitted => 'fitted', asked => [asked(0.02), asked(-0.1, exact_ranks => 1, skeleton_s => undef, unknown => 3), asked(0.3, high_s => 1.4, low_s => 1.2),
		{size => 9, ranks => 8, actual_s => 1, learnt => '2, 4', refused => 'no'}]},
);

subtest 'the page has a place for each summary' => sub {
	my $text = slurp($page);
	for my $name (qw(lag brusselator plate halo network own)) {
		like(between($text, $name) // '', qr/^\| --- /m, "$name, with a table");
	}
};

subtest 'summaries' => sub {
	my $file = spill("$dir/models.md", slurp($page));
	tables_write($file, \%result);
	my ($before, $after) = (slurp($page), slurp($file));
	like(between($after, 'plate'), qr/^\| model with inner variables \| 10 \| 1\.2 % \| 50\.0 % \|$/m, 'plate');
	like(between($after, 'plate'), qr/^Load average at the start: 0\.5\.$/m, 'with the load');
	like(between($after, 'network'), qr/^\| tcp \| 8 x 4 \| 2 \| -10\.0 % \(-20\.0, \+0\.0\) \| \+0\.0 % \(-1\.0, \+1\.0\) \| 1\.0 % \|$/m, 'network');
	like(between($after, 'own'), qr/^\| lu \| 3\/4 \| 2\/3 \| 3 \| 10\.0 % \| 30\.0 % \| 4\.0 % \| 2\/3 \| 2\.0 % \| 30\.0 % \| 1\.5 \|$/m, 'lu, with a refusal');
	my ($heat) = between($before, 'own') =~ /^(\| heat .*)$/m;
	like(between($after, 'own'), qr/^\Q$heat\E$/m, 'a program without a result keeps its row');
	is(between($after, 'lag'), between($before, 'lag'), 'and an experiment its table');
	tables_write($file, \%result);
	is(slurp($file), $after, 'written twice is written once');
};

subtest 'a document without a place' => sub {
	my $file = spill("$dir/other.md", "text\n");
	ok(!eval { tables_write($file, \%result); 1 }, 'is refused');
	like($@, qr/has no place for plate/, 'with the name');
	is(slurp($file), "text\n", 'and stays');
};

subtest 'every prediction' => sub {
	my $text = tables(\%result);
	like($text, qr/^\| 64 \| 2 \| 2, 4 \| 10 \| 2 of 2 ranks \| 0 of 20 others, 0 not predicted \| 1\.02 s \| /m, 'has a row');
	like($text, qr/^\| 9 \| 8 \| 2, 4 \|  \| refused: no \| /m, 'or a refusal');
};

# A prediction of a run that took 1 s.
sub told { return {mean => $_[0], lo => $_[1], hi => $_[2]} }
my $no = {why => 'precedent: too few'};
my @unseen = map {
	my $of = $_;
	+{name => "p$of", kind => 'stencil', noise => 0.05 * $of, actual_s => [1, 1, 1], told => {
		3 => {law => [$no, $no, $no], model => [told(1.1, 0.9, 1.3), told(1.2, 0.7, 1.5), $no], both => [told(1 + 0.1 * $of, 0.9, 1 + 0.2 * $of), $no, $no]},
		5 => {law => [told(1.2, 1.1, 1.3), $no, $no], model => [$no, $no, told(1.3, 1.25, 1.4)], both => [told(1.02, 0.98, 1.06), $no, $no]}}}
} 1 .. 3;

subtest 'inputs that never ran' => sub {
	like(between(slurp($page), 'unseen') // '', qr/^\| 3 \| between the runs \| law with computed points \| \d+ \|/m, 'the page has the table');
	my $file = spill("$dir/models.md", slurp($page));
	unseen_write($file, \@unseen);
	my $text = between(slurp($file), 'unseen');
	like($text, qr/^\| 3 \| between the runs \| law over totals \| 3 \| 3 \| 0 \| 0 \| - \| - \|$/m, 'all refused');
	like($text, qr/^\| 3 \| between the runs \| law with computed points \| 3 \| 0 \| 3 \| 3 \| 20\.0 % \| 30\.0 % \|$/m, 'all told and right');
	like($text, qr/^\| 3 \| up to half beyond \| model of the calls \| 3 \| 3 \| 0 \| 0 \| - \| - \|$/m, 'an interval wider than a factor of two is refused');
	like($text, qr/^\| 5 \| between the runs \| law over totals \| 3 \| 0 \| 3 \| 0 \| 20\.0 % \| 20\.0 % \|$/m, 'outside of the interval');
	like($text, qr/^3 programs: p1, p2, p3\. .*median: 10\.0 %\.$/m, 'programs and noise');
	unseen_write($file, \@unseen);
	is(between(slurp($file), 'unseen'), $text, 'written twice is written once');
	like(unseen_table(\@unseen), qr/^\| p1 \(stencil\) \| farther \| 1\.00 s \| 5 \| refused: too few \| \+30\.0 % \(1\.25 to 1\.40 s\), OUTSIDE \|/m, 'every prediction has a cell');
	ok(!eval { unseen_write(spill("$dir/other.md", "text\n"), \@unseen); 1 }, 'a document without a place is refused');
};

done_testing;
