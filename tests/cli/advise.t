# SPDX-License-Identifier: GPL-2.0-or-later
# precedent advise: files of rules are checked, and what is wrong with them is said.
use strict;
use warnings;
use JSON::PP;
use Test::More;
use File::Temp 'tempdir';
use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;

my $dir = tempdir(CLEANUP => 1);
my $top = Testbed::top();

sub advise
{
    my $r = precedent('advise', @_);
    return ($r->{rc}, $r->{out} . $r->{err});
}

sub rules
{
    my ($text) = @_;
    open my $f, '>', "$dir/r.rules" or die;
    print $f $text;
    close $f;
    return "$dir/r.rules";
}

my ($rc, $out) = advise('--check', "$top/tests/unit/rules/exchange.rules");
is($rc, 0, 'the listing of the second paper is sound');
like($out, qr/sound: 4 rules, 0 of them of problems, and 4 structures/, 'what it has is counted');
($rc, $out) = advise('--check', "$top/tests/unit/rules/late.rules");
is($rc, 0, 'so is that of the first');
like($out, qr/sound: 3 rules, 2 of them of problems, and 1 structures/, 'problems are counted');

($rc, $out) = advise('--check', rules("# first line\ndefrule \"x\" struct e type function_call\n  where e.before > 1 sek\n"));
is($rc, 1, 'a mistake is an exit code');
is($out, "precedent: $dir/r.rules:3:22: 'sek' found, an operator, 'assert', 'retract' or 'modify' expected\n",
    'file, line, column, what was found and what was expected');
($rc, $out) = advise('--check', "$dir/none");
is($rc, 1, 'a missing file');
like($out, qr/none: cannot open: No such file/, '... is named');
($rc, $out) = advise('--check', rules("defrule \"x\" struct e type function_call_send_operation where " . ('(' x 100_000)));
is($rc, 1, 'hostile nesting is stopped');
like($out, qr/r\.rules:1:\d+: this expression is nested more than 128 deep/, '... with a place and a reason');

for my $bad ('', '--bogus', '--check', "--check $dir/r.rules more", "--check $dir/r.rules --json", 'a.ptrace b.ptrace --rules r') {
    ($rc, $out) = advise(split ' ', $bad);
    is($rc, 2, "usage: advise $bad");
    like($out, qr/^precedent advise: /, '... in one line');
}
($rc, $out) = advise('--help');
is($rc, 0, '--help');
like($out, qr/^Usage: precedent advise/, '... says how');

($rc, $out) = advise('--check', "$top/conf/problems.rules");
is($rc, 0, 'the rules that are installed are sound') or diag $out;

my $trace = trace_of("$dir/lu.ptrace", 'lu');
($rc, $out) = advise($trace, '--rules', "$top/conf/problems.rules");
is($rc, 0, 'its problems are looked for') or diag $out;
like($out, qr/^[\d,]+ calls of 2 ranks, /, 'what was read');
like($out, qr/^ +\d+\.\d %  late send: .*, [\d,]+ times$/m, 'a problem, its share, how often');
like($out, qr/^ +in MPI_Recv, .*lu\.c:\d+/m, 'the call, and where it is in the source');
like($out, qr/^ +Begin the send as soon as/m, 'what to do');
like($out, qr/^ +in MPI_Recv, .*lu\.c:\d+\), on ranks? [\d -]+:/m, 'on which ranks');
like($out, qr/^ +why: (?:computation before|time in) MPI_\w+, .*lu\.c:\d+\), on ranks? [\d -]+: /m, 'who causes it');
{
    my @rows = map { ($_ // '') =~ s/, on rank.*//r } $out =~ /^ +((?:in|for|completing) MPI_.*)|^(?= *\d+\.\d %)/mg;
    my (%seen, @twice);
    for (@rows) {
        %seen = () if $_ eq '';
        push @twice, $_ if $_ ne '' && $seen{$_}++;
    }
    is_deeply(\@twice, [], 'each place once');
}
unlike($out, qr/ 1 times|shorter by 0\.000 |\(0\.0 %\)/, 'in words that fit the number');
like($out, qr/^ +replayed without it, the run is (?:shorter by |no shorter: )/m, 'what would be gained'); # on a busy machine maybe nothing
{
    # beside no rules of its own it uses those that are installed
    local $ENV{PRECEDENT_LIBDIR} = "$top/conf";
    ($rc, my $again) = advise($trace);
    is("$rc $again", "0 $out", 'without --rules by the installed ones');
}
($rc, my $json) = advise($trace, '--json', '--rules', "$top/conf/problems.rules");
is($rc, 0, '--json') or diag $json;
my $d = decode_json($json);
my ($late) = grep { $_->{name} eq 'late send' } @{$d->{problems}};
ok($late && $late->{share} > 0 && $late->{times} > 0 && @{$late->{places}}, 'has the problem and its places') or diag $json;
cmp_ok(abs($late->{seconds} / $d->{rank_seconds} - $late->{share}), '<', 1e-9, 'a share is of the time of all ranks');
is($d->{ranks}, 2, 'and what was read');
is($late->{id}, 'late-send', 'its id');
is($late->{kind}, 'wait', 'and kind');
ok(!grep({ !@{$_->{ranks}} || grep { $_ < 0 || $_ > 1 } @{$_->{ranks}} } @{$late->{places}}), 'each place has its ranks');
my %does = map { ("$_->{function} " . ($_->{waits} ? 'waits' : 'is waited for') => 1) } @{$late->{places}};
is_deeply([sort keys %does],
    ['MPI_Recv waits', 'MPI_Send is waited for'], 'which of its calls wait');
my $waits = 0;
$waits += $_->{waits} ? $_->{seconds} : 0 for @{$late->{places}};
cmp_ok(abs($waits - $late->{seconds}), '<', 1e-6, '... all of the time, and none of it twice');
my $charged = 0;
$charged += $_->{seconds} for @{$late->{causes}};
cmp_ok($charged, '>', 0.5 * $late->{seconds}, 'most of the wait is charged to somebody');
cmp_ok($charged, '<', 1.01 * $late->{seconds}, '... and not more than there is');
like($late->{causes}[0]{site}, qr/lu\.c:\d+/, 'who is named with a place in the source');
ok(defined $late->{gain_seconds} && $late->{gain_seconds} >= 0 && $late->{gain_seconds} < $d->{seconds}, 'the run without it');
# A wait for what was begun without blocking is told where the program stands, with what began it.
{
    my $sp = trace_of("$dir/sp.ptrace", 'sp');
    my $own = "declare problem for function_call_receive_operation\nwhen not is_blocking\nparameters (name = \"of %s\", "
        . "description = \"\", advice = \"\", duration = wait_finish_time - wait_start_time + 1us);\n";
    (undef, my $json) = advise($sp, '--json', '--rules', rules(sprintf $own, '{@function} {@site} in {wait_function} {wait_site}'));
    my @found = @{decode_json($json)->{problems}};
    cmp_ok(scalar @found, '>', 0, 'rules know the call that completes another one') or diag $json;
    is_deeply([grep { $_->{name} !~ /^of MPI_Irecv (\d+) in MPI_Wait(?:all)? (\d+)$/ || $1 == $2 } @found], [], '... and its place') or diag $json;
    my $events = precedent('info', $sp, '--events', 0)->{out};
    like($events, qr/MPI_Wait\w*\(/, 'calls that complete others');
    unlike($events, qr/a(?:src|tag)s?=\[?-1/, '... name no sources of messages that had no wildcard');
    is_deeply([grep { $_->{function} !~ /^MPI_Wait(?:all)?$/ || $_->{site} !~ /adi\.h:\d+/ || $_->{begun}{function} ne 'MPI_Irecv'
        || $_->{begun}{site} !~ /adi\.h:\d+/ || $_->{begun}{site} eq $_->{site} || !$_->{waits} } map { @{$_->{places}} } @found], [],
        '... which is where it is told') or diag $json;
    ($rc, $out) = advise($sp, '--rules', rules(sprintf $own, 'x'));
    like($out, qr/^ +in MPI_Wait\w*, .*adi\.h:\d+\), completing MPI_Irecv, .*adi\.h:\d+\), on ranks? [\d -]+: /m, '... in words');
}
($rc, $out) = advise("$top/Makefile", '--rules', "$top/conf/problems.rules");
is($rc, 1, 'what is no trace');
like($out, qr/^precedent: \Q$top\E\/Makefile: [^\n]+\n\z/, '... is refused in one line');
($rc, $out) = advise($trace, '--rules', rules("defstruct state a \"\" param n type int;\n"
    . "defrule \"\" struct e type function_call assert a(n = 0);\ndefrule \"\" struct v type a assert a(n = 1);"));
is($rc, 1, 'rules that never end');
like($out, qr/r\.rules:3:1: more than \d+ rules fire for one event/, '... are stopped, and named');

# Both ranks wait for a lock in turn, each at two places of its own. The rank that has the lock is told all the same.
spew("$dir/lock.c", <<'END');
#include <mpi.h>
#include <unistd.h>
static double x;
static void work(int late, MPI_Win win)
{
	MPI_Put(&x, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
	if (!late)
		MPI_Win_flush(0, win), usleep(30000);
}
int main(int argc, char **argv)
{
	double *base;
	MPI_Win win;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	for (int i = 0; i < 10; i++) {
		int late = i % 2 == rank;

		MPI_Barrier(MPI_COMM_WORLD);
		usleep(late ? 10000 : 0);
		if (rank == 0) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
			work(late, win);
			MPI_Win_unlock(0, win);
		} else {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
			work(late, win);
			MPI_Win_unlock(0, win);
		}
	}
	MPI_Win_free(&win);
	return MPI_Finalize();
}
END
my $built = Testbed::run_command('mpicc', '-g', '-o', "$dir/lock", "$dir/lock.c");
is($built->{rc}, 0, "a program with a lock") or diag $built->{err};
is(precedent('trace', '-q', '-o', "$dir/lock.ptrace", '--', 'mpirun', '--oversubscribe', '-n', 2, "$dir/lock")->{rc}, 0, '... is traced');
($rc, $out) = advise("$dir/lock.ptrace");
like($out, qr/^ .* contention for a window lock: (?:(?!\n\n).)*^ +for MPI_Win_\w+, main \(lock\.c:\d+\), on ranks? [01]: /ms, 'the rank that has the lock') or diag $out;

# Every example of the manual page stands for itself: it is sound, and runs.
my @examples = slurp("$top/man/precedent-rules.5") =~ /^\.EX\n(.*?)^\.EE$/msg;
cmp_ok(@examples, '>=', 4, 'the manual page has examples');
for my $i (0 .. $#examples) {
    my $text = $examples[$i] =~ s/\\e/\\/gr;
    my ($first) = $text =~ /\A(.*)/;
    ($rc, $out) = advise('--check', rules($text));
    is($rc, 0, "example $i ($first) is sound") or diag $out;
    ($rc, $out) = advise($trace, '--rules', rules($text));
    is($rc, 0, '... and runs') or diag $out;
    like($out, qr/^ +\d+\.\d %  late send: /m, '... and finds late sends') if $i < 2;
}

done_testing;
