#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent accuracy of a made-up history: the screen, the tables, the page (whole, nothing outside of it, names that look
# like markup), against sums made here from the single runs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json encode_json);
use List::Util qw(max sum);
use Test::More;
use Testbed qw(run_command build_dir);

my $make = build_dir() . '/tests/bench/make_history';
if (!-x $make && run_command('make', '-s', '-C', Testbed::top(), "$ENV{PRECEDENT_BUILD}/tests/bench/make_history")->{rc} != 0) {
	plan skip_all => 'make_history is not built';
}

# history(RUNS, DAYS[, LAST[, FROM, TO]]): the file with precedentd's answer. LAST: days. Only the runs FROM to TO have predictions.
sub history {
	my ($runs, $days, $last, @told) = @_;
	my $name = join '-', "h$runs", @told;
	is(run_command($make, "$name.db", $runs, $days, @told)->{rc}, 0, "a store with $runs runs") if !-e "$name.db";
	my $r = run_command($make, '--answer', "$name.db", $last // 0);
	is($r->{rc}, 0, 'its answer') or diag $r->{err};
	spew("$name.json", $r->{out});
	return "$name.json";
}

my $file = history(2000, 60);
my $answer = decode_json(slurp($file));

sub median {
	my @v = sort { $a <=> $b } @_;
	return @v % 2 ? $v[$#v / 2] : ($v[@v / 2 - 1] + $v[@v / 2]) / 2;
}

subtest 'the answer' => sub {
	my ($p, $all) = @$answer{qw(points all)};
	my @done = grep { $p->{completed}[$_] } 0 .. $#{ $p->{job} };
	is(scalar @{ $p->{job} }, $all->{n}, 'all runs one by one');
	is(scalar @done, $all->{completed}, 'of which so many completed');
	my %error = map {
		my $name = $_;
		($name => [map { abs($p->{$name}[$_] / $p->{seconds}[$_] - 1) } grep { $p->{$name}[$_] > 0 } @done])
	} qw(predicted request last_two_user last_two_job);
	my $close = sub { abs($_[0] - $_[1]) < 0.002 * max(1, $_[1]) };
	ok($close->($all->{median_error}, median(@{ $error{predicted} })), 'the median');
	ok($close->($all->{worst_error}, max(@{ $error{predicted} })), 'the worst');
	for my $who (qw(request last_two_user last_two_job)) {
		my $b = $all->{baselines}{$who};
		is($b->{n}, scalar @{ $error{$who} }, "$who: runs");
		ok($close->($b->{median_error}, median(@{ $error{$who} })), "$who: median");
	}
	is($all->{baselines}{perfect}{worst_error}, 0, 'perfect is perfect');
	is(sum(map { $_->{n} } @{ $answer->{$_} }), $all->{n}, "$_ are all runs") for qw(candidates users families sources);
	is_deeply([sort keys %{ $all->{ended} }], [qw(model nothing probe runs similar)], 'jobs that ended, by source');
	is(sum(values %{ $all->{ended} }), 2000, '... are all of them');
	my %over;
	for my $period (@{ $answer->{coverage} }) {
		$over{$_} += $period->{ended}{$_} for keys %{ $period->{ended} };
	}
	is_deeply(\%over, $all->{ended}, '... in periods, too');
	is(sum(map { $_->{inside} } @{ $answer->{timeline} }), $all->{inside}, 'runs inside their interval, in periods');
	my $told = sum(@{ $all->{ended} }{qw(model probe runs)});
	cmp_ok($told, '>=', $all->{n}, 'more were told than count: some failed');
	ok($all->{ended}{similar} > 50 && $all->{ended}{nothing} > 20, 'of others similar runs were known, or nothing');
	is($all->{extensions}, sum(@{ $p->{extensions} }), 'extensions');
	my $freed = sum(map { my $l = $p->{limit}[$_] || $p->{request}[$_]; $p->{nodes}[$_] * ($p->{request}[$_] - $l) / 3600 } 0 .. $#{ $p->{job} });
	ok(abs($freed - $all->{freed_node_h}) < 0.001 * $freed, 'node-hours freed');
	is($all->{cut_short}, 0, 'none ended below its request');
};

subtest 'on a terminal' => sub {
	my $r = precedent('accuracy', '--from', $file);
	is($r->{rc}, 0, 'accuracy') or diag $r->{err};
	cmp_ok(($r->{out} =~ tr/\n//), '<=', 24, 'one screen');
	unlike($r->{out}, qr/^.{121,}$/m, 'of 120 columns');
	like($r->{out}, qr/\A$answer->{all}{n} predicted runs since 20\d\d-\d\d-\d\d: \d+ families of jobs, 9 users\n/, 'says of what');
	like($r->{out}, qr/^precedent +\d+\.\d %/m, 'Precedent first');
	like($r->{out}, qr/^same user +.* mean of the user's last two runs$/m, 'and the others');
	like($r->{out}, qr/^fast +\d+ /m, 'by partition');
	my $ended = $answer->{all}{ended};
	my $told = sum(@$ended{qw(model probe runs)});
	like($r->{out}, qr/^Told +$told of 2000 batch jobs that ended \(\d+\.\d %\): $ended->{runs} by runs, $ended->{probe} by probes, $ended->{model} by a model;
 +of $ended->{similar} more only similar runs were known, of $ended->{nothing} nothing$/m, 'how many jobs were told, and by what');
	my %first = (source => 'probe', user => '100[1-8]', family => 'heat3d \([0-9a-f]{8}\)', partition => 'fat:bigmem');
	for my $by (sort keys %first) {
		my $out = precedent('accuracy', '--from', $file, '--by', $by)->{out};
		like($out, qr/^$first{$by} +\d+ /m, "--by $by");
		unlike($out, qr/[^\n\x20-\x7e\xc2-\xf4\x80-\xbf]/, 'no control characters');
	}
	my $json = decode_json(precedent('accuracy', '--from', $file, '--json')->{out});
	is($json->{all}{n}, $answer->{all}{n}, '--json has it all');
};

subtest 'the budget of probes' => sub {
	my %row = (probes => 4, jobs => 9, used_node_h => 100, limited => 0, asked_node_h => 0, freed_node_h => 0);
	my @rows = ({%row, uid => 1, partition => 'long', probe_node_h => 0.5, probe_share => 0.005},
		{%row, uid => 1, partition => 'short', probe_node_h => 2.5, probe_share => 0.025});
	my $said = sub {
		spew('cost.json', encode_json({budget => 0.01, budget_least_s => 65, everybody => JSON::PP::true, days => 0, total => $rows[0], rows_n => scalar @_,
			rows => [@_]}));
		return precedent('accuracy', '--cost', '--from', 'cost.json')->{out};
	};
	my $out = $said->(@rows);
	like($out, qr/^\S+ +short +4 +2\.5\S*\*/m, 'a row above the budget is marked');
	like($out, qr/^\S+ +long +4 +0\.5\S* /m, '... no other');
	like($out, qr/^\* more than ProbeBudget \(1 % of use\): the probes of a short run may take 65 s on each candidate in any case$/m, '... and it is told why');
	unlike($said->($rows[0]), qr/\*/, 'nothing is said within the budget');
};

subtest 'usage' => sub {
	my %wrong = ('user, family, partition or source' => [qw(--by node)], 'not both' => [qw(--json --html x)], 'for precedentd' => ['--from', $file, '--mine'],
		'--cost goes with' => [qw(--cost --by user)]);
	for my $why (sort keys %wrong) {
		my $r = precedent('accuracy', @{ $wrong{$why} });
		is($r->{rc}, 2, "usage: $why");
		like($r->{err}, qr/\Aprecedent accuracy: [^\n]*$why[^\n]*\n\z/, 'says so');
	}
	open my $fh, '>', 'other.json' or die "other.json: $!\n";
	print {$fh} '{"jobs": []}';
	close $fh or die "other.json: $!\n";
	my %fails = ('no-such.json' => ['--from', 'no-such.json'], 'is not what' => ['--from', 'other.json'],
		'cannot be written' => ['--from', $file, '--html', 'no/dir.html']);
	for my $why (sort keys %fails) {
		my $r = precedent('accuracy', @{ $fails{$why} });
		is($r->{rc}, 1, "fails: $why");
		like($r->{err}, qr/\Aprecedent: [^\n]*$why[^\n]*\n\z/, 'in one line');
	}
};

# Every element is closed where it was opened; returns how many of each there are.
sub balanced {
	my ($page) = @_;
	my (@open, %n);
	while ($page =~ m{<(/?)([a-z0-9]+)((?:\s+[a-zA-Z-]+(?:="[^"<>]*")?)*)\s*(/?)>|<!DOCTYPE html>|<}g) {
		my ($close, $tag, undef, $empty) = ($1, $2, $3, $4);
		next if $& eq '<!DOCTYPE html>';
		return "a bare < at " . substr($page, pos($page) - 1, 40) if !defined $tag;
		$n{$tag}++ if !$close;
		next if $empty || $tag =~ /\A(?:meta|link)\z/;
		push @open, $tag and next if !$close;
		my $was = pop(@open) // 'nothing';
		return "</$tag> closes <$was>" if $was ne $tag;
	}
	return @open ? "<@open> stay open" : \%n;
}

sub self_contained {
	my ($page) = @_;
	my ($policy) = $page =~ m{<meta http-equiv="Content-Security-Policy" content="([^"]*)">};
	like($policy // '', qr/\Adefault-src 'none'; style-src 'nonce-[0-9a-f]{32}'; img-src data:; base-uri 'none'; form-action 'none'\z/,
		'the policy lets one style in and nothing else');
	my $n = balanced($page);
	is(ref $n, 'HASH', 'the markup is balanced') or diag $n;
	$n = {} if !ref $n;
	ok(!$n->{$_}, "no <$_>") for qw(script img iframe object embed form base a audio video use image foreignObject);
	is($n->{style}, 1, 'one style');
	ok($page !~ m{<[^>]*\s(?:src|action|href)\s*=(?!"data:)}i, 'no address');
	ok($page !~ /<[^>]*\son[a-z]+\s*=/i, 'no handlers');
	return $n;
}

subtest 'the page' => sub {
	my $r = precedent('accuracy', '--from', $file, '--html', 'a.html');
	is($r->{rc}, 0, 'accuracy --html') or diag $r->{err};
	is($r->{out} . $r->{err}, '', 'is quiet');
	my $page = slurp('a.html');
	my $n = self_contained($page);
	is($n->{figure}, 5, 'five plots');
	is(() = $page =~ /<svg [^>]*role="img" aria-labelledby="[a-z]+-h" aria-describedby="[a-z]+-d">/g, 5, 'with names and words');
	is($n->{table}, 5, 'and the tables');
	like($page, qr{<dt>Jobs with a prediction</dt><dd>\d+\.\d %</dd><dd>of 2000 batch jobs that ended; similar runs were known of \d+ more</dd>},
		'the share of jobs that were told');
	is(() = $page =~ /<title>Job \d+ on /g, $answer->{all}{n}, 'a mark for each run');
	ok($page !~ /\bnan\b|\binf\b|\(null\)/, 'no numbers that are none');
	like($page, qr{&lt;/title&gt;&lt;script&gt;alert\(1\)&lt;/script&gt;}, 'names that look like markup are text');
	like($page, qr{<bdi>\?\[31mred&quot;&#39;&amp;</bdi>}, 'names with control characters are tamed');
	like(precedent('accuracy', '--from', $file, '--html', '-')->{out}, qr/\A<!DOCTYPE html>/, '- is standard output');
};

subtest 'pages of little' => sub {
	for my $runs (1, 2, 3) {
		my $small = history($runs, 1);
		is(precedent('accuracy', '--from', $small)->{rc}, 0, "$runs runs on a terminal");
		is(precedent('accuracy', '--from', $small, '--html', 's.html')->{rc}, 0, 'and as a page');
		my $page = slurp('s.html');
		self_contained($page);
		ok($page !~ /\bnan\b|\binf\b/, 'no numbers that are none');
	}
	my $none = history(2000, 60, 1); # of the last day alone
	cmp_ok(decode_json(slurp($none))->{all}{n}, '<', 60, 'the last day alone');
	open my $fh, '>', 'empty.json' or die "empty.json: $!\n";
	print {$fh} '{"all": {"n": 0}, "points": {}}';
	close $fh or die "empty.json: $!\n";
	is(precedent('accuracy', '--from', 'empty.json')->{out}, "no predicted job has completed yet\n", 'nothing yet');
	is(precedent('accuracy', '--from', 'empty.json', '--html', 'e.html')->{rc}, 0, 'as a page');
	like(slurp('e.html'), qr/No predicted job has completed yet/, 'which says so');
	my $untold = history(300, 60, 0, 301, 301); # no prediction yet
	is(precedent('accuracy', '--from', $untold)->{out}, 'no predicted job has completed yet
Told       0 of 300 batch jobs that ended (0.0 %): 0 by runs, 0 by probes, 0 by a model;
           of 200 more only similar runs were known, of 100 nothing
', 'no prediction among 300 jobs');
	is(precedent('accuracy', '--from', $untold, '--by', 'user')->{out}, "no predicted job has completed yet\n", '... without a table');
	is(precedent('accuracy', '--from', $untold, '--html', 'e.html')->{rc}, 0, '... as a page');
	my $page = slurp('e.html');
	self_contained($page);
	like($page, qr{<dd>0\.0 %</dd><dd>of 300 batch jobs}, '... which has the share');
};

subtest 'predictions that began lately' => sub {
	my $late = decode_json(slurp(history(20_000, 365, 0, 19_800, 19_800)));
	is($late->{all}{n}, 1, 'one predicted run') or diag explain $late->{error};
	my $periods = @{ $late->{coverage} // [] };
	ok($periods > 10 && $periods < 50, "a year of jobs in $periods periods");
	is(sum(map { values %{ $_->{ended} } } @{ $late->{coverage} }), 20_000, '... which have all jobs');
};

subtest 'predictions that ended long ago' => sub {
	my $early = history(3000, 90, 0, 1, 900);
	my $last = sub {
		precedent('accuracy', '--from', $_[0], '--html', 'last.html');
		return slurp('last.html') =~ /(In the last period [^<]*)/ ? $1 : '';
	};
	is($last->($early), 'In the last period 0.0 % of the jobs that ended had a prediction.', 'nothing is said of runs of an earlier period');
	like($last->($file), qr/had a prediction, and \S+ % of the predicted runs were inside\.\z/, '... but of those that ended in the last one');
};

done_testing;
