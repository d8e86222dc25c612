#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedentd on a real cluster, with stand-ins at both ends: jobs that leave a trace by hand, and a `precedent probe` that
# answers as it is told. What is real is everything between: plugins, daemon, store, queries, limits, slurmctld's triggers.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'daemon', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }

my $dir = $testbed->dir;
my (undef, undef, $uid) = getpwnam $testbed->user;
my $spool = "$dir/spool/precedent";

sub install_stand_in {
	my $program = "$dir/precedent/bin/precedent";
	rename $program, "$program.real" or die "$program: $!\n";
	open my $fh, '>', $program or die "$program: $!\n";
	print {$fh} <<'SH';
#!/bin/sh
# The probe does what $HOME/probe says: ok (the default), failed, none (no record) or hang; on nodes of the class $HOME/class.
[ "$1" = probe ] || exec "$0.real" "$@"
while [ $# -gt 0 ]; do
	case $1 in
	--dir) dir=$2 ;;
	--candidate) candidate=$2 ;;
	esac
	shift
done
what=$(cat "$HOME/probe" 2>/dev/null || echo ok)
case $what in
none) exit 1 ;;
hang) exec sleep 600 ;;
esac
skel=4; [ "$candidate" = fast ] || skel=8
class=0123456789abcdef
[ ! -e "$HOME/class" ] || { class=$(cat "$HOME/class"); sleep 2; }
{
	printf 'precedent-result 1\njob %s\ncandidate %s\nstatus %s\n' "$SLURM_JOB_ID" "$candidate" "$what"
	[ "$what" = ok ] || echo "reason no mpicc on $SLURMD_NODENAME"
	echo "node_class $class stand-in"
	echo "startup_s 0.1"
	echo "trace 0 mpi_s 4 skel_s $skel lo_s $skel hi_s $skel ran_s 1 events 10 confidence 1"
	echo "compute 0 traced_s 2 skel_s $((skel / 2))"
	printf 'hash 0123456789abcdef\nend\n'
} >"$dir/.new" && chmod 640 "$dir/.new" && mv "$dir/.new" "$dir/probe.$candidate.result"
SH
	close $fh or die "$program: $!\n";
	chmod 0755, $program;
	return;
}

# A job that runs for $HOME/seconds, and then as long as there is $HOME/stay. `name` makes it another program each time.
my $trace_by_hand = "d=$spool/$uid/\$SLURM_JOB_ID; mkdir -p \$d && echo stand-in >\$d/0.ptrace";

sub script {
	my ($name, $trace) = @_;
	my $runs = "sleep \$(cat \$HOME/seconds)\nwhile [ -e \$HOME/stay ]; do sleep 0.2; done\n";
	return "#!/bin/sh\n# $name\nsrun true\n: $name\n" . ($trace // $trace_by_hand) . "\n$runs";
}

sub set {
	my ($file, $text) = @_;
	$testbed->write($file, "$text\n");
	return;
}

sub precedent {
	my (@arguments) = @_;
	return $testbed->run('precedent', @arguments);
}

sub shown {
	my ($job) = @_;
	my $r = precedent('show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

# wait_program(JOB, STATE): the answer to "show" once its program is in that state, else the last one.
sub wait_program {
	my ($job, $state) = @_;
	my $show;
	wait_until(60, sub {
		$show = shown($job);
		return ($show->{program}{state} // '') eq $state;
	});
	return $show;
}

sub probe_of {
	my ($show, $candidate) = @_;
	my ($probe) = grep { $_->{candidate} eq $candidate } @{$show->{probes} // []};
	return $probe // {};
}

sub logged {
	my ($pattern) = @_;
	return wait_until(30, sub { $testbed->log('precedentd') =~ $pattern });
}

install_stand_in();
set('seconds', 5);
my $metrics = "$dir/state/precedent/precedent.prom";
$testbed->conf_set(Mode => 'limit', LimitGuard => 'raise', MinLimit => '00:02:00', PollInterval => 1, MetricsFile => $metrics, MetricsListen => '127.0.0.1:9833');
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
is(precedent('jobs')->{out}, "no jobs known to Precedent\n", 'nothing is known at first');

# The plugin looks at the store once a second: from now on it has seen the heartbeat.
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees that precedentd is alive');

my ($first, $seventh);
subtest 'a traced job is probed on every candidate' => sub {
	my ($job, undef, $said) = $testbed->submit(script('one'), '-N2', '-n2', '-t', 20);
	$first = $job;
	like($said, qr/first run of this job: it is traced/, 'the user is told');
	my $show = wait_program($job, 'ready');
	is($show->{program}{state}, 'ready', 'the program gets ready') or diag $testbed->log('precedentd');
	is_deeply([sort map { $_->{candidate} } @{$show->{estimates}}], ['fast', 'slow'], 'both candidates have an estimate');
	is_deeply($show->{traces}, ['0.ptrace'], 'the trace is named');
	my $info = $testbed->job_info(probe_of($show, 'slow')->{job});
	is($info->{UserId}, $testbed->user . "($uid)", 'the probe ran as the user');
	is($info->{Partition}, 'slow', 'on the candidate');
	is($info->{NumNodes}, '2', 'on as many nodes');
	like($info->{AdminComment}, qr/^precedent:1 act=probe .*key=$show->{program}{key}/, 'and says what it is');
	cmp_ok($info->{Nice}, '>=', 2_000_000_000, 'with the lowest priority');
	like($info->{StdOut}, qr{^$spool/$uid/$job/probe\.slow\.log$}, 'its output is in the spool');
};

subtest 'a workflow tool writes other names and orders into each script' => sub {
	my ($trace, $mark) = ('first run of this job: it is traced', 'the first run of this job is being traced');
	my @jobs; # none is ended before the last is submitted: a job is traced anew where the traced one has ended
	for (['oaacgy3n', "'time' 'code'", $trace], ['exq_yi4w', "'code' 'time'", $mark], ['exq_yi4w', "'code' 'size'", $trace]) {
		my ($name, $set, $expected) = @$_;
		my $work = "cd '$dir' && srun true --wait-for '$dir/.flow/tmp.$name' --rerun-on $set && touch '$dir/.flow/tmp.$name/1.done'";
		my ($job, undef, $said) = $testbed->submit("#!/bin/sh\n$work\n", '-N2', '-n2', '-H');
		like($said, qr/$expected/, "$name, $set");
		push @jobs, $job;
	}
	$testbed->run({as => 'root'}, 'scancel', @jobs);
};

subtest 'a predicted job is compared with its prediction' => sub {
	my ($job, undef, $said) = $testbed->submit(script('one'), '-N2', '-n2', '-t', 20, '-H');
	like($said, qr/precedent: 00:00:\d\d on fast .* on slow; limit will be 00:02:00 \(you asked 00:20:00\)/, 'predicted');
	ok(wait_until(40, sub { $testbed->job_info($job)->{TimeLimit} eq '00:02:00' }), 'its limit is set') or diag $testbed->log('precedentd');
	like($testbed->job_info($job)->{AdminComment}, qr/ user_limit=20 limit=2 /, '... and its comment says so');
	my $row = qr/^$job +\S+ +fast +(\S+) +00:20:00  00:00:\d\d +(\S+)  (.*)$/m;
	is_deeply([precedent('queue')->{out} =~ $row], ['PENDING', '-', '-'], 'the queue shows what it will take');
	my $stay = $testbed->write('stay', '');
	$testbed->run({as => 'root'}, 'scontrol', 'release', $job);
	my @running;
	ok(wait_until(30, sub { @running = precedent('queue')->{out} =~ $row; @running && $running[0] eq 'RUNNING' }), '... and then that it runs');
	unlink $stay;
	like("@running[1, 2]", qr/^\d\d:\d\d \d\d:\d\d \(\d\d:\d\d-\d\d:\d\d\)$/, '... from when to when') or diag "@running";
	$testbed->wait_job($job, 60);
	ok(wait_until(20, sub { (shown($job)->{job}{state} // '') eq 'COMPLETED' }), 'its end is seen');
	like(precedent('jobs', '-n', 1)->{out}, qr/^$job .* 00:20:00 00:02:00 00:00:\d\d .* [+-]\d+\.\d %$/m, 'jobs shows both');
	like(precedent('accuracy')->{out}, qr/^fast +1 /m, 'accuracy counts it');
	my $words = precedent('explain', $job)->{out};
	like($words, qr/predicted to run .* on fast/, 'explain begins with the prediction');
	like($words, qr/ times fast:\n +computation 2\.00 times as long, MPI and waiting 4\.0 s instead of 2\.0 s\./,
		'explain tells computation from MPI') or diag $words;
	note $words;
	like($words, qr/job $first ran/, 'names the traced job');
	like($words, qr/by its run on slow, the whole program takes .* there, 2\.00 times fast/, 'and the ratio');
	like($words, qr/COMPLETED after .*: predicted .* interval/, 'and the outcome');
	# A run that the machine slowed down makes fast too uncertain to be told.
	like($words, qr/^Estimates: (?:fast|slow) .*\n +from the /m, 'and the evidence');
	like($words, qr/^Estimates: fast |^ +Remark: +nothing for fast: .*too uncertain/m, '... of the candidate where it ran');
	is(shown($job)->{baselines}{request}, 1200, 'the request stands beside it');
};

subtest 'metrics' => sub {
	my $get = sub {
		my ($path) = @_;
		return $testbed->run('bash', '-c', "exec 3<>/dev/tcp/127.0.0.1/9833 && printf 'GET $path HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3")->{out};
	};
	# the store is read again only now and then
	my $has_errors = qr/^precedent_error_ratio\{candidate="fast",predictor="precedent"/m;
	ok(wait_until(90, sub { $get->('/metrics') =~ $has_errors }), 'the port tells of the runs');
	my $page = $get->('/metrics');
	like($page, qr{\AHTTP/1\.1 200 OK\r\nContent-Type: text/plain; version=0\.0\.4}, 'as a scraper wants it');
	like($page, qr/^precedent_jobs_total\{act="trace"\} [1-9]/m, 'jobs that were traced');
	like($page, qr/^precedent_limits_set_total [1-9]/m, 'limits that were set');
	like($page, qr/^precedent_shortened_timeouts_total 0$/m, 'nobody was ended below the request');
	like($page, qr/^precedent_looks_failed_total 0$/m, 'all looks went well');
	like($page, qr/^precedent_error_ratio\{candidate="fast",predictor="precedent",quantile="0\.5"\} [\d.]+$/m, 'errors');
	unlike($page, qr/\Q@{[$testbed->user]}\E/, 'and names nobody');
	like($get->('/'), qr{\AHTTP/1\.1 404 }, 'there is nothing else');
	ok(wait_until(60, sub { -s $metrics && do { open my $fh, '<', $metrics or die; local $/; <$fh> =~ $has_errors } }),
		'the file has them too');
	is((stat $metrics)[2] & 0777, 0644, 'and the node exporter may read it');
};

subtest 'who sees what' => sub {
	my $other = {as => $testbed->other_user};
	unlike($testbed->run($other, 'precedent', 'jobs')->{out}, qr/^$first /m, 'another user does not see the job');
	for my $verb (qw(show explain retrace forget)) {
		my $r = $testbed->run($other, 'precedent', $verb, $first);
		is($r->{rc}, 1, "$verb of another user's job fails");
		is($r->{err}, "precedent: job $first is not known to Precedent, or not yours\n", 'and says why');
	}
	like($testbed->run({as => 'root'}, 'precedent', 'jobs', '--all')->{out}, qr/^$first /m, 'root sees it');
	is(shown($first)->{program}{state}, 'ready', 'nothing was changed');
};

# For long after its end a trace may still come: it is looked at further down.
my ($untraced) = $testbed->submit(script('five', ':'), '-N2', '-n2', '-t', 20);

subtest 'probes that fail' => sub {
	set('probe', 'failed');
	my ($job) = $testbed->submit(script('two'), '-N2', '-n2', '-t', 20);
	my $show = wait_program($job, 'failed');
	like($show->{program}{reason}, qr/^probe on fast: no mpicc on fast1/, 'its reason is shown');
	set('probe', 'hang');
	($job) = $testbed->submit(script('three'), '-N2', '-n2', '-t', 20);
	my $probe = wait_until(60, sub { probe_of(shown($job), 'fast')->{job} });
	ok($probe, 'a probe runs');
	$testbed->run('scancel', $probe);
	$show = wait_program($job, 'failed');
	like($show->{program}{reason}, qr/^probe on fast: no result; the job ended CANCELLED/, 'a cancelled probe is given up');
	set('probe', 'none');
	($job) = $testbed->submit(script('four'), '-N2', '-n2', '-t', 20);
	ok(wait_until(60, sub { probe_of(shown($job), 'fast')->{reason} }), 'a probe without a record');
	is(probe_of(shown($job), 'fast')->{state}, 'waiting', 'is tried again');
	like(probe_of(shown($job), 'fast')->{reason}, qr/^no result; the job ended FAILED/, 'with its reason');
	set('probe', 'ok');
};

subtest 'jobs without a trace' => sub {
	my ($broken) = $testbed->submit(script('six', 'exit 3'), '-N2', '-n2', '-t', 20);
	my $show = wait_program($broken, 'failed');
	is($show->{program}{reason}, "traced job $broken ended FAILED; the next run goes without the tracer", 'a job that failed');
	my ($control, undef, $said) = $testbed->submit(script('six', 'exit 3'), '-N2', '-n2', '-t', 20);
	like($said, qr/not traced: job $broken of this program ended FAILED while it was traced; this run is without the tracer/,
		'goes without the tracer at its next run');
	ok(wait_until(60, sub { (shown($control)->{program}{reason} // '') =~ /the next run is traced again$/ }), 'when that fails too');
	(undef, undef, $said) = $testbed->submit(script('six', 'exit 3'), '-N2', '-n2', '-t', 20);
	like($said, qr/it is traced/, '... it is traced again');
	$show = wait_program($untraced, 'failed');
	like($show->{program}{reason}, qr/no process called MPI_Init with the tracer: no MPI program, or what started it/, 'a job that is no MPI program');
	(undef, undef, $said) = $testbed->submit(script('five', ':'), '-N2', '-n2', '-t', 20);
	unlike($said, qr/it is traced/, 'is not traced again');
};

subtest 'inputs that have not run' => sub {
	my $sleeps = sub {
		my ($seconds, @more) = @_;
		my @asked = ('-p', 'fast', '-N1', '-n1', '-s', '-t', 20, @more);
		return $testbed->submit("#!/bin/sh\n# a family\n: sleeper\nsleep $seconds\n", @asked);
	};
	my $told = qr/00:00:2\d on fast \([0-9:]+-[0-9:]+, from a model over inputs of [369] runs\)/;
	my ($job, %said, $model);
	# Some seconds of delay in one run leave open what the numbers do: then each number runs once more.
	for my $try (1 .. 3) {
		my @jobs = map { ($sleeps->($_))[0] } 10, 20, 30;
		ok(wait_until(90, sub { 3 == grep { (shown($_)->{job}{state} // '') eq 'COMPLETED' } @jobs }),
			'a program runs with three numbers');
		wait_until(60, sub {
			($model) = @{ shown($jobs[0])->{models} // [] };
			return $model && $model->{runs} >= 3 * $try;
		});
		($job, undef, $said{near}) = $sleeps->(24 + $try, '-H');
		last if $said{near} =~ $told || $try == 3;
		diag("once more: $said{near}");
		$testbed->run('scancel', $job);
	}
	ok($model->{law}, 'a model is made of them') or diag explain $model;
	is($model->{inputs}, 3, 'of three inputs');
	like($said{near}, $told, 'a fourth is predicted from it');
	$testbed->run({as => 'root'}, 'scontrol', 'release', $job);
	($said{other}, undef, $said{far}) = $sleeps->(200);
	like($said{far}, qr/it is traced.*; its model over inputs does not know: n1 200 is too far from the 10 to 30 that ran/, 'what is far away is not');
	$testbed->run('scancel', $said{other});
	ok(wait_until(60, sub { (shown($job)->{job}{state} // '') eq 'COMPLETED' }), 'it runs');
	is(shown($job)->{job}{predicted}{kind}, 'model', 'its evidence is on record');
	like(precedent('explain', $job)->{out}, qr/from a model over inputs\.\n.*^Model: +fast .*\n +from \d+ runs with [34] different inputs.*\n +On average .*n1/ms,
		'and explained');
};

subtest 'retrace and forget' => sub {
	like(precedent('retrace', $first)->{out}, qr/next submission is traced again/, 'retrace says so');
	my ($job, undef, $said) = $testbed->submit(script('one'), '-N2', '-n2', '-t', 20);
	like($said, qr/it is traced/, 'and so it is');
	is(wait_program($job, 'ready')->{program}{source_job}, $job, 'from the new trace');
	is(precedent('forget', $job)->{rc}, 0, 'forget');
	is(precedent('show', $first)->{rc}, 1, 'earlier runs are forgotten too');
	($seventh) = $testbed->submit(script('seven'), '-N2', '-n2', '-t', 20);
	ok(wait_until(20, sub { shown($seventh)->{job} }), 'the daemon looks again');
	is(precedent('show', $job)->{rc}, 1, 'and stay so while slurmctld remembers them');
};

subtest 'what runs that died have left is removed after Retention' => sub {
	my $into = "$spool/$uid/$first";
	my @gone = map { "$into/$_" } qw(9.0.r1.spill 9.0.r1.spill.part 9.0.r1.spill.ended .present.9.0.root .collect.9.0);
	my @kept = map { "$into/$_" } qw(old.ptrace tracer.err spill.txt young.spill);
	$testbed->write($_, "left\n") for @gone, @kept;
	run_command('touch', '-d', '3 days ago', @gone, @kept[0 .. 2]);
	symlink "$into/old.ptrace", "$into/link.spill" or die "link.spill: $!\n";
	run_command('touch', '-h', '-d', '3 days ago', "$into/link.spill");
	$testbed->write("$into/theirs.spill", "left\n", 0644, $testbed->other_user);
	run_command('touch', '-d', '3 days ago', "$into/theirs.spill");
	$testbed->daemon('stop');
	$testbed->conf_set(MinLimit => '00:01:00'); # for the jobs further down, which run longer
	my $old = $testbed->conf_set(Retention => '2d');
	$testbed->daemon('start');
	ok(wait_until(30, sub { !grep { -e } @gone }), 'parts, markers and locks go') or diag join ' ', grep { -e } @gone;
	is_deeply([grep { !-e } @kept], [], 'other files, and young ones, stay');
	ok(-l "$into/link.spill", 'so does a link');
	ok(-e "$into/theirs.spill", 'and what belongs to another user');
	ok(logged(qr/: 5 files that runs which died have left were removed/), 'the log says so');
	unlink @kept, "$into/link.spill", "$into/theirs.spill";
	$testbed->daemon('stop');
	$testbed->conf_restore($old);
	$testbed->daemon('start');
	ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd goes on');
};

# The limit is 1 minute, the user's own 2: both jobs run for a little more than 1, side by side.
subtest 'nobody is killed by us' => sub {
	is(wait_program($seventh, 'ready')->{program}{state}, 'ready', 'a program to begin with');
	set('seconds', 75);
	my %job;
	for my $name (qw(alive orphan)) {
		($job{$name}, undef, my $said) = $testbed->submit(script('seven'), '-p', 'fast', '-N2', '-n2', '-t', 2, '-H');
		like($said, qr/limit will be 00:01:00/, "$name: shortened");
		ok(wait_until(30, sub { ($testbed->job_info($job{$name})->{TimeLimit} // '') eq '00:01:00' }), '... really');
		ok(wait_until(30, sub { (shown($job{$name})->{job}{limit_min} // 0) == 1 }), '... and seen');
	}
	my ($alive, $orphan) = @job{qw(alive orphan)};
	$testbed->run({as => 'root'}, 'scontrol', 'release', $alive);
	ok(wait_until(90, sub { $testbed->job_info($alive)->{TimeLimit} eq '00:02:00' }), 'raised while it runs'); # by precedentd or by slurmctld's trigger, which is due as well: 55-limits.t tells them apart
	$testbed->daemon('kill');
	$testbed->run({as => 'root'}, 'scontrol', 'release', $orphan);
	is($testbed->wait_job($alive, 150)->{state}, 'COMPLETED', 'the first runs to its end');
	is($testbed->wait_job($orphan, 250)->{state}, 'COMPLETED', 'so does the second, without precedentd');
	is($testbed->job_info($orphan)->{TimeLimit}, '00:02:00', 'raised by slurmctld');
	my $r = precedent('jobs');
	is($r->{rc}, 1, 'a dead daemon answers nothing');
	like($r->{err}, qr/^precedent: cannot reach precedentd at \S+:6833: Connection refused; is it running\?/, 'clearly said');
	$testbed->daemon('start');
	ok(wait_until(30, sub { (shown($orphan)->{job}{state} // '') eq 'COMPLETED' }), 'a new daemon catches up');
	is(shown($orphan)->{job}{extensions}, 1, 'and counts the extension');
};

subtest 'nodes of another class, costs, and a copy while jobs run' => sub {
	set('seconds', 5);
	my ($old) = $testbed->submit(script('eight'), '-N2', '-n2', '-t', 20);
	is(wait_program($old, 'ready')->{program}{state}, 'ready', 'a program that was probed');
	my $key = substr shown($old)->{program}{key}, 0, 8;
	set('class', 'fedcba9876543210');
	my ($job) = $testbed->submit(script('nine'), '-N2', '-n2', '-t', 20);
	my $r = $testbed->run({as => 'slurm'}, "$dir/precedent/sbin/precedentd", '--backup', "$dir/state/precedent/copy.db");
	is($r->{rc}, 0, 'the store is copied while a job runs') or diag $r->{err};
	my $count = run_command('sqlite3', "$dir/state/precedent/copy.db", 'PRAGMA integrity_check; SELECT count(*) > 5 FROM runs');
	is($count->{out}, "ok\n1\n", 'the copy is sound, and has the runs') or diag $count->{err};
	is(wait_program($job, 'ready')->{program}{state}, 'ready', 'a probe finds nodes of another class');
	ok(logged(qr/key $key: probe on (?:fast|slow) to be made again: the nodes are of another class now/),
		'the probes of the class that was there before are made again') or diag $testbed->log('precedentd');
	$r = decode_json(precedent('accuracy', '--cost', '--json')->{out});
	is_deeply([map { $_->{uid} } @{$r->{rows}}], [($uid) x @{$r->{rows}}], 'a user reads what his own jobs and probes cost');
	cmp_ok($r->{total}{jobs}, '>', 5, 'how many jobs there were');
	cmp_ok($r->{total}{used_node_h}, '>', 0, '... and their node-hours');
	cmp_ok($r->{total}{probes}, '>', 0, 'and how many probes');
};

subtest 'slurmctld away, store damaged' => sub {
	my $store = "$dir/state/precedent/precedent.db";
	$testbed->daemon('stop');
	rename "$store$_", "$dir/state/precedent/kept$_" for '', '-wal', '-shm';
	$testbed->run({as => 'slurm'}, 'sh', '-c', "echo 'this is not a database, and long enough to be one' >$store");
	$testbed->daemon('start');
	ok(logged(qr/store: .* not a database/), 'a damaged store is said');
	like(precedent('jobs')->{err}, qr/^precedent: precedentd cannot open its store/, 'to users as well');
	unlink $store;
	rename "$dir/state/precedent/kept$_", "$store$_" for '', '-wal', '-shm';
	ok(logged(qr/the store is in order again/), 'and it goes on when that is mended');
	open my $fh, '<', "$dir/run/slurm/slurmctld.pid" or die "slurmctld.pid: $!\n";
	chomp(my $pid = <$fh>);
	kill 'TERM', $pid;
	ok(logged(qr/slurmctld gives no configuration/), 'slurmctld away');
	is(precedent('jobs', '-n', 1)->{rc}, 0, 'queries are answered all the same');
	is($testbed->daemon('status')->{rc}, 0, 'and precedentd lives');
};

done_testing;
