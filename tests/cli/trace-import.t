# SPDX-License-Identifier: GPL-2.0-or-later
# precedent import: a 14-column text becomes a trace file; the statistics are those of a plain second count; codes can be
# told; what is wrong is named with line, column and remedy, and leaves no trace.
use strict;
use warnings;

use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;

my @states = qw(waiting working sending receiving);
my $zero = '0 0 0 0';

sub record {
	my ($t, $p, $command, %more) = @_;
	return join(' ', $t, $p, $command, $more{command} // $zero, $more{event} // 0, $more{with} // $zero, 0, 0) . "\n";
}

# The marks of each processor in each state, counted one by one.
sub counted {
	my ($text) = @_;
	my (%at, $last, $first);
	for my $line (split /\n/, $text) {
		my ($t, $p, $command) = split ' ', $line;
		$first //= $t;
		$last = $t;
		$at{$p}{$t} = $command;
	}
	my @sum;
	for my $p (sort { $a <=> $b } keys %at) {
		my $state = 0;
		my @n = (0) x 4;
		for my $t ($first .. $last) {
			$state = $at{$p}{$t} // $state;
			$n[$state]++;
		}
		$sum[$p] = { map { $states[$_] => $n[$_] } 0 .. 3 };
	}
	return \@sum;
}

sub failed {
	my ($pattern, $rc, @arguments) = @_;
	my $r = precedent('import', @arguments);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($r->{rc}, $rc, "import @arguments: exit $rc");
	like($r->{err}, qr/\Aprecedent[^\n]*$pattern[^\n]*\n\z/, '... with one line that says why');
	is($r->{out}, '', '... and prints nothing');
	return;
}

my $text = '';
srand 5;
for my $t (10 .. 700) {
	for my $p (0 .. 8) {
		$text .= record($t, $p, int rand 4, command => join ' ', int rand 9, int rand 2, 5, 0) if $t == 10 || rand() < 0.1;
	}
}
$text .= record(700, 0, 1);
spew('small.txt', $text);

subtest 'statistics' => sub {
	my $r = precedent('import', 'small.txt', '--json', '-q');
	is($r->{rc}, 0, 'imported') or diag $r->{err};
	is($r->{err}, '', 'quietly');
	my $got = decode_json($r->{out});
	is($got->{file}, 'small.ptrace', 'named after the text');
	is($got->{processors}, 9, 'processors');
	is($got->{first}, 10, 'first mark');
	is($got->{marks}, 691, 'marks');
	is($got->{records}, scalar(() = $text =~ /\n/g), 'records');
	is_deeply([map { $_->{marks} } @{ $got->{per_processor} }], counted($text), 'marks of each processor in each state');
	my $table = precedent('import', 'small.txt', '--stats', '-o', 'again.ptrace');
	is($table->{rc}, 0, '--stats');
	for my $p (0, 8) {
		my $want = join '\s+', $p, map { $got->{per_processor}[$p]{marks}{$_} } @states;
		like($table->{out}, qr/^\s+$want$/m, "processor $p is in the table");
	}
	like($table->{err}, qr/again\.ptrace: 9 processors, 691 marks, [\d,]+ records in /, 'and says what it did');
	is(slurp('again.ptrace') =~ tr///c, slurp('small.ptrace') =~ tr///c, 'the same length again');
};

subtest 'a byte order mark' => sub {
	spew('mark.txt', "\xef\xbb\xbf" . $text);
	is(precedent('import', 'mark.txt', '-q')->{err}, '', 'is no part of the first number');
	my @stats = map { decode_json(precedent('import', $_, '--json', '-q')->{out})->{per_processor} } 'small.txt', 'mark.txt';
	is_deeply($stats[1], $stats[0], '... and the trace is the same');
	spew('wide.txt', "\xff\xfe" . join '', map { "$_\0" } split //, record(0, 0, 1));
	failed(qr/wide\.txt: is text in UTF-16: convert it \(iconv/, 1, 'wide.txt');
};

subtest 'the trace is one' => sub {
	my $r = precedent('info', 'small.ptrace', '--check');
	is($r->{rc}, 0, 'sound') or diag $r->{err};
	my $bytes = slurp('small.ptrace');
	my $at = index $bytes, "PPG1" . pack 'V', 11; # content of the first tile
	substr($bytes, $at + 110, 1) ^= "\x40";
	spew('damaged.ptrace', $bytes);
	$r = precedent('info', 'damaged.ptrace', '--check');
	is($r->{rc}, 1, 'a flipped byte is found');
	like($r->{out}, qr/page 1 \(tile content[^)]*\) at byte \d+: bad checksum/, '... and its page named');
	for (['verify'], ['skeleton', '-o', 'small.skel'], ['predict', '--seconds', 0.1]) {
		$r = precedent(@$_, 'small.ptrace');
		is($r->{rc}, 1, "$_->[0]: a skeleton cannot be made of it");
		like($r->{err}, qr/\Aprecedent: (?:nothing to predict: )?small\.ptrace: it was imported: it has the states of processors, and no MPI calls [^\n]+\n\z/, '... and one line says why');
	}
};

subtest 'messages and codes' => sub {
	spew('codes.txt', record(0, 0, 17, command => '1 4 99 0') . record(0, 1, 0) . record(3, 1, 30, event => 9, with => '0 4 0 0')
	    . record(5, 0, 1) . record(9, 1, 4, event => 1, with => '0 4 0 0'));
	my @codes = ('--command', '17=send', '--command', '30=receive', '--event', '9=arrival');
	my $r = precedent('import', 'codes.txt', '--format', 'columns14', '--json', @codes);
	is($r->{rc}, 0, 'imported') or diag $r->{err};
	my $got = decode_json($r->{out});
	is($got->{messages}, 1, 'a message');
	is($got->{messages_unsent}, 1, 'an arrival that nobody sent');
	like($r->{err}, qr/left out: 1$/m, '... is told');
	is_deeply($got->{per_processor}[0]{marks}, {waiting => 0, working => 5, sending => 5, receiving => 0}, 'processor 0');
	is_deeply($got->{per_processor}[1]{marks}, {waiting => 3, working => 0, sending => 0, receiving => 7}, '4 goes on');
	$got = decode_json(precedent('import', 'codes.txt', '--json', @codes, '--event', '1=nothing')->{out});
	is($got->{messages_unsent}, 0, 'an event that means nothing');
};

subtest 'what is wrong is named' => sub {
	my @bad = (
		[record(0, 0, 1) . "1 0 1 0\n", qr/:2: has 4 numbers, not 14/],
		["0 0 1 $zero 0 $zero 0 x\n", qr/:1: column 14 \(record flag\) is 'x', not a whole number/],
		[record(0, 0, 77), qr/:1: column 3 \(command\) is 77: what does it do\? Say --command/],
		[record(9, 0, 1) . record(8, 0, 1), qr/:2: time goes back from 9 to 8: sort the file by time first/],
		['', qr/the file has no records/],
	);
	for (@bad) {
		spew('bad.txt', $_->[0]);
		failed(qr/bad\.txt$_->[1]|bad\.txt: $_->[1]/, 1, 'bad.txt');
		ok(!-e 'bad.ptrace', '... and leaves no trace');
	}
	failed(qr/absent\.txt: cannot open/, 1, 'absent.txt');
	failed(qr/cannot create/, 1, 'small.txt', '-o', 'no/such/dir.ptrace');
	failed(qr/would overwrite the file/, 1, 'small.txt', '-o', 'small.txt');
	is(slurp('small.txt'), $text, '... which is as it was');
	is_deeply([glob('*.tmp.*')], [], 'no temporary files are left');
};

subtest 'usage' => sub {
	failed(qr/no file named/, 2);
	failed(qr/one file at a time/, 2, 'a', 'b');
	failed(qr/--format: 'otf2' is not known/, 2, '--format', 'otf2', 'small.txt');
	failed(qr/--command wants/, 2, '--command', '7=sleep', 'small.txt');
	failed(qr/--command wants/, 2, '--command', '256=work', 'small.txt');
	failed(qr/--event wants/, 2, '--event', 'arrival', 'small.txt');
	failed(qr/--mark-ns wants/, 2, '--mark-ns', '0', 'small.txt');
	failed(qr/bad option '--frob'/, 2, '--frob', 'small.txt');
	my $r = precedent('import', '--help');
	is($r->{rc}, 0, '--help');
	like($r->{out}, qr/\AUsage: precedent import FILE/, '... says how');
};

done_testing();
