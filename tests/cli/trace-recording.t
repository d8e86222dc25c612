# SPDX-License-Identifier: GPL-2.0-or-later
# The tracer: what it records from C and Fortran, that it changes nothing, and what it does when it cannot write.
use strict;
use warnings;
use Cwd qw(abs_path getcwd);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $build = abs_path($ENV{PRECEDENT_BUILD} // 'build');
my $tracer = "$build/libprecedent_trace.so";
my $programs = "$build/tests/programs";
my $precedent = "$build/precedent";
plan skip_all => 'no mpirun here' if system('command -v mpirun >/dev/null 2>&1');
-e $tracer or BAIL_OUT("$tracer is not built");

my $tmp = tempdir('precedent-tracer-XXXXXX', TMPDIR => 1, CLEANUP => 1);
$ENV{$_} = 1 for qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS);
delete $ENV{$_} for grep { /^(PRECEDENT_TRACE|PMIX_|OMPI_COMM_WORLD|SLURM_)/ } keys %ENV;
my $mpirun = 'timeout 120 mpirun --oversubscribe --bind-to none';

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar(<$f>) // '' }

# Run a command: (exit code, stdout, stderr).
sub run_command {
    my ($command) = @_;
    system("$command >$tmp/out 2>$tmp/err </dev/null");
    return ($? >> 8, slurp("$tmp/out"), slurp("$tmp/err"));
}

my $n_dir = 0;
sub new_dir { my $d = "$tmp/" . ++$n_dir; mkdir $d or die "$d: $!"; return $d }

# Run a program on n ranks under the tracer: (directory, exit code, stdout, stderr).
sub traced {
    my ($n, $program, $extra) = @_;
    my $dir = new_dir();
    my $env = "-x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir " . ($extra // '');
    return ($dir, run_command("$mpirun -n $n $env $programs/$program"));
}

sub traces { my ($dir) = @_; return sort glob "$dir/*.ptrace" }

sub entries { my ($dir) = @_; opendir my $d, $dir or return; return sort grep { !/^\.\.?$/ } readdir $d }

# The calls of a rank, without times and call sites.
sub events {
    my ($trace, $rank) = @_;
    my ($rc, $out) = run_command("$precedent info $trace --events $rank");
    return $rc ? ("precedent info fails: $rc") :
        map { s/^\S+ \S+ \S+ //r =~ s/\s+#.*//r } grep { !/^#/ } split /\n/, $out;
}

sub info { my ($rc, $out) = run_command("$precedent info --json $_[0]"); return $rc ? {} : decode_json($out) }

sub count { my ($re, @list) = @_; return scalar grep { /$re/ } @list }

# ---- the library ----
{
    my ($rc, $out) = run_command("nm -D --undefined-only $tracer");
    unlike($out, qr/MPI_|mpi_/i, 'the tracer needs no symbol of an MPI library');
    ($rc, $out) = run_command("nm -D --defined-only $tracer");
    my @other = grep { !/ (?:dlsym|__asan_default_options|(?:MPI_|mpi_)\w+)$/ } split /\n/, $out;
    is_deeply(\@other, [], 'and defines nothing but MPI functions and dlsym and what ASan asks for');
}

# ---- inert where it must be ----
{
    my $dir = new_dir();
    my ($rc, $out, $err) = run_command("env LD_PRELOAD=$tracer PRECEDENT_TRACE_DIR=$dir /bin/echo hello");
    is("$rc $out$err", "0 hello\n", 'a program without MPI runs as ever');
    is_deeply([entries($dir)], [], 'and leaves nothing');
    my ($plain_rc, $plain) = run_command("$mpirun -n 2 $programs/ring 20");
    ($rc, $out, $err) = run_command("$mpirun -n 2 -x LD_PRELOAD=$tracer $programs/ring 20");
    is("$rc $out$err", "$plain_rc $plain", 'without a place for the trace an MPI program runs as ever');
}

# A program that only asks whether there is MPI, by weak references, finds our functions and is told that there is none.
{
    open my $f, '>', "$tmp/weak.c" or die $!;
    print $f <<'C';
#include <stdio.h>
int MPI_Initialized(int *) __attribute__((weak));
int main(void)
{
	int flag = 7;
	int rc = MPI_Initialized ? MPI_Initialized(&flag) : 0;
	printf("%d %d\n", rc, flag);
	return 0;
}
C
    close $f;
    is((run_command("cc -fPIE -pie -o $tmp/weak $tmp/weak.c"))[0], 0, 'a program with a weak reference to MPI');
    is(join('', (run_command("env LD_PRELOAD=$tracer $tmp/weak"))[1, 2]), "0 0\n", 'is told that MPI is not initialized');
}

# ---- results are the same, nothing is printed, one trace ----
for my $case (['heat 64 20 5', 3], ['heat 64 20 5 isend', 2], ['heatf 64 20 5', 4], ['lu 16 3', 4], ['cg 32 10', 4],
              ['ring 10', 3], ['master_worker 20 10', 3], ['threads 50', 2], ['poll 600', 1], ['rough', 2]) {
    my ($program, $n) = @$case;
    my ($plain_rc, $plain, $plain_err) = run_command("$mpirun -n $n $programs/$program");
    my ($dir, $rc, $out, $err) = traced($n, $program);
    is("$rc $out$err", "$plain_rc $plain$plain_err", "$program on $n ranks: the same result");
    my @trace = traces($dir);
    is_deeply([entries($dir)], [map { s{.*/}{}r } @trace], "$program: no marker and no error is left");
    is(scalar @trace, 1, "$program: one trace");
    my $info = info($trace[0] // 'none');
    is($info->{ranks}, $n, "$program: with every rank");
    is($info->{untimed}, 0, "$program: and every time");
    my @e = events($trace[0] // 'none', 0);
    is($e[0] =~ s/\(.*//r, $program =~ /threads/ ? 'MPI_Init_thread' : 'MPI_Init', "$program: begins with MPI_Init");
    is($e[-1], 'MPI_Finalize()', "$program: ends with MPI_Finalize");
    if ($program eq 'heat 64 20 5') {
        is(count(qr/^MPI_Sendrecv\(/, @e), 40, 'heat: two exchanges a step');
        is(count(qr/^MPI_Allreduce\(/, @e), 4, 'heat: a sum every five steps');
        is(scalar @e, 47, 'heat: and nothing else');
    } elsif ($program =~ /^master/) {
        is(count(qr/^MPI_Recv\(.*src=MPI_ANY_SOURCE \([12]\), tag=MPI_ANY_TAG \(3\)/, @e), 20, 'wildcards are resolved');
    } elsif ($program =~ /^threads/) {
        is(count(qr/^MPI_Waitall\(reqs=\[(\d+) (\d+)\], done=\[\1 \2\]/, @e), 150, 'threads: every wait is recorded');
        for my $c (2 .. 4) {
            is(count(qr/^MPI_Irecv\(comm=$c,/, @e), 50, "threads: every receive on communicator $c");
        }
    } elsif ($program =~ /^poll/) {
        is($info->{polls}, 600, 'poll: unsuccessful tests are counted');
        is(scalar @e, 7, 'poll: and are no events');
    } elsif ($program =~ /^rough/) {
        is(count(qr/^MPI_Send\(/, @e), 0, 'rough: a call that failed is no event');
        is(count(qr/^MPI_Barrier\(/, @e), 0, 'rough: a call inside a call is none either');
        my ($wait) = grep { /^MPI_Waitall/ } @e;
        my ($done) = $wait =~ /done=\[([\d ]*)\]/;
        is_deeply([sort { $a <=> $b } split ' ', $done], [0 .. 599], 'rough: requests with one handle are told apart');
    }
}

# ---- every family of calls, from four languages ----
{
    my %want = map { $_ => [split /\n/, slurp("tests/cli/data/calls.$_.txt")] } 0, 1;
    is(scalar @{$want{0}}, 161, 'the expected calls are there');
    my ($dir, $rc, $out) = traced(2, 'calls full');
    my ($trace) = traces($dir);
    for my $r (0, 1) {
        is_deeply([events($trace // 'none', $r)], $want{$r}, "C: the calls of rank $r");
    }
    my $full = qr/^MPI_(Op_create|Allreduce\(.*op=user|Op_free|Comm_create_group|Bsend|Buffer_|Comm_disconnect|.*tag=72)/;
    for my $program (qw(calls_h calls_mod calls_f08)) {
        my ($plain_rc, $plain) = run_command("$mpirun -n 2 $programs/$program");
        ($dir, $rc, $out) = traced(2, $program);
        is("$rc $out", "$plain_rc $plain", "$program: the same result");
        ($trace) = traces($dir);
        for my $r (0, 1) {
            is_deeply([map { s/MPI_INTEGER/MPI_INT/gr } events($trace // 'none', $r)],
                      [grep { !/$full/ } @{$want{$r}}], "$program: the calls of rank $r");
        }
    }
}

# ---- MPI that is loaded late ----
SKIP: {
    my ($rc) = run_command("mpicc -shared -fPIC -O1 -o $tmp/libring.so tests/programs/ring.c");
    skip 'no mpicc here', 3 if $rc;
    open my $f, '>', "$tmp/late.c" or die $!;
    print $f <<'C';
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *h = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*run)(int, char **) = h ? (int (*)(int, char **))dlsym(h, "main") : 0;
	return run ? run(argc - 1, argv + 1) : 9;
}
C
    close $f;
    is((run_command("cc -o $tmp/late $tmp/late.c -ldl"))[0], 0, 'a program that loads MPI late');
    my $dir = new_dir();
    my $env = "-x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir";
    my ($got, $out, $err) = run_command("$mpirun -n 2 $env $tmp/late $tmp/libring.so 5");
    is("$got$err", '0', 'runs');
    is(count(qr/^MPI_Send\(/, events((traces($dir))[0] // 'none', 1)), 5, 'and is traced');
}

# ---- all ranks or none ----
SKIP: {
    skip 'prterun crashes when it starts two programs', 7 if (run_command("$mpirun -n 1 $programs/ring 5 : -n 1 $programs/ring 5"))[0] != 0;
    for my $first (0, 1) {
        my $dir = new_dir();
        my @env = ('', "-x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir");
        my $ring = "$programs/ring 5";
        my ($rc, $out, $err) = run_command("$mpirun -n 1 $env[!$first] $ring : -n 1 $env[$first] $ring");
        is($rc . $err, '0', 'with the tracer on rank ' . $first . ' only the program ends as ever');
        is_deeply([traces($dir)], [], 'without a trace');
        is(count(qr/^\.present/, entries($dir)), 0, 'and without markers');
        like(slurp("$dir/tracer.err"), qr/in 1 of 2 ranks only/, 'which is said where nobody is disturbed') if !$first;
    }
}

# ---- where it cannot write ----
{
    my $env = "-x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$tmp/nowhere";
    my ($rc, $out, $err) = run_command("$mpirun -n 2 $env $programs/ring 5");
    is($rc . $err, '0', 'a directory that is not there disturbs nobody');
    $env = "LD_PRELOAD=$tracer PRECEDENT_TRACE_FILE=$tmp/nowhere/x.ptrace";
    ($rc, $out, $err) = run_command("env $env $programs/ring 5");
    is($rc, 0, 'a file that cannot be written: the program ends as ever');
    like($err, qr{\Aprecedent: no trace: \S*nowhere/x\.ptrace\S*: cannot create: [^\n]+\n\z}, 'with one line');
}

SKIP: {
    skip 'no mounts here', 3 if (run_command('unshare -m true'))[0];
    my $dir = new_dir();
    my $command = "mount -t tmpfs -o size=32k none $dir && $mpirun -n 2 -x LD_PRELOAD=$tracer " .
        "-x PRECEDENT_TRACE_DIR=$dir $programs/ring 3000 && ls -A $dir && cat $dir/tracer.err";
    my ($plain_rc, $plain) = run_command("$mpirun -n 2 $programs/ring 3000");
    my ($rc, $out, $err) = run_command("dd if=/dev/zero of=$tmp/fill bs=1k count=24 2>/dev/null; unshare -m sh -c '" .
        ($command =~ s/&&/&& cp $tmp\/fill $dir\/fill &&/r) . "'");
    is($rc . $err, '0', 'a full file system: the program ends as ever');
    like($out, qr/\A\Q$plain\E/, 'with its result');
    unlike($out, qr/ptrace$/m, 'and no piece of a trace is left');
}

# ---- names ----
{
    my $dir = new_dir();
    for (1, 2) {
        is((run_command("env LD_PRELOAD=$tracer PRECEDENT_TRACE_FILE=$dir/a.ptrace $programs/ring 5"))[0], 0, "run $_");
    }
    is_deeply([entries($dir)], ['a.2.ptrace', 'a.ptrace'], 'a second program of a command gets a name of its own');
    my $both = "sh -c '$programs/ring 5 && $programs/ring 6'";
    my $d2 = new_dir();
    is((run_command("env LD_PRELOAD=$tracer PRECEDENT_TRACE_DIR=$d2 $both"))[0], 0, 'two programs in one job');
    is(scalar(my @both = traces($d2)), 2, 'leave a trace each');
}

# ---- bounded memory ----
{
    my ($dir) = traced(2, 'ring 60000', '-x PRECEDENT_TRACE_MEMORY=1K');
    my ($trace) = traces($dir);
    my $info = info($trace // 'none');
    is($info->{events}, 2 * (2 * 60000 + 2), 'past its memory the structure is exact');
    cmp_ok($info->{dropped}, '>', 100000, 'times are in histograms');
    is($info->{untimed}, 0, 'and none are missing');
}

# ---- spill files ----
{
    my $local = new_dir();
    chmod 0700, $local;
    my ($dir, $rc) = traced(2, 'ring 1000', "-x PRECEDENT_TRACE_LOCAL=$local");
    is(scalar(my @with = traces($dir)), 1, 'with a spill directory: a trace as ever');
    is_deeply([entries($local)], [], 'and no spill file is left');
    ($dir, $rc) = traced(2, 'abort', "-x PRECEDENT_TRACE_LOCAL=$local");
    isnt($rc, 0, 'a run that aborts');
    is(scalar(grep { /\.r[01]\.spill$/ } entries($local)), 2, 'leaves the spill files of its ranks');
    # Nodes that share the directory collect at the same moment.
    my @spills = glob "$local/*.spill";
    my @bad;
    for my $round (1 .. 15) {
        my ($from, $into) = (new_dir(), new_dir());
        system('cp', @spills, $from) == 0 or die "cp: $?\n";
        my @collectors = map {
            my $pid = fork // die "fork: $!\n";
            exec $precedent, 'collect', '--from', $from, '--into', $into, '--last' or die "exec: $!\n" if !$pid;
            $pid;
        } 1 .. 4;
        waitpid $_, 0 for @collectors;
        my @left = grep { !/^\.present/ } entries($into);
        push @bad, join ' ', entries($from), @left, slurp("$into/tracer.err") if entries($from) || @left != 1 || $left[0] !~ /\.partial\.ptrace$/;
    }
    is_deeply(\@bad, [], 'four collectors at once make one trace of them, and complain of nothing');
    unlink glob "$local/*";
    ($dir, $rc) = traced(2, 'ring 1000', "-x PRECEDENT_TRACE_LOCAL=$local -x PRECEDENT_TRACE_FILE=/nowhere/a.ptrace");
    is($rc, 0, 'a trace that cannot be written is no fault of the program');
    is(scalar(grep { /\.r[01]\.spill$/ } entries($local)), 2, 'and every rank keeps what it has');
    unlink glob "$local/*";
    rmdir $local or die "rmdir: $!\n";
    traced(2, 'abort', "-x PRECEDENT_TRACE_LOCAL=$local");
    is(scalar(grep { /\.r[01]\.spill$/ } entries($local)), 2, 'a directory that the end of an earlier step has removed is made again');
    is((stat $local)[2] & 07777, 0700, '... for its user alone');
    unlink glob "$local/*";
    chmod 0777, $local;
    ($dir, $rc) = traced(2, 'ring 1000', "-x PRECEDENT_TRACE_LOCAL=$local");
    is(scalar(my @open = traces($dir)), 1, 'a directory that others can write to: a trace');
    like(slurp("$dir/tracer.err"), qr/no protection against a crash/, 'and a word');
}

# ---- a program that goes on after MPI_Finalize ----
{
    my $dir = new_dir();
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        open STDOUT, '>', "$tmp/after" or die "$!\n";
        exec split ' ', "$mpirun -n 3 -x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir $programs/planted_place after-finalize:sleep --ms 1 --reps 1";
        die "exec: $!\n";
    }
    for (1 .. 600) { last if traces($dir); select undef, undef, undef, 0.05 }
    my ($trace) = traces($dir);
    my $before = slurp($trace);
    rename $trace, "$tmp/moved";
    open my $other, '>', $trace or die "$!\n";
    print $other "x" x length $before;
    close $other;
    waitpid $pid, 0;
    is($?, 0, 'a program goes on after MPI_Finalize');
    is(slurp($trace), 'x' x length $before, 'what has taken the place of its trace meanwhile is not touched');
    is(slurp("$tmp/moved"), $before, 'nor is the trace in another place');
    ($dir) = traced(3, 'planted_place after-finalize:sleep --ms 1 --reps 1');
    ($trace) = traces($dir);
    my ($rc, $out) = run_command("$precedent info --check $trace");
    is($rc, 0, 'what it notes at its end is a part of the trace') or diag $out;
    my $after = slurp($trace);
    my @us = map { unpack('Q<', substr $after, length($after) - 40 - 8 * $_) >> 16 } 1 .. 3;
    is(scalar(grep { $_ >= 1_500_000 && $_ < 60_000_000 } @us), 3, '... of each rank, in microseconds') or diag "@us";
}

# ---- a program that dies ----
{
    my ($plain_rc) = run_command("$mpirun -n 2 $programs/heat -1");
    my ($dir, $rc) = traced(2, 'heat -1');
    is($rc, $plain_rc, 'MPI_Abort ends the program as ever');
    is_deeply([traces($dir)], [], 'without a trace');
}

done_testing;
