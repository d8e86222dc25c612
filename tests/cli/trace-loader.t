# SPDX-License-Identifier: GPL-2.0-or-later
# The loader: the tracer of the MPI library that a program has, and nothing at all everywhere else.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $build = abs_path($ENV{PRECEDENT_BUILD} // 'build');
my $loader = "$build/libprecedent_trace.so";
my $precedent = "$build/precedent";
-e $loader or BAIL_OUT("$loader is not built");

my $tmp = tempdir('precedent-loader-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $tmp;
$ENV{$_} = 1 for qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS);
delete $ENV{$_} for grep { /^(PRECEDENT_TRACE|PMIX?_|OMPI_COMM_WORLD|SLURM_|LD_PRELOAD|MPI_LOCAL)/ } keys %ENV;
$ENV{PRECEDENT_LIBDIR} = $build;

# What differs between the libraries: how to run n ranks of a program with variables set.
my %mpi = (
    openmpi => {programs => "$build/tests/programs", run => 'timeout 60 mpirun --oversubscribe --bind-to none', set => sub { "-x $_[0]=$_[1]" }},
    mpich => {programs => "$build/tests/programs-mpich", run => 'timeout 60 mpirun.mpich', set => sub { "-genv $_[0] $_[1]" }},
);
my @here = grep { -e "$build/libprecedent_trace_$_.so" } sort keys %mpi;
ok(scalar @here, "there are tracers: @here");

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar(<$f>) // '' }
sub spew { my ($path, $text) = @_; open my $f, '>', $path or die "$path: $!\n"; print $f $text; close $f or die; return $path }
sub entries { opendir my $d, $_[0] or return; return sort grep { !/^\.\.?$/ } readdir $d }

sub run_command {
    my ($command) = @_;
    system("$command >$tmp/out 2>$tmp/err </dev/null");
    return ($? >> 8, slurp("$tmp/out"), slurp("$tmp/err"));
}
# Without a trace and without a fault of the command: its result in one string.
sub result { return join '|', run_command($_[0]) }

my $n_dir = 0;
sub new_dir { my $d = "$tmp/d" . ++$n_dir; mkdir $d or die "$d: $!"; return $d }

sub mpirun {
    my ($library, $n, $command, %set) = @_;
    my $m = $mpi{$library};
    return join ' ', $m->{run}, '-n', $n, (map { $m->{set}->($_, $set{$_}) } sort keys %set), $command;
}

# Compile C to $tmp/NAME.
sub compile {
    my ($name, $text, $options, $cc) = @_;
    spew("$tmp/$name.c", $text);
    my ($rc, $out, $err) = run_command(($cc // 'cc') . " -O1 -o $tmp/$name $tmp/$name.c " . ($options // ''));
    die "$name: $err" if $rc;
    return "$tmp/$name";
}

# The calls of a rank, without times and call sites; names of equal types of Fortran and C are one.
sub events {
    my ($trace, $rank) = @_;
    my ($rc, $out) = run_command("$precedent info $trace --events $rank");
    return $rc ? ("precedent info fails: $rc") :
        map { s/^\S+ \S+ \S+ //r =~ s/\s+#.*//r } grep { !/^#/ } split /\n/, $out;
}

# ---- what it is ----
{
    my ($rc, $out) = run_command("readelf -dW $loader");
    is_deeply([$out =~ /NEEDED.*\[(.*)\]/g], [], 'the loader needs no library');
    ($rc, $out) = run_command("nm -D --undefined-only $loader");
    is_deeply([grep { !/^\s+w \w+$/ } split /\n/, $out], [], 'every symbol that it takes may be missing, and has no version');
    ($rc, $out) = run_command("nm -D --defined-only $loader");
    my %has = map { $_ => 1 } $out =~ / (\w+)$/mg;
    for my $library (@here) {
        ($rc, $out) = run_command("nm -D --defined-only $build/libprecedent_trace_$library.so");
        my @symbol = grep { $_ ne 'precedent_tracer_begin' } $out =~ / (\w+)$/mg;
        cmp_ok(scalar @symbol, '>', 900, "$library: its tracer wraps or counts much");
        is_deeply([grep { !$has{$_} } @symbol], [], "$library: and the loader has an entry for all of it");
        ($rc, $out) = run_command("nm -D --undefined-only $build/libprecedent_trace_$library.so");
        unlike($out, qr/mpi/i, "$library: the tracer needs no symbol of an MPI library");
    }
}

# ---- both libraries: the same program, the same result, the same calls ----
my %calls;
for my $library (@here) {
    my $m = $mpi{$library};
    for my $case (['ring 10', 3], ['heat 64 20 5 isend', 2], ['heatf 64 20 5', 2], ['threads 20', 2], ['poll 600', 1],
                  ['calls full', 2], ['calls_h', 2], ['calls_mod', 2], ['calls_f08', 2]) {
        my ($program, $n) = @$case;
        my $dir = new_dir();
        my $plain = result(mpirun($library, $n, "$m->{programs}/$program"));
        is(result(mpirun($library, $n, "$m->{programs}/$program", LD_PRELOAD => $loader, PRECEDENT_TRACE_DIR => $dir)),
           $plain, "$library: $program: the same result");
        my @left = entries($dir);
        like("@left", qr/^\S+\.ptrace$/, "$library: $program: one trace and nothing else");
        $calls{$program}{$library} = [map { [map { s/MPI_INTEGER/MPI_INT/gr } events("$dir/$left[0]", $_)] } 0 .. $n - 1];
    }
}
SKIP: {
    skip 'one MPI library here', 1 if @here < 2;
    for my $program (sort keys %calls) {
        next if $program =~ /^threads/; # in any order
        is_deeply($calls{$program}{mpich}, $calls{$program}{openmpi}, "$program: the same calls with both libraries");
    }
    is(scalar @{$calls{'threads 20'}{mpich}[0]}, scalar @{$calls{'threads 20'}{openmpi}[0]}, 'threads: as many calls with both');
    is_deeply($calls{calls_f08}{mpich}, $calls{calls_mod}{mpich}, 'MPICH: mpi_f08 and mpi are recorded alike');
}

# ---- runs have names of their own; programs of one command belong together ----
SKIP: {
    skip 'no MPICH here', 4 if !-e "$build/libprecedent_trace_mpich.so";
    my $dir = new_dir();
    my @set = (LD_PRELOAD => $loader, PRECEDENT_TRACE_DIR => $dir);
    my $ring = "$mpi{mpich}{programs}/ring 5";
    is((run_command(mpirun('mpich', 2, $ring, @set)))[0], 0, 'a run with Hydra') for 1, 2;
    is(scalar(() = entries($dir)), 2, 'two runs leave two traces');
    my $trace = "$tmp/both.ptrace";
    is((run_command("$precedent trace -q -o $trace -- mpirun.mpich -n 1 $ring : -n 1 sh -c '$ring; exit \$?'"))[0], 0,
       'two programs in one command, one of them below a shell');
    is((eval { decode_json((run_command("$precedent info --json $trace"))[1]) } // {})->{ranks}, 2, 'are one trace');
}

# ---- a skeleton is of the same library as the program ----
SKIP: {
    skip 'no MPICH here', 4 if !-e "$build/libprecedent_skel_mpich.a";
    my $trace = "$tmp/heat.ptrace";
    is((run_command("$precedent trace -q -o $trace -- mpirun.mpich -n 2 $mpi{mpich}{programs}/heat 64 20 5"))[0], 0, 'heat with MPICH');
    is((run_command("$precedent skeleton --compile -o $tmp/heat.skel $trace"))[0], 0, 'its skeleton compiles');
    like((run_command("ldd $tmp/heat.skel/skel"))[1], qr/libmpich\.so\.12/, 'with MPICH');
    my ($rc, $out, $err) = run_command("$precedent predict --seconds 0.5 $trace");
    like("$rc|$out", qr/^0\|predicted +[\d.]+ [mu]?s /, 'and runs') or diag($err);
}

# ---- inert ----
{
    my $hello = compile('hello', "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 3; }\n");
    my $static = compile('static', "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 3; }\n", '-static');
    my $dir = new_dir();
    my $env = "env LD_PRELOAD=$loader PRECEDENT_TRACE_DIR=$dir";
    is(result("$env $hello"), "3|hello\n|", 'a program without MPI');
    is(result("$env $static"), "3|hello\n|", 'a static program');
    is_deeply([entries($dir)], [], 'leave nothing');
}
# A program of another C library; the tracers are not of that one.
SKIP: {
    skip 'no musl here', 3 if (run_command('musl-gcc --version'))[0];
    my $text = "#include <dlfcn.h>\n#include <stdio.h>\nint main(void)\n{\n\tvoid *h = dlopen(0, RTLD_NOW);\n" .
        "\tprintf(\"hello %d %d\\n\", dlsym(h, \"puts\") != 0, dlsym(h, \"mpi_none\") != 0);\n\treturn 3;\n}\n";
    my $dynamic = compile('musl', $text, '', 'musl-gcc');
    my $static = compile('musl_static', $text, '-static', 'musl-gcc');
    my $dir = new_dir();
    my $env = "env LD_PRELOAD=$loader PRECEDENT_TRACE_DIR=$dir";
    is(result("$env $dynamic"), "3|hello 1 0\n|", 'a program linked with musl');
    is(result("$env $static"), result($static), 'a static one');
    copy($dynamic, "$tmp/ch-run") or die $!;
    chmod 0755, "$tmp/ch-run";
    is(result("$env $tmp/ch-run"), "3|hello 1 0\n|", 'one that starts containers');
}
SKIP: {
    skip 'a setuid program needs another user', 2 if $> || (run_command('setpriv --reuid=65534 --clear-groups true'))[0];
    my $who = compile('who', "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(void)\n" .
        "{\n\tprintf(\"%d %s\\n\", geteuid(), getenv(\"LD_PRELOAD\") ? \"set\" : \"none\");\n\treturn 0;\n}\n");
    chmod 04755, $who;
    my $other = 'setpriv --reuid=65534 --clear-groups';
    is(result("$other env LD_PRELOAD=$loader PRECEDENT_TRACE_DIR=/tmp $who"), "0|0 none\n|", 'a setuid program is as without it');
    chmod 0755, $who;
    is(result("$other env LD_PRELOAD=$loader PRECEDENT_TRACE_DIR=/tmp $who"), "0|65534 set\n|", '(which else would see it)');
}
{
    my $weak = compile('weak', <<'C', '-fPIE -pie');
#include <stdio.h>
int MPI_Initialized(int *) __attribute__((weak));
int MPI_Comm_rank(int, int *) __attribute__((weak));
int main(void)
{
	int flag = 7, rank;
	int rc = MPI_Initialized ? MPI_Initialized(&flag) : 0;
	printf("%d %d\n", rc, flag);
	return MPI_Comm_rank && MPI_Comm_rank(0, &rank) == 0;
}
C
    is(result("env LD_PRELOAD=$loader PRECEDENT_TRACE_DIR=/tmp $weak"),
       "0|0 0\n|precedent: MPI_Comm_rank was called, but no MPI library that has it is loaded\n",
       'weak references to MPI in a program without: not initialized, and an error');
}

# ---- libraries of MPICH's interface have other names; the standard interface has no tracer ----
SKIP: {
    my ($mpich) = glob '/usr/lib/*/libmpich.so.12';
    skip 'no MPICH here', 6 if !$mpich || !-e "$build/libprecedent_trace_mpich.so";
    # The names of MPICH itself, Intel MPI and MVAPICH, and one of the form of Cray MPICH (libmpi_gnu_91.so.12).
    for my $name (qw(libmpi.so.12 libmpi_g.so.12)) {
        my $dir = new_dir();
        spew("$dir/$name", slurp($mpich) =~ s/\0libmpich\.so\.12\0/"\0$name\0" . "\0" x (14 - length $name)/er);
        my $program = compile("prog_$name", slurp('tests/programs/ring.c'),
            (run_command('mpicc.mpich -show'))[1] =~ s/^\S+//r =~ s/\s+-lmpich\s*/ -L$dir -l:$name -Wl,-rpath,$dir/r);
        like((run_command("ldd $program"))[1], qr/\Q$name\E => \Q$dir\E/, "a program has $name");
        is((run_command("$precedent trace -q -o $tmp/$name.ptrace -- mpirun.mpich -n 2 $program 5"))[0], 0, '... is traced');
        is((eval { decode_json((run_command("$precedent info --json $tmp/$name.ptrace"))[1]) } // {})->{ranks}, 2, '... with both ranks');
    }
}
{
    my $dir = new_dir();
    compile("libmpi_abi.so.0", <<'C', "-shared -fPIC -Wl,-soname,libmpi_abi.so.0");
int MPI_Init(int *c, char ***v) { (void)c; (void)v; return 0; }
int PMPI_Init(int *c, char ***v) { return MPI_Init(c, v); }
int MPI_Finalize(void) { return 0; }
C
    my $program = compile('standard', <<'C', "$tmp/libmpi_abi.so.0 -Wl,-rpath,$tmp");
#include <stdio.h>
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int main(int c, char **v) { MPI_Init(&c, &v); puts("it runs"); return MPI_Finalize(); }
C
    my ($rc, $out, $err) = run_command("$precedent trace -o $tmp/standard.ptrace -- $program");
    is("$rc|$out", "1|it runs\n", 'a program of the standard interface runs and leaves no trace');
    like($err, qr/^precedent: no tracer for libmpi_abi\.so\.0 can be loaded: .*$/, 'the reason is told');
    is(result("env LD_PRELOAD=$loader PRECEDENT_TRACE_DIR=$dir $program"), "0|it runs\n|", 'in a job it says nothing');
    like(slurp("$dir/untraced.txt"), qr/^no tracer for libmpi_abi\.so\.0 /, 'and leaves the reason in the directory of the job');
    # A second library behind it, such as the one that a numerical library needs, does not choose the tracer.
    for my $library (@here) {
        $dir = new_dir();
        my $both = compile("standard_$library", slurp("$tmp/standard.c"),
            "$tmp/libmpi_abi.so.0 -Wl,-rpath,$tmp -Wl,--no-as-needed", $library eq 'mpich' ? 'mpicc.mpich' : 'mpicc');
        is(result("env LD_PRELOAD=$loader PRECEDENT_TRACE_DIR=$dir $both"), "0|it runs\n|", "$library beside it: the program runs");
        is_deeply([entries($dir)], ['untraced.txt'], '... untraced');
        like(slurp("$dir/untraced.txt"), qr/^no tracer for libmpi_abi\.so\.0 /, '... since its own library has no tracer');
    }
}

# ---- nothing to trace with ----
for my $library (@here) {
    my $dir = new_dir();
    my $alone = new_dir();
    copy($loader, "$alone/libprecedent_trace.so") or die $!;
    my $ring = "$mpi{$library}{programs}/ring 5";
    my $plain = result(mpirun($library, 2, $ring));
    is(result(mpirun($library, 2, $ring, LD_PRELOAD => "$alone/libprecedent_trace.so", PRECEDENT_TRACE_DIR => $dir)), $plain,
       "$library: without its tracer beside the loader the program runs as ever");
    is_deeply([entries($dir)], ['untraced.txt'], "$library: and leaves the reason");
    $dir = new_dir();
    spew("$alone/libprecedent_trace_$library.so", "no library\n");
    is(result(mpirun($library, 2, $ring, LD_PRELOAD => "$alone/libprecedent_trace.so", PRECEDENT_TRACE_DIR => $dir)), $plain,
       "$library: nor with one that cannot be loaded");
    is(result(mpirun($library, 2, $ring, LD_PRELOAD => $loader)), $plain, "$library: nor when no trace is wanted");
    unlink "$alone/libprecedent_trace_$library.so";
    $dir = new_dir();
    symlink $loader, "$alone/link" or die $!;
    rename "$alone/link", "$alone/libprecedent_trace.so" or die $!;
    is(result(mpirun($library, 2, $ring, LD_PRELOAD => "$alone/libprecedent_trace.so", PRECEDENT_TRACE_DIR => $dir)), $plain,
       "$library: a link to the loader");
    like(join(' ', entries($dir)), qr/^\S+\.ptrace$/, "$library: finds the tracer where it leads");
}

# ---- MPI that is loaded late and locally; MPI that is called by a constructor ----
for my $library (@here) {
    my $cc = "mpicc.$library";
    next if (run_command("$cc --version"))[0];
    my ($rc) = run_command("$cc -shared -fPIC -O1 -o $tmp/libring_$library.so tests/programs/ring.c");
    my $late = compile('late', <<'C', '-ldl');
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *h = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*run)(int, char **) = h ? (int (*)(int, char **))dlsym(h, "main") : 0;
	return run ? run(argc - 1, argv + 1) : 9;
}
C
    my $early = compile("early_$library", <<'C', '', $cc);
#include <mpi.h>
__attribute__((constructor)) static void early(void)
{
	MPI_Init(0, 0);
}
int main(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
C
    for my $case (["$late $tmp/libring_$library.so 5", 'MPI_Send', 5], [$early, 'MPI_Barrier', 1]) {
        my ($command, $call, $n) = @$case;
        my $dir = new_dir();
        my ($got, $out, $err) = run_command(mpirun($library, 2, $command, LD_PRELOAD => $loader, PRECEDENT_TRACE_DIR => $dir));
        is("$got$err", '0', "$library: " . ($command eq $early ? 'MPI_Init in a constructor' : 'MPI that is loaded late') . ' runs');
        is(scalar(grep { /^$call\(/ } events((glob "$dir/*.ptrace")[0] // 'none', 1)), $n, "$library: and is traced");
    }
}

# ---- MPI that is reached by dlopen and dlsym on the handle, as Julia, Python's ctypes and Rust do ----
for my $library (@here) {
    my ($so, $world) = $library eq 'openmpi' ? ('libmpi.so.40', 'dlsym(h, "ompi_mpi_comm_world")') : ('libmpich.so.12', '(void *)0x44000000');
    my $handle = compile("handle_$library", <<"C", '-ldl');
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void *h = dlopen("$so", RTLD_NOW | RTLD_LOCAL), *world = $world;
	int (*init)(void *, void *) = dlsym(h, "MPI_Init"), (*barrier)(void *) = dlsym(h, "MPI_Barrier");
	int (*finalize)(void) = dlsym(h, "MPI_Finalize");
	int none = !dlsym(h, "MPI_None") && dlerror() && !dlerror();

	init(NULL, NULL);
	for (int i = 0; i < 5; i++)
		barrier(world);
	printf("%d\\n", none);
	return finalize();
}
C
    my $dir = new_dir();
    is(result(mpirun($library, 2, $handle, LD_PRELOAD => $loader, PRECEDENT_TRACE_DIR => $dir)), "0|1\n1\n|",
       "$library: MPI by dlsym on its handle runs");
    is(scalar(grep { /^MPI_Barrier/ } events((glob "$dir/*.ptrace")[0] // 'none', 1)), 5, "$library: and is traced");
}

# ---- a tool that is preloaded behind it still sees the calls; two loaders are one ----
for my $library (@here) {
    my $tool = compile("tool_$library.so", <<'C', '-shared -fPIC', "mpicc.$library");
#include <mpi.h>
#include <unistd.h>
int MPI_Barrier(MPI_Comm c)
{
	write(1, "tool\n", 5);
	return PMPI_Barrier(c);
}
C
    my $dir = new_dir();
    my $second = new_dir();
    copy($_, $second) or die $! for $loader, "$build/libprecedent_trace_$library.so";
    my $barrier = compile("barrier_$library", "#include <mpi.h>\nint main(void)\n{\n\tMPI_Init(0, 0);\n" .
        "\tMPI_Barrier(MPI_COMM_WORLD);\n\treturn MPI_Finalize();\n}\n", '', "mpicc.$library");
    is(result(mpirun($library, 1, $barrier, LD_PRELOAD => "$loader:$tool:$second/libprecedent_trace.so",
                     PRECEDENT_TRACE_DIR => $dir)), "0|tool\n|", "$library: another tool behind it sees the call");
    is_deeply([map { [events("$dir/$_", 0)] } entries($dir)], [['MPI_Init()', 'MPI_Barrier(comm=0)', 'MPI_Finalize()']],
              "$library: which is recorded once, though there are two loaders");
}

# ---- containers: the library is not there inside ----
{
    my $bin = new_dir();
    my ($env) = grep { -x } '/usr/bin/env', '/bin/env';
    for my $name (qw(apptainer ch-run podman)) {
        copy($env, "$bin/$name") or die $!;
        chmod 0755, "$bin/$name";
        my $show = "/bin/sh -c 'echo \$LD_PRELOAD'";
        is(result("env LD_PRELOAD=$loader $bin/$name $show"), "0|\n|", "$name starts programs without the loader");
        is(result("env LD_PRELOAD=/nowhere/x.so:$loader $bin/$name $show") =~ s/\|ERROR.*//sr, "0|/nowhere/x.so\n",
           "$name: with what else was preloaded");
    }
    is(result("env LD_PRELOAD=$loader $env sh -c 'echo \$LD_PRELOAD'"), "0|$loader\n|", 'other programs hand it on');
}

# ---- doctor ----
{
    my ($rc, $out) = run_command("$precedent doctor");
    like($out, qr/^ok +tracer +for Open MPI: \S+_openmpi\.so$/m, 'doctor names the tracer of Open MPI') if -e "$build/libprecedent_trace_openmpi.so";
    like($out, qr/^ok +tracer +for MPICH and its descendants: \S+_mpich\.so$/m, 'and that of MPICH') if -e "$build/libprecedent_trace_mpich.so";
    like($out, qr/^ok +mpicc +\S+, for (Open MPI|MPICH)/m, 'and the library of the default mpicc');
    my $alone = new_dir();
    copy($loader, "$alone/libprecedent_trace.so") or die $!;
    copy($precedent, "$alone/precedent") or die $!;
    chmod 0755, "$alone/precedent";
    local $ENV{PRECEDENT_LIBDIR} = $alone;
    ($rc, $out) = run_command("$alone/precedent doctor");
    like($out, qr/^FAIL +tracer +no MPI library has a tracer beside \S+: nothing is traced: build /m, 'a loader without tracers is a fault');
    is($rc, 1, 'that doctor fails for');
}

done_testing;
