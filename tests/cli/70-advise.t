# SPDX-License-Identifier: GPL-2.0-or-later
# precedent advise: files of rules are checked, and what is wrong with them is said.
use strict;
use warnings;
use Test::More;
use File::Temp 'tempdir';

my $build = $ENV{PRECEDENT_BUILD} // 'build';
my $dir   = tempdir(CLEANUP => 1);

sub advise
{
    my $out = qx{$build/precedent advise @_ 2>&1};
    return ($? >> 8, $out);
}

sub rules
{
    my ($text) = @_;
    open my $f, '>', "$dir/r.rules" or die;
    print $f $text;
    close $f;
    return "$dir/r.rules";
}

my ($rc, $out) = advise('--check', 'tests/unit/rules/exchange.rules');
is($rc, 0, 'the listing of the second paper is sound');
like($out, qr/sound: 4 rules, 0 of them of problems, and 4 structures/, 'what it has is counted');
($rc, $out) = advise('--check', 'tests/unit/rules/late.rules');
is($rc, 0, 'so is that of the first');
like($out, qr/sound: 3 rules, 2 of them of problems, and 1 structures/, 'problems are counted');

($rc, $out) = advise('--check', rules("# first line\ndefrule \"x\" struct e type function_call\n  where e.before > 1 sek\n"));
is($rc, 1, 'a mistake is an exit code');
is($out, "precedent: $dir/r.rules:3:22: 'sek' found, an operator, 'assert', 'retract' or 'modify' expected\n",
    'file, line, column, what was found and what was expected');
($rc, $out) = advise('--check', "$dir/none");
is($rc, 1, 'a missing file');
like($out, qr/none: No such file/, '... is named');
($rc, $out) = advise('--check', rules("defrule \"x\" struct e type function_call_send_operation where " . ('(' x 100_000)));
is($rc, 1, 'hostile nesting is stopped');
like($out, qr/r\.rules:1:\d+: this expression is nested more than 128 deep/, '... with a place and a reason');

for my $bad ('', '--bogus', '--check', "--check $dir/r.rules more") {
    ($rc, $out) = advise($bad);
    is($rc, 2, "usage: advise $bad");
    like($out, qr/^precedent advise: /, '... in one line');
}
($rc, $out) = advise('--help');
is($rc, 0, '--help');
like($out, qr/^Usage: precedent advise/, '... says how');

done_testing;
