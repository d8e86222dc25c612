#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# Whether `precedent advise` tells the truth: programs with one performance problem of every kind and form and of known size,
# and the same without it. The planted problem is to be found with its duration within 10 %, and nothing else above 1 % of
# the time; clean programs are to have nothing above 1 %. The time lost in a wait for known ranks is to be charged, within
# 10 %, to what these did before their own calls. And the gain that advise estimates by replaying the run is to be what
# following its advice gains, within 10 %: both programs are run (tests/programs/planted_gain.c).
#
#   planted.pl [KIND[:FORM]...] [--ranks 4] [--ms 20] [--reps 12] [--runs 1] [--no-clean] [--no-gains] [--busy] [--rules FILE] [--program FILE] [--json]
#   planted.pl --gains [KIND[:FORM]...] [--runs 5] [--write doc/evaluation/advice.md]      gains alone; the table into the page
#
# Exit 1 when something is not as it should be. Wants an idle machine: a rank that does not get its processor is late, too.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(top build median);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;
use Planted qw(planted_forms planted_run planted_judge planted_gain);

use constant {TOLERANCE => 0.10, NOISE => 0.01, LONGER => 5}; # LONGER: work in the programs of gains, of two runs that are compared

my %opt = (ranks => 4, ms => 20, reps => 12, runs => 1, clean => 1, gains => 1, rules => top() . '/conf/problems.rules');
GetOptions(\%opt, 'ranks=i', 'ms=f', 'reps=i', 'runs=i', 'clean!', 'gains!' => sub { $opt{gains} = $_[1] ? 2 : 0 }, 'write=s', 'busy', 'json', 'rules=s', 'program=s')
    or die "usage: planted.pl [KIND[:FORM]...] [--ranks N] [--ms DELAY] [--reps N] [--runs N] [--no-clean] [--no-gains | --gains [--write FILE]] [--busy] [--rules FILE] [--program FILE] [--json]\n";
my $only_gains = $opt{gains} == 2;
die "planted.pl: --write wants --gains\n" if defined $opt{write} && !$only_gains;
my $dir = tempdir(CLEANUP => 1);
die "planted.pl: --ranks $opt{ranks}: some forms take three ranks at least\n" if $opt{ranks} < 3;
my %with = (build => build(), dir => $dir, map { $_ => $opt{$_} } qw(ranks ms reps busy rules));
my @forms = map { planted_forms($_) } grep { -x && !$only_gains } glob($opt{program} // build() . '/tests/programs/planted{,_more,_place,_f08,_mpi}');
my @gain_forms = $opt{gains} && !$opt{program} ? planted_forms(build() . '/tests/programs/planted_gain') : ();
for my $list (\@forms, \@gain_forms) {
    @$list = grep { my $f = $_; grep { $_ eq $f->{kind} || $_ eq "$f->{kind}:$f->{form}" } @ARGV } @$list if @ARGV;
}
die "no such kind of problem\n" if !@forms && !@gain_forms;

sub milliseconds { return sprintf '%8.1f', 1e3 * $_[0] }

sub name_of {
    my ($run) = @_;
    my ($language) = $run->{program} =~ /_(f08|mpi)$/;
    return "$run->{kind}:$run->{form}" . ($language ? " ($language)" : '');
}

sub print_run {
    my ($run) = @_;
    my $line = $run->{clean} ? ' ' x 35 : join(' ', map { milliseconds($run->{$_}) } qw(asked_s lost_s found_s)) . sprintf ' %+7.1f', 100 * $run->{error};
    $line .= defined $run->{blamed} ? sprintf ' %7.1f', 100 * $run->{blamed} : ' ' x 8;
    printf "%-32s %-31s %-43s  %s%s\n", name_of($run), $run->{clean} ? '(clean)' : $run->{problem}, $line,
        $run->{ok} ? 'ok' : $run->{found} ? '' : 'MISSED ', join ', ', map { sprintf '%s %.1f %%', $_->{name}, 100 * $_->{share} } @{$run->{others}};
    return;
}

printf "%-32s %-31s %8s %8s %8s %7s %7s\n%-32s %-31s %8s %8s %8s %7s %7s\n", '', '', 'asked', 'lost', 'found', 'error', 'charged', '', '', ('ms') x 3, '%', '%'
    if !$opt{json} && @forms;
my @runs;
$| = 1;
for my $form (@forms) {
    for my $clean (0, $opt{clean} ? 1 : ()) {
        for (1 .. $opt{runs}) {
            push @runs, planted_judge(planted_run($form, %with, clean => $clean), TOLERANCE, NOISE);
            print_run($runs[-1]) if !$opt{json};
        }
    }
}

# In turn each rank is late, all as often.
my @gains;
printf "\n%-32s %-31s %8s %8s %8s %7s\n", 'gain', '', 'run', 'gained', 'told', 'error' if @gain_forms && !$opt{json};
for my $form (map { ($_) x $opt{runs} } @gain_forms) {
    push @gains, my $gain = planted_gain($form, %with, ms => LONGER * $opt{ms}, reps => 2 * $opt{ranks});
    printf "%-32s %-31s %s %+7.1f%s\n", "$form->{kind}:$form->{form}", $form->{problem}, join(' ', map { milliseconds($_) } @$gain{qw(span_s gained_s told_s)}),
        100 * $gain->{error}, abs $gain->{error} <= TOLERANCE ? '  ok' : '' if !$opt{json};
}
my @charged = grep { defined $_->{blamed} } @runs;
my @planted = grep { !$_->{clean} } @runs;
my $found = grep { $_->{found} } @planted;
my $wrong = 0;
$wrong += @{$_->{others}} for @runs;
my %sum = (planted => scalar @planted, found => $found, wrong => $wrong, clean => @runs - @planted,
    charged => scalar @charged,
    charged_right => scalar(grep { abs($_->{blamed} - 1) <= TOLERANCE } @charged),
    gains => scalar @gains, gains_right => scalar(grep { abs $_->{error} <= TOLERANCE } @gains), recall => @planted ? $found / @planted : 1, precision => $found + $wrong ? $found / ($found + $wrong) : 1);
if ($opt{json}) {
    $_->{program} =~ s{.*/}{} for @runs;
    delete @$_{qw(advice culprits)} for @runs;
    for my $other (map { @{$_->{others}} } @runs) { $other = {name => $other->{name}, share => $other->{share}} }
    print JSON::PP->new->canonical->pretty->encode({%sum, ranks => $opt{ranks}, delay_ms => $opt{ms}, repetitions => $opt{reps}, runs => \@runs, gain_runs => \@gains});
} else {
    printf "\n%d planted, %d of them found within %g %%: recall %.3f; %d others above %g %% in these and %d clean runs: precision %.3f\n",
        @sum{qw(planted found)}, 100 * TOLERANCE, $sum{recall}, $wrong, 100 * NOISE, $sum{clean}, $sum{precision}
        if @forms;
    printf "%d of %d losses charged to those who caused them within %g %%\n", @sum{qw(charged_right charged)}, 100 * TOLERANCE if @charged;
    printf "%d of %d gains told within %g %%\n", @sum{qw(gains_right gains)}, 100 * TOLERANCE if @gains;
}
# Medians of the runs of a form, for the page.
sub gain_table {
    my %of;
    push @{$of{"$_->{kind}:$_->{form}"}}, $_ for @gains;
    my $table = "| program | problem | run, ms | told, ms | gained, ms | error, % |\n| --- | --- | --- | --- | --- | --- |\n";
    for my $name (map { "$_->{kind}:$_->{form}" } @gain_forms) {
        my @all = @{$of{$name}};
        $table .= sprintf "| %s | %s | %.0f | %.0f | %.0f | %+.1f |\n", $name, $all[0]{problem}, (map { my $key = $_; 1e3 * median(map { $_->{$key} } @all) } qw(span_s told_s gained_s)),
            100 * median(map { $_->{error} } @all);
    }
    open my $l, '<', '/proc/loadavg' or die "/proc/loadavg: $!\n";
    return $table . sprintf "\nMedian of %d run%s. Load average at the end: %s.\n", $opt{runs}, $opt{runs} == 1 ? '' : 's', (split ' ', <$l>)[0];
}

sub write_gains {
    my ($file) = @_;
    open my $f, '<', $file or die "$file: $!\n";
    my $text = do { local $/; <$f> };
    $text =~ s/^<!-- gains -->\n.*?^<!-- end -->$/"<!-- gains -->\n\n" . gain_table() . "\n<!-- end -->"/mse or die "$file has no place for gains\n";
    open $f, '>', $file or die "$file: $!\n";
    print $f $text;
    close $f or die "$file: $!\n";
    return;
}

write_gains($opt{write}) if defined $opt{write};
exit($sum{gains_right} < $sum{gains} || grep({ !$_->{ok} } @runs) ? 1 : 0);
