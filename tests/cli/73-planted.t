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
use Planted qw(planted_forms planted_run planted_judge planted_lost);

use constant TOLERANCE => 0.25; # between a program's clock and its call a busy machine may hold it up

my $dir = tempdir(CLEANUP => 1);
my %with = (build => Testbed::build_dir(), dir => $dir, rules => Testbed::top() . '/conf/problems.rules', ms => 20, reps => 6);

my ($waits, $lost) = planted_lost("planted 0 0 v:1000000000 v:5000000000\nplanted 1 0 c:1500000000 c:4000000000\n"
    . "planted 2 0 v:1250000000 -:0\nplanted 3 1 v:1000000000 -:0\nnoise\nplanted 4 1 c:3000000000 -:0\nplanted 5 1 c:2000000000 -:0\n");
is($waits, 4, 'waits are counted');
is(sprintf('%.3f', $lost), '2.750', 'each until the last one of the group has come');

# One form of each kind that the ten problems of the first paper have, blocking ones and others.
my %where = ('late-send:blocking' => 'MPI_Recv', 'late-send:persistent' => undef, 'late-receive:nonblocking' => undef,
    'late-receive:large' => 'MPI_Send', 'barrier:blocking' => 'MPI_Barrier', 'many-to-one:gatherv' => 'MPI_Gatherv',
    'one-to-many:ibcast' => 'MPI_Ibcast', 'many-to-many:alltoall' => 'MPI_Alltoall', 'window:create' => 'MPI_Win_create',
    'lock:exclusive' => 'MPI_Win_lock', 'exposure-start:star' => undef, 'exposure-end:pair' => undef);
my @forms = grep { exists $where{"$_->{kind}:$_->{form}"} } planted_forms(program('planted'));
is(@forms, keys %where, 'the program has these forms');

push @forms, map { my $f = $_; grep { $f eq "$_->{kind}:$_->{form}" } planted_forms(program('planted_f08')) } 'late-send:nonblocking', 'lock:exclusive';

for my $form (@forms) {
    my $fortran = $form->{program} =~ /f08$/;
    my $name = ($fortran ? 'f08 ' : '') . "$form->{kind}:$form->{form}";
    subtest $name => sub {
        my $run = planted_judge(planted_run($form, %with, ranks => 4), TOLERANCE, 1);
        my @all = grep { ($_->{kind} // 'wait') eq 'wait' } @{$run->{advice}{problems}}; # not why ranks wait
        cmp_ok($run->{lost_s}, '>', 0, 'it lost time');
        is(@all ? $all[0]{name} : 'nothing', $run->{problem}, 'the greatest loss is the one that was planted');
        cmp_ok(abs $run->{error}, '<=', TOLERANCE, 'the time lost is found') or diag "lost $run->{lost_s} s, found $run->{found_s} s";
        my $function = $where{$name};
        ok(!$function || (@all && grep({ $_->{function} eq $function } @{$all[0]{places}})), 'in the call that waits')
            or diag explain $all[0]{places};
        my $clean = planted_judge(planted_run($form, %with, ranks => 4, clean => 1), TOLERANCE, 1);
        cmp_ok($clean->{found_s}, '<', $run->{found_s} / 2, 'and not where it was not planted');
    };
}

done_testing;
