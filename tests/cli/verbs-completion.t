# SPDX-License-Identifier: GPL-2.0-or-later
# What bash, zsh and fish complete with the scripts of `precedent completion`: verbs, their options, values and files.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Test::More;
use Testbed qw(run_command build_dir);

$ENV{PATH} = build_dir() . ":$ENV{PATH}";
for my $shell (qw(bash zsh fish)) {
	my $r = precedent('completion', $shell);
	is($r->{rc}, 0, "a script for $shell") or diag $r->{err};
	spew($shell eq 'zsh' ? '_precedent' : "script.$shell", $r->{out});
}
spew($_, '') for qw(a.ptrace a.txt);
mkdir 'folder';

sub missing {
	my ($shell) = @_;
	return run_command('sh', '-c', 'command -v "$0"', $shell)->{rc} != 0;
}

# Long options, as --help lists them.
sub options {
	my ($verb) = @_;
	my @long = precedent($verb, '--help')->{out} =~ /^  (?:    |-\w, )(--[\w-]+)/mg;
	return [sort @long];
}

# What bash offers for the last word of a line.
sub in_bash {
	my (@line) = @_;
	my $script = 'source ./script.bash; complete -p precedent >/dev/null || exit; '
		. 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _precedent; printf "%s\n" "${COMPREPLY[@]}"';
	return [sort split /\n/, run_command('bash', '-c', $script, 'bash', 'precedent', @line)->{out}];
}

subtest 'bash' => sub {
	my @verbs = verbs();
	is_deeply(in_bash('ve'), ['verify'], 'a verb');
	is_deeply(in_bash('help', ''), [sort @verbs], 'after help, all verbs');
	is_deeply(in_bash($_, '--'), options($_), "$_: its options") for @verbs;
	is_deeply(in_bash('probe', '--'), [], 'nothing of a verb that is not for people');
	is_deeply(in_bash('model', 'fi'), ['fit'], 'what model does');
	is_deeply(in_bash('export', 'x', '--format', 'c'), ['chrome', 'csv'], 'values');
	is_deeply(in_bash('export', 'x', '--format', '=', 'o'), ['otf2'], 'values behind =');
	is_deeply(in_bash('jobs', '-n', ''), [], 'not of a number');
	is_deeply(in_bash('info', 'a'), ['a.ptrace'], 'traces');
	is_deeply(in_bash('view', '-o', 'a'), ['a.ptrace', 'a.txt'], 'files');
	is_deeply(in_bash('skeleton', 'a.ptrace', '--output', ''), ['folder'], 'directories');
	is_deeply(in_bash('trace', '--', 'mpirun', '--'), [], 'nothing of ours in the command');
	mkdir 'bin';
	chmod 0755, spew('bin/precedent', "#!/bin/sh\nprintf 'JOB NAME\\n%s a\\n' 4711 4712 12\n");
	local $ENV{PATH} = "bin:$ENV{PATH}";
	is_deeply(in_bash('explain', '47'), ['4711', '4712'], 'jobs');
};

# In a terminal: each line is completed and run, by a function that tells what it was called with.
subtest 'zsh' => sub {
	plan skip_all => 'no zsh here' if missing('zsh');
	spew('setup', 'fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; precedent() { print -r -- "GOT<$*>" }');
	spew('typed', <<'TYPED');
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./setup'
for line in "$@"; do
	zpty -w -n shell "precedent $line"$'\t\n'
	zpty -r shell out '*GOT<*>*'
	print -r -- ${${out##*GOT<}%%>*}
done
TYPED
	my %whole = ('ve' => 'verify', 'help mod' => 'help model', 'model fi' => 'model fit', 'info --che' => 'info --check',
		'export x --format ch' => 'export x --format chrome', 'accuracy --by=f' => 'accuracy --by=family', 'info a' => 'info a.ptrace',
		'skeleton x -o fo' => 'skeleton x -o folder', 'conf --check a.t' => 'conf --check a.txt', 'trace -- /bin/ech' => 'trace -- /bin/echo');
	my @lines = sort keys %whole;
	my $r = run_command('timeout', 60, 'zsh', '-f', 'typed', @lines);
	my @got = map { s/[\/ ]+\z//r } split /\n/, $r->{out};
	is_deeply(\@got, [map { $whole{$_} } @lines], 'lines are completed') or diag $r->{err};
};

sub in_fish {
	my ($line) = @_;
	my $r = run_command('fish', '--no-config', '-c', 'source script.fish; complete -C "$argv"', "precedent $line");
	return [sort map { s/\t.*//r } split /\n/, $r->{out}];
}

subtest 'fish' => sub {
	plan skip_all => 'no fish here' if missing('fish');
	is_deeply(in_fish('ve'), ['verify'], 'a verb');
	is_deeply(in_fish('help mo'), ['model'], 'after help, too');
	is_deeply(in_fish("$_ --"), [grep { $_ ne '--help' } @{ options($_) }], "$_: its options") for verbs();
	is_deeply(in_fish('model '), [qw(compile fit predict run show)], 'what model does');
	is_deeply(in_fish('export x --format '), [qw(chrome csv otf2)], 'values');
	is_deeply(in_fish('jobs -n '), [], 'not of a number');
	is_deeply(in_fish('view -o a'), ['a.ptrace', 'a.txt'], 'files');
	is_deeply(in_fish('skeleton x -o f'), ['folder/'], 'directories');
	is_deeply(in_fish('trace -- mpirun --'), [], 'nothing of ours in the command');
};

done_testing;
