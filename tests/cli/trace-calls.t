# SPDX-License-Identifier: GPL-2.0-or-later
# Every function that the rules record, called: windows, files, the rest of collectives, datatypes and requests from C
# and three Fortran bindings, and dynamic processes. Results are the same with the tracer, and the trace has the calls.
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

my $tmp = tempdir('precedent-calls-XXXXXX', TMPDIR => 1, CLEANUP => 1);
$ENV{$_} = 1 for qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS);
delete $ENV{$_} for grep { /^(PRECEDENT_TRACE|PMIX_|OMPI_COMM_WORLD|SLURM_)/ } keys %ENV;
my $mpirun = 'timeout 120 mpirun --oversubscribe --bind-to none -n 2';

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar(<$f>) // '' }

# Run a command: "exit code, stdout, stderr".
sub run_command {
    my ($command) = @_;
    system("$command >$tmp/out 2>$tmp/err </dev/null");
    return ($? >> 8) . "\n" . slurp("$tmp/out") . slurp("$tmp/err");
}

my $n_dir = 0;

# Run a program on two ranks under the tracer: (what run_command gives, traces).
sub traced {
    my ($program) = @_;
    my $dir = "$tmp/" . ++$n_dir;
    mkdir $dir or die "$dir: $!";
    my $got = run_command("$mpirun -x LD_PRELOAD=$tracer -x PRECEDENT_TRACE_DIR=$dir $programs/$program");
    return ($got, sort glob "$dir/*.ptrace");
}

# The calls of a rank, without times and call sites.
sub events {
    my ($trace, $rank) = @_;
    run_command("$build/precedent info $trace --events $rank");
    return map { s/^\S+ \S+ \S+ //r =~ s/\s+#.*//r =~ s/MPI_INTEGER/MPI_INT/gr } grep { !/^#/ } split /\n/, slurp("$tmp/out");
}

my %called; # by any of the programs
sub note_calls { /^(MPI_\w+)/ and $called{$1} = 1 for @_ }

# ---- from four languages ----
{
    my %want = map { $_ => [split /\n/, slurp("tests/cli/data/calls_more.$_.txt")] } 0, 1;
    is(scalar @{$want{0}}, 202, 'the expected calls are there');
    # what mpi and mpi_f08 have not: calls that MPI-3 removed, and callbacks of one and the same type
    my $odd = qr/^MPI_(Type_hvector|Type_hindexed|Type_struct|Grequest)/;
    my %fewer = map { $_ => [grep { !/$odd/ } @{$want{$_}}] } 0, 1;
    for my $r (0, 1) {
        my @last = (splice(@{$fewer{$r}}, -5, 4));
        is("@last[0 .. 2]", 'MPI_Type_free(type=1) MPI_Type_free(type=2) MPI_Type_free(type=10)', 'and those of some only');
    }
    for my $program (qw(calls_more calls_more_h calls_more_mod calls_more_f08)) {
        my $args = "$program $tmp/file full";
        my $plain = run_command("$mpirun $programs/$args");
        like($plain, qr/\A0\ncalls: checksum [0-9 ]+\n\z/, "$program: runs");
        my ($got, @trace) = traced($args);
        is($got, $plain, "$program: the same result under the tracer");
        is(scalar @trace, 1, "$program: one trace");
        for my $r (0, 1) {
            my @e = events($trace[0] // 'none', $r);
            is_deeply(\@e, ($program =~ /_(mod|f08)$/ ? \%fewer : \%want)->{$r}, "$program: the calls of rank $r");
            note_calls(@e);
        }
        ok(!-e "$tmp/file", "$program: no file is left");
    }
}

# ---- dynamic processes ----
my @meet = ('MPI_Intercomm_merge', 'MPI_Allreduce', 'MPI_Comm_free', 'MPI_Comm_disconnect');
SKIP: {
    my $plain = run_command("$mpirun $programs/calls_dyn spawn join");
    skip 'this MPI library cannot start processes here', 10 if $plain !~ /\A0\n/;
    my ($got, @trace) = traced('calls_dyn spawn join');
    is($got, $plain, 'calls_dyn: the same result under the tracer');
    is(scalar @trace, 3, 'calls_dyn: the processes started have traces of their own');
    my @e = map { [events($_, 0)] } @trace;
    my ($parent) = grep { grep { /^MPI_Comm_spawn/ } @{$e[$_]} } 0 .. $#e;
    my @other = grep { $_ != ($parent // -1) } 0 .. $#e;
    ok(defined $parent, 'calls_dyn: the one with the parent is found');
    $parent //= 0;
    my @accept = ('MPI_Comm_accept(comm=1, root=0, newcomm=2)', 'MPI_Intercomm_merge(comm=2, high=0, newcomm=3)',
                  'MPI_Allreduce(comm=3, inplace=0, count=1, type=MPI_INT, op=MPI_SUM)', 'MPI_Comm_free(comm=3)',
                  'MPI_Comm_disconnect(comm=2)');
    my @foreign = ('MPI_Intercomm_merge(comm=none, high=0, newcomm=none)',
                   'MPI_Allreduce(comm=none, inplace=0, count=1, type=MPI_INT, op=MPI_SUM)', 'MPI_Comm_free(comm=none)',
                   'MPI_Comm_disconnect(comm=none)');
    my @want = ('MPI_Init()', 'MPI_Comm_get_parent(parent=none)', 'MPI_Open_port()', 'MPI_Publish_name()',
                'MPI_Send(comm=0, dst=1, tag=1, count=1024, type=MPI_CHAR)', @accept, 'MPI_Unpublish_name()',
                'MPI_Close_port()', 'MPI_Comm_spawn(comm=0, root=0, maxprocs=1, newcomm=none)', @foreign,
                'MPI_Comm_spawn_multiple(comm=0, root=0, maxprocs=[1 1], newcomm=none)', @foreign,
                'MPI_Send(comm=0, dst=1, tag=2, count=1, type=MPI_INT)', 'MPI_Comm_join(newcomm=2)', @accept[1 .. 4],
                'MPI_Finalize()');
    is_deeply($e[$parent], \@want, 'calls_dyn: the calls of rank 0');
    my @there = events($trace[$parent], 1);
    is_deeply([map { s/\(.*//r } @there],
              ['MPI_Init', 'MPI_Comm_get_parent', 'MPI_Recv', 'MPI_Lookup_name', 'MPI_Comm_connect', @meet, 'MPI_Comm_spawn',
               @meet, 'MPI_Comm_spawn_multiple', @meet, 'MPI_Recv', 'MPI_Comm_join', @meet, 'MPI_Finalize'],
              'calls_dyn: the calls of rank 1');
    is((grep { /^MPI_Comm_spawn_multiple/ } @there)[0], 'MPI_Comm_spawn_multiple(comm=0, root=0, maxprocs=[], newcomm=none)',
       'calls_dyn: which does not say how many processes');
    for my $i (@other) {
        is_deeply([map { s/\(.*//r } @{$e[$i]}], ['MPI_Init', 'MPI_Comm_get_parent', @meet, 'MPI_Finalize'],
                  'calls_dyn: the calls of a child');
    }
    like(run_command("$build/precedent skeleton $trace[$parent] -o $tmp/skel"),
         qr/\A1\nprecedent: [^\n]*: MPI_Comm_accept at [^\n]*: programs that start processes while they run cannot be predicted by a skeleton\n\z/,
         'calls_dyn: has no skeleton, and which call is why');
    note_calls((map { @$_ } @e), @there);
}

# ---- the same under MPICH, and what MPI-4 added ----
SKIP: {
    skip 'no MPICH here', 22 if grep { system("command -v $_ >/dev/null 2>&1") } qw(mpicc.mpich mpif90.mpich mpirun.mpich);
    my %want = map { $_ => [grep { !/^MPI_(Type_h|Type_struct|Grequest)/ } split /\n/,
                            slurp("tests/cli/data/calls_more.$_.txt")] } 0, 1;
    splice @{$want{$_}}, -5, 4 for 0, 1;
    my $run = 'timeout 120 mpirun.mpich -n 2';
    for my $program (qw(calls_more calls_more_h calls_more_mod calls_more_f08 calls_mpi4)) {
        my $c = $program !~ /_(h|mod|f08)$/;
        my $compile = $c ? "mpicc.mpich -w -o $tmp/$program tests/programs/$program.c" :
            "mpif90.mpich -J $tmp -o $tmp/$program tests/programs/$program.f90";
        is((run_command($compile) =~ /^(\d+)/)[0], 0, "MPICH, $program: compiled");
        my $plain = run_command("$run $tmp/$program $tmp/file");
        my $dir = "$tmp/" . ++$n_dir;
        mkdir $dir or die "$dir: $!";
        my $got = run_command("$run -genv LD_PRELOAD $tracer -genv PRECEDENT_TRACE_DIR $dir $tmp/$program $tmp/file");
        like($plain, qr/\A0\ncalls: /, "MPICH, $program: runs");
        is($got, $plain, "MPICH, $program: the same result under the tracer");
        my ($trace) = glob "$dir/*.ptrace";
        my $calls = $program eq 'calls_mpi4' ? [split /\n/, slurp('tests/cli/data/calls_mpi4.0.txt')] : $want{0};
        is_deeply([events($trace // 'none', 0)], $calls, "MPICH, $program: the calls of rank 0");
        next if $program ne 'calls_mpi4';
        like(run_command("$build/precedent skeleton $trace -o $tmp/mpi4 && make -C $tmp/mpi4"), qr/\A0\n/, 'MPICH: a skeleton of these');
        like(run_command("$run $tmp/mpi4/skel"), qr/\A0\n.*^events \d+\n.*^digest /ms, '... which runs to its end');
    }
}

# ---- nothing is left out ----
{
    note_calls(split /\n/, slurp("tests/cli/data/calls.$_.txt")) for 0, 1;
    # threads and heat call these: tests/cli/trace-recording.t
    $called{$_} = 1 for qw(MPI_Init_thread MPI_Abort);
    is(run_command("perl spank/tracer/generate --rules conf/trace.rules --out $tmp/gen"), "0\n", 'the rules are read');
    my %here = map { $_ => 1 } slurp("$tmp/gen/tracer/wrappers.c") =~ /^EXPORT int (MPI_\w+)/mg;
    my @left = grep { $here{$_} && !$called{$_} } slurp("$tmp/gen/trace/functions.h") =~ /FN_(MPI_\w+)/g;
    SKIP: {
        skip 'no dynamic processes here', 1 if !$called{MPI_Comm_spawn};
        is_deeply(\@left, [], 'every function that is recorded was called');
    }
}

done_testing;
