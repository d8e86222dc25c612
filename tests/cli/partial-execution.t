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

# Below, what the skeleton predicts is not looked at.
empty_skeletons();

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
	trace_run('writes.ptrace', 'sh', '-c', 'echo changed >out/kept; echo $$ >out/new.$$; exec "$0" 128 2000', program('heat'));
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
	spew('run', "#!/bin/sh\nexec " . program('heat') . " 128 2000 \$(cat $dir/every)\n");
	chmod 0755, 'run';
	spew('every', '10');
	my $file = trace_run('every.ptrace', "$dir/run");
	# the command is that of the program, not of the script
	my $p = predict($file)->{partial};
	ok($p->{predicted_s}, 'a program that a script started is stopped half way') or diag $p->{refused};
}

{
	my $r = precedent('predict', '--partial', '--json', '--seconds', 0.3, '--', @mpirun, 'sh', '-c',
		'if [ -n "$PRECEDENT_STOP_AT" ]; then exec "$0" 128 2000 7; else exec "$0" 128 2000 10; fi', program('heat'));
	is($r->{rc}, 0, 'a program that does something else the second time') or diag $r->{err};
	like(decode_json($r->{out} =~ s/\A[^{]*//r)->{partial}{refused} // '', qr/not like the traced one/, '... is noticed and not used');
	$r = precedent('predict', '--partial', '--json', '--seconds', 0.3, '--', @mpirun, 'sh', '-c',
		'if [ -n "$PRECEDENT_STOP_AT" ]; then echo "no device here"; exec "$0" 128 20 10 >&2; else exec "$0" 128 2000 10; fi', program('heat'));
	like(decode_json($r->{out} =~ s/\A[^{]*//r)->{partial}{refused} // '', qr/has ended after \d+ events; its last line: \S/,
		'what the program said last is told where it ends too early');
	$r = precedent('predict', '--partial', '--json', '--seconds', 0.3, '--', @mpirun, 'sh', '-c',
		'[ -z "$PRECEDENT_STOP_AT" ] || echo x >/usr/precedent-escape; exec "$0" 128 2000', program('heat'));
	like(decode_json($r->{out} =~ s/\A[^{]*//r)->{partial}{refused} // '', qr{stopped: it tries to write /usr/precedent-escape},
		'one that writes where it must not is stopped, and the reason is told');
	ok(!-e '/usr/precedent-escape', '... and has written nothing');
}

{
	my $r = precedent('predict', '--partial', '--seconds', 0.3, trace_run('ring.ptrace', program('ring')));
	is($r->{rc}, 0, 'without a main loop the skeleton predicts alone') or diag $r->{err};
}

# ---- instead of a skeleton, which this compiler makes a program that fails ----
{
	spew('compiler', "#!/bin/sh\nwhile [ \"\$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\nexit 3\\n' >\"\$2\"; chmod 755 \"\$2\"\n");
	chmod 0755, 'compiler';
	local $ENV{MPICC} = getcwd() . '/compiler';
	my $file = trace_run('bare.ptrace', program('heat'), 128, 2000);
	my $why = qr/the skeleton failed \(mpirun exit 3\)/;
	my $r = precedent('predict', '--seconds', 0.1, $file);
	is($r->{rc}, 0, 'without a skeleton the program itself predicts, though nobody has asked') or diag $r->{err};
	unlike($r->{err}, qr/^precedent:/m, '... without a message');
	is(scalar(() = $r->{out} =~ /^skeleton   none: $why$/mg), 1, '... a line says why there is no skeleton') or diag $r->{out};
	like($r->{out}, qr/^program    ran \S+ \S+ in a sandbox/m, '... and one what was run');
	mkdir 7 or die "7: $!";
	rename $file, '7/0.ptrace' or die "rename: $!";
	$r = precedent('probe', '--dir', 7, '--candidate', 'home', '--source', '--seconds', 0.2);
	is($r->{rc}, 1, 'a probe that may not run the program fails');
	like($r->{err}, $why, '... and says why');
	for my $candidate (qw(home away)) {
		precedent('probe', '--dir', 7, '--candidate', $candidate, '--partial=on', '--seconds', 0.2, $candidate eq 'home' ? '--source' : ());
		my $record = slurp("7/probe.$candidate.result");
		like($record, qr/^status ok$/m, "a probe on $candidate that may runs it") or diag $record;
		like($record, qr/^unskeleton 0\.ptrace: $why$/m, '... with the reason in its record');
		like($record, qr/^trace 0 mpi_s \S+ skel_s 0 .*\npartial 0 whole_s /m, '... and the seconds of the program alone');
	}
	is(slurp('7/probe.home.result') =~ /^(hash .*)$/m ? $1 : 'none', slurp('7/probe.away.result') =~ /^(hash .*)$/m ? $1 : '',
		'... and the same hash');
}
precedent('probe', '--dir', 7, '--candidate', 'home', '--partial=on', '--source', '--seconds', 0.2);
like(slurp('7/probe.home.result'), qr/^trace 0 mpi_s \S+ skel_s [0-9.]*[1-9]/m, 'with a compiler it is the skeleton again');
unlike(slurp('7/probe.home.result'), qr/^unskeleton /m, '... and no reason is left');

{
	my $file = trace_run('accept.ptrace', program('calls_dyn'));
	my $r = precedent('predict', $file);
	is($r->{rc}, 1, 'a program that neither a skeleton nor partial execution predicts');
	like($r->{err}, qr/\Aprecedent: nothing to predict: accept\.ptrace: MPI_Comm_\w+ at .*start processes.*; partial execution: .*no main loop[^\n]*\n\z/,
		'... is told in a line, with both reasons');
	$r = precedent('trace', '-q', '-o', 'killed.ptrace', '--', @mpirun, program('dies'), 'kill', 50);
	$r = precedent('predict', 'killed.ptrace');
	is($r->{rc}, 1, 'a run that was killed');
	is(scalar(() = $r->{err} =~ /the trace is partial/g), 1, '... has one reason, told once') or diag $r->{err};
}

is(precedent('confine')->{rc}, 2, 'confine is not for people');

done_testing();
