#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A run at work that is interrupted: its trace says by which signal, and no rank counts as the one that died.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use BothMpi;
use JSON::PP;
use POSIX ();
use Test::More;
use Testbed qw(build_dir);

# `precedent trace` gets the signal when all ranks are there, and passes it to the launcher.
sub interrupt {
	my ($mpi, $file, $signal) = @_;
	my $there = 0;
	pipe my $read, my $write or die "pipe: $!\n";
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		$SIG{$_} = 'DEFAULT' for qw(INT TERM);
		POSIX::setsid();
		open STDOUT, '>&', $write or die "dup: $!\n";
		open STDERR, '>', "$file.err" or die "$file.err: $!\n";
		exec build_dir() . '/precedent', 'trace', '-o', $file, '--', @{ $mpi->{run} }, '-n', 4, program_of($mpi, 'hangs'), 'computes', "$file.out"
			or POSIX::_exit(127);
	}
	close $write;
	while (<$read>) {
		$there++ while /rank \d+ is there/g;
		next if $there < 4;
		select undef, undef, undef, 0.5;
		kill $signal, $pid;
		$there = -1000;
	}
	waitpid $pid, 0;
}

for my $mpi (libraries()) {
	for my $signal ('INT', 'TERM') {
		my $title = "$mpi->{name}, SIG$signal";
		my $file = "$signal-" . ($mpi->{name} =~ tr/A-Z /a-z/dr) . '.ptrace';
		interrupt($mpi, $file, $signal);
		my $word = $signal eq 'INT' ? '2 \(Interrupt\)' : '15 \(Terminated\)';
		like(slurp("$file.err"), qr/^precedent: \Q$file\E: PARTIAL, \S*hangs (?:was ended|was killed) by signal $word before MPI_Finalize/m,
			"$title: what ended the run") or next;
		my @ended = @{ decode_json(precedent('info', '--json', $file)->{out})->{ending} };
		is("@{[map { $_->{kind} } @ended]}", 'computes', '... the rank that computes is named, and none died') or diag explain \@ended;
	}
}

done_testing;
