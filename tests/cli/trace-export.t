# SPDX-License-Identifier: GPL-2.0-or-later
# precedent export: OTF2 as otf2-print reads it, Chrome trace events as a JSON parser does, CSV as rows; the numbers are
# those of precedent info.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use JSON::PP;
use Test::More;
use Testbed qw(run_command build_dir);

plan skip_all => 'no mpirun here' if system('command -v mpirun >/dev/null 2>&1');
my $has_otf2_print = !system('command -v otf2-print >/dev/null 2>&1');

sub info { my $r = precedent('info', $_[0], '--json'); return decode_json($r->{out}) }

# Lines of otf2-print: [event, location, time, the rest]; its complaints go to a file.
sub otf2 {
    my ($dir) = @_;
    open my $p, '-|', "otf2-print '$dir/traces.otf2' 2>complaints" or die "otf2-print: $!";
    my @event;
    while (my $line = <$p>) {
        push @event, [$1, $2, $3, $4] if $line =~ /^([A-Z_]+)\s+(\d+)\s+(\d+)\s*(.*)/;
    }
    close $p;
    is($?, 0, 'otf2-print reads the archive');
    is(slurp('complaints'), '', 'and has nothing to complain about');
    return @event;
}

sub sum { my $s = 0; $s += $_ for @_; return $s }

# ---- OTF2 ----

sub check_otf2 {
    my ($name, $trace, $info, $complete) = @_;
    my $r = precedent('export', $trace, '--format', 'otf2', '-o', "$name-otf2");
    is($r->{rc}, 0, "$name: written as OTF2") or diag($r->{err});
    my (%count, %per_rank, %last, %depth, @backwards, @unbalanced);
    my ($sent, $received) = (0, 0);
    my (%between, @strange);
    for my $e (otf2("$name-otf2")) {
        my ($what, $rank, $time, $rest) = @$e;
        $count{$what}++;
        $per_rank{$rank}++ if $what eq 'ENTER';
        push @backwards, "$rank at $time" if $time < ($last{$rank} // 0);
        $last{$rank} = $time;
        if ($what eq 'ENTER') {
            push @unbalanced, $time if $depth{$rank}++;
        } elsif ($what eq 'LEAVE') {
            push @unbalanced, $time if --$depth{$rank};
        }
        my ($length) = $rest =~ /Length: (\d+)/;
        $sent += $length if $what =~ /^MPI_I?SEND$/;
        $received += $length if $what =~ /^MPI_I?RECV$/;
        next if $what !~ /^MPI_I?(SEND|RECV)$/;
        my ($peer, $location) = $rest =~ /^(?:Receiver|Sender): (\d+) \("[^"]*" <(\d+)>\)/;
        push @strange, "$what on $rank: $rest" if !defined $peer || $peer != $location;
        $between{$1}{$1 eq 'SEND' ? "$rank to $location" : "$location to $rank"}++ if defined $location;
    }
    is_deeply(\@strange, [], "$name: the other side is named by its rank in the world");
    is_deeply([map { $per_rank{$_->{rank}} // 0 } @{$info->{per_rank}}], [map { $_->{events} } @{$info->{per_rank}}],
        "$name: one enter per call of each rank");
    is($count{LEAVE}, $count{ENTER}, "$name: and as many leaves");
    is_deeply(\@unbalanced, [], "$name: each before the next enter");
    is_deeply(\@backwards, [], "$name: no location's time goes back");
    my ($sends, $receives) = map { sum(map { $_ // 0 } @count{@$_}) } [qw(MPI_SEND MPI_ISEND)], [qw(MPI_RECV MPI_IRECV)];
    is($count{MPI_ISEND} // 0, $count{MPI_ISEND_COMPLETE} // 0, "$name: nonblocking sends complete");
    is($count{MPI_COLLECTIVE_BEGIN} // 0, $count{MPI_COLLECTIVE_END} // 0, "$name: collectives end");
    return if !$complete;
    is($sends, $info->{messages}, "$name: as many sends as messages");
    is($receives, $sends, "$name: and receives");
    is($sent, $info->{bytes_sent}, "$name: of the same bytes");
    is($received, $sent, "$name: which arrive");
    is_deeply($between{RECV}, $between{SEND}, "$name: where they were sent");
}

# ---- Chrome ----

sub check_chrome {
    my ($name, $trace, $info, $complete) = @_;
    my $r = precedent('export', $trace, '--format', 'chrome', '-o', "$name.json");
    is($r->{rc}, 0, "$name: written for Chrome") or diag($r->{err});
    my $json = eval { decode_json(slurp("$name.json")) };
    ok($json, "$name: is JSON") or return;
    my (%ph, %call, %flow, @bad);
    my $ns = 0.0015; # a message ends a nanosecond before its call does, which may last none; and sums of decimal fractions
    for my $e (@{$json->{traceEvents}}) {
        $ph{$e->{ph}}++;
        push @{$call{$e->{tid}}}, $e if $e->{ph} eq 'X';
        $flow{$e->{id}}{$e->{ph}} = $e if $e->{ph} =~ /^[sf]$/;
    }
    is_deeply([map { scalar @{$call{$_->{rank}} // []} } @{$info->{per_rank}}], [map { $_->{events} } @{$info->{per_rank}}],
        "$name: one complete event per call of each rank");
    is_deeply([sort { $a cmp $b } map { "$_->{args}{name} on $_->{tid}" } grep { $_->{name} eq 'thread_name' }
            @{$json->{traceEvents}}], [sort { $a cmp $b } map { "rank $_ on $_" } 0 .. $info->{ranks} - 1],
        "$name: a thread per rank");
    for my $id (keys %flow) {
        my ($s, $f) = @{$flow{$id}}{qw(s f)};
        push @bad, [$id, $s, $f] and next if !$s || !$f || $f->{ts} < $s->{ts};
        for my $end ($s, $f) {
            push @bad, [$id, $end] if !grep { $_->{ts} <= $end->{ts} + $ns && $end->{ts} <= $_->{ts} + $_->{dur} + $ns } @{$call{$end->{tid}}};
        }
    }
    is_deeply(\@bad, [], "$name: every arrow has two ends, forward in time, each in a call of its rank") or diag(encode_json(\@bad));
    is(scalar keys %flow, $info->{messages}, "$name: an arrow per message") if $complete;
}

# ---- CSV ----

sub rows {
    my ($file) = @_;
    my ($head, @line) = split /\n/, slurp($file);
    my @row;
    for my $line (@line) {
        my @field;
        push @field, defined $1 ? $1 =~ s/""/"/gr : $2 while $line =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g && @field < 8;
        push @row, \@field;
    }
    return ($head, @row);
}

sub check_csv {
    my ($name, $trace, $info) = @_;
    my $r = precedent('export', $trace, '--format', 'csv', '-o', "$name.csv");
    is($r->{rc}, 0, "$name: written as CSV") or diag($r->{err});
    my ($head, @row) = rows("$name.csv");
    is($head, 'rank,event,start_s,duration_s,state,function,site,parameters', "$name: with a head");
    is(scalar @row, $info->{events}, "$name: one row per call");
    my %calls;
    $calls{$_->[5]}++ for @row;
    is_deeply(\%calls, { map { $_->{name} => $_->{calls} } @{$info->{functions}} }, "$name: of the same functions");
    is(scalar(grep { $_->[4] !~ /^(waiting|working|sending|receiving)$/ } @row), 0, "$name: each in one of four states");
    my %next;
    is(scalar(grep { $_->[1] != $next{$_->[0]}++ } map { $next{$_->[0]} //= 0; $_ } @row), 0,
        "$name: numbered from 0 in each rank");
    return @row;
}

# ---- programs ----

my %case = (ring => ['ring 50', 3, 1], heat => ['heat 64 20 5 isend', 4, 1], cg => ['cg 32 10', 4, 1],
            master_worker => ['master_worker 20 10', 3, 1], sizes => ['sizes 10', 3, 1], calls => ['calls', 2, 0]);
my %row;
for my $name (sort keys %case) {
    my ($command, $n, $complete) = @{$case{$name}};
    my ($program, @arguments) = split ' ', $command;
    my $r = precedent('trace', '-q', '-o', "$name.ptrace", '--', 'mpirun', '--oversubscribe', '-n', $n, program($program),
        @arguments);
    is($r->{rc}, 0, "$name runs") or diag($r->{err});
    my $info = info("$name.ptrace");
    check_otf2($name, "$name.ptrace", $info, $complete) if $has_otf2_print;
    check_chrome($name, "$name.ptrace", $info, $complete);
    $row{$name} = [check_csv($name, "$name.ptrace", $info)];
}

# ---- MPI_Isendrecv: two messages, one request ----
# No wildcards: in MPICH 4.0.2 the status of such a request has source 0 and tag 0 whatever was received.

SKIP: {
    spew('both.c', <<'C');
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank, out[3] = {1, 2, 3}, in[5];
	MPI_Request q;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 3; i++) {
		MPI_Isendrecv(out, 3, MPI_INT, 1 - rank, 5, in, 5, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		MPI_Isendrecv_replace(out, 3, MPI_INT, rank ? MPI_PROC_NULL : 1, 6, rank ? 0 : MPI_PROC_NULL, 6, MPI_COMM_WORLD, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
	}
	MPI_Isend(out, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &q);
	MPI_Recv(in, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
C
    skip 'no MPICH with MPI_Isendrecv here', 6 if !$has_otf2_print || system('mpicc.mpich -o both both.c >/dev/null 2>&1');
    my $r = precedent('trace', '-q', '-o', 'both.ptrace', '--', 'mpirun.mpich', '-n', 2, './both');
    is($r->{rc}, 0, 'MPI_Isendrecv runs') or diag($r->{err});
    $r = precedent('export', 'both.ptrace', '--format', 'otf2', '-o', 'both-otf2');
    is($r->{rc}, 0, 'MPI_Isendrecv: written as OTF2') or diag($r->{err});
    my (%n, %wrong);
    for my $e (otf2('both-otf2')) {
        $n{"$e->[0] $e->[1]"}++;
        $wrong{$e->[3]}++ if $e->[0] eq 'MPI_IRECV' && $e->[3] !~ /Sender: @{[1 - $e->[1]]} .*Length: 12,/;
    }
    is_deeply({ map { $_ => $n{$_} } grep { /^MPI_/ } keys %n }, { 'MPI_ISEND 0' => 7, 'MPI_ISEND_COMPLETE 0' => 7, 'MPI_IRECV_REQUEST 0' => 3,
        'MPI_IRECV 0' => 3, 'MPI_RECV 0' => 1, 'MPI_ISEND 1' => 4, 'MPI_ISEND_COMPLETE 1' => 4, 'MPI_IRECV_REQUEST 1' => 6, 'MPI_IRECV 1' => 6,
        'MPI_RECV 1' => 1 }, 'MPI_Isendrecv: both messages of each');
    is_deeply(\%wrong, {}, 'MPI_Isendrecv: from the other rank, with the size that was sent');
}

# ---- one-sided communication ----

# What tests/programs/rma.c does with 3 ranks and 4 steps.
if ($has_otf2_print) {
    my $r = precedent('trace', '-q', '-o', 'rma.ptrace', '--', 'mpirun', '--oversubscribe', '-n', 3, program('rma'), 300, 4);
    is($r->{rc}, 0, 'rma runs') or diag($r->{err});
    $r = precedent('export', 'rma.ptrace', '--format', 'otf2', '-o', 'rma-otf2');
    is($r->{rc}, 0, 'rma: written as OTF2') or diag($r->{err});
    my (%n, %open, %last, @wrong, %lock);
    for my $e (otf2('rma-otf2')) {
        my ($what, $rank, $time, $rest) = @$e;
        $n{$what}{$rank}++;
        push @wrong, "$rank at $time" if $time < ($last{$rank} // 0);
        $last{$rank} = $time;
        my ($id) = $rest =~ /Matching: (\d+)/;
        if ($what =~ /^RMA_(PUT|GET|ATOMIC)$/) {
            push @wrong, $rest if $open{$rank}{$id}++;
        } elsif ($what =~ /^RMA_OP_COMPLETE/) {
            push @wrong, $rest if !delete $open{$rank}{$id};
        } elsif ($what eq 'RMA_REQUEST_LOCK') {
            push @wrong, $rest if $lock{$rank}++ || $rest !~ /Type: SHARED/;
        } elsif ($what eq 'RMA_RELEASE_LOCK') {
            push @wrong, $rest if --$lock{$rank};
        }
    }
    my $of = sub { my $what = $n{$_[0]}; return [map { $what->{$_} // 0 } 0 .. 2] };
    is_deeply(\@wrong, [], 'rma: each operation ends once, locks are given back, no time goes back');
    is_deeply([map { %$_ } values %open], [], 'rma: none is left open');
    is_deeply($of->('RMA_PUT'), [8, 16, 8], 'rma: puts');
    is_deeply($of->('RMA_GET'), [4, 8, 8], 'rma: gets');
    is_deeply($of->('RMA_ATOMIC'), [8, 8, 4], 'rma: accumulates and fetch-and-ops');
    is_deeply($of->('RMA_WIN_CREATE'), [1, 1, 1], 'rma: the window is made');
    is_deeply($of->('RMA_WIN_DESTROY'), [1, 1, 1], 'rma: and freed');
    is_deeply($of->('RMA_COLLECTIVE_END'), [12, 12, 12], 'rma: collectives: the window, and fences');
    is_deeply($of->('RMA_COLLECTIVE_BEGIN'), [12, 12, 12], 'rma: which begin as well');
    is_deeply($of->('RMA_GROUP_SYNC'), [16, 16, 16], 'rma: post, start, complete and wait');
    is_deeply($of->('RMA_REQUEST_LOCK'), [5, 5, 5], 'rma: locks');
    is_deeply($of->('RMA_RELEASE_LOCK'), [5, 5, 5], 'rma: and their ends');
}

# ---- parts of a trace ----
{
    my @all = @{$row{ring}};
    my $r = precedent('export', 'ring.ptrace', '--format', 'csv', '-o', '-', '--ranks', '1-2');
    is($r->{rc}, 0, 'some ranks');
    is(scalar(split(/\n/, $r->{out})) - 1, scalar(grep { $_->[0] >= 1 } @all), 'have their calls');
    is($r->{err}, '', 'and standard output is the file alone');
    my ($from, $to) = map { $all[$_][2] } int(@all / 9), int(@all / 6);
    my @want = grep { $_->[2] < $to && ($_->[2] + $_->[3] > $from || $_->[2] == $from) } @all;
    $r = precedent('export', 'ring.ptrace', '-o', 'part.csv', '--from', $from, '--to', $to);
    my (undef, @part) = rows('part.csv');
    is_deeply([map { "$_->[0] $_->[1] $_->[5]" } @part], [map { "$_->[0] $_->[1] $_->[5]" } @want],
        'a window has the calls that overlap it');
    cmp_ok(scalar @part, '>', 0, 'and there are some');
    $r = precedent('export', 'ring.ptrace', '--format', 'chrome', '-o', 'part.json', '--from', $from, '--to', $to);
    is(scalar(grep { $_->{ph} eq 'X' } @{decode_json(slurp('part.json'))->{traceEvents}}), scalar @want,
        'also for Chrome');
    $r = precedent('export', 'ring.ptrace', '--format', 'otf2', '-o', 'part-otf2', '--ranks', '1') if $has_otf2_print;
    is(scalar(grep { $_->[0] eq 'ENTER' } otf2('part-otf2')), scalar(grep { $_->[0] == 1 } @all), 'one rank in OTF2')
        if $has_otf2_print;
    $r = precedent('export', 'ring.ptrace', '--format', 'csv');
    is($r->{rc}, 0, 'without -o');
    ok(-s 'ring.csv', 'the name is that of the trace');
}

# ---- imported traces ----
{
    # processor 0 begins to send 99 bytes with tag 4 to processor 1, which has them at mark 12
    my %with = (0 => '1 4 99 0 0 0 0 0 0 0 0', 12 => '0 0 0 0 7 0 4 0 0 0 0');
    spew('small.txt', join '', map { "$_->[0] $_->[1] $_->[2] " . ($with{$_->[3] // -1} // '0 0 0 0 0 0 0 0 0 0 0') . "\n" }
        [0, 0, 1], [0, 1, 0], [5, 0, 2, 0], [7, 1, 3], [9, 0, 1], [12, 1, 1, 12], [20, 0, 0]);
    my $r = precedent('import', 'small.txt', '--format', 'columns14', '--mark-ns', 1000, '--event', '7=arrival', '-o', 'small.ptrace');
    is($r->{rc}, 0, 'a trace is imported') or diag($r->{err});
    $r = precedent('export', 'small.ptrace', '-o', 'small.csv');
    is($r->{rc}, 0, 'and exported') or diag($r->{err});
    is(slurp('small.csv'), <<'END', 'as rows of states and of messages');
rank,start_s,duration_s,state,to,bytes,tag
0,0.000000000,0.000005000,working,,,
0,0.000005000,0.000004000,sending,,,
0,0.000009000,0.000011000,working,,,
0,0.000020000,0.000001000,waiting,,,
1,0.000000000,0.000007000,waiting,,,
1,0.000007000,0.000005000,receiving,,,
1,0.000012000,0.000009000,working,,,
0,0.000005000,0.000007000,message,1,99,4
END
    $r = precedent('export', 'small.ptrace', '-o', 'small.json');
    is(join(' ', map { "$_->{tid}$_->{name}" } grep { $_->{ph} eq 'X' } @{decode_json(slurp('small.json'))->{traceEvents}}),
        '0working 0sending 0working 0waiting 1waiting 1receiving 1working', 'and for Chrome');
    is(join(' ', map { "$_->{ph}$_->{tid}" } grep { $_->{name} eq 'message' } @{decode_json(slurp('small.json'))->{traceEvents}}),
        's0 f1', '... with the message');
    $r = precedent('export', 'small.ptrace', '--format', 'otf2', '-o', 'small-otf2');
    is($r->{rc}, 0, 'and as OTF2') or diag($r->{err});
    like($r->{out}, qr/: 7 spans, 1 messages$/m, '... as much as in the other formats');
    if ($has_otf2_print) {
        my @event = map { my ($state) = $_->[3] =~ /Region: "(\w+)"/; join ' ', "$_->[1] $_->[2] $_->[0]", $state // () } otf2('small-otf2');
        is_deeply([grep { /^0/ } @event], ['0 0 ENTER working', '0 5000 LEAVE working', '0 5000 ENTER sending', '0 5000 MPI_SEND',
            '0 9000 LEAVE sending', '0 9000 ENTER working', '0 20000 LEAVE working', '0 20000 ENTER waiting', '0 21000 LEAVE waiting'],
            '... the states of a processor, with its message');
        is_deeply([grep { /^1/ } @event], ['1 0 ENTER waiting', '1 7000 LEAVE waiting', '1 7000 ENTER receiving', '1 12000 MPI_RECV',
            '1 12000 LEAVE receiving', '1 12000 ENTER working', '1 21000 LEAVE working'], '... and of the other one');
        my ($send, $receive) = map { my $what = $_; grep { $_->[0] eq $what } otf2('small-otf2') } qw(MPI_SEND MPI_RECV);
        like($send->[3], qr/Receiver: 1 \("processor 1" <1>\), Communicator: "MPI_COMM_WORLD" <0>, Tag: 4, Length: 99/, '... to whom, how much');
        like($receive->[3], qr/Sender: 0 \("processor 0" <0>\), .*Tag: 4, Length: 99/, '... from whom');
        precedent('export', 'small.ptrace', '--format', 'otf2', '-o', 'part-of-small-otf2', '--ranks', 1);
        is(join(' ', map { "$_->[1]$_->[0]" } otf2('part-of-small-otf2')), join(' ', ('1ENTER', '1LEAVE') x 3), '... one processor alone');
    }
}

# ---- what can go wrong ----
for my $case ([['ring.ptrace'], 2, qr/--format/], [[], 2, qr/no trace/], [['ring.ptrace', '--format', 'xml'], 2, qr/no format 'xml'/],
              [['ring.ptrace', '--format', 'csv', '--ranks', '3-1'], 2, qr/--ranks/],
              [['ring.ptrace', '--format', 'csv', '--ranks', '-1'], 2, qr/--ranks/],
              [['ring.ptrace', '--format', 'csv', '--ranks', '7'], 1, qr/no rank 7.*ranks 0 to 2/],
              [['ring.ptrace', '--format', 'csv', '--from', '2', '--to', '1'], 2, qr/not before/],
              [['ring.ptrace', '--format', 'csv', '--from', 'now'], 2, qr/--from wants seconds/],
              [['ring.ptrace', '--format', 'csv', '--nonsense'], 2, qr/bad option '--nonsense'/],
              [['ring.ptrace', '--format', 'otf2', '-o', '-'], 2, qr/directory/],
              [['ring.ptrace', '--format', 'otf2', '-o', '.'], 1, qr/not empty/],
              [['ring.ptrace', '--format', 'csv', '-o', 'none/x.csv'], 1, qr{none/x.csv: cannot create}],
              [['ring.csv', '--format', 'csv', '-o', 'x.csv'], 1, qr/not a Precedent trace/],
              [['none.ptrace', '--format', 'csv'], 1, qr/none.ptrace: cannot open/]) {
    my ($arguments, $rc, $message) = @$case;
    my $r = precedent('export', @$arguments);
    is($r->{rc}, $rc, "exit code of export @$arguments");
    like($r->{err}, $message, 'and what it says');
}
# Every format replaces what an earlier export wrote, and nothing else.
chmod 0600, 'ring.ptrace';
for my $format (qw(csv chrome), $has_otf2_print ? 'otf2' : ()) {
    my $out = "again-$format";
    for my $turn (1, 2) {
        my $r = precedent('export', 'ring.ptrace', '--format', $format, '-o', $out);
        is($r->{rc}, 0, "$format, written $turn times") or diag $r->{err};
    }
    is_deeply([grep { (stat)[2] & 077 } $out, glob("$out/* $out/traces/*")], [], 'a private trace makes private files');
}
precedent('view', 'ring.ptrace', '-o', 'private.html');
is((stat 'private.html')[2] & 077, 0, 'a private page, too');
precedent('skeleton', 'ring.ptrace', '-o', 'private.skel');
is_deeply([grep { (stat)[2] & 077 } 'private.skel', glob 'private.skel/*'], [], 'and a private skeleton');
chmod 0644, 'ring.ptrace';
precedent('export', 'ring.ptrace', '--format', 'csv', '-o', 'again-csv');
isnt((stat 'again-csv')[2] & 044, 0, 'a trace that others may read makes files that others may read');
if ($has_otf2_print) {
    spew('again-otf2/traces/notes.txt', "mine\n");
    my $r = precedent('export', 'ring.ptrace', '--format', 'otf2', '-o', 'again-otf2');
    is($r->{rc}, 1, 'an archive with a file of somebody else in it');
    like($r->{err}, qr/again-otf2: is not empty; only an empty directory or an OTF2 archive of an export is replaced/, '... is left alone');
    ok(-s 'again-otf2/traces.otf2' && -s 'again-otf2/traces/notes.txt', '... whole');
}
SKIP: {
    skip 'no /dev/full here', 2 if !-e '/dev/full';
    my $r = run_command('sh', '-c', 'exec "$0" export ring.ptrace --format csv -o - >/dev/full', build_dir() . '/precedent');
    is($r->{rc}, 1, 'a full disk');
    like($r->{err}, qr/cannot write|cannot be written/, 'is noticed');
}
is_deeply([glob '*.tmp.*'], [], 'nothing half-written is left');

done_testing;
