#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tables of a results file (accuracy_machines.pl --table, and --document for doc/evaluation/accuracy.md), against figures computed here;
# and how often a program is run for one time.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../bench/lib", "$FindBin::Bin/../cluster/lib";
use File::Temp qw(tempdir);
use IPC::Open2 qw(open2);
use JSON::PP qw(encode_json);
use Machines qw(machine_names why_failed);
use Pairs qw(of_sides quickest runs_until way_of);
use Programs qw(program_names program_of short_name slurp spill);
use Steady qw(count_all is_steady never_steady quiet_speed steadily steady_speed unsteady_runs);
use Test::More;
use Testbed qw(build_dir run_command top);
use Time::HiRes qw(time);

my $dir = tempdir(CLEANUP => 1);

# A place for a table in a document, with what stands there.
sub place {
	my ($table, $what) = @_;
	return "<!-- table $table ranks: written by accuracy_machines.pl --document -->\n$what<!-- end of the table -->\n";
}

# A row whose skeleton errs by so much, of the present way unless another is given.
sub row {
	my ($machine, $ranks, $error, %more) = @_;
	my $told = 10 * (1 + $error);
	my %probe = (skel_s => 1, computed_s => 1, noise => 0.01);
	my %kinds = map { $_ => {mean => $told, lo => 0.8 * $told, hi => 1.2 * $told} } qw(skeleton both);
	return {program => 'cg', machine => $machine, ranks => $ranks, way => way_of($machine), home => 5, actual => 10, home_runs => [[4, 6], [5]],
		actual_runs => [[10, 10], [11]], skeleton => $told, empty => 9, kernels => 8, clock => 5, probe => 1, told => \%kinds,
		at_home => {%probe}, there => {%probe}, unpartial => 'it has no main loop', %more};
}

sub results {
	my ($file, @rows) = @_;
	spill("$dir/$file", join '', map { encode_json($_) . "\n" } @rows);
	return "$dir/$file";
}

sub machines { return run_command(top() . '/tests/bench/accuracy_machines.pl', @_) }

# Columns of the first table's line that begins so.
sub summary {
	my ($out, $what) = @_;
	my ($line) = $out =~ /^\| \Q$what\E \| (.*) \|$/m or return;
	return split / \| /, $line;
}

subtest 'rows of the present way only' => sub {
	my $one = results('one', row('cpu', 2, 0.05), row('cpu', 2, -0.11));
	my $all = results('all', row('cpu', 2, 5, way => 1), row('cpu', 2, 0.05), row('cpu', 2, -0.11), {program => 'ep', machine => 'cpu', ranks => 2, failed => 'old'});
	my ($new, $both) = map { machines('--table', '--results', $_) } $one, $all;
	is($new->{rc}, 0, 'a table') or diag $new->{err};
	is($both->{out}, $new->{out}, 'the same with rows and failures of earlier ways in the file');
	is_deeply([(summary($new->{out}, 'processor at 50 %'))[0 .. 2]], [2, '8.0', '11.0'], 'pairs, median and worst');
	like($new->{out}, qr/^\| cg, 2 \| 2 \| 10\.00 \| 0\.0 \|/m, 'actual time and the noise of the single runs');
	my $noisy = machines('--table', '--results', results('noisy', row('cpu', 2, 0, actual_runs => [[8, 10], [12]])));
	like($noisy->{out}, qr/^\| cg, 2 \| 1 \| 10\.00 \| 20\.0 \|/m, 'noise is told by one pair, too');
};

subtest 'the latest five pairs of a program on a machine' => sub {
	my @old = map { row('cpu', 2, 3) } 1 .. 4;
	my @new = map { row('cpu', 2, $_) } 0.01, 0.02, 0.03, 0.04, -0.05;
	my @others = (row('network', 2, 0.06), row('cpu', 4, 0.07), row('cpu', 2, 0.08, program => 'ep'));
	my ($of_new, $of_all) = map { machines('--table', '--results', results('latest', @$_)) } [@new, @others], [@old, @others, @new];
	is($of_all->{out}, $of_new->{out}, 'earlier ones are not in the tables');
	like($of_all->{out}, qr/^\| cg, 2 \| 5 \|/m, 'five are');
	my $r = machines('--prune', '--results', "$dir/latest");
	like($r->{out}, qr/^8 of 12 lines are left/, 'nor are they in a file that is pruned') or diag $r->{err};
	is(scalar(() = slurp("$dir/latest") =~ /\n/g), 8, 'which has a line for each of the others');
	is(machines('--table', '--results', "$dir/latest")->{out}, $of_all->{out}, 'and makes the same tables');
	my $late = machines('--table', '--results', results('late', @new, $old[0]));
	like($late->{out}, qr/^\| cg, 2 \| 5 \|.*\+300\.0/m, 'the order of the file tells which are the latest');
};

subtest 'programs, each with the median of its pairs' => sub {
	my $r = machines('--table', '--results', results('programs', map({ row('cpu', 2, $_) } 0.03, -0.5, 0.04), map { row('cpu', 2, $_, program => 'lu') } 0.06, 0.08));
	my ($second) = $r->{out} =~ /^The same of programs.*?\n\n(.*?)\n\n/ms;
	is_deeply([(summary($second, 'processor at 50 %'))[0 .. 2]], [2, '5.0', '7.0'], 'cg 3 %, lu 7: one pair of cg that is far off is not in it');
};

subtest 'ranks are apart' => sub {
	my $r = machines('--table', '--results', results('ranks', row('cpu', 2, 0.05), row('cpu', 4, 0.5), row('home', 4, 0.3)));
	is((summary($r->{out}, 'processor at 50 %, 2 ranks'))[1], '5.0', 'two');
	is((summary($r->{out}, 'processor at 50 %, 4 ranks'))[1], '50.0', 'four');
	is((summary($r->{out}, 'the traced nodes again, 4 ranks'))[1], '30.0', 'four only');
	ok(!summary($r->{out}, 'the traced nodes again, 2 ranks'), 'and no line for what has none');
	like($r->{out}, qr/^\| cg, $_ \| 1 \|/m, "the program on $_ ranks") for 2, 4;
};

subtest 'into the document' => sub {
	my $told = {skeleton => {mean => 10, lo => 9, hi => 11}, both => {mean => 10, lo => 0, hi => 11, refused => 'too uncertain'}};
	my @of_lu = (program => 'lu', partial => 10.1, partial_probe => 1);
	my $rows = results('rows', row('home', 2, 0.01), row('cpu', 2, 0.03), row('cpu', 2, -0.5, told => $told), row('cpu', 2, 0.04), row('cpu', 2, 0.07, @of_lu),
		row('cpu', 4, 0.2), row('qemu', 2, 0.3), {%{row('network', 2, 0)}, failed => 'it took too long'});
	my %table = (
		'methods, 2' => ['| the traced nodes again | 1 | 1.0, 1.0 | - | - | - | - |', '| processor at 50 % | 2 | 5.0, 7.0 | 1.0, 1.0 | 10.0, 10.0 | 20.0, 20.0 | 50.0, 50.0 |'],
		'methods, 4' => ['| processor at 50 % | 1 | 20.0, 20.0 | - | 10.0, 10.0 | 20.0, 20.0 | 50.0, 50.0 |'],
		'pairs, 2' => ['| the traced nodes again | 1 | 1.0, 1.0 | 1 | 1 | 1 of 1 | 20.0 | 0 | 1 of 1 | 20.0 | 0 |',
			'| processor at 50 % | 4 | 5.5, 50.0 | 2 | 3 | 4 of 4 | 20.0 | 0 | 3 of 3 | 20.0 | 1 |'],
		'programs, 2' => ['| cg | +1.0 | +3.0 |', '| lu | - | +7.0 |']);
	my $document = sub { my ($what) = @_; return join "\nBy hand.\n\n", '# Title', map { place($_, $what->($_)) } sort keys %table };
	spill("$dir/doc.md", $document->(sub { "what was there\n" }) . "\nThe end.\n");
	is(machines('--document', "$dir/doc.md", '--results', $rows)->{rc}, 0, 'written');
	my $written = slurp("$dir/doc.md");
	for my $name (sort keys %table) {
		my ($text) = $written =~ /^\Q<!-- table $name ranks\E.*?\n\n(.*?)\n\n<!-- end/ms;
		my (undef, undef, @line) = split /\n/, $text // '';
		is_deeply(\@line, $table{$name}, "$name: real machines, with figures computed here");
	}
	my @by_hand = grep { !/^\||^$/ } split /\n/, $written;
	is_deeply(\@by_hand, [grep { !/^$/ } split /\n/, $document->(sub { '' }) . "\nThe end.\n"], 'the rest stays, and nothing is left of what was there');
	is(machines('--document', "$dir/doc.md", '--results', $rows)->{rc}, 0, 'written again');
	is(slurp("$dir/doc.md"), $written, 'the same');
	my $old = results('old', row('cpu', 2, 0, way => 1));
	my %wrong = (
		'no rows of the present way' => [$written, $old, qr/no rows of today's way/],
		'no place' => ["# By hand\n", $rows, qr/no place for tables/],
		'a place without an end' => [place('pairs, 2', '') . place('pairs, 2', '') =~ s/<!-- end.*\n\z//r, $rows, qr/2 begin, 1 are whole/],
		'an unknown table' => [place('errors, 2', ''), $rows, qr/no table 'errors'; there are methods, pairs, programs/]);
	for my $what (sort keys %wrong) {
		my ($text, $of, $why) = @{$wrong{$what}};
		spill("$dir/wrong.md", $text);
		my $r = machines('--document', "$dir/wrong.md", '--results', $of);
		isnt($r->{rc}, 0, "$what: refused");
		like($r->{err}, $why, 'and told so');
		is(slurp("$dir/wrong.md"), $text, 'and the file stays');
	}
};

subtest 'the document' => sub {
	my $path = top() . '/doc/evaluation/accuracy.md';
	my $text = slurp($path);
	spill("$dir/accuracy.md", $text);
	is(machines('--document', "$dir/accuracy.md", '--results', top() . '/tests/bench/accuracy.jsonl')->{rc}, 0, 'it has places for tables');
	is(slurp("$dir/accuracy.md"), $text, 'which are those of the results');
};

subtest 'how often a program runs' => sub {
	my $runs = sub {
		my ($rule, @s) = @_;
		return scalar @{runs_until($rule, sub { shift @s })};
	};
	my $home = {seconds => 3, most => 5};
	is($runs->($home, (0.3) x 9), 5, 'short: the most');
	is($runs->($home, (0.85) x 9), 4, 'until 3 s are spent');
	is($runs->($home, (2.9) x 9), 2, 'twice where one is shorter than that');
	is($runs->($home, (3.1) x 9), 1, 'once where one is longer');
	is($runs->($home, 0.1, 20, 1), 2, 'one that is disturbed counts as it is');
	is(of_sides([1, 9, 2], [4]), 3, 'mean of the medians');
	is(of_sides([1, 3], []), 2, 'one side alone');
};

subtest 'the quickest of several runs of a probe' => sub {
	my $of = sub {
		my ($machine, @s) = @_;
		return quickest($machine, 's', sub { my $s = shift @s; return defined $s ? {s => $s} : undef });
	};
	is($of->('qemu', 8, 2, 1)->{s}, 2, 'where it is luck');
	is($of->('valgrind', 8, 2)->{s}, 8, 'elsewhere it runs once');
	is($of->('qemu', 8, undef), undef, 'none where one could not be');
	isnt(way_of('qemu'), way_of('valgrind'), 'a way of its own');
	my $r = machines('--table', '--results', results('luck', row('qemu', 2, 0.3), row('qemu', 2, 5, way => way_of('valgrind')), row('valgrind', 2, 0.2)));
	is_deeply([(summary($r->{out}, 'qemu-user'))[0, 1]], [1, '30.0'], 'whose rows are apart from those of before');
	is_deeply([(summary($r->{out}, 'valgrind, no tool'))[0, 1]], [1, '20.0'], 'and from those of others');
};

subtest 'which runs count' => sub {
	is(steady_speed(7000 => 85, 7600 => 14, 9900 => 1), 7600, 'the speed that a tenth of the looks exceed');
	is(steady_speed(7000 => 95, 7600 => 5), 7000, '... which is not the greatest');
	is(steady_speed(), 0, 'none without looks');
	ok(is_steady(1000, (990) x 80, (900) x 20), 'a fifth of the looks may be slow');
	ok(!is_steady(1000, (990) x 79, (900) x 21), '... and no more');
	ok(is_steady(1000, (925) x 9), 'slow is what is more than 8 % off');
	ok(is_steady(1000), 'without looks a run counts');
	ok(never_steady("the cores were not steady for 150 s\n"), 'a pair that was disturbed');
	ok(!never_steady("lmp on home failed (1): the cores were not steady"), '... has not failed');
};

subtest 'looks at the cores' => sub {
	my $build = $ENV{PRECEDENT_BUILD} // 'build'; # make knows its targets by names below the top
	my $made = run_command('make', '--silent', '-C', top(), "B=$build", "$build/tests/bench/core_watch");
	my $tool = build_dir() . '/tests/bench/core_watch';
	is($made->{rc}, 0, 'the tool is built') or diag($made->{err});
	is(run_command($tool, @$_)->{rc}, 2, "'@$_' is no use of it") for [], ['x'], [-1], [0, 123456];
	my $begin = time;
	my $pid = open2(my $says, my $ask, $tool, 0);
	$ask->autoflush(1);
	local $SIG{PIPE} = 'IGNORE';
	sleep 1;
	print {$ask} "\n";
	my $line = <$says>;
	close $ask;
	waitpid $pid, 0;
	SKIP: {
		skip 'no process of real-time priority can be had here', 3 if !defined $line && $? == 1 << 8;
		is($?, 0, 'it ends with its input');
		like($line, qr/^(?: [1-9]\d*)+$/, 'speeds');
		cmp_ok(scalar(split ' ', $line), '<=', 40 * (time - $begin) + 1, 'forty in a second at most');
	}
};

# Looks and the clock are of the test: RUNS are [seconds, part of slow looks].
subtest 'runs that are made again' => sub {
	my $of = sub {
		my (@runs) = @_;
		my ($now, $slow, $n) = (0, 0, 0);
		no warnings qw(redefine prototype once);
		local *Steady::begin = sub { };
		local *Steady::steady_speed = sub { 1000 };
		local *Steady::looks = sub { ((500) x $slow, (1000) x (100 - $slow)) };
		local *Steady::time = sub { return $now };
		my $counts = eval { steadily(sub { my $r = $runs[$n] // $runs[-1]; $now += $r->[0]; $slow = 100 * $r->[1]; return $n++ }) };
		return defined $counts ? "$counts of $n" : never_steady($@) ? "none of $n" : $@;
	};
	is($of->([1, 0.1]), '0 of 1', 'a steady run counts');
	is($of->([1, 0.9], [1, 0.5], [1, 0.1]), '2 of 3', 'others are made again');
	is($of->([2, 0.9]), 'none of 76', '... for 150 s');
	is($of->([30, 0.9], [30, 0.5], [30, 0.7]), '1 of 3', 'of long ones the steadiest of three counts');
	my $unsteady = unsteady_runs();
	count_all();
	is($of->([2, 0.9]), '0 of 1', 'where the host is never quiet every run can count,');
	is($of->([2, 0.1]), '0 of 1', 'quiet or not,');
	is(unsteady_runs() - $unsteady, 1, 'and it is told which was not');
	is(quiet_speed(), 0, 'nor does a pair end when the cores grow faster');
};

# As Slurm and Open MPI report a rank that died; paths are made longer than what is kept of the end.
subtest 'where a program crashed stays when it says much' => sub {
	my $path = '/' . 'd' x 200;
	my $text = join "\n", '[fast1:8540] *** Process received signal ***', '[fast1:8540] Signal: Segmentation fault (11)',
		"[fast1:8540] [ 0] $path/libc.so.6(+0x3c050)[0x7f61e9f6f050]", '[fast2][[29588,29796],2] recv(18) failed: reset by peer (104)',
		"[fast1:8540] [ 1] $path/mca_btl_vader.so(+0x5d0c)[0x7f61e9fbdeec]", "[fast1:8541] [ 1] $path/libother.so(+0x1)[0x7f61e9fbdee0]",
		"[fast1:8540] [10] $path/sp(main+0x2a3)[0x562f724ab2a3]", "srun: error: fast1: $path: Killed", 'srun: error: fast2: tasks 2-3: Killed', '';
	like(why_failed($text), qr{^crashed in mca_btl_vader\.so\(\+0x5d0c\) < sp\(main\+0x2a3\) / .{200}.*tasks 2-3: Killed$}, 'its frames come first');
	is(why_failed("no such file\nmpirun detected that\n"), 'no such file', 'who did not crash has no frames');
};

subtest 'programs that are not measured everywhere' => sub {
	my %known = map { $_ => 1 } machine_names();
	my @named = map { @{program_of($_)->{not_on} // []} } program_names();
	ok(scalar @named, 'some are not');
	is_deeply([grep { !$known{$_} } @named], [], 'on machines that there are');
	is_deeply(program_of('lammps')->{not_on}, undef, 'others are on all');
	my %short = map { short_name($_) => $_ } program_names();
	is(scalar keys %short, scalar(() = program_names()), 'each is chosen by a name of its own');
	is_deeply([@short{qw(cg ft-large lu-minutes)}], ['cg', 'ft, 4 MiB', 'lu, minutes'], 'without commas');
	my $r = machines('--programs', 'cg-hours', '--results', "$dir/none");
	ok($r->{rc} && $r->{err} =~ /no 'cg-hours'; there are .*\blu lu-minutes\b/, 'others are refused, and those that there are named') or diag $r->{err};
};

done_testing();
