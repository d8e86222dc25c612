#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs that hang or die: `precedent info` says why, on which rank, in which call, at which line. The oracle is what
# tests/programs/hangs.c plants. A run that hangs is killed once its ranks have had time to get there. Cases run in pairs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use BothMpi;
use JSON::PP;
use POSIX ();
use Test::More;
use Testbed qw(top build_dir);

my @source = split /\n/, slurp(top() . '/tests/programs/hangs.c');

# "FUNCTION (hangs.c:LINE)" of the line whose comment begins with this word.
sub at {
	my ($case, $function) = @_;
	my ($line) = grep { $source[$_ - 1] =~ m{/\* \Q$case\E:} } 1 .. @source;
	$function //= $case =~ tr/-/_/r;
	return qr/in \Q$function\E \(hangs\.c:$line\)/;
}

sub in { my ($case, $call) = @_; return qr/\Q$call\E ${\at($case)}/ }

# The same for a call on a window or a file.
sub on { my ($case, $call, $object) = @_; return qr/\Q$call\E on $object \S+ ${\at($case)}/ }

# A library may wait for MPI_Win_post in MPI_Win_start or in MPI_Win_complete.
sub start {
	my ($case, $on) = @_;
	my $function = $case =~ tr/-/_/r;
	return qr/(?:MPI_Win_start$on ${\at($case)}|MPI_Win_complete$on ${\at("$case-late", $function)})/;
}

my $finalize = qr/is in MPI_Finalize in main \(hangs\.c:\d+\)/;
my $order = qr/: all ranks of a communicator, window or file must make the same collective calls in the same order/;
# case => [how it ends (1: it is killed by the test), kind, ranks, first line of info about it]
my %case = (
	'send-send' => [1, 'deadlock', [0, 1], qr/hung     rank 0 waits in ${\in('send-send', 'MPI_Send')} for rank 1, rank 1 in ${\in('send-send', 'MPI_Send')} for rank 0: a deadlock; both send 640,000 bytes before either receives/],
	ring => [1, 'deadlock', [0 .. 3], qr/hung     ranks 0-3 wait in a cycle, each for the next, in ${\in('ring', 'MPI_Recv')}: a deadlock/],
	'no-send' => [1, 'no-message', [1], qr/hung     rank 1 waits in MPI_Recv from rank 0, tag 77 ${\at('no-send')}: no such message was sent, rank 0 $finalize/],
	'wrong-tag' => [1, 'no-message', [1], qr/hung     rank 1 waits in MPI_Recv from rank 0, tag 77 ${\at('wrong-tag')}: no such message was sent, rank 0 $finalize; a message from rank 0 with tag 7 is there, which nobody receives/],
	'not-entered' => [1, 'no-entry', [0, 2, 3], qr/hung     ranks 0, 2, 3 wait in ${\in('not-entered', 'MPI_Barrier')}, which rank 1 has not entered: rank 1 $finalize/],
	'other-collective' => [1, 'other-collective', [0, 2], qr/hung     rank 0 calls MPI_Allreduce in other_collective \(hangs\.c:\d+\) where rank 2 calls MPI_Reduce with root rank 0 in other_collective \(hangs\.c:\d+\)$order/],
	'other-root' => [1, 'other-collective', [0, 3], qr/hung     rank 0 calls MPI_Bcast with root rank 0 ${\at('other-root')} where rank 3 calls MPI_Bcast with root rank 3 ${\at('other-root')}$order/],
	'two-comms' => [1, 'deadlock', [0, 1], qr/hung     rank 0 waits in ${\in('two-comms', 'MPI_Barrier')} for ranks 1-3, rank 1 in ${\in('two-comms', 'MPI_Barrier')} for rank 0: a deadlock$/m],
	waitall => [1, 'no-message', [2], qr/hung     rank 2 waits in ${\in('waitall', 'MPI_Waitall')} for its MPI_Irecv from rank 3, tag 8 in waitall \(hangs\.c:\d+\): no such message was sent, rank 3 $finalize/],
	'any-source' => [1, 'knot', [0 .. 3], qr/hung     ranks 0-3 wait for each other, rank 0 in MPI_Recv from any rank, tag 9 ${\at('any-source')}: a deadlock, as none of them can go on/],
	waitany => [1, 'knot', [0 .. 3], qr/hung     ranks 0-3 wait for each other, rank 0 in MPI_Waitany for 2 requests ${\at('waitany')} for rank 1 or rank 2: a deadlock/],
	computes => [1, 'computes', [2], qr/waited   rank 2 did not wait: in no MPI call, after MPI_Allreduce in main \(hangs\.c:\d+\), computing ${\at('computes', 'spin_for_ever')}; all others waited for it/],
	'in-library' => [1, 'computes', [2], qr/waited   rank 2 did not wait: .*, computing ${\at('in-library', 'sums_for_ever')} via \w+ \([^()]+\); all others waited for it/],
	chain => [1, 'computes', [3], qr/waited   rank 3 did not wait: .*, computing ${\at('computes', 'spin_for_ever')}; all others waited for it/],
	polls => [1, 'no-message', [3], qr/hung     rank 3 waits in ${\in('polls', 'MPI_Test')} for its MPI_Irecv from rank 0, tag 12 in polls \(hangs\.c:\d+\): no such message was sent, rank 0 $finalize/],
	probe => [1, 'no-message', [1], qr/hung     rank 1 waits in MPI_Probe from rank 3, tag 13 ${\at('probe')}: no such message was sent/],
	ibarrier => [1, 'no-entry', [0 .. 2], qr/hung     ranks 0-2 wait in ${\in('ibarrier', 'MPI_Wait')} for their MPI_Ibarrier in ibarrier \(hangs\.c:\d+\), which rank 3 has not entered: rank 3 $finalize/],
	lock => [1, 'deadlock', [1, 2], qr/hung     rank 1 waits in ${\in('lock', 'MPI_Barrier')} for rank 2, rank 2 in MPI_Win_lock in lock \(hangs\.c:\d+\) for rank 1: a deadlock$/m],
	'to-self' => [1, 'deadlock', [0], qr/hung     rank 0 waits in ${\in('to-self', 'MPI_Ssend')} for rank 0: a deadlock; it sends 8 bytes to itself before it receives/],
	segv => [0, 'died', [1], qr/died     rank 1 was in no MPI call, after MPI_Allreduce in main \(hangs\.c:\d+\), and ended before all others/],
	abort => [0, 'aborted', [2], qr/aborted  rank 2 called MPI_Abort ${\at('abort', 'calls_abort')}/],
	truncated => [0, qr/^(?:died|in-call)$/, [1], qr/(?:died |ended)    rank 1 was in MPI_Recv from rank 0, tag 14 ${\at('truncated')}, /],
	'no-rank' => [0, qr/^(?:died|in-call)$/, [3], qr/(?:died |ended)    rank 3 was in MPI_Send to rank 4, tag 15 ${\at('no-rank')}(?:, and ended|: there is no such rank)/],
	fence => [1, 'no-entry', [0, 2, 3], qr/hung     ranks 0, 2, 3 wait in ${\on('fence', 'MPI_Win_fence', 'window')}, which rank 1 has not entered: rank 1 $finalize/],
	'win-free' => [1, 'no-entry', [0, 1, 3], qr/hung     ranks 0, 1, 3 wait in ${\on('win-free', 'MPI_Win_free', 'window')}, which rank 2 has not entered: rank 2 $finalize/],
	'no-post' => [1, 'no-post', [0], qr/hung     rank 0 waits in ${\start('no-post', ' on window \d+')} for rank 1, which did not call MPI_Win_post for this epoch: rank 1 $finalize/],
	'no-post-many' => [1, 'no-post', [0], qr/hung     rank 0 waits in ${\start('no-post-many', ' on window \d+')} for rank 3, which did not call MPI_Win_post for this epoch: rank 3 $finalize/],
	'no-complete' => [1, 'no-complete', [2], qr/hung     rank 2 waits in ${\on('no-complete', 'MPI_Win_wait', 'window')} for rank 1, which did not call MPI_Win_complete for this epoch: rank 1 $finalize/],
	'both-start' => [1, 'deadlock', [0, 1], qr/hung     rank 0 waits in ${\start('both-start', '')} for rank 1, rank 1 in ${\start('both-start', '')} for rank 0: a deadlock$/m],
	'no-unlock' => [1, 'no-unlock', [3], qr/hung     rank 3 waits in MPI_Win_(?:lock|unlock) to rank 0 on window \d+ in no_unlock \(hangs\.c:\d+\), which rank 1 has locked: rank 1 $finalize/],
	'file-open' => [1, 'no-entry', [0 .. 2], qr/hung     ranks 0-2 wait in ${\in('file-open', 'MPI_File_open')}, which rank 3 has not entered: rank 3 $finalize/],
	'write-all' => [1, 'no-entry', [0, 2, 3], qr/hung     ranks 0, 2, 3 wait in ${\on('write-all', 'MPI_File_write_all', 'file')}, which rank 1 has not entered: rank 1 $finalize/],
	'file-close' => [1, 'no-entry', [1 .. 3], qr/hung     ranks 1-3 wait in ${\on('file-close', 'MPI_File_close', 'file')}, which rank 0 has not entered: rank 0 $finalize/],
	well => [0],
	epochs => [1],
	works => [1],
);

# Traces the case. A run that hangs is killed half a second after all ranks said that they are there: a rank needs some microseconds
# from there to its place.
sub run_case {
	my ($mpi, $case, $file, $ranks) = (@_, 4);
	my @trace = (build_dir() . '/precedent', 'trace', '-q', '-o', $file, '--', @{ $mpi->{run} }, '-n', $ranks, program_of($mpi, 'hangs'), $case, "$file.out");
	my $there = 0;
	pipe my $read, my $write or die "pipe: $!\n";
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		POSIX::setsid();
		open STDOUT, '>&', $write or die "dup: $!\n";
		open STDERR, '>', "$file.err" or die "$file.err: $!\n";
		exec @trace or POSIX::_exit(127);
	}
	close $write;
	while (<$read>) {
		$there++ while /rank \d+ is there/g;
		next if $there < $ranks || !$case{$case}[0];
		select undef, undef, undef, 0.5;
		kill_launcher($pid);
		$there = -1000;
	}
	waitpid $pid, 0;
}

# SIGKILL to the children of `precedent trace`: timeout and the launcher below it. Ranks end without their launcher.
sub kill_launcher {
	my ($pid) = @_;
	my @all = map { m{^/proc/(\d+)/} } glob '/proc/[0-9]*/stat';
	my %parent;
	for my $p (@all) {
		open my $fh, '<', "/proc/$p/stat" or next;
		$parent{$p} = $1 if (<$fh> // '') =~ /^\d+ \(.*\) \S (\d+)/;
	}
	my @below = grep { $parent{$_} == $pid } keys %parent;
	my @launcher = grep { my $p = $_; grep { $parent{$p} == $_ } @below } keys %parent;
	kill 'KILL', @launcher, @below;
}

# Runs the cases in two processes; the parent checks the traces.
for my $mpi (libraries()) {
	my $dir = $mpi->{name} =~ tr/A-Z /a-z/dr;
	mkdir $dir or die "$dir: $!\n";
	my @cases = sort keys %case;
	my @child;
	for my $half (0, 1) {
		my $pid = fork // die "fork: $!\n";
		if (!$pid) {
			run_case($mpi, $cases[$_], "$dir/$cases[$_].ptrace") for grep { $_ % 2 == $half } 0 .. $#cases;
			POSIX::_exit(0);
		}
		push @child, $pid;
	}
	waitpid $_, 0 for @child;
	for my $case (@cases) {
		my (undef, $kind, $ranks, $text) = @{ $case{$case} };
		my $file = "$dir/$case.ptrace";
		my $title = "$mpi->{name}, $case";
		my $json = eval { decode_json(precedent('info', '--json', $file)->{out}) } // {};
		if (!$kind && $case{$case}[0]) {
			ok($json->{partial} && $json->{events} > 60, "$title: a run that is killed at work");
			# A rank may have been at work while all others waited for it. No rank is the cause.
			my @kind = map { $_->{kind} } @{ $json->{ending} };
			like("@kind", qr/^(?:killed|computes)$/, '... died with its launcher');
			is_deeply([grep { $_->{hangs} } @{ $json->{stopped} }], [], '... on no rank');
			like(precedent('info', $file)->{out}, qr/^  killed   the whole run was killed: its launcher by signal 9 \(Killed\)$/m, '... and info says so')
				if "@kind" eq 'killed';
			next;
		}
		if (!$kind) {
			my $advice = precedent('advise', $file)->{out};
			unlike($advice, qr/How the run ended/, "$title: advise finds no end of a run that ends well");
			ok(!$json->{partial} && !$json->{ending}, "$title: nothing is found in a run that ends well") or diag explain $json->{ending};
			next;
		}
		my $first = $json->{ending}[0] // {};
		like($first->{kind}, ref $kind ? $kind : qr/^$kind$/, "$title: found") or diag slurp("$file.err");
		is_deeply($first->{ranks}, $ranks, '... on which ranks');
		$first->{kind} //= '';
		my ($after) = precedent('info', $file)->{out} =~ /^  PARTIAL .*\n(.*)$/m;
		like($after, qr/^  $text/, '... first, and in words');
		my $advice = eval { decode_json(precedent('advise', '--json', $file)->{out}) } // {};
		my @end = map { $_->{id} } grep { $_->{kind} eq 'end' } @{ $advice->{problems} // [] };
		is_deeply(\@end, [$first->{kind} eq 'knot' ? 'deadlock' : $first->{kind}], '... and by the rules of advise');
	}
}

# An epoch with 79 others. One library is enough: the tracer stores the group.
{
	my $mpi = (libraries())[0];
	run_case($mpi, 'no-post-many', 'many.ptrace', 80);
	my $json = eval { decode_json(precedent('info', '--json', 'many.ptrace')->{out}) } // {};
	is($json->{ending}[0]{kind}, 'no-post', "$mpi->{name}, no-post-many of 80 ranks: found");
	is_deeply($json->{ending}[0]{ranks}, [0], '... on rank 0');
	like(precedent('info', 'many.ptrace')->{out}, qr/hung     rank 0 waits in ${\start('no-post-many', ' on window \d+')} for ranks 3, 79, which did not call MPI_Win_post for this epoch/, '... that waits for ranks that did not post');
}

# The time in a call that never returned counts: a run that deadlocks in MPI_Send does not compute.
for my $mpi (libraries()) {
	my $dir = $mpi->{name} =~ tr/A-Z /a-z/dr;
	my $json = eval { decode_json(precedent('info', '--json', "$dir/ring.ptrace")->{out}) } // {};
	my ($receive) = grep { $_->{name} eq 'MPI_Recv' } @{ $json->{functions} // [] };
	cmp_ok($receive->{seconds} // 0, '>', 4 * 0.3, "$mpi->{name}: four ranks were in MPI_Recv until the end");
}

# What the user of a job at its time limit is told: it hung, or it was still at work.
{
	my $dir = (libraries())[0]{name} =~ tr/A-Z /a-z/dr;
	my %says = (
		'send-send' => qr/^Ended:     job 7 did not reach MPI_Finalize: it hung:\n +rank 0 waits in MPI_Send in send_send/m,
		computes => qr/^Ended:     job 7 did not reach MPI_Finalize: it was still at work:\n +rank 2 did not wait(?s:.*)computing\s+in\s+spin_for_ever/m,
		segv => qr/^Ended:     job 7 did not reach MPI_Finalize: one rank died:\n +rank 1 was in no MPI call/m,
		well => qr/\A(?!.*^Ended:)/ms,
	);
	for my $case (sort keys %says) {
		mkdir "spool-$case" or die "spool-$case: $!\n";
		rename "$dir/$case.ptrace", "spool-$case/run.partial.ptrace" or die "$case: $!\n" if $case ne 'well';
		spew('answer.json', encode_json({ok => JSON::PP::true, job => {job => 7, name => 'hangs'}, traces => [], spool => "spool-$case",
			program => {state => 'failed', source_job => 7, reason => 'it ended TIMEOUT'}}));
		my $r = precedent('explain', '--from', 'answer.json');
		is($r->{rc}, 0, "explain, $case") or diag $r->{err};
		like($r->{out}, $says{$case}, '... says how it ended');
	}
}

# The page: why the run ended, and a mark on each rank of the cycle from its call to the end of its lane.
{
	my $dir = (libraries())[0]{name} =~ tr/A-Z /a-z/dr;
	is(precedent('view', '-o', 'ring.html', "$dir/ring.ptrace")->{rc}, 0, 'view');
	my ($meta) = map { eval { decode_json($_) } // {} } slurp('ring.html') =~ m{<script type="application/json" id="meta">(.*?)</script>}s;
	like($meta->{ending}[0], qr/^ranks 0-3 wait in a cycle/, '... the page says why it ended');
	my ($deadlock) = @{ $meta->{problems} // [] };
	is($deadlock->{title}, 'deadlock', '... its first problem is the deadlock');
	my @mark = @{ $deadlock->{marks} // [] };
	my %end = map { $mark[6 * $_] => $mark[6 * $_ + 3] + $mark[6 * $_ + 4] } 0 .. @mark / 6 - 1;
	is_deeply([sort keys %end], [0 .. 3], '... marked on all ranks of the cycle');
	ok(!(grep { abs($_ - $meta->{end}) > 0.2 * $meta->{end} } values %end), '... up to the end of their lanes') or diag explain [\%end, $meta->{end}];
}

done_testing;
