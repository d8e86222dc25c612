#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What can go wrong on a cluster, with everything real: programs that end badly or are no MPI programs, a node without a
# compiler, probes that are cancelled, run out of time or lose their node, a spool that is full or read-only, a store that is
# missing, locked, newer or corrupt, a bad configuration, a dead daemon. Each time: the job is as it was submitted and
# prints what it always prints, one line says what is wrong where it is looked for, and nothing is lost.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);
use Time::HiRes qw(time);

# The spool is a small file system of its own, mounted before the machines of the testbed are made: they all see it.
my $spool = '/var/lib/precedent-faults-spool';
my $testbed;

END {
	my $status = $?;
	$testbed->testbed('down') if $testbed;
	run_command('umount', '-l', $spool);
	rmdir $spool;
	$? = $status;
}

sub run_ok {
	my $r = run_command(@_);
	die "@_: $r->{err}" if $r->{rc} != 0;
	return $r->{out};
}

sub spool_make {
	run_command('scripts/testbed', '--name', 'faults', 'down');
	run_command('umount', '-l', $spool); # what an interrupted run has left
	mkdir $spool;
	run_ok('mount', '-t', 'tmpfs', '-o', 'size=32m,mode=755', 'precedent-faults', $spool);
	chown 0, scalar getgrnam('slurm'), $spool;
	return;
}

chdir Testbed::top();
spool_make();
$testbed = Testbed->attach(name => 'faults', up => ['--build', build_dir()]);
my $dir = $testbed->dir;
my (undef, undef, $uid) = getpwnam $testbed->user;
my $store = "$dir/state/precedent/precedent.db";
my $conf = $testbed->conf_path;
$testbed->conf_set(SpoolDir => $spool, Mode => 'limit', LimitGuard => 'raise', MinLimit => '00:02:00', ProbeSeconds => 1, PollInterval => 1,
	HeartbeatTimeout => 900);
my $reloaded = $testbed->testbed('reload'); # every slurmd says in the new spool that its node has the tracer
die "reload: $reloaded->{err}" if $reloaded->{rc} != 0;
$testbed->program($_) for qw(ring crash abort dies nofinalize noinit);

# ---- helpers ----

sub precedent {
	my (@arguments) = @_;
	return $testbed->run('precedent', @arguments);
}

sub doctor {
	return $testbed->run({as => 'root'}, 'precedent', 'doctor');
}

# The one line of doctor about a thing.
sub finding {
	my ($what) = @_;
	my @lines = grep { /^\S+ +\Q$what\E / } split /\n/, doctor()->{out};
	return join ' | ', @lines;
}

sub shown {
	my ($job) = @_;
	my $r = precedent('show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

# The answer to "show" once its program is in that state, or when time is up.
sub wait_program {
	my ($job, $state, $seconds) = @_;
	my $show;
	wait_until($seconds // 90, sub {
		$show = shown($job);
		return ($show->{program}{state} // '') eq $state;
	});
	return $show;
}

sub probe_of {
	my ($job, $candidate) = @_;
	my ($probe) = grep { $_->{candidate} eq $candidate } @{shown($job)->{probes} // []};
	return $probe // {};
}

# Lines that a log has got since it was so long.
sub since {
	my ($daemon, $length, $pattern) = @_;
	return grep { /$pattern/ } split /\n/, substr $testbed->log($daemon), $length;
}

sub log_length {
	my ($daemon) = @_;
	return length $testbed->log($daemon);
}

my @asked = ('-N1', '-n2', '-t', 20);

# A script of its own, so that it is a job of its own.
sub script {
	my ($name, $text) = @_;
	# the variable tells jobs apart that launch the same
	return "#!/bin/sh\n# $name\nexport NAME='$name'\n$text\n";
}

sub submit {
	my ($script, @arguments) = @_;
	my ($job, undef, $said) = $testbed->submit($script, @asked, @arguments);
	die "sbatch: $said" if !defined $job;
	return ($job, $said);
}

# Submitted and held: job, what sbatch said, the limit that it has or is to have, its admin comment.
sub held {
	my ($script, @arguments) = @_;
	my ($job, $said) = submit($script, '-H', @arguments);
	my $info = $testbed->job_info($job);
	my ($wish) = ($info->{AdminComment} // '') =~ / wish=(\d+) /;
	my $limit = defined $wish ? sprintf('%02d:%02d:00', $wish / 60, $wish % 60) : $info->{TimeLimit};
	return {job => $job, said => $said, limit => $limit, comment => $info->{AdminComment} // ''};
}

sub is_untouched {
	my ($h, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_deeply([@$h{qw(limit comment)}], ['00:20:00', ''], "$what: the job is as it was submitted");
	unlike($h->{said}, qr/precedent/, '... and its user is not bothered');
	return;
}

# Jobs of the same script for as long as the plugin needs to look at its files twice; the last one.
sub held_until {
	my ($script, $code) = @_;
	my $h;
	wait_until(20, sub {
		$h = held($script);
		return $code->($h);
	});
	my $end = time + 2.5;
	$h = held($script) while time < $end;
	return $h;
}

my $known = script('known', 'srun ./ring 200; sleep 2');

# Runs that a busy machine slowed down make fast too uncertain to be told: then the job has no limit, and slow is told.
sub is_told {
	my ($h) = @_;
	return $h->{limit} eq '00:02:00' || $h->{said} =~ /precedent: [\d:]+ on slow \(/;
}

sub is_predicted {
	my ($what) = @_;
	my $h;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_until(30, sub { $h = held($known); return is_told($h) }), $what) or diag "$h->{limit} $h->{said}";
	return;
}

# ---- a node without a compiler, and one whose compiler never ends ----

my @nodes = qw(fast1 fast2 slow1 slow2);

sub compiler_replace {
	my ($path) = @_;
	for my $node (@nodes) {
		$testbed->testbed('node', $node, 'mount', '-n', '--bind', $path, '/usr/bin/mpicc')->{rc} == 0 or die "$node: mount failed\n";
	}
	return;
}

sub compiler_restore {
	$testbed->testbed('node', $_, 'umount', '/usr/bin/mpicc') for @nodes;
	return;
}

my ($known_job) = submit($known);
is(wait_program($known_job, 'ready')->{program}{state}, 'ready', 'a job that is known') or BAIL_OUT($testbed->log('precedentd'));
is_predicted('is predicted and shortened');

subtest 'no mpicc on the nodes' => sub {
	compiler_replace('/dev/null');
	my ($job) = submit(script('no-mpicc', 'srun ./ring 200; sleep 1'));
	my $show = wait_program($job, 'ready');
	is($show->{program}{state}, 'ready', 'the skeleton is interpreted: there is a prediction') or diag $show->{program}{reason};
	my $why = qr/the skeleton was interpreted: the skeleton cannot be compiled here: mpicc cannot be run on fast\d: /;
	like(precedent('show', $job)->{out}, qr/$why/, '... and show says why');
	my $r = $testbed->testbed('node', 'fast1', 'env', "PRECEDENT_CONF=$conf", "$dir/precedent/bin/precedent", 'doctor');
	like($r->{out}, qr/^warn  mpicc +not in PATH: skeletons are interpreted on this node, not compiled/m, '... so does doctor on the node');
	compiler_restore();
};

# Three probes that hang: they are cancelled, run out of time, lose their node. Begun here, looked at in the end.
$testbed->write('hang', "#!/bin/sh\nexec sleep 600\n", 0755);
compiler_replace($testbed->path('hang'));
my %lost;
$lost{cancelled} = (submit(script('cancelled', 'srun ./ring 200; sleep 1')))[0];
$lost{timeout} = (submit(script('timeout', 'srun ./ring 200; sleep 1')))[0];
$lost{node} = (submit(script('node', 'srun ./ring 200; sleep 1'), '-p', 'slow'))[0];
my %candidate = (cancelled => 'fast', timeout => 'fast', node => 'slow');
my %probe;
for my $what (sort keys %lost) {
	my $there = wait_until(60, sub {
		$probe{$what} = probe_of($lost{$what}, $candidate{$what})->{job} or return 0;
		return $testbed->job_info($probe{$what})->{JobState} eq 'RUNNING';
	});
	ok($there, "a probe that hangs, to be: $what");
}
compiler_restore(); # the mount stays for those that run
$testbed->run({as => 'root'}, 'scontrol', 'update', "jobid=$probe{timeout}", 'timelimit=1');
my $lost_node = $testbed->job_info($probe{node})->{NodeList};
$testbed->run({as => 'root'}, 'scontrol', 'update', "nodename=$lost_node", 'state=down', 'reason=test');
$testbed->run({as => 'root'}, 'scontrol', 'update', "nodename=$lost_node", 'state=resume');
$testbed->run('scancel', $probe{cancelled});

subtest 'a probe that is cancelled' => sub {
	my $show = wait_program($lost{cancelled}, 'failed');
	like($show->{program}{reason}, qr/^probe on fast: no result; the job ended CANCELLED/, 'is given up, with the reason');
	like(precedent('explain', $lost{cancelled})->{out}, qr/no result; the job ended CANCELLED/, 'explain says so');
};

# ---- programs ----

subtest 'programs that end badly, or are no MPI programs' => sub {
	my $cut = qr/^no trace: the program called MPI_Init but never MPI_Finalize$/;
	my $none = qr/^no trace: no process called MPI_Init with the tracer: no MPI program, or what started it .* passes on no LD_PRELOAD$/;
	my @cases = (
		# name, script, state of the job, its output, reason
		['crash', 'srun ./crash', 'FAILED', qr/crash: dies with 10?$/m, qr/^traced job \d+ ended FAILED; the next run goes without the tracer$/],
		['crash unnoticed', "srun ./crash\ntrue", 'COMPLETED', qr/crash: dies with/, $cut],
		['abort', 'srun ./abort', 'FAILED', qr/abort: gives up/, qr/^traced job \d+ ended FAILED; the next run goes without the tracer$/],
		['abort of mpirun', "mpirun -n 2 ./abort\ntrue", 'COMPLETED', qr/abort: gives up/, $cut],
		['no finalize', "srun ./nofinalize\ntrue", 'COMPLETED', qr/nofinalize: sum 1$/m, $cut],
		['no init', 'srun ./noinit', 'COMPLETED', qr/\A(?:noinit: MPI [\d.]+, initialized 0\n){2}\z/, $none],
		['no MPI', 'srun hostname', 'COMPLETED', qr/\A(?:(?:fast|slow)\d\n){2}\z/, $none],
		['nothing', ':', 'COMPLETED', qr/\A\z/, $none],
	);
	my %job;
	for my $case (@cases) {
		my ($name, $text) = @$case;
		($job{$name}, my $said) = submit(script($name =~ tr/ /_/r, $text), '-p', 'fast,slow');
		like($said, qr/^sbatch: precedent: first run of this job: it is traced/, "$name: the user is told");
	}
	for my $case (@cases) {
		my ($name, undef, $state, $output, $reason) = @$case;
		my $end = $testbed->wait_job($job{$name}, 90) // {state => 'does not end'};
		is($end->{state}, $state, "$name: the job ends as it would");
		my $text = $testbed->output($job{$name});
		like($text, $output, '... and prints what it prints');
		unlike($text, qr/libprecedent|precedent:|PRECEDENT|ld\.so|LD_PRELOAD/, '... nothing of ours');
		is($end->{info}{TimeLimit}, '00:20:00', '... within the limit that was asked for');
	}
	for my $case (@cases) {
		my ($name, undef, undef, undef, $reason) = @$case;
		my $show = wait_program($job{$name}, 'failed');
		like($show->{program}{reason}, $reason, "$name: the reason is known");
		my $words = precedent('explain', $job{$name})->{out} =~ s/\n {10}(?= \S)//gr;
		like($words, qr/^Trace: +at present there is no prediction: \Q$show->{program}{reason}\E\.(?: It may be traced again from .*)?$/m, '... to the user');
	}
	like(held(script('crash', 'srun ./crash'))->{said}, qr/not traced: job $job{crash} of this program ended FAILED while it was traced/,
		'after a crash the next run goes without the tracer');
	is(held(script('no_MPI', 'srun hostname'))->{said}, '', 'a job without MPI is left alone from then on');
};

subtest 'scripts that are not shell scripts' => sub {
	my ($perl, $said) = submit("#!/usr/bin/perl\nuse strict;\nmy \@all = map { 2 * \$_ } 1 .. 3;\nsystem('srun', './ring', '200');\nprint \"\@all\\n\";\nsleep 1;\n");
	like($said, qr/it is traced/, 'a Perl script is a job like any other');
	my $text = "#!/bin/cat\n\xff\xfe\x80 \"unended 'quotes \$( \\\n" . "x" x 200_000 . "\n";
	my ($noise) = submit($text);
	my ($awk) = submit("#!/usr/bin/awk -f\nBEGIN { print \"awk\" }\n");
	is($testbed->wait_job($perl, 60)->{state}, 'COMPLETED', 'it runs');
	like($testbed->output($perl), qr/\Aring: .*\n2 4 6\n\z/, 'and prints what it prints');
	is($testbed->wait_job($noise, 60)->{state}, 'COMPLETED', 'so does a script of noise');
	ok($testbed->output($noise) eq $text, 'whole');
	is($testbed->wait_job($awk, 60)->{state}, 'COMPLETED', 'and one of awk');
	is($testbed->output($awk), "awk\n", 'as ever');
	my $show = wait_program($perl, 'ready');
	is($show->{program}{state}, 'ready', 'the MPI program in the Perl script is known') or diag $show->{program}{reason};
	my $r = $testbed->run('sbatch', $testbed->path('ring'));
	isnt($r->{rc}, 0, 'a program is refused');
	like($r->{err}, qr/does not look like a batch script/, 'by sbatch');
	unlike($r->{err}, qr/precedent/, 'not by us');
	$r = $testbed->run({stdin => ''}, 'sbatch');
	isnt($r->{rc}, 0, 'so is an empty script');
};

# ---- the store ----

my $sql = "$dir/tmp/sql";
{
	open my $fh, '>', "$sql.c" or die "$sql.c: $!\n";
	print {$fh} <<'C';
/* sql DATABASE STATEMENTS [hold]: runs them; with "hold" says so and waits for the end of its input. */
#include <sqlite3.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	sqlite3 *db;
	char *why = NULL;
	if (argc < 3 || sqlite3_open(argv[1], &db) || sqlite3_exec(db, argv[2], NULL, NULL, &why)) {
		fprintf(stderr, "%s\n", why ? why : "cannot open");
		return 1;
	}
	if (argc > 3) {
		puts("held");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	return sqlite3_close(db) != SQLITE_OK;
}
C
	close $fh or die "$sql.c: $!\n";
	run_ok('cc', '-o', $sql, "$sql.c", '-lsqlite3');
}

# The store replaced by a file of this content (undef: by nothing); what was there comes back with store_back.
sub store_replace {
	my ($bytes) = @_;
	rename "$store$_", "$dir/state/precedent/kept$_" for '', '-wal', '-shm';
	return if !defined $bytes;
	open my $fh, '>:raw', "$store.new" or die "$store.new: $!\n";
	print {$fh} $bytes;
	close $fh or die "$store.new: $!\n";
	chown scalar(getpwnam 'slurm'), scalar(getgrnam 'slurm'), "$store.new";
	chmod 0640, "$store.new";
	rename "$store.new", $store or die "$store: $!\n";
	return;
}

sub store_back {
	unlink "$store$_" for '', '-wal', '-shm';
	rename "$dir/state/precedent/kept$_", "$store$_" for '', '-wal', '-shm';
	return;
}

sub store_bytes {
	open my $fh, '<:raw', $store or die "$store: $!\n";
	local $/;
	return scalar <$fh>;
}

# With the store as it is now, and no daemon: jobs pass, slurmctld says it `lines` times, doctor says it.
sub store_fault {
	my ($what, $lines, $pattern, $doctor) = @_;
	my $mark = log_length('slurmctld');
	my $h = held_until($known, sub { $_[0]{limit} eq '00:20:00' });
	is_untouched($h, $what);
	my @said = since('slurmctld', $mark, 'job_submit/precedent');
	is(scalar @said, $lines, "... slurmctld logs " . ($lines ? 'it once' : 'nothing')) or diag join "\n", @said;
	like($said[0], $pattern, '... clearly') if $lines;
	like(finding('store'), $doctor, '... doctor says it');
	return;
}

subtest 'the store' => sub {
	$testbed->daemon('stop');
	is($testbed->run({as => 'slurm'}, $sql, $store, 'PRAGMA wal_checkpoint(TRUNCATE)')->{rc}, 0, 'everything is in one file');
	my $good = store_bytes();

	store_replace(undef);
	store_fault('missing', 0, undef, qr/^warn .*there is no store yet: is precedentd running\?/);
	store_back();
	is_predicted('when it is back');

	store_replace("this is not a database\n" x 1000);
	store_fault('corrupt', 1, qr/error: .*precedent\.db: .*file is not a database: stop precedentd, move the file away/, qr/^FAIL .*not a database/);
	store_back();
	is_predicted('when it is mended');

	# It opens, since the first page is whole, and fails later: at the heartbeat, or only when a job is looked up.
	my $size = unpack 'n', substr $good, 16, 2;
	for my $whole (1, 2) {
		store_replace(substr($good, 0, $whole * $size) . "\xa5" x (length($good) - $whole * $size));
		store_fault("corrupt after page $whole", 1, qr/error: .*precedent\.db: .*(?:malformed|corrupt)/,
			qr/^FAIL .*(?:malformed|corrupt|damaged)/);
		store_back();
		is_predicted('when it is mended');
	}

	store_replace($good);
	is($testbed->run({as => 'slurm'}, $sql, $store, 'PRAGMA user_version = 99')->{rc}, 0, 'a later schema');
	store_fault('newer', 1, qr/error: .*its schema is version 99, this Precedent knows up to \d+: upgrade/, qr/^FAIL .*schema is version 99/);
	my $mark = log_length('precedentd');
	$testbed->daemon('start');
	ok(wait_until(30, sub { since('precedentd', $mark, 'store: .*schema is version 99') }), '... precedentd says it too');
	like(precedent('jobs')->{err}, qr/^precedent: precedentd cannot open its store; its log says why$/, '... and users are told');
	is(scalar(since('precedentd', $mark, 'store: ')), 1, '... once');
	$testbed->daemon('stop');
	is(unpack('N', substr store_bytes(), 60, 4), 99, '... it is left as it is');
	store_back();
	is_predicted('when it is of this version');

	# Locked before anybody else has it open, then put in its place.
	store_replace($good);
	rename $store, "$store.locked" or die "$store: $!\n";
	my $ready = "$dir/tmp/held";
	my $pid = open my $holder, '|-', 'sh', '-c', "exec scripts/testbed --name faults run --as slurm $sql $store.locked " .
	    "'PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET value=value' hold >$ready";
	ok($pid && wait_until(20, sub { -s $ready }), 'a process that locks it');
	rename "$store.locked", $store or die "$store: $!\n";
	store_fault('locked', 1, qr/error: .*precedent\.db: .*locked by another process: try again/, qr/^FAIL .*locked/);
	$mark = log_length('precedentd');
	$testbed->daemon('start');
	ok(wait_until(30, sub { since('precedentd', $mark, 'store: .*locked by another process') }), '... precedentd says it too');
	$testbed->daemon('stop');
	close $holder;
	unlink glob "$store.locked*";
	store_back();
	is_predicted('when the lock is gone');

	$testbed->daemon('start');
	ok(wait_until(30, sub { precedent('jobs')->{rc} == 0 }), 'precedentd goes on');
	is(shown($known_job)->{program}{state}, 'ready', 'with all that it knew');
};

# ---- the configuration ----

subtest 'an unknown key in precedent.conf' => sub {
	my $mark = log_length('slurmctld');
	my $old = $testbed->conf_set(Modus => 'limit');
	my $why = qr/\Q$conf\E:\d+: unknown key 'Modus'/;
	my $h = held_until($known, sub { 1 });
	ok(is_told($h), 'changed under a running slurmctld: the last good configuration stays in force')
		or diag "$h->{limit} $h->{said}";
	my @said = since('slurmctld', $mark, 'job_submit/precedent');
	is(scalar @said, 1, '... and slurmctld logs it once') or diag join "\n", @said;
	like($said[0], qr/error: .*$why/, '... with file and line');
	my $r = precedent('conf', '--check');
	is($r->{rc}, 1, 'conf --check fails');
	like($r->{err}, qr/\Aprecedent: $why[^\n]*\n\z/, '... and names file and line');
	like(finding('configuration'), qr/^FAIL .*$why/, 'so does doctor');

	$testbed->daemon('stop');
	my $daemon_mark = log_length('precedentd');
	$testbed->daemon('start');
	ok(wait_until(20, sub { since('precedentd', $daemon_mark, $why) }), 'precedentd says why it does not start with it');
	ok(wait_until(20, sub { $testbed->daemon('status')->{rc} != 0 }), '... and ends');
	is(scalar(since('precedentd', $daemon_mark, $why)), 1, '... once');

	$mark = log_length('slurmctld');
	open my $fh, '<', "$dir/run/slurm/slurmctld.pid" or die "slurmctld.pid: $!\n";
	chomp(my $pid = <$fh>);
	kill 'TERM', $pid;
	ok(wait_until(30, sub { !kill 0, $pid or run_command('grep', '-q', '^State:.Z', "/proc/$pid/status")->{rc} == 0 }), 'slurmctld stops');
	is($testbed->run({as => 'root'}, 'slurmctld')->{rc}, 0, 'and starts with it');
	ok(wait_until(30, sub { $testbed->run('scontrol', 'ping')->{out} =~ /is UP/ }), '... all the same');
	is_untouched(held_until($known, sub { 1 }), 'from then on');
	@said = since('slurmctld', $mark, 'job_submit/precedent: ');
	is(scalar @said, 1, '... slurmctld logs it once') or diag join "\n", @said;
	like($said[0], $why, '... with file and line');

	my ($job) = submit(script('unconfigured', 'srun ./ring 200'), '--export=ALL,SLURM_PRECEDENT_TRACE=1');
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'a marked job runs untraced on nodes with that configuration');
	like($testbed->output($job), qr/\Aring: .*\n\z/, '... and prints what it prints');

	$testbed->conf_restore($old);
	$testbed->daemon('start');
	is_predicted('when it is mended');
};

# ---- the daemon ----

subtest 'a dead daemon' => sub {
	$testbed->daemon('kill');
	$testbed->conf_set(HeartbeatTimeout => 4);
	my $h;
	ok(wait_until(60, sub { $h = held($known); return $h->{limit} eq '00:20:00' }), 'no limit is wished for any more');
	like($h->{said}, qr/precedent: 00:00:\d\d on (?:fast|slow)/, 'what is known is told all the same');
	unlike($h->{said}, qr/; limit will /, 'without a limit');
	is(held(script('new', 'srun ./ring 200'))->{said}, '', 'nothing new is traced');
	like(finding('precedentd'), qr/^FAIL .*cannot reach precedentd at .*is it running\?/, 'doctor says why');
	$testbed->daemon('start');
	is_predicted('when it is back');
	like(finding('precedentd'), qr/^ok /, 'doctor is content');
};

# ---- the probes from above ----

subtest 'a probe whose node goes down' => sub {
	my ($line) = grep { /key \S+ probe on slow \(job $probe{node}\) failed, try 1 of 3: / } split /\n/, $testbed->log('precedentd');
	like($line, qr/no result; the job ended NODE_FAIL/, 'is tried again, and the log says why');
	my $program = wait_program($lost{node}, 'ready', 150)->{program};
	is($program->{state}, 'ready', 'and done in the end') or diag $program->{reason};
};

subtest 'a probe that runs out of time' => sub {
	ok(wait_until(150, sub { $testbed->job_info($probe{timeout})->{JobState} eq 'TIMEOUT' }), 'is ended by slurmctld');
	ok(wait_until(30, sub { $testbed->log('precedentd') =~ /probe on fast \(job $probe{timeout}\) failed, try 1 of 3: no result; the job ended TIMEOUT/ }),
		'is tried again, and the log says why') or diag join "\n", grep { /$probe{timeout}\b/ } split /\n/, $testbed->log('precedentd');
	my $program = shown($lost{timeout})->{program};
	isnt($program->{state}, 'failed', 'nothing is given up') or diag $program->{reason};
	$program = wait_program($lost{timeout}, 'ready', 150)->{program};
	is($program->{state}, 'ready', 'and done in the end') or diag $program->{reason};
};

# ---- the spool: last, for probes that are tried again write there ----

subtest 'a spool that is full' => sub {
	my $text = script('full', "srun ./ring 300; sleep 1\nwhile [ -e \$HOME/stay ]; do sleep 0.2; done");
	run_command('dd', 'if=/dev/zero', "of=$spool/fill", 'bs=4k');
	my ($job) = submit($text);
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'the job runs');
	like($testbed->output($job), qr/\Aring: .*\n\z/, 'and prints what it prints');
	like(finding('spool'), qr/^FAIL .*the file system of \Q$spool\E is full/, 'doctor says so');
	my $show = wait_program($job, 'failed');
	is($show->{program}{reason}, "no trace: the file system of $spool is full", 'so does show');
	unlink "$spool/fill";
	like(finding('spool'), qr/^ok /, 'when there is room again');
	is(precedent('retrace', $job)->{rc}, 0, 'the job');
	my ($again, $said) = submit($text, '-H');
	like($said, qr/it is traced/, 'is traced at its next run');
	my $stay = $testbed->write('stay', '');
	$testbed->run({as => 'root'}, 'scontrol', 'release', $again);
	ok(wait_until(30, sub { $testbed->job_info($again)->{JobState} eq 'RUNNING' }), '... which begins');
	my @nodes = ('scontrol', 'update', 'nodename=fast1,fast2');
	$testbed->run({as => 'root'}, @nodes, 'state=drain', 'reason=full'); # its probe waits for what follows
	unlink $stay;
	is($testbed->wait_job($again, 60)->{state}, 'COMPLETED', '... and ends');
	run_command('dd', 'if=/dev/zero', "of=$spool/fill", 'bs=4k');
	run_ok('truncate', '-s', '-16k', "$spool/fill"); # room for a record, not for a skeleton
	$testbed->run({as => 'root'}, @nodes, 'state=resume');
	my $why = qr/probe on fast \(job \d+\) failed, try 1 of 3: no result; the job ended FAILED; the file system of \Q$spool\E is full$/m;
	ok(wait_until(90, sub { $testbed->log('precedentd') =~ $why }), 'a probe for which there is no room will be tried again, and the log says why')
		or diag join "\n", grep { /probe on fast/ } split /\n/, $testbed->log('precedentd');
	unlink "$spool/fill";
	is(precedent('forget', $again)->{rc}, 0, '... unless nobody waits for it any more');
};

subtest 'a spool that is full when a run has died' => sub {
	my ($job) = submit(script('full at the end', 'srun ./dies hang 3000'));
	ok(wait_until(60, sub { -e $testbed->path("slurm-$job.out") && $testbed->output($job) =~ /^dies: hang/m }), 'it runs') or return;
	my $node = $testbed->job_info($job)->{BatchHost};
	run_command('dd', 'if=/dev/zero', "of=$spool/fill", 'bs=4k');
	run_ok('truncate', '-s', '-32k', "$spool/fill"); # room for words, not for parts
	$testbed->run('scancel', $job);
	ok($testbed->wait_job($job, 90), 'the job ends');
	my ($local, $into) = ("/tmp/precedent/$uid-$job", "$spool/$uid/$job");
	my $on_node = "$dir/tmp/$node/precedent/$uid-$job";
	ok(wait_until(30, sub { -e "$into/tracer.err" && $testbed->read("$into/tracer.err") =~ /collect: .*No space left on device/ }),
		'tracer.err says why');
	is(scalar(my @parts = glob "$on_node/*.spill"), 2, 'the parts stay on the node');
	is_deeply([glob "$into/*.spill $into/*.part $into/*.ended"], [], 'and no pieces of them in the spool');
	unlink "$spool/fill";
	my $r = $testbed->testbed('node', $node, 'setpriv', '--reuid', $testbed->user, '--regid', $testbed->user, '--init-groups',
		"$dir/precedent/bin/precedent", 'collect', '--from', $local, '--into', $into, '--last');
	is($r->{rc}, 0, 'when there is room they are brought by hand') or diag $r->{err};
	is_deeply([glob "$on_node/*"], [], '... all of them');
	my ($trace) = glob "$into/*.partial.ptrace";
	ok($trace, '... and are a trace') or return;
	my $info = decode_json(precedent('info', '--json', $trace)->{out});
	is(scalar @{$info->{per_rank}}, 2, '... of both ranks');
	like($_->{ended}, qr/signal/, '... which still know how they ended') for @{$info->{per_rank}};
};

# On the login node and the fast nodes: a read-only mount over it, since files in it are open.
sub spool_read_only {
	my ($on) = @_;
	my @mount = $on ? ('mount', '-n', '--bind', '-o', 'ro', $spool, $spool) : ('umount', '-l', $spool);
	for my $r ($testbed->run({as => 'root'}, @mount), map { $testbed->testbed('node', $_, @mount) } qw(fast1 fast2)) {
		die "@mount: $r->{err}" if $r->{rc} != 0;
	}
	return;
}

subtest 'a spool that cannot be written' => sub {
	spool_read_only(1);
	my ($job) = submit(script('readonly', 'srun ./ring 400; mpirun -n 2 ./ring 400; sleep 1'));
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'read-only: the job runs');
	like($testbed->output($job), qr/\A(?:ring: .*\n){2}\z/, 'and prints what it prints');
	like(finding('spool'), qr/^FAIL .*\Q$spool\E is mounted read-only/, 'doctor says so');
	my $show = wait_program($job, 'failed');
	is($show->{program}{reason}, "no trace: $spool is mounted read-only", 'so does show');
	spool_read_only(0);
	chmod 0777, $spool;
	($job) = submit(script('open to all', 'srun ./ring 500; sleep 1'));
	is($testbed->wait_job($job, 60)->{state}, 'COMPLETED', 'writable by all: the job runs');
	like(finding('spool'), qr/^FAIL .*that only root can write to .*0777/, 'doctor says what is wrong');
	chmod 0755, $spool;
	$show = wait_program($job, 'failed');
	is($show->{program}{reason}, "no trace: $spool/$uid/$job was not made: is spank_precedent in plugstack.conf on all nodes, and the spool writable there?",
		'show says what is to be looked at');
	is_predicted('what was known is known');
};

done_testing;
