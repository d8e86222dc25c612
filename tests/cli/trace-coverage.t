# SPDX-License-Identifier: GPL-2.0-or-later
# What the tracing rules cover: every function of the MPI library, and the manual's table says so.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $tmp = tempdir('precedent-coverage-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $generate = 'perl spank/tracer/generate --rules';
my $rules = 'conf/trace.rules';

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar(<$f>) // '' }

# Run the generator: (exit code, stdout, stderr).
sub generate {
    my ($file, $args) = @_;
    system("$generate $file $args >$tmp/out 2>$tmp/err");
    return ($? >> 8, slurp("$tmp/out"), slurp("$tmp/err"));
}

# ---- every function has a row ----
for my $mpicc (qw(mpicc mpicc.mpich)) {
    SKIP: {
        skip "no $mpicc here", 2 if system("command -v $mpicc >/dev/null 2>&1");
        my ($rc, $out, $err) = generate($rules, "--missing --mpicc $mpicc");
        is("$rc$err", '0', "$mpicc: its mpi.h is read");
        is($out, '', "$mpicc: every function has a row");
    }
}

# ---- the recorded functions do not depend on the library ----
{
    my @list;
    for my $mpicc (qw(mpicc mpicc.mpich false)) {
        my ($rc) = generate($rules, "--out $tmp/$mpicc --mpicc $mpicc");
        is($rc, 0, "$mpicc: generated");
        push @list, slurp("$tmp/$mpicc/trace/functions.h") . slurp("$tmp/$mpicc/trace/functions.c");
    }
    is($list[0], $list[1], 'the table of functions is the same for both libraries');
    is($list[0], $list[2], 'and without one');
    ok(!-e "$tmp/false/tracer/wrappers.c", 'without a library there are no wrappers');
}

# ---- the manual ----
{
    my ($rc) = generate($rules, "--coverage $tmp/coverage.7");
    is($rc, 0, 'the page of the manual is written');
    is(slurp("$tmp/coverage.7"), slurp('man/precedent-coverage.7'),
       'and is the one in man/ (spank/tracer/generate --rules conf/trace.rules --coverage man/precedent-coverage.7)');
    my %row = map { $_ => 1 } slurp("$tmp/coverage.7") =~ /^(MPI_\w+)\t/mg;
    my %rule = map { $_ => 1 } join('', map { slurp($_) } glob 'conf/trace*.rules') =~ /^(MPI_\w+)/mg;
    delete $rule{MPI_Name};
    is_deeply(\%row, \%rule, 'it has every row of the rules');
    cmp_ok(scalar(keys %row), '>', 440, 'which is all of MPI-3.1');
}

# ---- what the language refuses ----
for my $bad (['MPI_Send COUNTED because', 'MPI_Send: no reason \'because\''],
             ['MPI_Send(buf) NOISE { }', 'MPI_Send: no class NOISE'],
             ['MPI_Send(buf) SEND loud { }', 'MPI_Send: no attribute \'loud\''],
             ['MPI_Send(buf) SEND { tag = TAG(tag) in }', 'MPI_Send: no argument \'tag\''],
             ['MPI_Send(buf) SEND { tag = LABEL(buf) in }', 'MPI_Send: no kind LABEL'],
             ['MPI_Send(buf) SEND { tag = TAG(buf) }', 'MPI_Send: cannot read parameter'],
             ["MPI_Rank COUNTED query\nMPI_Rank COUNTED query", 'MPI_Rank: a second rule'],
             ['MPI_Send', 'cannot read a rule at: MPI_Send'],
             ['include none.rules', "cannot include $tmp/none.rules: "],
             ['include bad.rules', "is included by $tmp/bad.rules, and includes bad.rules: only one may"],
             ['', 'no rules']) {
    my ($text, $why) = @$bad;
    open my $f, '>', "$tmp/bad.rules" or die $!;
    print $f "$text\n";
    close $f;
    my ($rc, $out, $err) = generate("$tmp/bad.rules", "--out $tmp/bad");
    isnt($rc, 0, "'$text' is refused");
    like($err, qr/\A\Q$tmp\E\/bad\.rules: \Q$why\E[^\n]*\n/, 'with the reason');
}

# ---- a library that has more than we know ----
{
    mkdir "$tmp/include";
    open my $f, '>', "$tmp/include/mpi.h" or die $!;
    print $f "int MPI_Send(const void *buf, int count);\nint MPI_Teleport(int where, double *arrival);\n";
    close $f;
    open $f, '>', "$tmp/wrapper" or die $!;
    print $f "#!/bin/sh\n[ \$1 = -show ] && echo gcc -I$tmp/include\n";
    close $f;
    chmod 0755, "$tmp/wrapper";
    my ($rc, $out, $err) = generate($rules, "--missing --mpicc $tmp/wrapper");
    is($out, "MPI_Teleport\n", 'a function without a row is named');
    open $f, '>', "$tmp/few.rules" or die $!;
    print $f "# ---- all ----\nMPI_Send(buf, count) SEND { count = COUNT(count) in }\n";
    close $f;
    ($rc, $out, $err) = generate("$tmp/few.rules", "--out $tmp/few --mpicc $tmp/wrapper");
    is($rc, 0, 'and does not stop the build');
    like($err, qr/no row for MPI_Teleport: passed through\n\z/, 'which says so');
    like(slurp("$tmp/few/tracer/passthrough.S"), qr/STUB MPI_Teleport 0 0\n\tSTUB mpi_teleport_f08_/, 'it is counted');
    like(slurp("$tmp/few/tracer/wrappers.c"), qr/EXPORT void mpi_send_\(void \*buf, MPI_Fint \*count, MPI_Fint \*ierr\)\n\{/,
         'and what has a rule is recorded');
}

done_testing;
