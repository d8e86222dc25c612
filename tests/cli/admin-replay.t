#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent replay: past jobs through the decisions of Precedent and a simulation of the scheduler. What is known of small streams
# is compared with sums made here; wrong input is told in one line.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json);
use List::Util qw(sum);
use Test::More;
use Testbed qw(run_command build_dir top);

my @columns = qw(JobID User Account Partition JobName Submit Start End Elapsed Timelimit NNodes NCPUS State WorkDir SubmitLine);
my $begin = 1_750_000_000;

sub clock { my ($s) = @_; return sprintf '%02d:%02d:%02d', $s / 3600, $s / 60 % 60, $s % 60 }

# Jobs as hashes, as sacct prints them.
sub sacct_file {
	my ($name, @jobs) = @_;
	my $id = 0;
	my @lines = map {
		my %j = (JobID => ++$id, User => 'ann', Account => 'phys', Partition => 'batch', JobName => 'job', WorkDir => '/home/ann',
			Timelimit => '01:00:00', NNodes => 2, NCPUS => 8, State => 'COMPLETED', %$_);
		@j{qw(Start End Elapsed)} = ($j{Submit}, $j{Submit} + $j{run}, clock($j{run}));
		join('|', map { $_ // '' } @j{@columns}) . "\n";
	} @jobs;
	spew($name, join('|', @columns) . "\n" . join('', @lines));
	return @jobs;
}

sub replayed {
	my ($title, @arguments) = @_;
	my $r = precedent('replay', '--json', @arguments);
	is($r->{rc}, 0, "$title: it succeeds") or diag $r->{err};
	my $json = eval { decode_json($r->{out}) } // {};
	$json->{plan}{ $_->{planned_by} } = $_ for @{ $json->{plans} };
	$json->{by}{ $_->{source} } = $_ for @{ $json->{sources} };
	return $json;
}

# What holds of every stream.
sub sound {
	my ($title, $json) = @_;
	is(sum(map { $_->{jobs} } @{ $json->{sources} }), $json->{counted}, "$title: each counted job has one source");
	is_deeply([map { $_->{killed_by_us} } @{ $json->{plans} }], [(0) x 5], '... no job is ended before the limit of its user');
	cmp_ok(abs($json->{plan}{request}{set_hours} - $json->{requested_hours}), '<', 1e-6, '... requests are planned as they are');
	return;
}

# One program of two nodes that takes 600 s and asks an hour, a hundred times, on a machine of two nodes.
sacct_file('alike', map { { Submit => $begin + 700 * $_, run => 600, SubmitLine => 'sbatch melt.sh 4' } } 0 .. 99);
my $json = replayed('runs alike', '--sacct', 'alike');
sound('runs alike', $json);
is("$json->{size} $json->{unit}", '8 processors', 'the size is what was in use at once');
is($json->{counted}, 90, 'the first tenth is not counted');
is($json->{by}{runs}{jobs}, 90, 'all have estimates from runs of the same job');
is($json->{by}{runs}{inside}, 90, '... the run time is within the interval');
cmp_ok($json->{by}{runs}{median_error}, '<', 0.001, '... and the error is none');
cmp_ok(abs($json->{used_hours} - 90 * 8 * 600 / 3600), '<', 1e-6, 'used: as summed here');
cmp_ok(abs($json->{requested_hours} - 90 * 8), '<', 1e-6, 'requested: as summed here');
cmp_ok(abs($json->{plan}{perfect}{set_hours} - $json->{used_hours}), '<', 1e-6, 'perfect knowledge sets what is used');
is($json->{plan}{precedent}{limited}, 90, 'Precedent limits all');
cmp_ok($json->{plan}{precedent}{set_hours}, '>=', 1.15 * $json->{used_hours}, '... with the margin');
cmp_ok($json->{plan}{precedent}{set_hours}, '<', 1.5 * $json->{used_hours}, '... and not much more');
is($json->{plan}{$_}{wait_s}, 0, "$_: nobody waits") for sort keys %{ $json->{plan} };

# Nothing of the future is known: all are submitted before the first has ended.
sacct_file('at once', map { { Submit => $begin, run => 600, SubmitLine => 'sbatch melt.sh 4' } } 1 .. 40);
$json = replayed('at once', '--sacct', 'at once');
sound('at once', $json);
is($json->{by}{none}{jobs}, $json->{counted}, 'no job has an estimate');
is($json->{plan}{$_}{limited}, 0, "$_: no limit") for qw(last-two similar precedent);

# Without a script or a command the ladder of similar runs is what there is: same name in the same directory.
sacct_file('names', map { { Submit => $begin + 700 * $_, run => 600 + $_ % 3 } } 0 .. 99);
$json = replayed('names', '--sacct', 'names', '--nodes', 2);
sound('names', $json);
is($json->{by}{'similar-name'}{jobs}, 90, 'similar runs by name');
cmp_ok($json->{plan}{$_}{limited}, '>', 80, "... by which $_ plans") for qw(similar precedent);
$json = replayed('names, overtime', '--sacct', 'names', '--nodes', 2, '--guard', 'overtime', '--overtime', 60);
is($json->{plan}{precedent}{limited}, 0, '... and no limit is shortened by them');

# A short job fits into a gap before a large one if its limit is known: three kinds of jobs on four nodes, over and over.
sub gaps {
	my ($n) = @_;
	return map {
		my $t = $begin + 3000 * $_;
		({ Submit => $t, run => 1800, NNodes => 3, NCPUS => 12, SubmitLine => 'sbatch long.sh', Timelimit => '00:31:00' },
		 { Submit => $t + 1, run => 300, NNodes => 4, NCPUS => 16, SubmitLine => 'sbatch wide.sh', Timelimit => '00:06:00', User => 'bob' },
		 { Submit => $t + 2, run => 600, NNodes => 1, NCPUS => 4, SubmitLine => 'sbatch small.sh', Timelimit => '10:00:00', User => 'cid' });
	} 0 .. $n - 1;
}
sacct_file('gaps', gaps(40));
for my $guard (qw(soft raise)) {
	$json = replayed("gaps, $guard", '--sacct', 'gaps', '--guard', $guard, '--nodes', 4);
	sound("gaps, $guard", $json);
	# by request small.sh waits for wide.sh: 2100 - 2 s; wide.sh waits for long.sh: 1799 s
	cmp_ok(abs($json->{plan}{request}{wait_s} - (1799 + 2098) / 3), '<', 1, "$guard: waits by request, by hand");
	cmp_ok(abs($json->{plan}{$_}{wait_s} - 1799 / 3), '<', 1, "$guard: $_: the small job fills the gap") for qw(precedent perfect);
}
$json = replayed('gaps, overtime', '--sacct', 'gaps', '--guard', 'overtime', '--overtime', 60, '--nodes', 4);
sound('gaps, overtime', $json);
cmp_ok(abs($json->{plan}{precedent}{wait_s} - (1799 + 2098) / 3), '<', 1, 'overtime: a limit of nine hours does not fill the gap');

# Arrays of three unlike tasks. The estimate of an array holds for its longest task, and is judged by that task.
sacct_file('arrays', map { my $n = $_; map { { JobID => 10 * $n + 1 . "_$_", Submit => $begin + 4000 * $n, run => 300 + 600 * $_,
	SubmitLine => 'sbatch --array=0-2 study.sh' } } 0 .. 2 } 0 .. 39);
$json = replayed('arrays', '--sacct', 'arrays', '--nodes', 6);
is($json->{counted}, 108, 'arrays: each task is a job');
is($json->{by}{runs}{judged}, 36, '... an array is judged once') or diag explain $json->{by};
is($json->{by}{runs}{inside}, 36, '... and its longest task is within the interval');
# The longest task of each second array is killed, and a shorter one of each other array.
sacct_file('killed', map { my $n = $_; map { { JobID => 10 * $n + 1 . "_$_", Submit => $begin + 4000 * $n, run => 300 + 600 * $_,
	State => $_ == 1 + $n % 2 ? 'TIMEOUT' : 'COMPLETED', SubmitLine => 'sbatch --array=0-2 study.sh' } } 0 .. 2 } 0 .. 39);
$json = replayed('killed', '--sacct', 'killed', '--nodes', 6);
is($json->{by}{runs}{judged}, 18, 'arrays: one whose longest task was killed is not judged') or diag explain $json->{by};

# Index 50 takes the longest, and the others follow no law. Each array has it, and an index that has not run yet: no array is predicted
# from its runs, and its task 50 is no exception. The script asks for the indexes, so all command lines are alike.
sacct_file('unseen', map { my $n = $_; map { { JobID => 100 * $n + 1 . "_$_", Submit => $begin + 100_000 * $n, run => $_ == 50 ? 3000 : 300 + 500 * (7 * $_ % 5),
	Timelimit => '05:00:00', SubmitLine => 'sbatch study.sh' } } 50, $n } 0 .. 19);
$json = replayed('unseen', '--sacct', 'unseen', '--nodes', 50);
is($json->{by}{runs}{jobs}, 0, 'arrays with an index that has not run are not predicted from their runs') or diag explain $json->{by};
# Nor is an array predicted by a model that takes the long index for an outlier.
sacct_file('outlier', map { my $n = $_; map { { JobID => 100 * $n + 1 . "_$_", Submit => $begin + 100_000 * $n, run => $_ == 50 ? 3000 : 300,
	Timelimit => '05:00:00', SubmitLine => 'sbatch study.sh' } } 50, $n } 0 .. 19);
$json = replayed('outlier', '--sacct', 'outlier', '--nodes', 50, '--guard', 'raise');
is($json->{plan}{precedent}{limited}, 0, 'an array with an index that took longer than the model says has no limit');
# If this index follows the law of the others, the model holds.
sacct_file('model', map { my $n = $_; map { { JobID => 100 * $n + 1 . "_$_", Submit => $begin + 100_000 * $n, run => 300 + 10 * $_,
	Timelimit => '05:00:00', SubmitLine => 'sbatch study.sh' } } 50, $n } 0 .. 19);
$json = replayed('model', '--sacct', 'model', '--nodes', 50);
cmp_ok($json->{plan}{precedent}{limited}, '>', 20, 'arrays with an index that has not run are predicted by the model') or diag explain $json->{by};
# The same indexes each time: the estimate is that of the longest.
sacct_file('same', map { my $n = $_; map { { JobID => 100 * $n + 1 . "_$_", Submit => $begin + 100_000 * $n, run => 300 * ($_ + 1),
	Timelimit => '05:00:00', SubmitLine => 'sbatch study.sh' } } 3, 1, 2, 7 } 0 .. 19);
$json = replayed('same', '--sacct', 'same', '--nodes', 50);
is($json->{by}{runs}{jobs}, 72, 'arrays of the same indexes are predicted from their runs') or diag explain $json->{by};
cmp_ok($json->{by}{runs}{median_error}, '<', 0.001, '... by the longest task');

# Of five nodes, three are taken, and a job that waits needs four. So one node is over: of an array that asks for ten hours, one task
# after the other runs there. When three have ended, the others are planned with what these took. Then they fill the gap on the other node.
sacct_file('waiting', { Submit => $begin, run => 3000, NNodes => 3, NCPUS => 12, Timelimit => '00:51:00', SubmitLine => 'sbatch long.sh' },
	{ Submit => $begin + 1, run => 300, NNodes => 4, NCPUS => 16, Timelimit => '00:06:00', SubmitLine => 'sbatch wide.sh', User => 'bob' },
	map { { JobID => "7_$_", Submit => $begin + 2, run => 600, NNodes => 1, NCPUS => 4, Timelimit => '10:00:00', User => 'cid',
		SubmitLine => 'sbatch --array=0-4 study.sh' } } 0 .. 4);
for (['soft', 1800], ['raise', 2400]) {
	my ($guard, $last) = @$_;
	$json = replayed("waiting, $guard", '--sacct', 'waiting', '--nodes', 5, '--guard', $guard);
	cmp_ok(abs($json->{plan}{precedent}{wait_s} - (2999 + 600 + 1200 + 1800 + $last) / 7), '<', 1e-6, "$guard: the last task waits for $last s, by hand")
		or diag explain $json->{plan}{precedent};
}

# Limits of users end jobs, and nothing else does.
sacct_file('timeouts', map { { Submit => $begin + 4000 * $_, run => $_ % 2 ? 3600 : 900, State => $_ % 2 ? 'TIMEOUT' : 'COMPLETED',
	SubmitLine => 'sbatch twice.sh' } } 0 .. 59);
for my $guard (qw(soft overtime raise)) {
	$json = replayed("timeouts, $guard", '--sacct', 'timeouts', '--guard', $guard);
	sound("timeouts, $guard", $json);
	is($json->{plan}{$_}{killed_at_own_request}, 30, "$guard, $_: ended by their own limits") for qw(request last-two precedent perfect);
}

# A log: number, submit, wait, run, processors, -, -, asked, request, -, status, user, group, executable, queue, partition, -, -
spew('log.swf', "; MaxProcs: 8\n" . join '', map { join(' ', $_, 700 * $_, 0, 600, 8, -1, -1, 8, 3600, -1, 1, 1, 1, 5, 1, -1, -1, -1) . "\n" } 1 .. 100);
$json = replayed('a log', '--swf', 'log.swf');
sound('a log', $json);
is($json->{by}{runs}{jobs}, 90, 'estimates by the executable');
$json = replayed('a log, twice as loaded', '--swf', 'log.swf', '--load', 2 * $json->{load});
cmp_ok($json->{plan}{request}{wait_s}, '>', 0, 'jobs wait then');

my $r = precedent('replay', '--swf', 'log.swf');
is($r->{rc}, 0, 'for people');
like($r->{out}, qr/^log\.swf: 100 jobs in 0\.8 days on 8 processors, load 0\.8\d\n/, 'the stream');
like($r->{out}, qr/^  runs of the same job +90 +100\.0 % /m, 'the sources');
like($r->{out}, qr/^  perfect knowledge +0\.0 /m, 'the plans');

# The page names what the table names, loads nothing, and takes no markup from a name.
rename 'log.swf', '<b>log.swf';
$r = precedent('replay', '--swf', '<b>log.swf', '--html', 'page.html');
rename '<b>log.swf', 'log.swf';
is($r->{rc}, 0, 'a page') or diag $r->{err};
my $page = slurp('page.html');
like($page, qr{<tr><th scope="row">runs of the same job</th><td>90</td><td>100\.0&nbsp;%</td>}, '... has the sources');
like($page, qr{<th scope="row">\Q$_\E</th>}, "... and $_") for "the users' requests", 'similar runs', 'perfect knowledge';
like($page, qr{&lt;b&gt;log\.swf: 100 jobs}, '... and the name of the file, without markup');
unlike($page, qr{<script|src=|href="(?!data:)|url\(}, '... and loads nothing');
like($page, qr{of 90 that are planned with less; }, '... limits stay');
like($page, qr{Jobs without a prediction are planned by similar runs\.}, '... and similar runs are planned with');
$page = precedent('replay', '--swf', 'log.swf', '--guard', 'raise', '--html', '-')->{out};
like($page, qr{of 90 with a shorter limit; .* shortens no limit by them\.}s, 'the page of a guard that shortens limits');

# Lines that end in CR LF have the same columns.
spew('crlf', slurp('alike') =~ s/\n/\r\n/gr);
is_deeply(replayed('lines that end in CR LF', '--sacct', 'crlf')->{sources}, replayed('runs alike once more', '--sacct', 'alike')->{sources}, '... tell the same');

# The commands of the documents, copied with their margin, ask sacct for all columns.
mkdir 'bin';
spew('bin/sacct', qq{#!/bin/sh\necho "\$#"\nfor a; do echo "\$a"; done\n});
chmod 0755, 'bin/sacct';
for my $file ('doc/admin.md', 'man/precedent.1') {
	my ($block) = slurp(top() . "/$file") =~ /^( *columns=.*?>jobs\.txt)$/ms;
	run_command('sh', '-c', "PATH=\$PWD/bin:\$PATH\n" . ($block // '') =~ s/\\e$/\\/mgr =~ s/^/    /mgr);
	my ($n, @asked) = split /\n/, slurp('jobs.txt');
	my ($format) = map { /^--format=(.*)/ ? $1 : () } @asked;
	my %has = map { $_ => 1 } split /,/, $format // '';
	is($n, 5, "$file: sacct gets its options alone");
	is_deeply([grep { !$has{$_} } @columns, qw(JobIDRaw UID NTasks AdminComment)], [], '... with all columns');
}

sub refused {
	my ($rc, $pattern, @arguments) = @_;
	my $told = precedent('replay', @arguments);
	is($told->{rc}, $rc, "replay @arguments: exit code $rc");
	like($told->{err}, qr/\Aprecedent[^\n]*$pattern[^\n]*\n\z/, '... one line that says why');
	return;
}
spew('empty', '');
spew('no.swf', "1 2 3\n");
spew('unsized.swf', "1 0 0 600 8 -1 -1 8 3600 -1 1 1 1 5 1 -1 -1 -1\n");
sacct_file('short', map { { Submit => $begin + 60 * $_, run => 1 } } 1 .. 100); # intervals from 0 s
sound('runs of a second', replayed('runs of a second', '--sacct', 'short'));
sacct_file('once', map { { Submit => $begin, run => 60 } } 1 .. 10);
refused(1, 'once: all jobs were submitted at one moment: leave --load out', '--sacct', 'once', '--load', 0.5);
run_command('gzip', '-k', 'log.swf');
refused(1, 'log.swf.gz is compressed by gzip: .*zcat', '--swf', 'log.swf.gz');
$r = run_command('sh', '-c', 'zcat log.swf.gz | "$0" replay --json --swf -', build_dir() . '/precedent');
$json = decode_json($r->{out} || '{}');
is_deeply([@$json{qw(jobs load)}], [@{ replayed('a log once more', '--swf', 'log.swf') }{qw(jobs load)}], '--swf - is standard input');
is($json->{file}, 'standard input', '... and is told as such');
refused(2, 'no file named');
refused(2, '--sacct or --swf, not both', '--sacct', 'alike', '--swf', 'log.swf');
refused(2, '--html or --json, not both', '--swf', 'log.swf', '--html', 'x', '--json');
refused(1, 'nowhere: No such file', '--sacct', 'nowhere');
refused(1, 'nowhere: No such file', '--swf', 'nowhere');
refused(1, 'empty: is empty or no text', '--sacct', 'empty');
refused(1, 'unsized.swf: no MaxProcs or MaxNodes in it', '--swf', 'unsized.swf');
refused(1, 'fits on 4 processors', '--swf', 'log.swf', '--nodes', 4);
refused(2, '--guard', '--swf', 'log.swf', '--guard', 'none');
$r = precedent('replay', '--swf', 'no.swf');
is($r->{rc}, 1, 'a log without a job');
like($r->{err}, qr/^precedent: no\.swf:1: 3 fields instead of 18\nprecedent: no\.swf: no jobs in it\n\z/, '... the line and the reason');

# Each way to plan is simulated by a process of its own. If one is killed, as by the kernel without memory, the message says so.
sacct_file('many', map { { Submit => $begin + 700 * $_, run => 600 + $_ % 97, SubmitLine => 'sbatch melt.sh ' . $_ % 50 } } 0 .. 20_000);
my $pid = fork // die "fork: $!\n";
if (!$pid) {
	open STDERR, '>', 'told' or die "told: $!\n";
	exec build_dir() . '/precedent', 'replay', '--json', '--sacct', 'many';
	die "precedent: $!\n";
}
my $child;
for (1 .. patience(30) * 100) {
	($child) = slurp("/proc/$pid/task/$pid/children") =~ /(\d+)/ and last;
	select undef, undef, undef, 0.01;
}
ok($child && kill(KILL => $child), 'a process is killed');
waitpid $pid, 0;
is($? >> 8, 1, '... and the replay fails');
like(slurp('told'), qr/\Aprecedent: many: planned by [a-z-]+: ended by signal 9\n\z/, '... in one line that says why');

done_testing;
