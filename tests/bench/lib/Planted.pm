# SPDX-License-Identifier: GPL-2.0-or-later
#
# Planted: runs programs with a performance problem of known kind and size (tests/programs/planted.c and its like) under the
# tracer, asks `precedent advise`, and compares. What was really lost is what the program itself says, by a clock of its own.
#
#   my @forms = planted_forms($program);                  # {program, kind, form, problem}
#   my $run = planted_run($forms[0], build => DIR, dir => DIR, ranks => 4, ms => 20, reps => 10, clean => 0);
#   planted_judge($run, 0.1, 0.01);                       # adds found, error, blamed, others, ok
#   my $gain = planted_gain($forms[0], build => DIR, ...); # {gained_s, told_s, error}: forms of planted_gain.c
package Planted;
use strict;
use warnings;
use Exporter 'import';
use JSON::PP qw(decode_json);

our @EXPORT_OK = qw(planted_forms planted_run planted_judge planted_lost planted_culprits planted_gain);

# What is true of a planted problem besides its name: no mistake when it is reported with it. Where one rank is late, and
# does something else meanwhile, ranks compute unequally; on a machine with fewer processors than ranks they wait for
# them, and MPI_Init is slow on a busy one.
my @UNEQUAL = ('computation is unequal over ranks', 'computation moves between ranks');
my %SAME = (
    (map { ("late-receive:$_" => ['large messages wait for a handshake']) } qw(large waitall)),
    rendezvous => ['late receive'],
    (map { ("late-send:$_" => ['polling']) } qw(test testsome iprobe)),
    polling => ['late send'],
    'wrong-order' => ['late send'],
    wavefront => ['late send'],
    'small-messages' => ['late send', 'late receive'], # each is waited for
    imbalance => ['delay before barrier'],
    node => ['delay before barrier'],
    io => ['delay before barrier'],
    processors => ['delay before barrier'],
    binding => ['delay before barrier'],
    throttled => ['delay before barrier'],
);
my @MACHINE = ('ranks do not get their processors', 'ranks are bound to the same processors', 'more ranks than processors', 'time in MPI_Init');

@ENV{qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM)} = (1, 1);

sub output_of {
    my (@cmd) = @_;
    open my $p, '-|', @cmd or die "$cmd[0]: $!\n";
    my $out = do { local $/; <$p> } // '';
    close $p or die "@cmd failed\n$out";
    return $out;
}

sub planted_forms {
    my ($program) = @_;
    return map { my ($kind, $form, $problem) = split /\t/; {program => $program, kind => $kind, form => $form, problem => $problem} }
        split /\n/, output_of($program, '--list');
}

# Of the lines `planted RANK GROUP ROLE:NS...`: (waits, seconds lost in them), each of a rank that waits, until the last one
# of its group that it waits for has come.
sub planted_lost {
    my ($text) = @_;
    my (%last, @waits, $lost, $waits);
    for ($text =~ /^planted (.*)$/mg) {
        my ($rank, $group, @step) = split ' ';
        for my $i (0 .. $#step) {
            my ($role, $ns, $end) = split /[:-]/, $step[$i] =~ s/^-:/n:/r;
            $lost += $end - $ns, $waits++ if $role eq 'w' && $end > $ns;
            push @waits, [$group, $i, $ns] if $role eq 'v';
            $last{$group}[$i] = $ns if $role eq 'c' && $ns > ($last{$group}[$i] // 0);
        }
    }
    $lost += ($last{$_->[0]}[$_->[1]] // 0) > $_->[2] ? $last{$_->[0]}[$_->[1]] - $_->[2] : 0 for @waits;
    return (@waits + ($waits // 0), ($lost // 0) * 1e-9);
}

# Ranks that keep others waiting, of the same lines.
sub planted_culprits {
    my ($text) = @_;
    return map { /^(\d+) .* c:/ ? $1 : () } $text =~ /^planted (.*)$/mg;
}

# What was charged to what these ranks did before their own calls of the problem; where they compute while a message is under
# way, before those that complete it.
sub blamed_s {
    my ($problem, @culprits) = @_;
    my %is = map { $_ => 1 } @culprits;
    my $sum = 0;
    for my $c (@{$problem->{causes}}) {
        next if $c->{doing} ne 'computation before';
        my @at = grep { my $own = $_->{begun} // $_; $own->{function} eq $c->{function} && $own->{site} eq $c->{site} } @{$problem->{places}};
        my %there = map { $_ => 1 } $problem->{id} eq 'missing-progress' ? @culprits : map { @{$_->{ranks}} } @at;
        $sum += $c->{seconds_by_rank}{$_} for grep { $is{$_} && $there{$_} } keys %{$c->{seconds_by_rank}};
    }
    return $sum;
}

sub advice_of {
    my ($trace, %o) = @_;
    return decode_json(output_of('timeout', 120, "$o{build}/precedent", 'advise', $trace, '--json', '--rules', $o{rules}));
}

# One run: {waits, asked_s, lost_s, advice => what advise --json says}, and what the form has.
sub planted_run {
    my ($form, %o) = @_;
    my $trace = "$o{dir}/planted.ptrace";
    my @program = ($form->{program}, "$form->{kind}:$form->{form}", '--ms', $o{ms}, '--reps', $o{reps}, $o{clean} ? '--clean' : (),
        $o{busy} ? '--busy' : ());
    unlink $trace;
    my $out = output_of('timeout', 120, "$o{build}/precedent", 'trace', '-q', '-o', $trace, '--', 'mpirun', '--oversubscribe',
        '-n', $o{ranks}, @program);
    my ($waits, $lost) = planted_lost($out);
    my $advice = advice_of($trace, %o);
    return {%$form, clean => $o{clean} ? 1 : 0, waits => $waits, asked_s => $waits * $o{ms} * 1e-3, lost_s => $lost, advice => $advice,
        culprits => [planted_culprits($out)]};
}

# How much shorter the run is when the advice is followed, gained_s, and how much advise says of the run as it is, told_s. With
# told_only the advice is not followed.
sub planted_gain {
    my ($form, %o) = @_;
    my $trace = "$o{dir}/gain.ptrace";
    my %span;
    unlink $trace;
    for my $fixed ($o{told_only} ? 0 : (0, 1)) {
        my @mpirun = ('mpirun', '--oversubscribe', '-n', $o{ranks}, $form->{program}, "$form->{kind}:$form->{form}", '--ms', $o{ms}, '--reps', $o{reps});
        my $out = output_of('timeout', 120, $fixed ? (@mpirun, '--fixed') : ("$o{build}/precedent", 'trace', '-q', '-o', $trace, '--', @mpirun));
        my ($begin, $end);
        for ($out =~ /^span \d+ (\d+ \d+)$/mg) {
            my ($from, $to) = split ' ';
            $begin = $from if !defined $begin || $from < $begin;
            $end = $to if !defined $end || $to > $end;
        }
        die "$form->{kind}:$form->{form} says no span\n" if !defined $end;
        $span{$fixed} = ($end - $begin) * 1e-9;
    }
    my ($it) = grep { $_->{name} eq $form->{problem} } @{advice_of($trace, %o)->{problems}};
    my ($gained, $told) = ($span{0} - ($span{1} // $span{0}), $it ? $it->{gain_seconds} // 0 : 0);
    return {%$form, span_s => $span{0}, gained_s => $gained, told_s => $told, error => $gained ? $told / $gained - 1 : -1};
}

# found_s: what advise says of the planted problem; error: relative to what was lost; blamed: of waits for a known rank, what
# part of the loss is charged to what that rank did before its call; others: problems above the share
# `noise` that were not planted; ok: as it should be. In a clean run every problem above `noise` is another one.
sub planted_judge {
    my ($run, $tolerance, $noise) = @_;
    my @all = @{$run->{advice}{problems}};
    my ($it) = grep { $_->{name} eq $run->{problem} } @all;
    my %same = map { $_ => 1 } @MACHINE, $run->{clean} ? () : (@UNEQUAL, map { @{$SAME{$_} // []} } $run->{kind}, "$run->{kind}:$run->{form}");
    $run->{found_s} = $it ? $it->{seconds} : 0;
    $run->{share} = $it ? $it->{share} : 0;
    $run->{error} = $run->{clean} || !$run->{lost_s} ? 0 : $run->{found_s} / $run->{lost_s} - 1;
    $run->{others} = [grep { $_->{share} > $noise && ($run->{clean} || $_->{name} ne $run->{problem}) && !$same{$_->{name}} } @all];
    $run->{found} = $run->{clean} || ($it && abs $run->{error} <= $tolerance) ? 1 : 0;
    my $has_culprits = $it && ($it->{kind} // 'wait') eq 'wait' && @{$run->{culprits}} && $run->{lost_s};
    $run->{blamed} = blamed_s($it, @{$run->{culprits}}) / $run->{lost_s} if $has_culprits && !$run->{clean};
    $run->{ok} = $run->{found} && !@{$run->{others}} && (!defined $run->{blamed} || abs($run->{blamed} - 1) <= $tolerance) ? 1 : 0;
    return $run;
}

1;
