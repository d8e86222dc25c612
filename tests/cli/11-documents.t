#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the documents say is what the programs do: every option that a program takes is in its help and in its manual page, and
# every one that is named there is taken; so are the keys of precedent.conf and the environment; pages, files and targets
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

# [long, short] of every option in a source: its table, and the letters that getopt_long takes.
sub table_of {
	my ($source) = @_;
	my ($letters) = $source =~ /getopt_long\(argc, argv, "([^"]*)"/;
	my @table;
	while ($source =~ /\{"([a-z-]+)", (?:no|required|optional)_argument, NULL, '(\w)'\}/g) {
		my ($long, $short) = ($1, $2);
		push @table, ["--$long", index($letters // '', $short) >= 0 ? "-$short" : undef] if $long !~ /\A(?:help|version)\z/;
	}
	return @table;
}

# What precedent.1 says under `precedent VERB ...`, up to the next verb or section.
sub entry_of {
	my ($verb) = @_;
	my $entry = '';
	for my $part (split /^(?=\.TP$)|^(?=\.SH )/m, $man{'precedent.1'}) {
		$entry .= $part if $part =~ /\A\.TP\n\.(?:B|BI|BR) "precedent $verb\b/;
	}
	$entry =~ s/\\f[A-Z]//g;
	return $entry;
}

my %help = map { $_ => precedent($_, '--help')->{out} } verbs();

subtest 'options of the verbs, in their help and in precedent.1' => sub {
	my $skeleton = join '', map { slurp($_) } glob "$top/skelgen/{runtime,replay}/*.c";
	for my $verb (sort keys %help) {
		my $entry = entry_of($verb);
		isnt($entry, '', "$verb has its entry");
		my ($in_help, $in_man) = (long_options($help{$verb}), long_options($entry));
		my @missing = grep {
			my ($short) = $help{$verb} =~ /(?<![\w-])(-\w), \Q$_\E\b/;
			!$in_man->{$_} && !($short && $entry =~ /(?<![\w-])$short\b/);
		} sort keys %$in_help;
		is_deeply(\@missing, [], "$verb: all that the help names are in the manual");
		my @unknown = grep { !$in_help->{$_} && $skeleton !~ /"\Q$_\E"/ } sort keys %$in_man;
		is_deeply(\@unknown, [], "$verb: all that the manual names are in the help, or are those of skeletons");
	}
};

subtest 'options that the sources take' => sub {
	my $seen = 0;
	for my $file (glob "$top/cli/{,*/}*.c") {
		my $source = slurp($file);
		my %verb = map { $_ => 1 } $source =~ /Usage: precedent ([a-z]+)/g;
		my @of = grep { $verb{$_} } sort keys %help;
		for my $option (@of ? table_of($source) : ()) {
			my ($long, $short) = @$option;
			$seen++;
			my @told = grep { long_options($help{$_})->{$long} && (!$short || $help{$_} =~ /(?<![\w-])$short, +\Q$long\E\b/) } @of;
			ok(@told, "$long" . ($short ? ", $short" : '') . " is in the help of @of");
		}
	}
	my $source = slurp("$top/predictor/precedentd/main.c");
	my $text = run_command(build_dir() . '/precedentd', '--help')->{out};
	my $told = long_options($text);
	is_deeply([sort keys %$told], [sort map { $_->[0] } table_of($source)], 'precedentd: the help has all, and no other');
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
