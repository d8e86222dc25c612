# SPDX-License-Identifier: GPL-2.0-or-later
# Several threads that take or send messages of one tag, each of another size: calls return in another order than messages are
# matched. `precedent verify` finds the receives that are too short in the order of the trace, and the skeleton runs all the same.
# Threads that wait for each other's calls get no skeleton.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use BothMpi;
use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use Testbed qw(run_command);

my ($messages, $threads) = (4000, 4);
my $long = 10000; # messages of a run whose skeleton is of pieces

sub info { return decode_json(precedent('info', '--json', $_[0])->{out}) }

# Traces until threads have overtaken each other, at most ten times.
sub overtaking {
	my ($mpi, $mode) = @_;
	my ($made, $verified);
	for (1 .. 10) {
		$made = skeleton_of($mpi, 2, 'skel', 'mprobe_threads', $mode, $messages, $threads);
		$verified = precedent('verify', 'skel.ptrace');
		last if $made->{rc} != 0 || $verified->{rc} != 0 || $verified->{out} =~ /threads returned/;
	}
	return ($made, $verified);
}

# The whole skeleton and a short one.
sub skeletons_run {
	my ($mpi, $what) = @_;
	my $r = compile_with($mpi, 'skel/skel.c', 'skel/skel');
	my @interpreted = ("$ENV{PRECEDENT_LIBDIR}/$mpi->{replay}", 'skel/skel.ops');
	$r = run_command(@{ $mpi->{run} }, '-n', 2, @interpreted, '--empty-loop', '--result', 'result') if $r->{rc} == 0;
	is($r->{rc}, 0, "$what: the skeleton compiles, and runs interpreted") or diag $r->{err};
	my $again = precedent('trace', '-q', '-o', 'again.ptrace', '--', @{ $mpi->{run} }, '-n', 2, getcwd() . '/skel/skel', '--empty-loop',
		'--result', 'result');
	is($again->{rc}, 0, '... it runs compiled, traced') or diag $again->{err};
	my ($was, $is) = (info('skel.ptrace'), info('again.ptrace'));
	is($is->{$_}, $was->{$_}, "... it has the same $_") for qw(messages bytes_sent);
	is(precedent('skeleton', 'skel.ptrace', '-o', 'skel', '--scale', 20)->{rc}, 0, '... a short one is made');
	$r = run_both($mpi, 2, 'skel');
	is($r->{rc}, 0, '... and runs') or diag $r->{err};
	return;
}

for my $mpi (libraries()) {
	for my $mode (qw(mprobe senders both improbe recv)) {
		my $what = "$mpi->{name}, $mode";
		my ($made, $verified) = $mode eq 'recv' || $mode eq 'improbe'
			? (skeleton_of($mpi, 2, 'skel', 'mprobe_threads', $mode, $messages, $threads), precedent('verify', 'skel.ptrace'))
			: overtaking($mpi, $mode);
		is($made->{rc}, 0, "$what: a skeleton is made") or diag $made->{err};
		is($verified->{rc}, 0, "$what: the tree is the trace") or diag $verified->{err};
		like($verified->{out}, qr/^skel\.ptrace: lossless: /, '... verify says so');
		if ($mode ne 'recv' && $mode ne 'improbe') {
			my $call = $mode eq 'senders' ? 'MPI_Recv' : 'MPI_Mrecv';
			like($verified->{out}, qr/^skel\.ptrace: rank 1, event \d+: $call at \w+ \(mprobe_threads\.c:\d+\) has room for \d+ bytes and gets a message of \d+ from rank 0, event \d+ \(tag 7\): threads returned in another order than their messages were matched \(receives like this: [\d,]+\)/m,
				'... and in a line which receive is too short, and why');
			my $json = decode_json(precedent('verify', '--json', 'skel.ptrace')->{out});
			cmp_ok($json->{short_receives}, '>', 0, '... and how many in JSON');
			like(slurp('skel/report.txt'), qr/^Threads returned in another order/m, '... as does the report');
		} elsif ($mode eq 'recv') {
			unlike($verified->{out}, qr/room/, '... and finds room for every message');
		}
		skeletons_run($mpi, $what);
	}
}

# ---- threads that are in MPI at once make the prediction less sure, whether the skeleton is of the whole run or of pieces ----
{
	my ($mpi) = libraries();
	empty_skeletons();
	for my $n (1000, $long) {
		skeleton_of($mpi, 2, 'skel', 'mprobe_threads', 'both', $n, $threads);
		my $p = decode_json(precedent('predict', '--json', '--seconds', 0.1, 'skel.ptrace')->{out});
		cmp_ok($p->{threads_in_mpi}, '>', 1.2, "$n messages: predict knows that threads are in MPI at once");
		cmp_ok($p->{threads_in_mpi}, '<=', $threads + 0.5, '... no more than there are');
		cmp_ok($p->{lo_s}, '<=', $p->{predicted_s} / $p->{threads_in_mpi}, '... and widens the interval by it');
	}
	like(precedent('predict', '--seconds', 0.1, 'skel.ptrace')->{out}, qr/^ +\([\d.]+ threads of a rank are in MPI at once, .*interval is wider\)$/m,
		'... which the user is told');
	precedent('trace', '-q', '-o', 'one.ptrace', '--', @{ $mpi->{run} }, '-n', 2, program_of($mpi, 'ring'), 200);
	my $one = decode_json(precedent('predict', '--json', '--seconds', 0.1, 'one.ptrace')->{out});
	is($one->{threads_in_mpi}, 1, 'one thread is one');
	cmp_ok($one->{hi_s}, '>=', (1 - 1e-6) * $one->{predicted_s} * (1 + $one->{runs_differ}), 'the interval holds how runs differ');
}

# ---- calls that one thread cannot make one after the other ----
for my $mpi (libraries()) {
	my $made = skeleton_of($mpi, 2, 'skel', 'thread_order');
	is($made->{rc}, 1, "$mpi->{name}: threads that wait for each other's calls get no skeleton");
	like($made->{err}, qr/: threads call MPI at once; their order between threads is not reproduced/,
		'... with the true reason') or diag $made->{err};
	is(precedent('verify', 'skel.ptrace')->{rc}, 0, '... their trace is whole');
}

done_testing;
