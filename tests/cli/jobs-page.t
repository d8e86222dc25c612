#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent jobs --html of saved answers: what a program was asked for, what it used, and what to ask for.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(encode_json);
use Test::More;

my $job = 900;

sub run_of {
	my ($family, $asked_min, $state, $elapsed_s, $hi_s) = @_;
	my $predicted = $hi_s && { candidate => 'fast', seconds => 0.9 * $hi_s, lo_s => 0.8 * $hi_s, hi_s => $hi_s };
	return { job => $job--, name => $family, family => $family, partition => 'fast', candidate => 'fast', nodes => 2, user_limit_min => $asked_min,
		elapsed_s => $elapsed_s, state => $state, submit => '2026-11-29T10:00:00Z',
		start => '2026-11-29T11:00:00Z', $predicted ? (predicted => $predicted) : () };
}

# The cells of each row, by program. The latest run comes first.
sub page {
	spew('jobs.json', encode_json({ jobs => [@_] }));
	my $r = precedent('jobs', '--from', 'jobs.json', '--html', '-');
	is($r->{rc}, 0, 'a page is written') or diag $r->{err};
	return ($r->{out}, map { my @c = /<t[hd][^>]*>(.*?)<\/t[hd]>/g; s/<[^>]*>//g for @c; (shift @c, \@c) } $r->{out} =~ /<tr><th scope="row">.*?<\/tr>/g);
}

my ($html, %row) = page(
	run_of('known', 600, 'COMPLETED', 3500, 4000), run_of('known', 600, 'COMPLETED', 3000, 3900),
	run_of('plain', 60, 'COMPLETED', 100), run_of('plain', 60, 'FAILED', 900),
	run_of('cut', 60, 'TIMEOUT', 3600), run_of('cut', 60, 'COMPLETED', 1000),
	run_of('late', 60, 'TIMEOUT', 60), run_of('late', 60, 'COMPLETED', 1000),
	run_of('fails', 60, 'FAILED', 10), run_of('<b>bold', 60, 'RUNNING', 0), run_of('', 60, 'COMPLETED', 99999));

is_deeply($row{known}, [2, 2, 0, '10:00:00', '00:58:20', '01:06:40', '01:15:00'], 'a quarter above the longest run is more than the estimate');
is_deeply($row{plain}, [2, 1, 0, '01:00:00', '00:01:40', '&ndash;', '00:03:00'], 'without an estimate: by the run that completed, in minutes');
is($row{cut}[6], 'more: a run was ended by its limit', 'a run that its limit ended was longer');
is($row{late}[6], '00:21:00', 'unless its limit was below what others needed');
is($row{fails}[6], '&ndash;', 'nothing is known of a program that never completed');
ok($row{'&lt;b&gt;bold'}, 'a name is no markup');
like($html, qr/<dd>10<\/dd><dd>of 6 families; 1 left out<\/dd>/, 'jobs and families are counted; those without a family are left out');
like($html, qr/<dd>2<\/dd><dd>1 of 2 that completed were inside the interval<\/dd>/, '... and predictions');
# Node hours of runs that completed or were ended by a limit: asked (2 * 10 + 5) * 2, used 2 * 12260 s.
like($html, qr/<dd>7\.3<\/dd>/, 'asked for each hour used');
like($html, qr/40 node-hours asked for, 3\.61 used/, 'a bar has its figures');

like($html, qr{</h1>\n<p class="dim">Submitted 2026-11-29 to 2026-11-29\.</p>}, 'since when');
# Contrast of two colours by WCAG 2.1, which asks for 3 between a drawing and its background.
sub contrast {
	my @l = sort { $b <=> $a } map {
		my @c = map { my $c = hex($_) / 255; $c <= 0.04045 ? $c / 12.92 : (($c + 0.055) / 1.055) ** 2.4 } /[0-9a-f]{2}/g;
		0.2126 * $c[0] + 0.7152 * $c[1] + 0.0722 * $c[2]
	} @_;
	return ($l[0] + 0.05) / ($l[1] + 0.05);
}
my ($dark) = $html =~ /prefers-color-scheme: dark\) \{(.*?)\}/s;
my %colour = $dark =~ /--(\w+): #([0-9a-f]{6});/g;
cmp_ok(contrast(@colour{'bg', $_}), '>=', 3, "in the dark, '$_' is not faint") for qw(asked set used);

like((page())[0], qr/What to ask for/, 'no jobs: an empty page');
is(precedent('jobs', '--json', '--html', 'x')->{err}, "precedent jobs: --json or --html, not both; try 'precedent jobs --help'\n", 'one of both');

done_testing;
