# SPDX-License-Identifier: GPL-2.0-or-later
# Clocks of different nodes, on one machine: ranks with a clock that is set and runs wrong. And: whoever has no tracer is
# left alone, and nobody hangs.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{PRECEDENT_BUILD} // 'build');
my $tracer = "$build/libprecedent_trace.so";
my $programs = "$build/tests/programs";
plan skip_all => 'no mpirun here' if system('command -v mpirun >/dev/null 2>&1');
-e $tracer or BAIL_OUT("$tracer is not built");

my $tmp = tempdir('precedent-clock-XXXXXX', TMPDIR => 1, CLEANUP => 1);
$ENV{$_} = 1 for qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS);
delete $ENV{$_} for grep { /^(PRECEDENT_T|PMIX_|OMPI_COMM_WORLD|SLURM_)/ } keys %ENV;
my $mpirun = 'timeout 100 mpirun --oversubscribe --bind-to none';
my $n_dir = 0;

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar(<$f>) // '' }

sub run_command {
    my ($command) = @_;
    system("$command >$tmp/out 2>$tmp/err </dev/null");
    return ($? >> 8, slurp("$tmp/out"), slurp("$tmp/err"));
}

sub new_dir { my $d = "$tmp/" . ++$n_dir; mkdir $d or die "$d: $!"; return $d }

sub entries { my ($dir) = @_; opendir my $d, $dir or return; return sort grep { !/^\.\.?$/ } readdir $d }

# What a trace says of its clocks: linked with the library that the commands use.
my $sanitize = `nm $build/libprecedent.a 2>/dev/null` =~ /__asan_init/ ? '-fsanitize=address,undefined' : '';
my ($rc, $out, $err) = run_command("cc -std=gnu11 -D_GNU_SOURCE $sanitize -I. -I$build/gen -o $tmp/clocks " .
				   "tests/cli/data/clocks.c $build/libprecedent.a -lzstd -lxxhash -lm");
is($rc, 0, 'the program that prints clocks is built') or diag $err;

# {ranks => [{host, offsets => [...], errors => [...], ticks}], messages, reversed, after, error}
sub clocks {
    my ($trace) = @_;
    my ($rc, $out) = run_command("$tmp/clocks $trace");
    my %c = (rc => $rc, ranks => []);
    for (split /\n/, $out) {
	my %f = /(\w+)=(\S*)/g;
	if (defined $f{rank}) {
	    $f{$_} = [split /,/, $f{$_}] for qw(offsets errors ns);
	    $c{ranks}[$f{rank}] = \%f;
	} else {
	    %c = (%c, %f);
	}
    }
    return \%c;
}

sub traced {
    my ($n, $skew, $program) = @_;
    my $dir = new_dir();
    my ($rc, $out, $err) = run_command("$mpirun -n $n -x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir " .
				       "-x PRECEDENT_TEST_SKEW=$skew $programs/$program");
    my @file = entries($dir);
    is("$rc " . (grep { !/\.ptrace$/ } @file), '0 0', "$program on $n ranks, skew $skew: nothing but a trace is left");
    is(scalar @file, 1, 'and there is one');
    return clocks("$dir/" . ($file[0] // 'none'));
}

# ---- one node ----
{
    my $c = traced(3, 'none', 'heat 64 200 5');
    is(join(' ', map { scalar @{$_->{offsets}} } @{$c->{ranks}}), '1 0 0', 'on one node nothing is measured');
    ok($c->{messages} > 500, 'messages are matched');
    is($c->{reversed}, 0, 'and none arrives before it was sent');
}

# ---- three nodes: the second a tenth of a second late, the third early; both drift ----
{
    my $c = traced(3, '1:-100000:200,2:30000:-150', 'heat 64 3000 5');
    is(join(' ', map { scalar @{$_->{offsets}} } @{$c->{ranks}}), '1 2 2', 'both nodes are measured twice');
    # On a busy machine a message and its answer take long, but so does the run.
    is(join(' ', map { my $k = $_; scalar(grep { $_ > 0 && $_ < $k->{ns}[1] - $k->{ns}[0] } @{$k->{errors}}) } @{$c->{ranks}}), '0 2 2',
       'with a bound of the error, less than the run');
    for my $r (1, 2) {
	my $k = $c->{ranks}[$r];
	my ($ppm, $off) = $r == 1 ? (200, -100e6) : (-150, 30e6);
	my $span = $k->{ns}[1] - $k->{ns}[0];
	my $slack = $k->{errors}[0] + $k->{errors}[1] + 1000;

	# its clock runs fast by that much: rank 0's is less and less ahead
	my $drift = $k->{offsets}[1] - $k->{offsets}[0];
	ok(abs($drift + $span * $ppm * 1e-6) < $slack + $span * 2e-6, "rank $r: the drift is found") or
	    diag "drift $drift over $span, error $slack";
	# what the clock of day says, less the skew, is the truth: they share it
	my $true = $k->{start} - $off - $c->{ranks}[0]{start};
	ok(abs($k->{offsets}[0] - $true) < $slack + 3e5, "rank $r: the offset is found") or
	    diag "offset $k->{offsets}[0], true $true, error $slack";
    }
    ok($c->{messages} > 10000, 'messages are matched');
    # A message takes as long as what is known of two clocks, or less: which come reversed is chance, by how much is not.
    my ($one, $other) = sort { $b <=> $a } map { @{$_->{errors}} } @{$c->{ranks}};
    ok($c->{worst} <= $one + $other, 'none arrives before it was sent by more than the clocks are known to') or
	diag "$c->{reversed} of $c->{messages} are reversed, by up to $c->{worst} ns, clocks known to $one and $other ns";
    is($c->{after}, 0, 'none after the logical clock');
}

# ---- ranks of one node share its clock: one of them is measured ----
{
    my $c = traced(4, '0:5000:0', 'ring 200');
    is(join(' ', map { scalar @{$_->{offsets}} } @{$c->{ranks}}), '1 2 0 0', 'the first rank of the other node');
    is($c->{after}, 0, 'one time line for all');
}

# ---- threads, and programs that end early ----
{
    my $c = traced(2, '1:1000:50', 'threads 50');
    is(scalar @{$c->{ranks}}, 2, 'threads that all communicate');
    my $dir = new_dir();
    my ($rc) = run_command("$mpirun -n 3 -x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir " .
			   "-x PRECEDENT_TEST_SKEW=1:1000:0 $programs/abort");
    ok($rc != 0 && $rc != 124, 'MPI_Abort ends the run');
}

# ---- a rank without the tracer: no trace, nobody waits, nothing is sent to it ----
for my $without (0, 1, 2) {
    my $dir = new_dir();
    # Not by mpirun A : B, with which PRRTE of Debian 13 crashes.
    my $part = "sh -c '[ \$OMPI_COMM_WORLD_RANK = $without ] || export LD_PRELOAD=$tracer PRECEDENT_TRACE_DIR=$dir " .
	"PRECEDENT_TEST_SKEW=\$OMPI_COMM_WORLD_RANK:777:0; exec $programs/ring 20'";
    my ($plain_rc, $plain) = run_command("$mpirun -n 3 $programs/ring 20");
    my ($rc, $out) = run_command("$mpirun -n 3 $part");
    is("$rc $out", "$plain_rc $plain", "rank $without has no tracer: the program runs as ever");
    is(scalar(grep { /ptrace$|present/ } entries($dir)), 0, 'no trace and no marker');
}

# ---- a marker of a dead run in the way of nobody ----
{
    my $dir = new_dir();
    my ($rc) = run_command("env PMIX_NAMESPACE= $mpirun -n 2 -x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir $programs/nofinalize");
    isnt($rc, 124, 'a program that never finalizes ends');
}

done_testing();
