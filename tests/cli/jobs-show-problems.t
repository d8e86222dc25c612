# SPDX-License-Identifier: GPL-2.0-or-later
# precedent show: the problems of the traced run, from the user's own trace, and from nobody else's.
use strict;
use warnings;
use FindBin;
use JSON::PP;
use Test::More;
use lib "$FindBin::Bin/lib";
use Cli;

mkdir 'spool' or die "spool: $!\n";
my $made = precedent('trace', '-q', '-o', 'spool/step0.ptrace', '--', 'mpirun', '--oversubscribe', '-n', 4, program('planted'), 'barrier:blocking');
is($made->{rc}, 0, 'a run whose ranks wait in a barrier') or diag $made->{err};

sub show
{
	my ($spool, @traces) = @_;
	spew('answer.json', encode_json({ok => JSON::PP::true, job => {job => 7, name => 'planted'}, program => {state => 'ready', source_job => 7},
		spool => $spool, traces => \@traces}));
	my $r = precedent('show', '--from', 'answer.json');
	is($r->{rc}, 0, 'show') or diag $r->{err};
	is($r->{err}, '', '... without complaints');
	return $r->{out};
}

like(show('spool', 'step0.ptrace'), qr{^Problems of the traced run\n +\d+\.\d %   delay before barrier, MPI_Barrier\n(?:.*\n)*?  more      precedent advise spool/step0\.ptrace$}m,
	'the first problem, its call, and how to see more');
{
	my @shares = map { $_ / 100 } show('spool', 'step0.ptrace') =~ /^ +(\d+\.\d) %   why: /mg;
	my $advice = decode_json(precedent('advise', '--json', 'spool/step0.ptrace')->{out});
	my ($why) = sort { $b <=> $a } map { $_->{share} } grep { $_->{kind} ne 'wait' && $_->{kind} ne 'outside' } @{$advice->{problems}};
	ok(($why // 0) < 0.0095 || @shares == 1, 'one line says why, where there is a reason') or diag explain $advice;
}
unlike(show('spool', 'none.ptrace'), qr/^Problems/m, 'nothing of a trace that is gone');
unlike(show('spool', '../spool/step0.ptrace'), qr/^Problems/m, 'nor of a name that leads elsewhere');
symlink 'step0.ptrace', 'spool/link.ptrace' or die "symlink: $!\n";
unlike(show('spool', 'link.ptrace'), qr/^Problems/m, 'nor through a link');
SKIP: {
	skip 'only root can give a file away', 3 if $>;
	chown 65534, -1, 'spool/step0.ptrace' or die "chown: $!\n";
	unlike(show('spool', 'step0.ptrace'), qr/^Problems/m, "nor of another user's");
	chown 0, -1, 'spool/step0.ptrace';
}
spew('spool/broken.ptrace', 'no trace');
like(show('spool', 'broken.ptrace'), qr/^  it is too large to be looked at here, or cannot be read$/m, 'what cannot be read is said to be so');
truncate 'spool/broken.ptrace', 17 << 20 or die "truncate: $!\n";
like(show('spool', 'broken.ptrace'), qr/^  it is too large to be looked at here/m, 'nor is what would take long');
{
	local $ENV{LC_MESSAGES} = 'zh_CN.UTF-8';
	delete local @ENV{qw(LANGUAGE LC_ALL LANG)};
	like(show('spool', 'step0.ptrace'), qr/\xe5\x88\xb0\xe8\xbe\xbe/, 'in the language of the user');
}

done_testing;
