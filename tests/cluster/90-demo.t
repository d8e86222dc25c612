# SPDX-License-Identifier: GPL-2.0-or-later
# make demo, as a newcomer sees it: the transcript of scripts/demo on a testbed of its own.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed;

$ENV{PRECEDENT_TESTBED} = 'demo-check';
# What `make demo` builds before.
my $build = $ENV{PRECEDENT_BUILD} // 'build';
my $made = Testbed::run_command('make', '--silent', '-C', Testbed::top(), "B=$build",
	map { "$build/tests/programs/$_" } qw(heat heatf));
BAIL_OUT("the programs cannot be built: $made->{err}") if $made->{rc} != 0;
my $r = Testbed::run_command(Testbed::top() . '/scripts/demo', '--short');
(my $text = $r->{out}) =~ s/\e\[\d*m//g;
is($r->{rc}, 0, 'the demonstration ends well') or diag($text, $r->{err});

my $time = qr/\d\d:\d\d:\d\d/;
my @first = $text =~ /^sbatch: precedent: first run of this job: it is traced, .*--predict=off to opt out$/mg;
is(@first, 3, 'three first submissions say that they are traced');
like($text, qr/: lossless: [\d,]+ calls of 2 ranks/, 'the skeleton of LAMMPS is proved');

my @told = $text =~ /^sbatch: precedent: ($time on (?:fast|slow) \($time-$time\).*; limit will be $time \(you asked 02:00:00\); --predict=off to opt out)$/mg;
# Seven; on a machine with much noise predictions are withheld.
cmp_ok(@told, '>=', 1, 'later submissions tell the walltime, the limit and what was asked for') or diag($text);
my ($second) = $text =~ /^== second submissions(.*?)^the jobs run one after the other/ms;
my @limit = $second =~ /^\s*\d+\s+(?:fast|slow)\s+\w+\s+(\S+)\s+\S+\s+PENDING$/mg;
is(scalar(@limit), 6, 'squeue shows all of them') or diag($second);
is(scalar(grep { Testbed::seconds_of($_) < 7200 } @limit), scalar(() = $second =~ /limit will be/g),
	'... with a limit below what was asked for where sbatch said so') or diag($second);

my ($off) = $text =~ /^== --predict=off leaves a job alone\n(.*?)^==/ms;
unlike($off, qr/sbatch: precedent/, 'with --predict=off nothing is told');
like($off, qr/time limit 02:00:00, admin comment '(\(null\))?'/, '... and nothing changed');

# On a machine with much noise a prediction may be withheld: then a job stays where it is.
my $place = $text =~ /^(== no partition named.*?)^== /ms ? $1 : '';
my %told = reverse +($place =~ /^sbatch: precedent: (.*)/m ? $1 : '') =~ /($time) on (\w+)/g;
my ($placed) = $place =~ /^job \d+ was placed on: (\w+)$/m;
SKIP: {
	skip 'the prediction was too uncertain on a partition', 2 if keys %told < 2 && $place =~ /too uncertain/;
	my ($least) = sort { $told{$a} cmp $told{$b} } keys %told;
	ok(defined $least, 'in mode place the predictions are told') or diag($text);
	is($placed, $least, '... and a job without -p leaves the default partition slow for where it ends first') or diag($place);
}
my @rows = $text =~ /^\d+ +(?:lammps|heat|heatf) .* $time \($time-$time\) +$time +[-+][\d.]+ %/mg;
cmp_ok(@rows, '>=', scalar @told, 'predicted and actual stand side by side') or diag($text);
is(Testbed::run_command('scripts/testbed', '--name', 'demo-check', 'status')->{rc} == 0, '', 'nothing is left behind');

done_testing;
