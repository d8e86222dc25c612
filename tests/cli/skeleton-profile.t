# SPDX-License-Identifier: GPL-2.0-or-later
# What computation consists of, from samples: phases of known class are told apart, programs notice nothing, and without
# samples all is as before.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $build = abs_path($ENV{PRECEDENT_BUILD} // 'build');
my ($precedent, $programs) = ("$build/precedent", "$build/tests/programs");
plan skip_all => 'no mpirun here' if system('command -v mpirun >/dev/null 2>&1');
my $machine = qx(uname -m);
plan skip_all => 'samples are taken on x86-64 only' unless $machine =~ /x86_64/;

my $tmp = tempdir('precedent-mix-XXXXXX', TMPDIR => 1, CLEANUP => 1);
$ENV{$_} = 1 for qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS);
delete $ENV{$_} for grep { /^(PRECEDENT_TRACE|PMIX_|OMPI_COMM_WORLD|SLURM_)/ } keys %ENV;
my $mpirun = 'mpirun --oversubscribe --bind-to none -n 1';

sub slurp { open my $f, '<', $_[0] or return ''; local $/; return scalar(<$f>) // '' }

sub run_command {
    my ($command) = @_;
    system("timeout 300 $command >$tmp/out 2>$tmp/err </dev/null");
    return ($? >> 8, slurp("$tmp/out"), slurp("$tmp/err"));
}

sub trace {
    my ($name, $program, %env) = @_;
    local @ENV{keys %env} = values %env;
    return run_command("$precedent trace -o $tmp/$name -- $mpirun $programs/$program");
}

sub mix {
    my ($name) = @_;
    my ($rc, $out, $err) = run_command("$precedent info --mix --json $tmp/$name");
    is("$rc$err", 0, "$name: info --mix --json");
    return $rc ? {mixes => [], blocks => []} : decode_json($out);
}

# The phases of `mixes`, in the order in which they ran.
sub phases {
    my ($d) = @_;
    return map { $d->{mixes}[$_->{mix}] } sort { $a->{leaf} <=> $b->{leaf} } grep { $_->{call} eq 'MPI_Allreduce' } @{$d->{blocks}};
}

my @class = qw(integer integer_chain branch scalar scalar_short scalar_chain vector divide libm stream_l2 stream_l3 stream_mem random_l2
               random_l3 random_mem stride_mem);
my @string = qw(fill_l2 fill_l3 fill_mem copy_l2 copy_l3 copy_mem);

# The class that most of a phase is of. What streams out of a cache computes meanwhile, as long as it streams or longer: then it is the class that
# most of the rest is of, if that is more than a little.
sub class_of {
    my ($share) = $_[0]{shares};
    my ($first, @other) = sort { $share->{$b} <=> $share->{$a} } keys %$share;
    return $first if $first ne 'vector';
    my ($stream) = grep { !/^(vector|integer|scalar)$/ } @other;
    return $stream =~ /^stream_l[23]$/ && $share->{$stream} > 0.05 ? $stream : $first;
}

# Each phase is mostly of the class of its name. Where others compute as well there are few samples of each, and one that is
# taken for another is traced again by itself, longer.
sub are_found {
    my ($phase, @names) = @_;
    for my $i (0 .. $#names) {
        my ($class, $p) = ($names[$i], $phase->[$i]);
        for my $seconds (1, 2, 4) {
            last if class_of($p) eq $class;
            diag("$class: traced again");
            trace('again.trace', "mixes $seconds $class");
            ($p) = phases(mix('again.trace'));
        }
        is(class_of($p), $class, "$class is found") or diag(encode_json($p));
    }
    return;
}

# ---- classes ----
{
    my ($rc, $out) = trace('phases.trace', "mixes 0.25 @class sleep threads");
    is($rc, 0, 'a program of phases is traced');
    is_deeply([split ' ', $out], [@class, 'sleep', 'threads'], 'and runs them all');
    my $d = mix('phases.trace');
    like($d->{source}, qr/^(samples|counters)$/, 'its mix was learnt');
    my @phase = phases($d);
    is(scalar @phase, @class + 2, 'a block for each phase');
    are_found(\@phase, @class);
    cmp_ok($phase[@class]{off_cpu}, '>', 0.5, 'who sleeps is asleep');
    cmp_ok($phase[0]{off_cpu}, '<', 0.5, 'who computes is not');
    # where others compute as well two threads get little more than a processor, or less; one is exactly 1, see below
    cmp_ok($phase[@class + 1]{threads}, '>', 1, 'two threads are more than one');
    is($phase[$_]{threads}, 1, "one is one: $class[$_]") or diag(encode_json($phase[$_])) for 0 .. $#class;
    for my $m (@{$d->{mixes}}) {
        my $sum = 0;
        $sum += $_ for values %{$m->{shares}};
        ok(abs($sum - 1) < 1e-6, 'shares add up') or diag(encode_json($m));
    }
    ($rc, $out) = run_command("$precedent info --mix $tmp/phases.trace");
    is($rc, 0, 'info --mix');
    like($out, qr/MPI_Allreduce .*mixes\.c:\d+.*\n\s+\S.*\d %/, 'names blocks by the call that ends them');
    ($rc, $out) = run_command("$precedent info --check $tmp/phases.trace");
    is($rc, 0, 'the page of samples is sound');
}

# ---- the C library's fills and copies, by themselves: of a longer run fewer samples are kept ----
{
    my ($rc, $out) = trace('strings.trace', "mixes 0.25 @string");
    is_deeply([$rc, split ' ', $out], [0, @string], 'fills and copies of long pieces are traced');
    my @phase = phases(mix('strings.trace'));
    is(scalar @phase, scalar @string, 'a block for each');
    are_found(\@phase, @string);
}

# ---- branches: half of the data goes either way, at random. (Of a loop that skips a long piece samples do not tell it.) ----
for my $way (qw(forks counts)) {
    my ($rc) = trace('random.trace', "guesses $way 0.5 8");
    is($rc, 0, "a loop that $way is traced");
    my ($phase) = phases(mix('random.trace'));
    cmp_ok($phase->{shares}{branch}, '>', 0.2, 'much of its time goes to mispredicted branches');
}

# ---- without ----
{
    my ($rc) = trace('without.trace', 'mixes 0.05 integer', PRECEDENT_TRACE_SAMPLE => 0);
    is($rc, 0, 'PRECEDENT_TRACE_SAMPLE=0');
    my $d = mix('without.trace');
    is($d->{source}, 'default', 'takes no samples');
    is($d->{mixes}[0]{doubt}, 1, 'so that nothing is known');
    my ($code, $out) = run_command("$precedent info --mix $tmp/without.trace");
    like($out, qr/nothing was sampled \(PRECEDENT_TRACE_SAMPLE is 0\)/, 'which is said, with the reason');
    ($code, $out) = run_command("$precedent skeleton $tmp/without.trace -o $tmp/without");
    like($out, qr/default mix of kernels, as nothing was sampled: PRECEDENT_TRACE_SAMPLE is 0$/m, 'and of the skeleton, too');
}

# ---- what a program notices ----
{
    my ($plain_rc, $plain) = run_command("$mpirun $programs/naps");
    like($plain, qr/^early 0 failed 0 /, 'naps and polls last as long as they should');
    my ($rc, $out) = trace('naps.trace', 'naps');
    is("$rc $out", "$plain_rc $plain", 'sampled too: no call ends early, no descriptor stays open');
    my $d = mix('naps.trace');
    like($d->{source}, qr/^(samples|counters)$/, 'and samples were taken');
}

done_testing();
