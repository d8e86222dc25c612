# SPDX-License-Identifier: GPL-2.0-or-later
# MPI-IO of skeletons: with --scratch DIR, compiled and interpreted, a skeleton makes the program's calls on files, with
# the same offsets and lengths, on files of its own in DIR, of which nothing stays; where DIR cannot be used, or is full,
# they are delays, and one line says so; without the option no file is touched.
use strict;
use warnings;

use Cwd qw(getcwd);
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command wait_until);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n');
my $include = "$ENV{PRECEDENT_LIBDIR}/include";
my $library = "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a";
my $replay = "$ENV{PRECEDENT_LIBDIR}/precedent-replay";
# The calls count here, not what computes between them, whose kernels take seconds to calibrate (skeleton-kernels.t).
my @quick = ('--empty-loop', '--result', 'result');
mkdir $_ or die "$_: $!" for qw(files scratch full);

sub trace_ranks {
	my ($file, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, 2, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return $file;
}

# The calls on files of a rank, with their parameters.
sub sequence {
	my ($file, $rank) = @_;
	return [ precedent('info', $file, '--events', $rank)->{out} =~ /\b(MPI_File_\w+\(.*?\))(?:\s+#.*)?$/mg ];
}

# What those calls move, of all ranks: the counts of MPI_BYTE and MPI_INT.
sub bytes {
	my ($file) = @_;
	my $bytes = 0;
	for my $call (map { @{ sequence($file, $_) } } 0, 1) {
		$bytes += $1 * ($2 eq 'INT' ? 4 : 1) if $call =~ /count=(\d+), type=MPI_(BYTE|INT)/;
	}
	return $bytes;
}

sub skeleton {
	my ($dir, $trace, @options) = @_;
	my $made = precedent('skeleton', $trace, '-o', $dir, @options);
	is($made->{rc}, 0, "$dir: a skeleton") or diag $made->{err};
	compile($dir, 'mpicc', $library);
	return;
}

sub compile {
	my ($dir, $mpicc, $with) = @_;
	my $built = run_command($mpicc, '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', "-I$include", '-o', "$dir/skel",
		"$dir/skel.c", $with, '-lm');
	is($built->{rc}, 0, "$dir: it compiles without a warning ($mpicc)") or diag $built->{err};
	return;
}

# calls, bytes, shortened, failed
sub scratch_line { return [ slurp('result') =~ /^scratch (\d+) (\d+) (\d+) (\d+)$/m ] }

sub left { my ($dir) = @_; opendir my $d, $dir or die "$dir: $!"; return [ grep { !/^\.\.?$/ } readdir $d ] }

# ---- the same calls ----

trace_ranks('mpiio.ptrace', program('mpiio'), 'files', 64, 6);
skeleton('mpiio', 'mpiio.ptrace', '--seconds', 1000);
my $moved = bytes('mpiio.ptrace');
cmp_ok($moved, '>', 6 * 2 * 64 * 1024, 'mpiio: there is something to write');
for my $how (['compiled', getcwd() . '/mpiio/skel'], ['interpreted', $replay, 'mpiio/skel.ops']) {
	my ($what, @command) = @$how;
	trace_ranks('again.ptrace', @command, @quick, '--scratch', 'scratch');
	for my $rank (0, 1) {
		is_deeply(sequence('again.ptrace', $rank), sequence('mpiio.ptrace', $rank), "mpiio, $what: the calls of rank $rank");
	}
	is(bytes('again.ptrace'), $moved, "mpiio, $what: the bytes");
	my ($calls, $bytes, $shortened, $failed) = @{ scratch_line() };
	is($bytes, $moved, "mpiio, $what: the result says so");
	is("$shortened $failed", '0 0', "mpiio, $what: nothing was shortened, nothing failed");
	is_deeply(left('scratch'), [], "mpiio, $what: nothing is left");
}
my $report = slurp('mpiio/report.txt');
like($report, qr/^With --scratch DIR these are made.*^  MPI_File_write_at_all 12$/ms, 'the report lists what is made');
unlike($report, qr/^Delays in any case/m, '... and nothing else, as there is nothing else');

trace_ranks('calls.ptrace', program('calls_more'), 'files/one', 'full');
skeleton('calls', 'calls.ptrace', '--seconds', 1000);
for my $how (['compiled', getcwd() . '/calls/skel'], ['interpreted', $replay, 'calls/skel.ops']) {
	my ($what, @command) = @$how;
	trace_ranks('again.ptrace', @command, @quick, '--scratch', 'scratch');
	for my $rank (0, 1) {
		# Hints are not recorded, the file keeps its size, and seeks become absolute.
		my ($was, $is) = map { [ map { s/^(MPI_File_(?:set_size|seek))\(.*/$1/r }
				grep { !/^MPI_File_(?:set_info|delete)/ } @{ sequence($_, $rank) } ] } 'calls.ptrace', 'again.ptrace';
		cmp_ok(scalar @$was, '>', 45, "calls_more: rank $rank has every form");
		is_deeply($is, $was, "calls_more, $what: the calls of rank $rank");
	}
	is(scratch_line()->[3], 0, "calls_more, $what: nothing failed");
	is_deeply(left('scratch'), [], "calls_more, $what: nothing is left");
}
like(slurp('calls/report.txt'), qr/^Delays in any case:\n  MPI_File_delete 1\n  MPI_File_set_info 2\n/m,
	'the report lists what stays a delay');

# ---- without the option ----

trace_ranks('again.ptrace', getcwd() . '/mpiio/skel', @quick);
is_deeply([ map { @{ sequence('again.ptrace', $_) } } 0, 1 ], [], 'without --scratch there is no call on a file');
unlike(slurp('result'), qr/^scratch/m, '... nor a word of them');
is_deeply(left($_), [], "... nor anything in $_") for qw(files scratch);

# ---- bounds ----

my $source = slurp('mpiio/skel.c');
mkdir 'far' or die "far: $!";
spew('far/skel.c.data', slurp('mpiio/skel.c.data'));
is($source =~ s/, 16384,/ + 123456789012345, 16384,/, 1, 'a skeleton that writes far behind the bound');
spew('far/skel.c', $source);
compile('far', 'mpicc', $library);
trace_ranks('again.ptrace', getcwd() . '/far/skel', @quick, '--scratch', 'scratch');
my @offset = sort { $b <=> $a } map { /offset=(\d+)/ ? $1 : () } map { @{ sequence('again.ptrace', $_) } } 0, 1;
cmp_ok($offset[0], '<', 2 * 256 * 1048576, 'offsets stay within 256 MiB a rank');
is_deeply([ @{ scratch_line() }[ 1 .. 3 ] ], [ $moved, 0, 0 ], '... and all bytes are written');

# ---- cut ----

trace_ranks('long.ptrace', program('mpiio'), 'files', 64, 60);
skeleton('cut', 'long.ptrace', '--scale', 3);
like(slurp('cut/report.txt'), qr/loop of 60 iterations: (?:\d\d run|whole, because few of them)/,
	'a loop over files is cut, or few of its calls took most of the time');
is(run_command('timeout', 300, @mpirun, 2, 'cut/skel', @quick, '--scratch', 'scratch')->{rc}, 0, '... and runs');
cmp_ok(scratch_line()->[1], '>', $moved, '... and writes');
is_deeply(left('scratch'), [], '... and leaves nothing');

# ---- predictions ----

{
	empty_skeletons();
	my @predict = ('predict', 'mpiio.ptrace', '--seconds', 1, '--scratch');
	my $r = precedent(@predict, 'scratch');
	is($r->{rc}, 0, 'predict --scratch') or diag $r->{err};
	unlike($r->{err}, qr/scratch files/, '... uses the directory');
	is_deeply(left('scratch'), [], '... and leaves nothing');
	$r = precedent(@predict, 'nowhere');
	is($r->{rc}, 0, '... of a directory that is not there');
	like($r->{err}, qr/no scratch files in nowhere: No such file/, '... says so, and predicts with delays');

	mkdir '21' or die "21: $!";
	spew('21/0.ptrace', slurp('mpiio.ptrace'));
	local $ENV{PRECEDENT_CONF} = getcwd() . '/scratch.conf';
	for my $dir (qw(scratch nowhere)) {
		spew('scratch.conf', 'ScratchDir=' . getcwd() . "/$dir\n");
		like(precedent('conf', '--check')->{out}, qr{^  scratch +\S+/$dir@{[$dir eq 'nowhere' ? '  \(no files can be made there\)' : '']}$}m, "conf --check shows $dir");
		$r = precedent('probe', '--dir', 21, '--candidate', 'a', '--source', '--seconds', 1);
		is($r->{rc}, 0, "a probe with ScratchDir $dir") or diag $r->{err};
		is(scalar($r->{err} =~ /no scratch files in \S+nowhere: /), $dir eq 'nowhere' ? 1 : '', '... uses it');
		is_deeply(left('scratch'), [], '... and leaves nothing');
	}
}

# ---- a directory that cannot be used ----

sub falls_back {
	my ($what, $says, @command) = @_;
	my $r = run_command('timeout', 300, @command);
	is($r->{rc}, 0, "$what: the skeleton ends well") or diag $r->{err};
	my @lines = grep { /^skeleton: / } split /\n/, $r->{err};
	is(scalar @lines, 1, "$what: one line");
	like($lines[0] // '', $says, "$what: it says why");
	return;
}

spew('plain', 'untouched');
for my $how (['compiled', 'mpiio/skel'], ['interpreted', $replay, 'mpiio/skel.ops']) {
	my ($what, @command) = @$how;
	my @run = (@mpirun, 2, @command, @quick, '--scratch');
	falls_back("$what, no directory", qr/no scratch files in nowhere: No such file or directory: calls on files are delays/,
		@run, 'nowhere');
	unlike(slurp('result'), qr/^scratch/m, '... and there are none');
	falls_back("$what, a file", qr/no scratch files in plain: Not a directory: /, @run, 'plain');
}
is(slurp('plain'), 'untouched', 'the file in its place stays as it was');
falls_back('a directory that takes no files', qr{no scratch files in /proc: }, @mpirun, 2, 'mpiio/skel', @quick, '--scratch', '/proc');

SKIP: {
	my $can = run_command('unshare', '-m', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', 'full');
	skip "no file system can be mounted here: $can->{err}", 10 if $can->{rc} != 0;
	for my $size (32, 100) {
		my $says = $size < 64 ? qr/no scratch files in full: No space left on device: calls on files are delays/ :
			qr/\d+ calls on scratch files in full failed and were delays: No space left on device/;
		my $command = "mount -t tmpfs -o size=${size}k none full && @mpirun 2 mpiio/skel @quick --scratch full && " .
			'test -z "$(ls -A full)" && echo empty >emptied';
		unlink 'emptied';
		falls_back("a directory of $size KiB", $says, 'unshare', '-m', 'sh', '-c', $command);
		ok(-e 'emptied', '... and leaves nothing');
		cmp_ok(scratch_line()->[3], '>', 0, '... and counts what failed') if $size > 64;
	}
}

# ---- a skeleton that is ended ----

# It runs for seconds, so that it is not over before it is ended.
trace_ranks('longer.ptrace', program('mpiio'), 'files', 8, 300);
precedent('skeleton', 'longer.ptrace', '-o', 'longer', '--seconds', 1000);
# The first file that is there is the one that tries the directory.
for my $turn (1 .. 4) {
	my $pid = fork // die "fork: $!";
	if ($pid == 0) {
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		exec @mpirun, 2, $replay, 'longer/skel.ops', '--result', 'ended', '--scratch', 'scratch' or exit 127;
	}
	my $end = time + 60;
	# The directory is read so often that the first file is seen, without taking a processor from the ranks.
	select undef, undef, undef, 0.001 while @{ left('scratch') } == 0 && time < $end;
	cmp_ok(time, '<', $end, "turn $turn: a file is there while it is open");
	select undef, undef, undef, 0.2 * ($turn - 1);
	kill 'TERM', $pid;
	waitpid $pid, 0;
	ok(wait_until(20, sub { @{ left('scratch') } == 0 }), '... a skeleton that is ended leaves nothing') or diag "@{ left('scratch') }";
	ok(!-e 'ended', '... it was ended before its time');
}

# ---- the other MPI library ----

SKIP: {
	my $mpich = "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel_mpich.a";
	skip 'no MPICH here', 4 if !-e $mpich || run_command('sh', '-c', 'command -v mpicc.mpich mpirun.mpich')->{rc} != 0;
	compile('mpiio', 'mpicc.mpich', $mpich);
	my $r = run_command('timeout', 300, 'mpirun.mpich', '-n', 2, 'mpiio/skel', @quick, '--scratch', 'scratch');
	is($r->{rc}, 0, 'MPICH: it runs') or diag $r->{err};
	is_deeply([ @{ scratch_line() }[ 1 .. 3 ] ], [ $moved, 0, 0 ], 'MPICH: all bytes are moved');
	is_deeply(left('scratch'), [], 'MPICH: nothing is left');
}

done_testing;
