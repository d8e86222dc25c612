# SPDX-License-Identifier: GPL-2.0-or-later
# The kernels are what they are taken for: a skeleton of phases of known class, traced itself, has about the mixes of the
# program. No times are compared.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use List::Util qw(sum0);
use Test::More;

my $build = abs_path($ENV{PRECEDENT_BUILD} // 'build');
my ($precedent, $programs) = ("$build/precedent", "$build/tests/programs");
plan skip_all => 'no mpirun here' if system('command -v mpirun >/dev/null 2>&1');
my $machine = qx(uname -m);
plan skip_all => 'samples are taken on x86-64 only' unless $machine =~ /x86_64/;

my $tmp = tempdir('precedent-kernels-XXXXXX', TMPDIR => 1, CLEANUP => 1);
$ENV{$_} = 1 for qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMP_NUM_THREADS);
delete $ENV{$_} for grep { /^(PRECEDENT_TRACE|PMIX_|OMPI_COMM_WORLD|SLURM_)/ } keys %ENV;
my $mpirun = 'mpirun --oversubscribe --bind-to none -n 1';
my @class = qw(integer integer_chain branch scalar scalar_short scalar_chain vector divide libm stream_l2 stream_l3 stream_mem random_l2
               random_l3 random_mem);
my @string = qw(fill_l2 fill_l3 fill_mem copy_l2 copy_l3 copy_mem);

sub run_ok {
    my ($command, $what) = @_;
    is(system("timeout 180 $command >$tmp/out 2>&1 </dev/null"), 0, $what) or diag(qx(tail -5 $tmp/out));
}

# Kernels that lie across two pages: what an emulator looks up at each crossing would be told of the class.
sub across {
    my ($binary) = @_;
    my %kernel = map { ($_->[3] => $_) } grep { @$_ == 4 && $_->[3] =~ /^(?:stencil|triad)_\d+$|^kernel_(?:integer|branch|scalar|divide|libm|chase|stride|fill|copy)/ }
        map { [split] } qx(nm -S $binary);
    cmp_ok(scalar keys %kernel, '>=', 10, 'its kernels are found');
    return grep { hex($kernel{$_}[0]) % 4096 + hex($kernel{$_}[1]) > 4096 } sort keys %kernel;
}

# Mixes of each phase in the order in which they ran.
sub phases {
    my ($trace) = @_;
    my $d = decode_json(scalar qx($precedent info --mix --json $trace));
    my @block = sort { $a->{leaf} <=> $b->{leaf} } grep { $_->{call} eq 'MPI_Allreduce' } @{$d->{blocks}};
    return map { $d->{mixes}[$_->{mix}] } @block;
}

# Shares by class; without the levels where these cannot be told.
sub shares {
    my ($mix, $levels) = @_;
    my %sum;
    $sum{$levels ? $_ : s/_(?:l2|l3|mem)\z//r} += $mix->{shares}{$_} for keys %{$mix->{shares}};
    return \%sum;
}

# Half of the sum of differences: 0 the same mix, 1 nothing in common; and both mixes.
sub distance {
    my ($program, $skeleton) = @_;
    # On a busy machine the skeleton, which goes by the clock, gets less of the processor than the program, which goes by
    # processor time: it may not come round its data, and its samples not tell how much these are.
    my $levels = $skeleton->{samples} >= $program->{samples} / 2;
    my ($told, $found) = map { shares($_, $levels) } $program, $skeleton;
    return (sum0(map { abs($told->{$_} - ($found->{$_} // 0)) } keys %$told) / 2, $told, $found);
}

sub compare {
    my ($name, @names) = @_;
    my $path = "$tmp/$name";
    run_ok("$precedent trace -o $path.program.trace -- $mpirun $programs/mixes 0.25 @names", "$name: phases are traced");
    run_ok("$precedent skeleton $path.program.trace -o $path.skel --seconds 1000", 'whole, as a skeleton');
    run_ok("make -C $path.skel", 'which compiles');
    is(join(' ', across("$path.skel/skel")), '', 'no kernel lies across two pages');

    # On a busy machine a phase may get few samples, or those of a moment: up to three traces, of each phase the one that is nearest.
    my @program = phases("$path.program.trace");
    is(scalar @program, scalar @names, 'a block for each phase');
    my (@apart, @differ);
    for my $try (1 .. 3) {
        run_ok("$precedent trace -o $path.skel.trace$try -- $mpirun $path.skel/skel", 'and is traced itself');
        my @skeleton = phases("$path.skel.trace$try");
        cmp_ok(scalar @skeleton, '>=', scalar @names, 'in the skeleton too');
        for my $i (0 .. $#names) {
            my ($distance, $told, $found) = distance($program[$i], $skeleton[$i]);
            note("$names[$i]: $program[$i]{samples} samples, $skeleton[$i]{samples} in the skeleton");
            next if defined $apart[$i] && $distance >= $apart[$i];
            $apart[$i] = $distance;
            $differ[$i] = [$told, $found];
        }
        last if sum0(@apart) / @apart < 0.25 && !grep { $_ >= 0.5 } @apart;
    }
    cmp_ok($apart[$_], '<', 0.5, "$names[$_] is that in the skeleton") or diag(encode_json($differ[$_])) for 0 .. $#names;
    cmp_ok(sum0(@apart) / @apart, '<', 0.25, 'on the whole they are near') or diag("@apart");
    note(sprintf '%-14s %.2f', $names[$_], $apart[$_]) for 0 .. $#names;
    return;
}

# Two runs: of a longer one fewer samples are kept.
compare('classes', @class);
compare('strings', @string);
done_testing;
