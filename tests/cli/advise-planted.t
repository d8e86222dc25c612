# SPDX-License-Identifier: GPL-2.0-or-later
# precedent advise finds what was planted: programs with one problem of each kind, whose size they measure themselves. Which
# one, that it is the greatest, and where; what they lose is only compared with what advise says of the same run.
use strict;
use warnings;
use File::Temp 'tempdir';
use FindBin;
use Test::More;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../bench/lib";
use Cli;
use Planted qw(planted_forms planted_run planted_judge planted_lost planted_culprits planted_gain);

use constant TOLERANCE => 0.25; # between a program's clock and its call a busy machine may hold it up
use constant RUNS => 15;        # until one is not held up: what is wrong with the rules is so in all of them

my $dir = tempdir(CLEANUP => 1);
my %with = (build => Testbed::build_dir(), dir => $dir, rules => Testbed::top() . '/conf/problems.rules', ms => 20, reps => 6);

my ($waits, $lost) = planted_lost("planted 0 0 v:1000000000 v:5000000000\nplanted 1 0 c:1500000000 c:4000000000\n"
    . "planted 2 0 v:1250000000 -:0\nplanted 3 1 v:1000000000 -:0\nnoise\nplanted 4 1 c:3000000000 -:0\nplanted 5 1 c:2000000000 -:0\n");
is($waits, 4, 'waits are counted');
is(sprintf('%.3f', $lost), '2.750', 'each until the last one of the group has come');

is(join(' ', planted_culprits("planted 0 0 v:1 c:2\nplanted 1 0 v:1 v:2\nplanted 2 0 c:1 -:0\n")), '0 2', 'who keeps others waiting');

# One form of each kind that the ten problems of the first paper have, blocking ones and others.
my %where = ('late-send:blocking' => 'MPI_Recv', 'late-send:persistent' => undef, 'late-receive:nonblocking' => undef,
    'late-receive:large' => 'MPI_Send', 'barrier:blocking' => 'MPI_Barrier', 'many-to-one:gatherv' => 'MPI_Gatherv',
    'one-to-many:ibcast' => 'MPI_Ibcast', 'many-to-many:alltoall' => 'MPI_Alltoall', 'window:create' => 'MPI_Win_create',
    'lock:exclusive' => 'MPI_Win_lock', 'exposure-start:star' => undef, 'exposure-end:pair' => undef, 'late-send:probe' => undef, 'late-send:iprobe' => undef,
    'late-send:testsome' => undef);
my %charged = map { $_ => 1 } 'late-send:blocking', 'late-send:probe', 'late-send:iprobe', 'late-send:testsome', 'late-receive:large', 'many-to-one:gatherv',
    'lock:exclusive', 'f08 lock:exclusive', 'exposure-start:star', 'exposure-end:pair'; # to some ranks, not to all
my @forms = grep { exists $where{"$_->{kind}:$_->{form}"} } planted_forms(program('planted'));
is(@forms, keys %where, 'the program has these forms');

push @forms, map { my $f = $_; grep { $f eq "$_->{kind}:$_->{form}" } planted_forms(program('planted_f08')) } 'late-send:nonblocking', 'lock:exclusive';

# Messages that stand still, which is a wait beyond the ten.
my @progress = grep { $_->{kind} eq 'progress' } planted_forms(program('planted_more'));
is(@progress, 4, 'forms of missing progress');
push @progress, grep { "$_->{kind}:$_->{form}" eq 'late-receive:waitall' } planted_forms(program('planted_more'));
$charged{"$_->{kind}:$_->{form}"} = 1 for @progress;
push @forms, @progress;

# The first of some runs that is good, or the last of them.
sub run_until {
    my ($good, $make) = @_;
    my $run;
    for (1 .. RUNS) {
        $run = $make->();
        last if $good->($run);
        note 'held up, or wrong: once more';
    }
    return $run;
}

# The same without the problem: what is found then is less, but for what the machine, by the program's clock, really made it lose.
sub is_clean {
    my ($form, $run) = @_;
    my $beyond = sub { $_[0]{found_s} - $_[0]{lost_s} };
    my $clean = run_until(sub { $beyond->($_[0]) < $run->{found_s} / 2 },
        sub { planted_judge(planted_run($form, %with, ranks => 4, clean => 1), TOLERANCE, 1) });
    cmp_ok($beyond->($clean), '<', $run->{found_s} / 2, 'and not where it was not planted') or diag "lost $clean->{lost_s} s, found $clean->{found_s} s";
    return;
}

# The waits that advise finds, the greatest first; not why ranks wait.
sub waits {
    my ($run) = @_;
    return grep { ($_->{kind} // 'wait') eq 'wait' } @{$run->{advice}{problems}};
}

for my $form (@forms) {
    my $fortran = $form->{program} =~ /f08$/;
    my $name = ($fortran ? 'f08 ' : '') . "$form->{kind}:$form->{form}";
    subtest $name => sub {
        my $run = run_until(sub {
            my ($first) = waits($_[0]);
            return $first && $first->{name} eq $_[0]{problem} && abs $_[0]{error} <= TOLERANCE && (!$charged{$name} || abs $_[0]{blamed} - 1 <= TOLERANCE);
        }, sub { planted_judge(planted_run($form, %with, ranks => 4), TOLERANCE, 1) });
        my @all = waits($run);
        cmp_ok($run->{lost_s}, '>', 0, 'it lost time');
        is(@all ? $all[0]{name} : 'nothing', $run->{problem}, 'the greatest loss is the one that was planted');
        cmp_ok(abs $run->{error}, '<=', TOLERANCE, 'the time lost is found') or diag "lost $run->{lost_s} s, found $run->{found_s} s";
        cmp_ok(abs $run->{blamed} - 1, '<=', TOLERANCE, 'it is charged to those who caused it') if $charged{$name};
        my $function = $where{$name};
        ok(!$function || (@all && grep({ ($_->{begun} // $_)->{function} eq $function && $_->{waits} } @{$all[0]{places}})), 'in the call that waits')
            or diag explain $all[0]{places};
        is_clean($form, $run);
    };
}

# Nodes, limits and files, where this user may plant them: that they are found, since how much a busy machine adds is not known.
for my $form (planted_forms(program('planted_place')), grep { $_->{kind} eq 'binding' } planted_forms(program('planted_more'))) {
    subtest "$form->{kind}:$form->{form}" => sub {
        my $run = run_until(sub { $_[0]{found_s} > $_[0]{lost_s} / 2 }, sub { planted_judge(planted_run($form, %with, ranks => 4), 1, 1) });
        cmp_ok($run->{lost_s}, '>', 0, 'it lost time');
        cmp_ok($run->{found_s}, '>', $run->{lost_s} / 2, $run->{problem}) or diag explain $run->{advice}{problems};
        is_clean($form, $run);
    };
}

# What a busy machine adds to a run is no gain: at least half of what was planted is one, and no more than there was.
for my $form (planted_forms(program('planted_gain'))) {
    my $least = ($form->{kind} =~ /^(lock|exposure-.*|late-send|late-receive|scan|one-to-many|many-to-one)$/ ? 1 : 1.5) * $with{ms} * 1e-3 * $with{reps};
    my $gain = run_until(sub { $_[0]{told_s} > $least / 2 && $_[0]{told_s} < $_[0]{span_s} }, sub { planted_gain($form, %with, ranks => 4, told_only => 1) });
    cmp_ok($gain->{told_s}, '>', $least / 2, "gain of $form->{kind}:$form->{form}");
    cmp_ok($gain->{told_s}, '<', $gain->{span_s}, '... is a part of the run');
}

done_testing;
