# SPDX-License-Identifier: GPL-2.0-or-later
# Skeletons of real traces: they compile without a warning, run under mpirun, and, traced themselves, make the same
# calls with the same messages as the program did. Cut ones run fewer iterations and account for all.
use strict;
use warnings;

use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n');
my $include = "$ENV{PRECEDENT_LIBDIR}/include";
my $library = "$ENV{PRECEDENT_LIBDIR}/libprecedent_skel.a";
# The calls count here, not what computes between them, whose kernels take seconds to calibrate (skeleton-kernels.t).
my @quick = ('--empty-loop', '--result', 'result');

sub trace_ranks {
	my ($ranks, $file, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, $ranks, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return $file;
}

sub info { return decode_json(precedent('info', '--json', $_[0])->{out}) }

# What of a run must be the same: calls by function, those that the skeleton's own frame makes set aside.
sub calls {
	my ($info) = @_;
	my %n = map { $_->{name} => $_->{calls} } @{ $info->{functions} };
	$n{MPI_Probe} += delete $n{MPI_Iprobe} if $n{MPI_Iprobe};
	$n{MPI_Mprobe} += delete $n{MPI_Improbe} if $n{MPI_Improbe};
	my %frame = map { $_ => 1 } qw(MPI_Barrier MPI_Allreduce MPI_Reduce MPI_Init MPI_Init_thread);
	# Waits and tests of all forms become MPI_Wait and MPI_Waitall; datatypes and operations are made at the start;
	# communicators are made by splits.
	# Calls on files become delays.
	for ([qw(MPI_Rsend MPI_Send)], [qw(MPI_Irsend MPI_Isend)], [qw(MPI_Rsend_init MPI_Send_init)]) {
		$n{$_->[1]} += delete $n{$_->[0]} if $n{$_->[0]};
	}
	$n{MPI_Win_wait} += delete $n{MPI_Win_test} if $n{MPI_Win_test};
	return { map { $_ => $n{$_} }
		 grep { !$frame{$_} && !/File_|^MPI_(Wait|Test)|Type|Op_|Comm_|Cart_sub|Rsend|Irsend|Start|Request_(free|get)/ } keys %n };
}

sub build {
	my ($dir) = @_;
	return run_command('mpicc', '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', "-I$include", '-o', "$dir/skel",
		"$dir/skel.c", $library, '-lm');
}

sub result { return { map { /^(\w+) (\S+)$/ ? ($1 => $2) : () } split /\n/, slurp($_[0]) } }

my @programs = (
	[2, 'heat', 96, 40], [3, 'heat', 96, 40, 10, 'isend'], [4, 'lu'], [4, 'cg'], [3, 'ring'], [3, 'master_worker'],
	[3, 'rma', 2000, 20], [2, 'mpiio', 'files', 64, 6], [2, 'calls_more', 'files/one', 'full'],
	[4, 'bt', 12, 4], [4, 'sp', 12, 6], [2, 'ep', 1], [4, 'ft', 16, 4], [4, 'is', 64, 4], [4, 'mg', 16, 4],
	[2, 'calls', 'full'], [2, 'calls_h'], [2, 'calls_mod'], [2, 'calls_f08'],
);

mkdir 'files' or die "files: $!";
for my $p (@programs) {
	my ($ranks, $name, @arguments) = @$p;
	my $title = join ' ', $name, @arguments, "on $ranks";
	trace_ranks($ranks, 'whole.ptrace', program($name), @arguments);
	my $made = precedent('skeleton', 'whole.ptrace', '-o', 'whole', '--seconds', 1000);
	is($made->{rc}, 0, "$title: a skeleton is made") or diag $made->{err};
	my $built = build('whole');
	is($built->{rc}, 0, "$title: it compiles without a warning") or diag $built->{err};
	trace_ranks($ranks, 'again.ptrace', getcwd() . '/whole/skel', @quick);
	my ($first, $again) = (info('whole.ptrace'), info('again.ptrace'));
	is_deeply(calls($again), calls($first), "$title: traced itself, it makes the same calls");
	is($again->{$_}, $first->{$_}, "$title: the same $_") for qw(messages bytes_sent);
	my $r = result('result');
	is($r->{events}, $first->{events}, "$title: it says what it stands for");
	is($r->{"left_$_"}, 0, "$title: it leaves no $_") for qw(requests comms);
	# The time in which it got memory for messages is in ran_s alone.
	cmp_ok($r->{skel_s}, '<', $r->{ran_s} + 1e-6, "$title: nothing is extrapolated when nothing is cut");
}

# ---- the order of calls, windows and files ----

# The calls of a rank in order, by name, while it has a window: the skeleton's frame makes others before and after.
sub sequence {
	my ($file, $rank) = @_;
	my $text = precedent('info', $file, '--events', $rank)->{out};
	return $text =~ /(MPI_Win_create\(.*MPI_Win_free\()/s ? [ $1 =~ /\b(MPI_\w+)\(/g ] : [];
}

trace_ranks(3, 'rma.ptrace', program('rma'), 2000, 20);
is(precedent('skeleton', 'rma.ptrace', '-o', 'rma', '--seconds', 1000)->{rc}, 0, 'rma: a skeleton');
is(build('rma')->{rc}, 0, 'rma: it compiles');
trace_ranks(3, 'rma2.ptrace', getcwd() . '/rma/skel', @quick);
for my $rank (0 .. 2) {
	my ($was, $is) = (sequence('rma.ptrace', $rank), sequence('rma2.ptrace', $rank));
	cmp_ok(scalar @$was, '>', 100, "rma: rank $rank has calls");
	is_deeply($is, $was, "rma: the skeleton's rank $rank makes the same calls in the same order");
}

# Ranks that wait for each other do so for as long as a busy machine keeps them from their processors, in one run and not in
# another: the best of five runs of both.
my ($whole, $stands);
for (1 .. 5) {
	trace_ranks(2, 'rma.ptrace', program('rma'), 40000, 150);
	is(precedent('skeleton', 'rma.ptrace', '-o', 'rma', '--scale', 4)->{rc}, 0, 'rma: cut to a quarter');
	like(slurp('rma/skel.c'), qr/skel_loop\(\d, 150, \d\d\)/, 'rma: its loops are cut');
	is(build('rma')->{rc}, 0, 'rma: the cut one compiles');
	my $ran = run_command('timeout', 300, @mpirun, 2, 'rma/skel', '--result', 'result');
	is($ran->{rc}, 0, 'rma: epochs of the cut one are balanced: it ends') or diag $ran->{err};
	($whole, $stands) = @{ result('result') }{qw(traced_s skel_s)};
	last if $stands > $whole / 20 && $stands < $whole * 20;
}
cmp_ok($stands, '>', $whole / 20, 'rma: what it predicts is not far too little');
cmp_ok($stands, '<', $whole * 20, 'rma: nor far too much');

my @left = glob 'files/*';
is_deeply(\@left, [], 'the programs removed their files');
trace_ranks(2, 'io.ptrace', program('mpiio'), 'files', 64, 40);
is(precedent('skeleton', 'io.ptrace', '-o', 'io', '--scale', 3)->{rc}, 0, 'mpiio: cut to a third');
like(slurp('io/skel.c'), qr/skel_loop\(0, 40, (?:\d\d|SKEL_ALL)\)/,
	'mpiio: the loop over files of different names is one loop');
like(slurp('io/report.txt'), qr/loop of 40 iterations: (?:\d\d run|whole, because few of them)/,
	'mpiio: it is cut, or a slow disk delayed few of its calls');
like(slurp('io/skel.c'), qr/Files are neither read nor written/, 'mpiio: the source says what becomes of files');
like(slurp('io/report.txt'), qr/Files are neither read nor written/, 'mpiio: so does the report');
is(build('io')->{rc}, 0, 'mpiio: it compiles');
is(run_command('timeout', 300, @mpirun, 2, 'io/skel', @quick)->{rc}, 0, 'mpiio: it runs');
@left = glob 'files/*';
is_deeply(\@left, [], 'mpiio: it writes no file');
cmp_ok(result('result')->{skel_s}, '>', 0, 'mpiio: and has a result');

# ---- cut ----

trace_ranks(2, 'heat.ptrace', program('heat'), 128, 2000, 10);
is(precedent('skeleton', 'heat.ptrace', '-o', 'cut', '--scale', 5)->{rc}, 0, 'a skeleton is cut to a fifth');
is(precedent('skeleton', 'heat.ptrace', '-o', 'suffixes', '--scale', 5, '--repeats', 'suffix-array')->{rc}, 0, 'repetitions by a suffix array');
is(slurp("suffixes/$_"), slurp("cut/$_"), "... give the same $_") for qw(skel.c skel.ops);
like(slurp('cut/skel.c'), qr/skel_loop\(0, 200, \d\d\); skel_next\(0\)/, 'the loop over the steps is cut');
like(slurp('cut/report.txt'), qr/loop of 200 iterations: \d\d run/, 'the report says so');
my $made = run_command('make', '--silent', '-C', 'cut', "PRECEDENT_INCLUDE=$include",
	"PRECEDENT_LIB=$ENV{PRECEDENT_LIBDIR}");
is($made->{rc}, 0, 'its Makefile builds it') or diag $made->{err};
# The machine may stall outside of the windows that are measured, or have others compute while the skeleton would: the best
# of five runs.
my ($source, $r);
my $least = 0.2 * info('heat.ptrace')->{compute_s} / 2; # of what a rank of the program computed
for (1 .. 5) {
	$source = run_command(@mpirun, 2, 'cut/skel', '--calibrate', 'source', '--result', 'result');
	$r = result('result');
	last if $source->{rc} != 0 || ($r->{skel_s} > 2 * $r->{ran_s} && $r->{computed_s} > $least);
}
is($source->{rc}, 0, 'it runs and calibrates') or diag $source->{err};
is($source->{out}, '', 'with --result it prints nothing');
cmp_ok($r->{skel_s}, '>', 2 * $r->{ran_s}, 'it accounts for what it left out');
cmp_ok($r->{computed_s}, '>', $least, 'it says how much of that is computation');
cmp_ok($r->{computed_s}, '<=', $r->{skel_s}, '... not more than all');
cmp_ok($r->{lo_s}, '<=', $r->{skel_s}, 'the interval holds the estimate (low)');
cmp_ok($r->{hi_s}, '>=', $r->{skel_s}, 'the interval holds the estimate (high)');
is($r->{"left_$_"}, 0, "cut, it leaves no $_ either") for qw(requests comms);
like(slurp('result'), qr/^loop 0 200 \d+ [0-9.]+$/m, 'it names the loop that it sampled');
my @kernels = slurp('result') =~ /^kernel (\w+) [0-9.]+$/mg;
ok(@kernels >= 1 && @kernels <= 15, "and what the kernels of its mixes take here (@kernels)");
like(slurp('source'), qr/\Aprecedent-calibration 7\nranks 2\n.*^end\n\z/ms, 'the calibration is complete');
is(run_command(@mpirun, 2, 'cut/skel', '--calibration', 'source', '--result', 'target')->{rc}, 0,
	'another machine runs with that calibration');
cmp_ok(result('target')->{skel_s}, '>', 0, 'and has a result');

# ---- wrong use ----

my @wrong = (
	[[3, 'cut/skel'], 'cannot run on 3', 'another number of ranks'],
	[[2, 'cut/skel', '--what'], 'unknown argument', 'an unknown argument'],
	[[2, 'cut/skel', '--result'], 'no file name', 'an argument without its file'],
	[[2, 'cut/skel', '--calibrate', 'a', '--calibration', 'b'], 'exclude each other', 'two calibrations'],
	[[2, 'cut/skel', '--calibration', 'result'], 'is not a calibration', 'a file that is no calibration'],
	[[2, 'cut/skel', '--calibration', 'nowhere'], 'cannot read nowhere', 'a calibration that is not there'],
	[[2, 'cut/skel', @quick, '--calibrate', 'nowhere/source'], 'cannot write nowhere', 'a calibration that cannot be written'],
	[[2, 'cut/skel', '--empty-loop', '--result', 'nowhere/result'], 'cannot write nowhere', 'a result that cannot be written'],
);
for my $w (@wrong) {
	my ($command, $says, $what) = @$w;
	my $run = run_command('timeout', 300, @mpirun, @$command);
	isnt($run->{rc}, 0, "$what is refused");
	isnt($run->{rc}, 124, "$what: at once");
	# Open MPI 5 writes a NUL byte before the first line that a rank said until MPI_Abort.
	like($run->{err} =~ tr/\0//dr, qr/^skeleton: .*\Q$says\E/m, "$what: it says why");
}

# A skeleton with the data of another one.
spew('cut/skel.c.data', slurp('whole/skel.c.data'));
is(build('cut')->{rc}, 0, 'the data of another skeleton link');
my $mixed = run_command('timeout', 300, @mpirun, 2, 'cut/skel');
isnt($mixed->{rc}, 0, 'but do not run');
like($mixed->{err}, qr/does not belong to this skeleton/, 'and it says why');

done_testing;
