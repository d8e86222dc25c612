#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Names that others chose: a program, its arguments, files, answers, rules and models with terminal escapes in them. No verb
# prints a control character, or a character that reorders text.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use File::Copy qw(copy);
use JSON::PP qw(decode_json encode_json);
use Test::More;
use Testbed qw(run_command);

# An escape, C1 as a byte and in UTF-8, DEL, an override of the direction, a byte that is not UTF-8
my $evil = "e\e]0;x\a\x9bv\xc2\x9bi\x7f\xe2\x80\xael\xff";

# Nothing unfit, in output of bytes.
sub clean {
	my ($title, $bytes) = @_;
	my $text = $bytes;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(utf8::decode($text), "$title: UTF-8") or diag($bytes =~ s/[^\n -~]/sprintf '\\x%02x', ord $&/ger);
	my ($bad) = $text =~ /(.{0,30}[\x00-\x08\x0b-\x1f\x7f-\x9f\x{202a}-\x{202e}\x{2066}-\x{2069}].{0,30})/s;
	ok(!defined $bad, "$title: clean") or diag($bad =~ s/[^ -~]/sprintf '\\x{%x}', ord $&/ger);
}

# both outputs of a command; $r
sub shown {
	my (@arguments) = @_;
	my $r = precedent(@arguments);
	(my $title = "@arguments") =~ s/[^ -~]/?/g;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	clean("$title, output", $r->{out});
	clean("$title, messages", $r->{err});
	return $r;
}

# A trace of a program whose path, arguments and files are evil. Without symbols, call sites show its path.
copy(program('mpiio'), $evil) && chmod(0755, $evil) or die "program: $!";
run_command('strip', $evil)->{rc} == 0 or die "no strip\n";
mkdir "$evil.data" or die "mkdir: $!\n";
my $trace = "$evil.ptrace";
my $r = shown('trace', '-o', $trace, '--', 'mpirun', '--oversubscribe', '-n', 2, "./$evil", "$evil.data", 16, 3);
ok(-s $trace, 'the run is traced') or diag $r->{err};

for my $what ([], ['--all'], ['--events', 0], ['--check'], ['--mix'], ['--mix', '--json'], ['--json']) {
	$r = shown('info', @$what, $trace);
	is($r->{rc}, 0, "info @$what") or diag $r->{err};
	like($r->{out}, qr/e\?\]0;x/, '... which shows the name') unless grep { /events/ } @$what;
	ok(eval { decode_json($r->{out}) }, '... valid JSON') or diag $@ if grep { /json/ } @$what;
}
$r = shown('advise', @$_, $trace) for [], ['--json'];
$r = shown('export', '--format', 'chrome', '-o', "$evil.json", $trace);
is($r->{rc}, 0, 'export') or diag $r->{err};
if (-s "$evil.json") {
	my $json = slurp("$evil.json");
	clean('the exported file', $json);
	ok(eval { decode_json($json) }, '... is JSON') or diag $@;
}
$r = shown('view', '-o', "$evil.html", $trace);
is($r->{rc}, 0, 'view') or diag $r->{err};
clean('the page', slurp("$evil.html")) if -s "$evil.html";
$r = shown('skeleton', @$_, '-o', "$evil.skel", $trace) for [], ['--json'], ['--tree'];
clean("skeleton's $_", slurp("$evil.skel/$_")) for grep { -s "$evil.skel/$_" } qw(report.txt skel.c Makefile);
shown('verify', $trace);

# What is not there, and what is no trace
shown($_, $evil x 2) for qw(info view advise skeleton verify predict export import nosuch), $evil, "--$evil";
shown('info', "--$evil");
shown('help', 'info', $evil);
spew("$evil.bad", "$evil\n" x 5);
shown($_, "$evil.bad") for qw(info view advise skeleton export);
shown('import', '-o', 'x.ptrace', "$evil.bad");
shown('conf', '--check', "$evil.bad");

# Answers of a daemon, or of who says so
my $answer = decode_json(slurp("$FindBin::Bin/data/show.json"));
my $planted = 0;

sub plant {
	my ($v) = @_;
	return [map { plant($_) } @$v] if ref $v eq 'ARRAY';
	return {map { $_ => plant($v->{$_}) } keys %$v} if ref $v eq 'HASH';
	return $v if ref $v || $v =~ /^-?[\d.]+(?:e[-+]?\d+)?$/;
	$planted++;
	return "$v \e[2J\x{9b}31m\x{202e}\x7f";
}
my $from = plant($answer);
cmp_ok($planted, '>', 20, 'escapes in the answer');
spew('answer.json', encode_json($from));
shown($_, '--from', 'answer.json'), shown($_, '--json', '--from', 'answer.json') for qw(show explain);
# one at a time, as some texts are looked up
for my $key (sort keys %{ $answer->{job} }) {
	next if ref $answer->{job}{$key} || $answer->{job}{$key} =~ /^-?[\d.]+$/;
	spew('answer.json', encode_json({%$answer, job => {%{ $answer->{job} }, $key => "\e[2J$key\x{9b}"}}));
	$r = shown($_, '--from', 'answer.json') for qw(show explain);
}
shown('accuracy', @$_, '--from', 'answer.json') for ['--cost'], [];

# Rules, of which the names are shown
spew("$evil.rules", qq(include "/dev/null$evil";\n));
shown('advise', '--rules', "$evil.rules", $trace);
(my $rules = slurp("$ENV{PRECEDENT_LIBDIR}/problems.rules")) =~ s/"/"$evil/;
spew("$evil.rules", $rules);
shown('advise', '--check', "$evil.rules");
shown('advise', '--rules', "$evil.rules", $trace);

# A model file
spew("$evil.model", "precedent-model 1\n$evil\n");
shown('model', @$_, "$evil.model") for ['show'], ['predict'];

done_testing;
