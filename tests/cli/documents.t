#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the documents say is what the programs do: every form and option of a verb is in precedent.1 as in its help, and no
# other; so are the keys of precedent.conf and the environment; pages, files and targets
# that are named exist; the examples of README.md and precedent.1 run as they stand.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Test::More;
use Testbed qw(run_command top build_dir);

my $top = top();
my %man = map { m{/([^/]+)\z} ? ($1 => slurp($_)) : () } glob "$top/man/*.[1-8]";
my %document = map { m{\A\Q$top\E/(.+)\z} ? ($1 => slurp($_)) : () } glob "$top/{,doc/,doc/*/}*.md";
my @sources = grep { !/_page|svg/ } glob "$top/{cli,cli/*,common,expert/*,plugin,predictor,predictor/*,model/*,skelgen,skelgen/*,spank,spank/*,trace/*}/*.c";

# ---- options ----

sub long_options {
	my ($text) = @_;
	my %found;
	$found{$1} = 1 while $text =~ /(?<![\w-])(--[a-z][a-z0-9-]*)/g;
	delete @found{'--help', '--version'};
	return \%found;
}

# Text of a manual page without its fonts; the words of a macro's line are one.
sub plain {
	my ($text) = @_;
	return $text =~ s/\\f[A-Z]//gr =~ s/\\-/-/gr;
}

sub joined {
	my ($line) = @_;
	return plain(join '', map { s/\A"(.*)"\z/$1/r } $line =~ /("[^"]*"|[^\s"]+)/g);
}

# What precedent.1 says under `precedent VERB ...`, up to the next verb or section: its heads, its items, and all of it.
sub entry_of {
	my ($verb) = @_;
	my (@heads, $entry);
	for my $part (split /^(?=\.TP$)|^(?=\.SH )/m, $man{'precedent.1'}) {
		next if $part !~ /\A\.TP\n\.(?:B|BI|BR) ("precedent $verb\b.*)/;
		push @heads, joined($1);
		$entry .= $part;
	}
	return ([sort @heads], [map { joined($_) } $entry =~ /^\.IP (".*") 4$/mg], plain($entry));
}

my %help = map { $_ => precedent($_, '--help')->{out} } verbs();

subtest 'forms and options of the verbs, in their help and in precedent.1' => sub {
	my $skeleton = join '', map { slurp($_) } glob "$top/skelgen/{runtime,replay}/*.c";
	for my $verb (sort keys %help) {
		my ($heads, $items, $entry) = entry_of($verb);
		my ($usage) = $help{$verb} =~ /\AUsage: (.*?)\n\n/s;
		$usage =~ s/\n {8,}/ /g;
		is_deeply($heads, [sort split /\n +/, $usage], "$verb: its forms");
		my @rows = $help{$verb} =~ /^  (?:    )?((?:-\w, )?--[\w-]+(?: \S+)?)  /mg;
		my @missing = grep {
			my ($row, $long) = ($_, /(--[\w-]+)/);
			$long ne '--help' && !(grep { $_ eq $row } @$items) && "@$heads" !~ /\Q$long\E\b/;
		} @rows;
		is_deeply(\@missing, [], "$verb: each option of the help is an item or in a form");
		my @other = grep { my $item = $_; /\A-/ && !grep { $_ eq $item } @rows } @$items;
		is_deeply(\@other, [], "$verb: each item is an option of the help");
		my $in_help = long_options($help{$verb});
		my @unknown = grep { !$in_help->{$_} && $skeleton !~ /"\Q$_\E"/ } sort keys %{ long_options($entry) };
		is_deeply(\@unknown, [], "$verb: the text names options of the help or of skeletons");
	}
	my $source = slurp("$top/predictor/precedentd/main.c");
	my $told = long_options(run_command(build_dir() . '/precedentd', '--help')->{out});
	my %taken = map { ("--$_" => 1) } $source =~ /\{"([a-z-]+)", (?:no|required|optional)_argument, NULL, '\w'\}/g;
	delete @taken{'--help', '--version'};
	is_deeply([sort keys %$told], [sort keys %taken], 'precedentd: the help has all, and no other');
	my @missing = grep { !long_options($man{'precedentd.8'})->{$_} } sort keys %$told;
	is_deeply(\@missing, [], 'precedentd: the manual has all');
};

# ---- configuration and environment ----

subtest 'keys of precedent.conf' => sub {
	my $source = slurp("$top/common/conf.c");
	my ($table) = $source =~ /struct conf_key \{.*?\} keys\[\] = \{(.*?)\n\};/s;
	my %known = map { $_ => 1 } ($table // '') =~ /\{"(\w+)", set_/g;
	$known{$_} = 1 for $source =~ /^#define \w+\s+"(\w+\.)"/mg;
	cmp_ok(scalar keys %known, '>=', 25, 'the keys are found');
	my %told = map { $_ => 1 } map { /([A-Z]\w*\.?)/g } $man{'precedent.conf.5'} =~ /^\.TP\n\.(?:B|BI|BR|BIR) (.*)/mg;
	my %shown = map { $_ => 1 } slurp("$top/conf/precedent.conf") =~ /^#?([A-Z]\w+\.?)\w* *= /mg;
	is_deeply([grep { !$told{$_} } sort keys %known], [], 'each is in precedent.conf(5)');
	is_deeply([grep { !$shown{$_} } sort keys %known], [], 'each is in the file that is installed');
	is_deeply([grep { !$known{$_} } sort keys %shown], [], 'which names no other');
	(my $all = slurp("$top/conf/precedent.conf")) =~ s/^#(?=[A-Z]\w+(?:\.\w+)? *= )//mg;
	my $r = precedent('conf', '--check', spew('all.conf', $all));
	is($r->{rc}, 0, 'with every line of it in force it is good') or diag $r->{err};
};

subtest 'environment' => sub {
	my %internal = map { $_ => 1 } qw(PRECEDENT_FINGERPRINT PRECEDENT_STOP_AT PRECEDENT_TEST_SKEW PRECEDENT_TRACE_DIR PRECEDENT_TRACE_FILE);
	my $pages = join '', values %man;
	my %read;
	for my $file (@sources) {
		my $source = slurp($file);
		$read{$1} = 1 while $source =~ /"(PRECEDENT_[A-Z_]+)"/g;
	}
	ok($read{PRECEDENT_CONF}, 'the variables are found');
	is_deeply([grep { !$internal{$_} && $pages !~ /\b$_\b/ } sort keys %read], [], 'those that are read are in the manual');
};

# ---- what is named exists ----

subtest 'pages, files and targets' => sub {
	my %text = (%man, %document, map { ("$_ --help" => $help{$_}) } keys %help);
	my $makefile = slurp("$top/Makefile");
	my $ours = qr/(?:lib|job_submit_|spank_)?precedent[\w.-]*/;
	for my $name (sort keys %text) {
		my $text = $text{$name};
		$text =~ s/\\-/-/g;
		my %page;
		$page{"$1.$2"} = 1 while $text =~ /\b($ours) ?\(([1-8])\)/g;
		is_deeply([grep { !$man{$_} } sort keys %page], [], "$name: the manual pages that it names");
	}
	for my $name (sort keys %document) {
		my @link = $document{$name} =~ /\]\((?!https?:|#)([^)#]+)/g;
		my ($folder) = "$top/$name" =~ m{\A(.*)/};
		is_deeply([grep { !-e "$folder/$_" } @link], [], "$name: links");
		my @file = grep { !m{\Abuild/} } $document{$name} =~ m{`([a-z]+/[\w./-]+)`}g;
		my @gone = grep { !-e "$top/$_" && !-e "$top/$_.c" && !-e "$top/$_.t" } @file;
		is_deeply(\@gone, [], "$name: files");
		my @target = $document{$name} =~ /(?:`|^    )make ([a-z][\w-]*)/mg;
		is_deeply([grep { $makefile !~ /^$_:/m } @target], [], "$name: targets of make");
	}
	my ($version) = $makefile =~ /^VERSION\s*:=\s*(\S+)/m;
	is_deeply([grep { $man{$_} !~ /^\.TH .*Precedent \Q$version\E/m } sort keys %man], [], 'all pages are of this version');
};

# Each row of the threat model: the functions are in the files that it says, and its tests are there.
subtest 'the threat model' => sub {
	my @row = grep { /^\| / && !/^\| (?:boundary|---)/ } split /\n/, $document{'doc/security.md'};
	cmp_ok(scalar @row, '>=', 30, 'there are threats');
	for my $row (@row) {
		my ($boundary, $threat, $defence, $test, @more) = split / \| /, $row =~ s/^\| | \|$//gr;
		my @place = ($defence // '') =~ /`(\w+)\(\)` in `([^`]+)`/g;
		my @bad = @place ? () : 'no defence';
		while (my ($function, $file) = splice @place, 0, 2) {
			push @bad, "$function() in $file" unless -e "$top/$file" && slurp("$top/$file") =~ /^\w[^\n;=]*\b$function\([^;]*?\)\n\{/m;
		}
		my @test = ($test // '') =~ m{`(tests/[^`]+)`}g;
		push @bad, @test ? grep { !-f "$top/$_" } @test : 'no test', map { "a column '$_'" } @more;
		is_deeply(\@bad, [], "$boundary: $threat");
	}
};

subtest 'manual pages are well formed' => sub {
	plan skip_all => 'no groff here' if run_command('sh', '-c', 'command -v groff')->{rc} != 0;
	for my $page (sort keys %man) {
		my $r = run_command('groff', '-man', '-ww', '-z', '-Tutf8', "$top/man/$page");
		is($r->{err}, '', $page);
		my $text = run_command('sh', '-c', 'groff -man -rLL=80n -Tutf8 -P-cbou "$0"', "$top/man/$page")->{out};
		utf8::decode($text);
		# a line of plugstack.conf cannot be broken
		is_deeply([grep { !/^ +optional / } $text =~ /^(.{81,})$/mg], [], "$page: fits 80 columns");
	}
};

# ---- examples ----

# As they stand, one after the other, in a directory with the program that they name.
sub examples_run {
	my ($what, $application, $text) = @_;
	local $ENV{PATH} = build_dir() . ":$ENV{PATH}";
	local $ENV{OMPI_MCA_rmaps_base_oversubscribe} = 1;
	mkdir 'examples';
	chdir 'examples' or die "examples: $!\n";
	symlink program('heat'), $application;
	my @command = $text =~ /^ *(precedent [^#\n]*)/mg;
	cmp_ok(scalar @command, '>=', 4, "$what: there are examples");
	for my $command (@command) {
		my $r = run_command('timeout', '--kill-after=5', 120, 'sh', '-c', $command);
		is($r->{rc}, 0, "$what: $command") or diag $r->{out}, $r->{err};
	}
	chdir '..';
	return;
}

subtest 'examples' => sub {
	my ($examples) = $man{'precedent.1'} =~ /^\.SH EXAMPLES\n(.*?)^\.SH /ms;
	$examples =~ s/\\-/-/g;
	examples_run('precedent.1', 'heat', $examples);
	my ($looking) = $document{'README.md'} =~ /^## Look at a run\n(.*?)^## /ms;
	examples_run('README.md', 'app', $looking);
};

done_testing;
