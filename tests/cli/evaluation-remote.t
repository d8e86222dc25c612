#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Pairs on another host (accuracy_remote.pl): the root that goes there has all that a program of it needs, and what comes back
# are rows of the accuracy table. Other benchmarks there (elsewhere.pl): the root has what they open here.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../bench/lib", "$FindBin::Bin/../cluster/lib";
use Bundle qw(bundle_make bundle_pack files_opened perl_files);
use Cwd qw(abs_path getcwd);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Machines qw(home_of machine_names swept_names);
use Programs qw(slurp spill);
use Rows qw(note_row row_text);
use Test::More;
use Testbed qw(run_command top);

my $dir = tempdir(CLEANUP => 1);

subtest 'a root with what programs need' => sub {
	my ($root, $data) = ("$dir/root", "$dir/data");
	mkdir $data or die "$data: $!\n";
	spill("$data/text", "what it reads\n");
	spill("$data/script", "use JSON::PP; use File::Temp; print JSON::PP->new->encode([1]);\n"); # perl -e would want a /dev
	symlink 'text', "$data/link" or die "$data/link: $!\n";
	bundle_make($root, '/bin/sh', '/usr/bin/cat', '/usr/bin/env', perl_files(), $data);
	is(slurp("$root$data/link"), "what it reads\n", 'links are what they lead to');
	ok(!-e "$root/usr/bin/ls", 'and nothing else is there');
	my $lost = eval { bundle_make("$dir/none", '/usr/bin/cat', "$dir/no-such-file"); 1 };
	ok(!$lost && $@ =~ /no-such-file: not there/, 'what is not there is named');
	SKIP: {
		skip 'only root may change the root', 3 if $> != 0;
		my $r = run_command('chroot', $root, '/bin/sh', '-c', "cat $data/link");
		is("$r->{rc} $r->{out}", "0 what it reads\n", 'programs run there') or diag $r->{err};
		$r = run_command('chroot', $root, '/usr/bin/env', 'LC_ALL=C', $^X, "$data/script");
		is("$r->{rc} $r->{out}", '0 [1]', 'and perl with its modules') or diag $r->{err};
		isnt(run_command('chroot', $root, '/usr/bin/ls')->{rc}, 0, 'others do not');
	}
};

subtest 'a benchmark elsewhere' => sub {
	my $stays = tempdir('/var/tmp/precedent-test.XXXXXX', CLEANUP => 1); # what lies in /tmp is not packed
	spill("$stays/text", "what it reads\n");
	my @files = files_opened('cat', "$stays/text");
	my %opened = map { $_ => 1 } @files;
	ok($opened{"$stays/text"} && grep({ m{/cat$} } @files), 'a command opens itself and what it reads') or diag "@files";
	my $here = getcwd();
	chdir $stays or die "$stays: $!\n";
	mkdir 'below' or die "below: $!\n";
	spill('run', "#!/bin/sh\ncd below && cat x\n");
	spill('below/x', "x\n");
	chmod 0755, 'run';
	my %relative = map { abs_path($_) => 1 } files_opened('sh', '-c', './run; cat text');
	is_deeply([grep { !$relative{"$stays/$_"} } qw(run below/x text)], [], 'by relative names as well');
	chdir $here or die "$here: $!\n";
	ok(!grep({ m{/no-such-file$} } files_opened('sh', '-c', "cat $stays/text $stays/no-such-file 2>/dev/null || :")), 'and nothing that is not there');
	ok(!eval { files_opened('false'); 1 } && $@ =~ /^strace false: failed/, 'a command that fails is named');
	my ($root, $there) = ("$stays/root", "$stays/there");
	bundle_make($root, @files);
	bundle_pack($root, "$stays/x.tar.xz", enter => '"$@"', WORD => 'a word');
	SKIP: {
		skip 'only root may change the root', 1 if $> != 0;
		mkdir $there or die "$there: $!\n";
		run_command('tar', 'xJf', "$stays/x.tar.xz", '-C', $there);
		my $r = run_command("$there/enter", '/bin/sh', '-c', 'cat "$0"; echo "$WORD"', "$stays/text");
		is("$r->{rc} $r->{out}", "0 what it reads\na word\n", 'it runs there, with its variables') or diag $r->{err};
	}
	is(run_command(top() . '/tests/bench/elsewhere.pl', @$_)->{rc}, 2, "'@$_': usage") for [], ['pack', 'x'], ['take', 'x', 'y'];
};

subtest 'machines that no sweep reaches' => sub {
	my %swept = map { $_ => 1 } swept_names();
	is_deeply([grep { !$swept{$_} } machine_names()], ['host', 'remote'], 'this host and another');
	is(home_of('remote'), 'host', 'the one is the home of the other');
	my $r = run_command(top() . '/tests/bench/accuracy_machines.pl', '--machines', 'remote', '--results', "$dir/none");
	ok($r->{rc} && $r->{err} =~ /no 'remote'; there are home /, 'a sweep that is to measure there is refused') or diag $r->{err};
	my @remote = top() . '/tests/bench/accuracy_remote.pl';
	$r = run_command(@remote, @$_) and is($r->{rc}, 2, "'@$_': usage") for [], ['pack'], ['measure', 'x'], ['pack', 'x', '--rows'];
	$r = run_command(@remote, '--help');
	ok($r->{rc} == 0 && $r->{out} =~ /pack FILE.*--minutes M/s && $r->{out} !~ /^#|^use/m, 'asked for, it is no error') or diag $r->{out};
	isnt(run_command(@remote, 'measure')->{rc}, 0, 'outside of a bundle nothing is measured');
	$r = run_command(@remote, 'pack', "$dir/none/x.tar.xz");
	ok($r->{rc} && $r->{err} =~ /: not there \(make bench-accuracy-tools\)|x\.tar\.xz: No such file/, 'nor where the bundle cannot be written or made') or diag $r->{err};
};

subtest 'a row' => sub {
	my $told = {mean => 11, lo => 9, hi => 13};
	my $row = {program => 'cg', machine => 'remote', ranks => 2, home => 5, actual => 10, skeleton => 11, empty => 9, kernels => 8, clock => 5,
		probe => 1, told => {skeleton => $told}, unpartial => 'it has no main loop'};
	note_row("$dir/rows", 'abc', $row) for 1, 2;
	my @l = map { decode_json($_) } split /\n/, slurp("$dir/rows");
	is(scalar @l, 2, 'is a line');
	is_deeply({%$row, way => 2, commit => 'abc'}, $l[1], 'with the version and the way of measuring');
	like(row_text(3, $row), qr/^cg +remote +pair 3: home 5\.00, there 10\.00 s; skeleton \+10\.0 % \(9\.00 to 13\.00 s\), empty loop -10\.0 %/, 'and is told');
	$told->{refused} = 'too uncertain';
	like(row_text(3, $row), qr/skeleton \+10\.0 % \(too uncertain\)/, 'what would be withheld, with the reason');
};

done_testing();
