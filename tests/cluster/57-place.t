#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Placement on a real cluster: slurmctld itself is asked when jobs would start, partitions let users in or not, policies
# change under running daemons. Programs and probes are stand-ins, which take as long as they are told.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'place', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }

my $dir = $testbed->dir;
my (undef, undef, $uid) = getpwnam $testbed->user;
my $spool = "$dir/spool/precedent";

# On "third" everything takes half as long as on fast, on slow twice as long.
sub install_stand_in {
	my $program = "$dir/precedent/bin/precedent";
	rename $program, "$program.real" or die "$program: $!\n";
	open my $fh, '>', $program or die "$program: $!\n";
	print {$fh} <<'SH';
#!/bin/sh
[ "$1" = probe ] || exec "$0.real" "$@"
while [ $# -gt 0 ]; do
	case $1 in
	--dir) dir=$2 ;;
	--candidate) candidate=$2 ;;
	esac
	shift
done
case $candidate in
fast) skel=4 ;;
slow) skel=8 ;;
*) skel=2 ;;
esac
{
	printf 'precedent-result 1\njob %s\ncandidate %s\nstatus ok\n' "$SLURM_JOB_ID" "$candidate"
	echo "node_class 0123456789abcdef stand-in"
	echo "startup_s 0.1"
	echo "trace 0 mpi_s 4 skel_s $skel lo_s $skel hi_s $skel ran_s 1 events 10 confidence 1"
	echo "compute 0 traced_s 2 skel_s $((skel / 2))"
	printf 'hash 0123456789abcdef\nend\n'
} >"$dir/.$candidate" && chmod 640 "$dir/.$candidate" && mv "$dir/.$candidate" "$dir/probe.$candidate.result"
SH
	close $fh or die "$program: $!\n";
	chmod 0755, $program;
	return;
}

my $script = "#!/bin/sh\nsrun true\nd=$spool/$uid/\$SLURM_JOB_ID; mkdir -p \$d && echo stand-in >\$d/0.ptrace\n" .
	"case \$SLURM_JOB_PARTITION in fast) sleep 4 ;; slow) sleep 8 ;; *) sleep 2 ;; esac\n";
my @asked = ('-N2', '-n2', '-t', 20);

sub precedent {
	my (@arguments) = @_;
	return $testbed->run('precedent', @arguments);
}

sub shown {
	my ($job) = @_;
	my $r = precedent('show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

sub scontrol {
	my (@arguments) = @_;
	my $r = $testbed->run({as => 'root'}, 'scontrol', @arguments);
	die "scontrol @arguments: $r->{err}$r->{out}" if $r->{rc} != 0;
	return;
}

my @refused; # what slurmctld said of jobs that it did not take

# Submitted and, once it is known where it went, cancelled.
sub placed {
	my ($text, @arguments) = @_;
	my ($job, undef, $said) = $testbed->submit($text, @asked, @arguments);
	if (!defined $job) {
		push @refused, $said;
		return {partition => '', said => $said, comment => ''};
	}
	my $info = $testbed->job_info($job);
	$testbed->run('scancel', $job);
	return {job => $job, partition => $info->{Partition}, said => $said, comment => $info->{AdminComment}};
}

# The same, again and again until it goes there; the last one.
sub placed_until {
	my ($partition, @arguments) = @_;
	return told_until($partition, qr/^/, @arguments);
}

# ... and until the user reads that. What the jobs before it add to a queue can have one placed before slurmctld was asked again.
sub told_until {
	my ($partition, $words, @arguments) = @_;
	my $p;
	wait_until(40, sub {
		$p = placed($script, @arguments);
		return $p->{partition} eq $partition && $p->{said} =~ $words;
	});
	return $p;
}

install_stand_in();
scontrol('create', 'PartitionName=third', 'Nodes=slow1,slow2', 'DefaultTime=60', 'MaxTime=1440');
$testbed->conf_set(Mode => 'limit', LimitGuard => 'raise', MinLimit => '00:02:00', PollInterval => 1, Candidates => 'fast,slow,third');
$testbed->daemon('stop');
$testbed->daemon('start');
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
	'and the plugin sees that it is alive');

my ($first) = $testbed->submit($script, @asked);
my $show;
ok(wait_until(60, sub {
	$show = shown($first);
	return ($show->{program}{state} // '') eq 'ready' && @{$show->{estimates}} == 3;
}), 'a program with an estimate on all three candidates') or diag $testbed->log('precedentd');
my $busy; # a job of somebody else's on both fast nodes, for half an hour

subtest 'the quickest candidate, while all are idle' => sub {
	is(placed($script)->{partition}, 'fast', 'in mode limit nothing is placed');
	$testbed->conf_set(Mode => 'place');
	my $words = qr/; placed on third: starts (?:at once|in about \d+s), ends \d+[sm] earlier than on fast; limit will be 00:02:00/;
	my $p = told_until('third', $words);
	is($p->{partition}, 'third', 'in mode place it goes where it is quickest');
	like($p->{said}, $words, 'and the user reads why');
};

subtest 'a candidate that is closed to the user' => sub {
	scontrol('update', 'PartitionName=third', 'AllowGroups=root');
	is(placed_until('fast')->{partition}, 'fast', 'AllowGroups without a group of his: it stays');
	scontrol('update', 'PartitionName=third', 'AllowGroups=' . $testbed->user);
	is(placed_until('third')->{partition}, 'third', 'with one: it goes there');
	scontrol('update', 'PartitionName=third', 'AllowGroups=ALL', 'MaxNodes=1');
	is(placed_until('fast')->{partition}, 'fast', 'MaxNodes below its size');
	scontrol('update', 'PartitionName=third', 'MaxNodes=2', 'State=DOWN');
	is(placed_until('fast')->{partition}, 'fast', 'a partition that is down');
};

subtest 'a candidate that is closed just before the job is submitted' => sub {
	for my $change (['State=DRAIN', 'State=UP'], ['State=INACTIVE', 'State=UP'], ['AllowGroups=root', 'AllowGroups=ALL']) {
		my ($close, $open) = @$change;
		scontrol('update', 'PartitionName=third', 'State=UP');
		is(placed_until('third')->{partition}, 'third', 'open, it goes there');
		scontrol('update', 'PartitionName=third', $close);
		my $p = placed($script);
		# On fast the job before may not have ended yet; one that is refused has no partition.
		like($p->{partition}, qr/^(?:fast|slow)$/, "$close: at once it does not go there, and is not refused") or diag $p->{said};
		scontrol('update', 'PartitionName=third', $open);
	}
	scontrol('update', 'PartitionName=third', 'State=DOWN');
	is(placed_until('fast')->{partition}, 'fast', 'it is down again');
};

subtest 'where the job ends first' => sub {
	($busy) = $testbed->submit({as => $testbed->other_user}, "#!/bin/sh\nexec sleep 600\n", '-p', 'fast', '-N2', '--exclusive', '-t', 30,
		'--predict=off');
	ok($testbed->wait_job_state($busy, 'RUNNING', 30), 'fast is busy');
	my $words = qr/; placed on slow: starts (?:at once|in about \d+[sm]), ends (?:at least )?\d\dm earlier than on fast; limit will be/;
	my $p = told_until('slow', $words);
	is($p->{partition}, 'slow', 'the job goes to slow');
	like($p->{said}, $words, 'and the user reads why');
	like($p->{comment}, qr/ cand=slow .* at=slow\/\d+\/\d+,(?:third\/\S+,)?fast\/[1-9]\d\d\d\/\d+/, 'the choice is in the comment');
	my ($job, $end);
	wait_until(40, sub {
		($job) = $testbed->submit($script, @asked);
		return 1 if $testbed->job_info($job)->{Partition} eq 'slow';
		$testbed->run('scancel', $job);
		return 0;
	});
	$end = $testbed->wait_job($job, 60);
	is($end->{state}, 'COMPLETED', 'it runs there, to its end');
	is($end->{info}{Partition}, 'slow', '... really');
	is(placed($script, '-p', 'fast')->{partition}, 'fast', 'a job whose user named the partition stays');
	is(placed_until('slow', '-p', 'fast,slow')->{partition}, 'slow', 'of several partitions one is chosen');
	is(placed($script, '-w', 'fast1,fast2')->{partition}, 'fast', 'a job for nodes by name stays');
	is(placed($script, '--begin', 'now+1hour')->{partition}, 'fast', 'so does one that is to start later');
	is(placed($script, '--array', '1-2')->{partition}, 'fast', 'and an array');
	is(placed($script, '--predict=limit')->{partition}, 'fast', 'and one whose user says so');
	my $r = $testbed->run('sbatch', '--test-only', @asked, $testbed->write('trial.sh', $script));
	like($r->{err}, qr/^sbatch: precedent: .* on fast/m, 'a trial is told its prediction');
	unlike($r->{err}, qr/placed on/, '... and is not placed');
};

subtest 'a trial is no run' => sub {
	for my $trial (['--test', "#!/bin/sh\nsrun true abbreviated\n", '--test'], ['#SBATCH', "#!/bin/sh\n#SBATCH --test-only\nsrun true in script\n"]) {
		my ($name, $text, @option) = @$trial;
		my ($job, $out, $said) = $testbed->submit($text, @asked, @option);
		is($job, undef, "$name: Slurm ran nothing");
		like($said, qr/to start at/, '... and said when the job would start');
		like($said, qr/first run of this job: it is traced/, '... Precedent what would be told');
		($job, $out, $said) = $testbed->submit($text =~ s/#SBATCH --test-only\n//r, @asked);
		like($said, qr/first run of this job: it is traced/, '... the submission after it is the first run');
		$testbed->run('scancel', $job);
	}
};

# A driver that takes both streams together, and a user at a terminal.
subtest 'when the user is told' => sub {
	$testbed->write('driver.sh', "#!/bin/sh\nsbatch \"\$@\" 2>&1\n", 0755);
	$testbed->write('told.sh', $script);
	my $told = sub {
		my ($variable, @command) = @_;
		my $r = $testbed->run({env => $variable ? {PRECEDENT_MESSAGE => $variable} : {}}, @command);
		my ($job) = $r->{out} =~ /^(\d+)\r?$/m;
		$testbed->run('scancel', $job) if defined $job;
		return $r->{out} =~ /^sbatch: precedent: /m || 0;
	};
	my @pipe = ('./driver.sh', '--parsable', @asked, 'told.sh');
	my @terminal = ('script', '-qec', "sbatch --parsable @asked told.sh", '/dev/null');
	is($told->(undef, @pipe), 1, 'in any case, if nobody chooses');
	is($told->('terminal', @pipe), 0, 'not by a pipe, if the user says so');
	is($told->('terminal', @terminal), 1, '... on a terminal still');
	is($told->('never', @terminal), 0, 'never');
	$testbed->conf_set(Message => 'terminal');
	ok(wait_until(20, sub { $told->(undef, @pipe) == 0 }), 'not by a pipe, if the site says so');
	is($told->(undef, @terminal), 1, '... on a terminal still');
	is($told->('always', @pipe), 1, 'the user comes before the site');
	my $r = $testbed->run({env => {PRECEDENT_MESSAGE => 'no'}}, @pipe);
	like($r->{out}, qr/precedent: PRECEDENT_MESSAGE=no: write always, terminal or never/, 'another word is named');
	my ($job) = $r->{out} =~ /^(\d+)$/m;
	ok(wait_until(20, sub { precedent('explain', $job)->{out} =~ /\(told\.sh\) was predicted to run / }), 'precedent explain tells it in any case');
	like(precedent('jobs')->{out}, qr/^$job +told\.sh .* 00:\d\d:\d\d \(00:/m, '... so does precedent jobs');
	$testbed->run('scancel', $job);
	$testbed->conf_set(Message => undef);
};

subtest 'the admin says what is best' => sub {
	$testbed->conf_set(Policy => 'fastest');
	is(placed_until('fast')->{partition}, 'fast', 'fastest: it waits for the quicker one');
	$testbed->conf_set(Policy => 'cheapest', 'Cost.fast' => 10);
	my $p = placed_until('slow');
	is($p->{partition}, 'slow', 'cheapest: it goes where node-hours cost less');
	like($p->{said}, qr/; placed on slow: starts (?:at once|in about \d+[sm]), costs less than on fast;/, '... and the user reads why');
	$testbed->conf_set('Cost.fast' => undef);
	is(placed_until('fast')->{partition}, 'fast', 'at the same price it stays on the quicker one');
	$testbed->conf_set(Policy => undef);
	is(placed_until('slow')->{partition}, 'slow', 'earliest is the default');
};

subtest 'jobs that wait already come first' => sub {
	my @queue = map { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\nexec sleep 600\n", '-p', 'slow', '-N2', '--exclusive',
		'-t', 2, '--predict=off'))[0] } 1 .. 4;
	my $p;
	ok(wait_until(60, sub { ($p = placed($script))->{said} =~ /placed on slow: starts in about [5-8]m, / }),
		'what would start before is counted, not only what runs') or diag $p->{said};
	$testbed->run({as => 'root'}, 'scancel', @queue);
};

subtest 'nothing is placed when nothing is known' => sub {
	is(placed_until('slow')->{partition}, 'slow', 'known');
	$testbed->daemon('kill');
	$testbed->conf_set(HeartbeatTimeout => 4);
	is(placed_until('fast')->{partition}, 'fast', 'without precedentd it stays');
	$testbed->conf_set(HeartbeatTimeout => 120);
	$testbed->daemon('start');
	is(placed_until('slow')->{partition}, 'slow', 'with it, it is placed again');
};

is_deeply(\@refused, [], 'slurmctld refused no job');
unlike($testbed->log('slurmctld'), qr/job_submit\/precedent: (?!.*precedent\.conf$)/, 'the plugin had no fault to report');
done_testing;
