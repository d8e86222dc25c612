#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Traces that are corrupt, cut short or no traces at all, bad configurations, bad calibrations: each gives one clear line and
# exit code 1, nothing on standard output, and no skeleton. What can still be read of a damaged trace is shown by info.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Cwd qw(getcwd);
use JSON::PP qw(decode_json);
use POSIX qw(SIGTERM _exit);
use Test::More;
use Testbed;
use Time::HiRes qw(sleep);

use constant {FILE_HEADER => 64, PAGE_HEADER => 72};
my %type = (job => 1, definitions => 2, structure => 3, times => 4, index => 5);

my $whole = slurp(trace_of('whole.ptrace', 'heat', 32, 2000));
my @uses = (['info'], ['verify'], ['skeleton', '-o', 'out'], ['predict', '--seconds', 0.1]);

# [offset, type, rank] of every page.
sub pages {
	my ($bytes) = @_;
	my @pages;
	while ($bytes =~ /PPG1/g) {
		my $at = $-[0];
		push @pages, [$at, unpack('VV', substr $bytes, $at + 4, 8)];
	}
	return @pages;
}

# The whole trace with the payload of the pages of a type (and rank) turned over.
sub damaged {
	my ($name, $rank) = @_;
	my $bytes = $whole;
	my @hit = grep { $_->[1] == $type{$name} && (!defined $rank || $_->[2] == $rank) } pages($whole);
	die "no page of $name" if !@hit;
	substr($bytes, $_->[0] + PAGE_HEADER + 8, 1) ^= "\xff" for @hit;
	return $bytes;
}

sub refused {
	my ($pattern, $what, @arguments) = @_;
	my $r = precedent(@arguments);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($r->{rc}, 1, "$what: precedent @arguments fails");
	like($r->{err}, qr/\Aprecedent: [^\n]*$pattern[^\n]*\n\z/, '... with one line that says why');
	is($r->{out}, '', '... and prints nothing');
	ok(!-e 'out', '... and leaves no skeleton') if $arguments[0] eq 'skeleton';
	return;
}

sub no_trace {
	my ($what, $file, $pattern) = @_;
	refused(qr/\Q$file\E: [^\n]*$pattern/, $what, @$_, $file) for @uses;
	return;
}

subtest 'no trace at all' => sub {
	no_trace('missing', 'absent.ptrace', qr/cannot open: No such file or directory/);
	mkdir 'directory';
	no_trace('a directory', 'directory', qr/is not a regular file/);
	Testbed::run_command('mkfifo', 'pipe');
	no_trace('a pipe', 'pipe', qr/is not a regular file/);
	no_trace('a device', '/dev/zero', qr/is not a regular file/);
	no_trace('empty', spew('empty', ''), qr/the file is empty/);
	no_trace('short', spew('short', "PRECTRC1\n"), qr/too short/);
	no_trace('text', spew('text', "MPI_Send\n" x 100), qr/is not a Precedent trace/);
	no_trace('zeros', spew('zeros', "\0" x 10000), qr/is not a Precedent trace/);
	no_trace('a program', '/bin/true', qr/is not a Precedent trace/);
};

subtest 'headers' => sub {
	my $bytes = $whole;
	substr($bytes, 8, 4) = pack 'V', 99;
	no_trace('of a later format', spew('later', $bytes), qr/format 99 is newer than this program/);
	$bytes = $whole;
	substr($bytes, 16, 4) = pack 'V', 1 << 19;
	no_trace('number of ranks changed', spew('ranks', $bytes), qr/the file header is damaged/);
	no_trace('nothing but the header', spew('header', substr $whole, 0, FILE_HEADER), qr/no rank can be read/);
};

subtest 'cut short' => sub {
	my @pages = pages($whole);
	my %cut = ('the last byte' => length($whole) - 1, 'the trailer' => length($whole) - 40);
	$cut{"the page at $_->[0]"} = $_->[0] + PAGE_HEADER + 3 for @pages[1 .. $#pages];
	for my $what (sort keys %cut) {
		my $file = spew('cut.ptrace', substr $whole, 0, $cut{$what});
		my $info = precedent('info', $file);
		if ($info->{rc} == 0) {
			like($info->{out}, qr/^  damage +the end of the file is missing$/m, "without $what: info says that it is cut");
		} else {
			like($info->{err}, qr/\Aprecedent: cut\.ptrace: no rank can be read \(.*\)\n\z/, "without $what: nothing is left");
		}
		refused(qr/cut\.ptrace: (?:the trace is partial .*the end of the file is missing|no rank can be read)/, "without $what", @$_, $file)
		    for @uses[1 .. 3];
	}
	my $json = decode_json(precedent('info', '--json', spew('cut.ptrace', substr $whole, 0, -1))->{out});
	is($json->{ranks}, 2, 'without the last byte all ranks are there');
};

subtest 'damaged pages' => sub {
	my %expect = (
		definitions => qr/no events of rank 1|rank 1/,
		structure => qr/no events of rank 1|rank 1/,
		index => qr/the trace is partial .*index/,
	);
	for my $name (sort keys %expect) {
		my $file = spew("$name.ptrace", damaged($name, $name eq 'index' ? undef : 1));
		my $info = precedent('info', $file);
		is($info->{rc}, 0, "$name damaged: info shows the rest");
		like($info->{out}, qr/^  damage .*\b(?:$name|rank 1)\b/m, '... and what is wrong with it');
		refused(qr/$name\.ptrace: .*$expect{$name}/, "$name damaged", @$_, $file) for @uses[1 .. 3];
	}
	my $file = spew('times.ptrace', damaged('times', 1));
	like(precedent('info', $file)->{out}, qr/^  times +unknown for [\d,]+ events: /m, 'times damaged: info counts them');
	is(precedent('verify', $file)->{rc}, 0, '... the structure is whole');
	refused(qr/times\.ptrace: rank 1: none of its times can be read/, 'times damaged', @$_, $file) for @uses[2, 3];
	$file = spew('job.ptrace', damaged('job'));
	like(precedent('info', $file)->{out}, qr/^  damage .*job facts/m, 'job facts damaged: info says so');
	is(precedent('verify', $file)->{rc}, 0, '... nothing else needs them');
};

# Any single byte changed: the trace is refused, or shown; nothing crashes and nothing is believed that is not so.
subtest 'any byte' => sub {
	my (@wrong, $n);
	my $events = decode_json(precedent('info', '--json', 'whole.ptrace')->{out})->{events};
	for (my $at = 3; $at < length $whole; $at += int(length($whole) / 60) + 1) {
		my $bytes = $whole;
		substr($bytes, $at, 1) ^= "\x41";
		my $r = precedent('verify', '--json', spew('byte.ptrace', $bytes));
		my $json = $r->{rc} == 0 ? decode_json($r->{out}) : undef;
		$n++;
		push @wrong, "$at: rc $r->{rc} $r->{err}" if $json ? $json->{events} != $events : $r->{rc} != 1 || $r->{err} !~ /\Aprecedent: [^\n]+\n\z/;
	}
	cmp_ok($n, '>=', 50, 'tried all over the file');
	is_deeply(\@wrong, [], 'each is refused in one line, or is as lossless as before');
};

subtest 'a skeleton that is there already' => sub {
	is(precedent('skeleton', '-o', 'kept', 'whole.ptrace')->{rc}, 0, 'made');
	my $before = slurp('kept/skel.c');
	is(precedent('skeleton', '-o', 'kept', 'cut.ptrace')->{rc}, 1, 'another trace, which is damaged');
	is(slurp('kept/skel.c'), $before, 'does not touch it');
	spew('file', 'mine');
	my $r = precedent('skeleton', '-o', 'file', 'whole.ptrace');
	is($r->{rc}, 1, 'a file where the directory goes');
	like($r->{err}, qr/\Aprecedent: [^\n]*file[^\n]*\n\z/, 'is said');
	is(slurp('file'), 'mine', 'and stays');
};

subtest 'calibration' => sub {
	my $head = "precedent-calibration 7\n";
	my @predict = ('predict', '--seconds', 0.1, '--calibration');
	mkdir 'directory.cal';
	refused(qr/absent\.cal: cannot open: No such file/, 'absent', @predict, 'absent.cal', 'whole.ptrace');
	refused(qr/directory\.cal: is not a calibration: name the file/, 'a directory', @predict, 'directory.cal', 'whole.ptrace');
	refused(qr/bad\.cal: is not a calibration: name the file/, 'no calibration', @predict, spew('bad.cal', $_), 'whole.ptrace')
	    for '', "no calibration\n" x 50, "\0" x 5000, $head;
	refused(qr/ranks\.cal: is the calibration of a skeleton of ranks 3, and this one has 2/, 'of other ranks', @predict,
		spew('ranks.cal', "${head}ranks 3\n"), 'whole.ptrace');
	refused(qr/cut\.cal: is cut short: run the skeleton/, 'one that is cut short', @predict, spew('cut.cal', "${head}ranks 2\n"), 'whole.ptrace');
	my $r = precedent(@predict, spew('other.cal', "${head}ranks 2\nend\n"), 'whole.ptrace');
	is($r->{rc}, 1, 'one of another program: the skeleton refuses it');
	is($r->{out}, '', '... no prediction is printed');
	like($r->{err}, qr/is not a calibration of this program on 2 ranks/, '... and it is said why');
};

subtest 'without a compiler or a launcher' => sub {
	local $ENV{PATH} = '/nowhere';
	my $run = sub { Testbed::run_command('/usr/bin/timeout', 60, Testbed::build_dir() . '/precedent', @_) };
	my $r = $run->('predict', '--seconds', 0.1, 'whole.ptrace');
	is($r->{rc}, 1, 'neither mpicc nor mpirun in PATH: predict fails');
	my $missing = sub { qr/$_[0] cannot be run on \S+: No such file[^\n]*/ };
	like($r->{err}, qr/\Aprecedent: the skeleton is interpreted: the skeleton cannot be compiled here: @{[$missing->('mpicc')]}\nprecedent: nothing to predict: @{[$missing->('mpirun')]}\n\z/,
		'... and says what is missing where');
	my $doctor = $run->('doctor')->{out};
	like($doctor, qr/^warn  mpicc +not in PATH: skeletons are interpreted/m, '... so does doctor');
	like($doctor, qr/^warn  mpirun +not in PATH/m, '... of both');
};

subtest 'configuration' => sub {
	my %bad = (
		"Mode=limit\nSpoolDirectory=/x\n" => qr/:2: unknown key 'SpoolDirectory'/,
		"Mode=maybe\n" => qr/:1: .*maybe/,
		"\n# comment\nMargin=lots\n" => qr/:3: .*lots/,
		"Mode\n" => qr/:1: /,
		"Candidates=fast,,slow\n" => qr/:1: /,
		"PollInterval=-1\n" => qr/:1: .*-1/,
		"ListenPort=99999\n" => qr/:1: .*99999/,
		"SpoolDir=relative\n" => qr/:1: .*relative/,
		"Mode=limit\0\n" => qr/:1: /,
	);
	for my $text (sort keys %bad) {
		spew('bad.conf', $text);
		my $show = $text =~ s/\n/; /gr =~ s/\0/<NUL>/gr;
		refused(qr/bad\.conf$bad{$text}/, $show, 'conf', '--check', 'bad.conf');
		local $ENV{PRECEDENT_CONF} = 'bad.conf';
		refused(qr/bad\.conf$bad{$text}/, $show, 'jobs');
		my $doctor = precedent('doctor');
		is($doctor->{rc}, 1, '... doctor fails');
		like($doctor->{out}, qr/^FAIL  configuration +bad\.conf$bad{$text}/m, '... and names file and line');
	}
	refused(qr/absent\.conf: cannot open: No such file/, 'a file that is named must be there', 'conf', '--check', 'absent.conf');
	refused(qr/directory/, 'a directory', 'conf', '--check', 'directory');
};

subtest 'probe' => sub {
	mkdir '12';
	refused(qr/13: No such file/, 'a directory that is missing', 'probe', '--dir', '13', '--candidate', 'a');
	my $failed = sub {
		my ($what, $pattern, @arguments) = @_;
		unlink '12/probe.a.result';
		my $r = precedent('probe', '--dir', '12', '--candidate', 'a', '--seconds', 0.1, @arguments);
		is($r->{rc}, 1, "$what: fails");
		like($r->{err}, qr/^precedent: [^\n]*$pattern/m, '... says why');
		like(slurp('12/probe.a.result'), qr/\Aprecedent-result 1\njob 12\ncandidate a\nstatus failed\nreason [^\n]*$pattern[^\n]*\n(?:.*\n)*end\n\z/,
			'... and leaves that in a whole record');
	};
	$failed->('no trace', qr/there is no trace/, '--source');
	spew('12/0.ptrace', 'foreign');
	$failed->('a foreign trace', qr/0\.ptrace: .*is not a Precedent trace/, '--source');
	spew('12/0.ptrace', substr $whole, 0, -50);
	$failed->('a trace that is cut', qr/0\.ptrace: .*the trace is partial/, '--source');
	spew('12/0.ptrace', $whole);
	$failed->('no skeleton built yet', qr/the source probe has not built the skeleton/);
	ok(!-e '12/skel.0/skel', 'nothing has been built');

	# As when the time of a job is up: whatever runs gets SIGTERM, one after the other.
	mkdir 'ending';
	for my $program (qw(mpicc mpirun)) {
		spew("ending/$program", "#!/bin/sh\n>ended.$program\nkill -TERM \$\$\n");
		chmod 0755, "ending/$program";
	}
	local $ENV{PATH} = getcwd() . "/ending:$ENV{PATH}";
	$failed->('programs that end', qr/0\.ptrace: .*mpirun/, '--source');
	unlink '12/probe.a.result', 'ended.mpirun';
	my $pid = fork // die "fork: $!";
	if (!$pid) {
		open STDERR, '>', 'ended.err';
		exec(Testbed::build_dir() . '/precedent', 'probe', '--dir', '12', '--candidate', 'a', '--seconds', 0.1, '--source') or _exit(127);
	}
	for (my $i = 0; $i < 3000 && !-e 'ended.mpirun'; $i++) {
		sleep 0.01;
	}
	sleep 0.1;
	kill 'TERM', $pid;
	waitpid $pid, 0;
	is($? & 127, SIGTERM, 'one that is ended after its programs');
	is_deeply([glob '12/probe.a.result*'], [], '... leaves no record');
};

done_testing;
