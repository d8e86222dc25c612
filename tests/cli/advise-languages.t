# SPDX-License-Identifier: GPL-2.0-or-later
# Message catalogues: every text of the rules and of advise is in each of them, with the same expressions and formats, and
# users see it in the language that they ask for; --json stays as it is.
use strict;
use warnings;
use utf8;
use Encode qw(decode encode);
use FindBin;
use JSON::PP;
use Test::More;
use lib "$FindBin::Bin/lib";
use Cli;

my $top = Testbed::top();
binmode $_, ':utf8' for Test::More->builder->output, Test::More->builder->failure_output;

# A catalogue: msgid => msgstr, as they are written.
sub catalogue {
	my ($path) = @_;
	my (%text, $id, $into);
	for (split /\n/, decode('UTF-8', slurp($path), Encode::FB_CROAK)) {
		if (/^msgid "(.*)"$/) {
			($id, $into) = ($1, 'id');
		} elsif (/^msgstr "(.*)"$/) {
			($into, $text{$id}) = ('str', $1);
		} elsif (/^"(.*)"$/) {
			$into eq 'id' ? ($id .= $1) : ($text{$id} .= $1);
		}
	}
	delete $text{''};
	return \%text;
}

my (%wanted, %from_c);
my $rules = join '', map { slurp($_) } glob "$top/conf/problems*.rules";
while ($rules =~ /^\s*(?:name|description|advice)\s*=\s*"((?:[^"\\]|\\.)*)"/gms) {
	$wanted{$1 =~ s/[ \t]*\n\s*/ /gr} = 1;
}
cmp_ok(scalar keys %wanted, '>', 30, 'the rules have texts');
for my $file (glob "$top/cli/{,*/}*.c") {
	my $source = slurp($file);
	$from_c{join '', $1 =~ /"((?:[^"\\]|\\.)*)"/g} = 1 while $source =~ /\b_\(((?:\s*"(?:[^"\\]|\\.)*")+)\s*\)/g;
}
cmp_ok(scalar keys %from_c, '>', 10, 'so has advise');

my %script = (ru => qr/\p{Cyrillic}/, zh_CN => qr/\p{Han}/);
for my $language (sort keys %script) {
	my $text = catalogue("$top/po/$language.po");
	my (@missing, @holes, @formats, @foreign);
	for my $id (sort keys %wanted, keys %from_c) {
		my $str = $text->{$id};
		push @missing, $id and next if !defined $str || $str eq '';
		my ($a, $b) = map { join '|', sort /\{[^}]*\}/g } $id, $str;
		push @holes, $id if $wanted{$id} && $a ne $b;
		($a, $b) = map { join '|', /%[^a-z%]*[a-z%]/g } $id, $str;
		push @formats, $id if $from_c{$id} && $id =~ /%[su]/ && $a ne $b;
		push @foreign, $id if $str !~ $script{$language};
	}
	is_deeply(\@missing, [], "$language: every text is there");
	is_deeply(\@holes, [], "$language: with the same expressions");
	is_deeply(\@formats, [], "$language: with the same formats, in the same order");
	is_deeply(\@foreign, [], "$language: in that language");
}
my $pot = catalogue("$top/po/precedent.pot");
is_deeply([grep { !exists $pot->{$_} } sort keys %wanted, keys %from_c], [], 'the template has every text (po/extract writes it)');

# As users see it, on a machine that need not have these locales.
my $trace = trace_of('lu.ptrace', 'lu');
my %says = ('ru_RU.UTF-8' => 'поздняя отправка: ', 'zh_CN.UTF-8' => '发送过迟：', C => 'late send: ', 'xx_XX' => 'late send: ');
delete @ENV{qw(LANGUAGE LC_ALL LANG)};
for my $locale (sort keys %says) {
	local $ENV{LC_MESSAGES} = $locale;
	my $r = precedent('advise', $trace, '--rules', "$top/conf/problems.rules");
	is($r->{rc}, 0, "advise in $locale") or diag $r->{err};
	my $out = decode('UTF-8', $r->{out}, Encode::FB_CROAK);
	like($out, qr/^ +\d+\.\d %  \Q$says{$locale}\E/m, '... in the language');
	my @long = grep { length > 132 } split /\n/, $out;
	is_deeply([grep { !/MPI_/ } @long], [], '... folded');
	unlike(join('', $out =~ /^ {9}(.*)/mg), qr/Begin the send/, '... advice too') if $locale =~ /^(?:ru|zh)/;
}
{
	local $ENV{LC_MESSAGES} = 'ru_RU.UTF-8';
	my $d = decode_json(precedent('advise', $trace, '--json', '--rules', "$top/conf/problems.rules")->{out});
	ok((grep { $_->{name} eq 'late send' && $_->{id} eq 'late-send' && $_->{advice} =~ /^Begin/ } @{$d->{problems}}), '--json stays in English');
	local $ENV{LANGUAGE} = 'zh_CN';
	like(decode('UTF-8', precedent('advise', $trace, '--rules', "$top/conf/problems.rules")->{out}), qr/发送过迟/, 'LANGUAGE comes first');
}

# A catalogue that lost an expression is not believed: the text stays as it is.
my $own = "$ENV{PRECEDENT_LIBDIR}/locale/ru/LC_MESSAGES";
is(system('mkdir', '-p', $own), 0, 'a catalogue of its own');
spew('bad.po', encode('UTF-8', qq(msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n)
	. qq(msgid "{m.bytes} bytes"\nmsgstr "{m.secret} байт"\n\nmsgid "slow \\"send\\""\nmsgstr "медленно"\n\nmsgid "sent"\nmsgstr "от\\"правлено"\n)));
is(system('msgfmt', '-o', "$own/precedent.mo", 'bad.po'), 0, 'it is compiled');
spew('own.rules', qq(defstruct observation found "" param name, description, advice type string param duration type time;\n)
	. qq(defrule "" struct m type function_call_send_operation assert found(name = "sent", description = "{m.bytes} bytes", advice = "", duration = 1ms);));
{
	local $ENV{LC_MESSAGES} = 'ru_RU.UTF-8';
	my $r = precedent('advise', $trace, '--rules', 'own.rules');
	is($r->{rc}, 0, 'rules of a user') or diag $r->{err};
	like($r->{out}, qr/  sent: .*\n +\d+ bytes\n/, 'keep their words where a catalogue is wrong');
	# Cut at every word of its head, and with each word of it at its greatest.
	my $mo = slurp("$own/precedent.mo");
	my @damaged = ((map { substr $mo, 0, $_ } 1, 4, 20, 28, 60, length($mo) - 1),
		(map { my $bad = $mo; substr($bad, 4 * $_, 4) = "\xff\xff\xff\xff"; $bad } 0 .. 4, 7 .. 10));
	for my $i (0 .. $#damaged) {
		spew("$own/precedent.mo", $damaged[$i]);
		is(precedent('advise', $trace, '--rules', 'own.rules')->{rc}, 0, "damaged catalogue $i: advise goes on");
	}
	unlink "$own/precedent.mo";
	symlink "$top/$ENV{PRECEDENT_BUILD}/locale/ru/LC_MESSAGES/precedent.mo", "$own/precedent.mo" or die "symlink: $!\n";
	for my $case (['ru_RU.UTF-8', '', 1], ['xx', 'xx:ru', 1], ['C', 'ru', 0], ['POSIX', 'ru', 0], ['C.UTF-8', 'ru', 0], ['../ru', '', 0]) {
		(local $ENV{LC_MESSAGES}, local $ENV{LANGUAGE}, my $russian) = @$case;
		my $out = decode('UTF-8', precedent('advise', $trace, '--rules', "$top/conf/problems.rules")->{out});
		is($out =~ /поздняя отправка/ ? 1 : 0, $russian, "LC_MESSAGES=$case->[0] LANGUAGE=$case->[1]");
	}
}

done_testing;
