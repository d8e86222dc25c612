# SPDX-License-Identifier: GPL-2.0-or-later
# Partial execution: the program itself, run in a sandbox until enough of its main loop is done, predicts the whole run;
# it changes nothing; a run that is not the traced one, or that writes where it must not, is told so and not used.
use strict;
use warnings;

use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

my @mpirun = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2);

sub trace_run {
	my ($file, @command) = @_;
	my $r = precedent('trace', '-q', '-o', $file, '--', @mpirun, @command);
	die "no trace of @command: $r->{err}" if $r->{rc} != 0 || !-s $file;
	return $file;
}

sub predict {
	my ($file, @more) = @_;
	my $r = precedent('predict', '--partial', '--json', '--seconds', 0.3, $file, @more);
	is($r->{rc}, 0, "predict --partial $file") or diag $r->{err};
	return $r->{rc} ? {} : decode_json($r->{out} =~ s/\A[^{]*//r);
}

# Every file below here with its contents and times.
sub snapshot {
	my $r = run_command('sh', '-c', 'find . -type f ! -name "*.ptrace" -printf "%p %s %T@ %C@ %i\n" | sort');
	return $r->{out};
}

my $probe = predict(trace_run('heat.ptrace', program('heat'), 256, 400));
if (($probe->{partial}{refused} // '') =~ /namespaces|sandbox/) {
	plan skip_all => "no sandbox here: $probe->{partial}{refused}";
}

# ---- the prediction: within a factor that noise on a busy machine does not break ----
{
	my $p = $probe->{partial};
	ok(!$p->{refused}, 'heat was stopped half way') or diag $p->{refused};
	cmp_ok($p->{ran_s} // 1e9, '<', 60, '... after a while');
	cmp_ok($p->{predicted_s} // 0, '>', 0, '... and gives a prediction');
	ok($p->{lo_s} <= $p->{predicted_s} && $p->{predicted_s} <= $p->{hi_s}, '... within its interval');
	cmp_ok($p->{startup_s} // 0, '>', 0, '... and how long starting takes');
	my ($a, $b) = sort { $a <=> $b } $probe->{skeleton_predicted_s}, $p->{predicted_s};
	ok($a <= $probe->{predicted_s} && $probe->{predicted_s} <= $b, 'the prediction lies between the two that it is made of');
}

for my $run (["lu"], ["cg", 300, 2000]) {
	my ($name, @arguments) = @$run;
	my $p = predict(trace_run("$name.ptrace", program($name), @arguments))->{partial};
	ok($p->{predicted_s}, "$name is stopped half way") or diag $p->{refused};
}

# ---- it changes nothing ----
{
	mkdir 'out';
	spew('out/kept', "as it was\n");
	my $before = snapshot();
	trace_run('writes.ptrace', 'sh', '-c', 'echo changed >out/kept; echo $$ >out/new.$$; exec "$0" 128 200', program('heat'));
	isnt(snapshot(), $before, 'the traced run has written files');
	unlink glob 'out/new.*';
	spew('out/kept', "as it was\n");
	$before = snapshot();
	my $r = precedent('predict', '--partial', '--json', '--seconds', 0.3, 'writes.ptrace');
	is(snapshot(), $before, 'partial execution writes none') or diag $r->{err};
}

# ---- another run than the traced one ----
{
	my $dir = getcwd();
	spew('run', "#!/bin/sh\nexec " . program('heat') . " 128 200 \$(cat $dir/every)\n");
	chmod 0755, 'run';
	spew('every', '10');
	my $file = trace_run('every.ptrace', "$dir/run");
	# the command is that of the program, not of the script
	my $p = predict($file)->{partial};
	ok($p->{predicted_s}, 'a program that a script started is stopped half way') or diag $p->{refused};
}

{
	my $r = precedent('predict', '--partial', '--json', '--seconds', 0.3, '--', @mpirun, 'sh', '-c',
		'if [ -n "$PRECEDENT_STOP_AT" ]; then exec "$0" 128 200 7; else exec "$0" 128 200 10; fi', program('heat'));
	is($r->{rc}, 0, 'a program that does something else the second time') or diag $r->{err};
	like(decode_json($r->{out} =~ s/\A[^{]*//r)->{partial}{refused} // '', qr/not like the traced one/, '... is noticed and not used');
	$r = precedent('predict', '--partial', '--json', '--seconds', 0.3, '--', @mpirun, 'sh', '-c',
		'[ -z "$PRECEDENT_STOP_AT" ] || echo x >/usr/precedent-escape; exec "$0" 128 200', program('heat'));
	like(decode_json($r->{out} =~ s/\A[^{]*//r)->{partial}{refused} // '', qr{stopped: it tries to write /usr/precedent-escape},
		'one that writes where it must not is stopped, and the reason is told');
	ok(!-e '/usr/precedent-escape', '... and has written nothing');
}

{
	my $r = precedent('predict', '--partial', '--seconds', 0.3, trace_run('ring.ptrace', program('ring')));
	is($r->{rc}, 0, 'without a main loop the skeleton predicts alone') or diag $r->{err};
}

is(precedent('confine')->{rc}, 2, 'confine is not for people');

done_testing();
