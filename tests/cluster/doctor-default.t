#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The sample configuration, with the paths of the testbed and nothing else: a job is traced, probed where it ran and predicted.
# precedentd sees changes of the file by itself.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir top);

my $testbed = Testbed->attach(name => 'default', up => ['--build', build_dir()]);
my $dir = $testbed->dir;

END {
	my $status = $?;
	$testbed->testbed('down') if $testbed;
	$? = $status;
}

sub slurp {
	my ($path) = @_;
	open my $fh, '<', $path or die "$path: $!\n";
	local $/;
	return <$fh>;
}

sub shown {
	my ($job) = @_;
	my $r = $testbed->run('precedent', 'show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

sub logged {
	my ($pattern) = @_;
	return wait_until(60, sub { $testbed->log('precedentd') =~ $pattern });
}

# Where the sample names a directory or an interval, the testbed has its own; all else stays as it is.
my $sample = slurp(top() . '/conf/precedent.conf');
my @own = grep { /^(?:SpoolDir|StateDir|InstallDir|PollInterval)=/ } split /^/, slurp($testbed->conf_path);
$testbed->daemon('stop');
$testbed->conf_restore(join '', (grep { !/^(?:SpoolDir|StateDir|PollInterval)\b/ } split /^/, $sample), @own);
$testbed->daemon('start');
like($testbed->run('precedent', 'conf', '--check')->{out},
	qr/^  candidates    none: a job is probed where it was traced, other partitions are told from past runs$/m, 'conf --check says what that means');

my @on_node = ('env', 'PRECEDENT_CONF=' . $testbed->conf_path, "$dir/precedent/bin/precedent", 'jobs');
ok(wait_until(30, sub { $testbed->testbed('node', 'fast1', @on_node)->{rc} == 0 }), 'without ListenHost a node asks SlurmctldHost')
    or diag $testbed->testbed('node', 'fast1', @on_node)->{err};
$testbed->program('heat');
my $script = "#!/bin/sh\nsrun ./heat 256 20000 10\n";
my @asked = ('-N1', '-n2', '-p', 'fast', '-t', 5);
my ($job, $said, $show, $reason);
wait_until(60, sub { return ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ })
    or BAIL_OUT('no job is marked for tracing');

# On a machine with much else to do a prediction may be withheld for being too uncertain: then it is traced again.
for my $try (1 .. 3) {
	($job, undef, $said) = $testbed->submit($script, @asked);
	$testbed->wait_job($job, 120);
	wait_until(120, sub { $show = shown($job); return ($show->{program}{state} // '') =~ /^(?:ready|failed)$/ });
	$reason = $show->{program}{reason} // '';
	last if $reason !~ /too uncertain/ || $try == 3;
	diag("once more: $reason");
	$testbed->run('precedent', 'retrace', $job);
}
like($said, qr/first run of this job: it is traced/, 'the first run is traced');
is_deeply([map { $_->{candidate} } @{$show->{probes} // []}], ['fast'], 'it is probed where it ran, and nowhere else');
SKIP: {
	skip $reason, 1 if $reason =~ /too uncertain/;
	(undef, undef, $said) = $testbed->submit($script, @asked, '-H');
	like($said, qr/precedent: 00:0\d:\d\d on fast /, 'the next submission is told a prediction') or diag $testbed->log('precedentd');
}

# precedentd looks at the file by itself, and refuses what it cannot read, once.
$testbed->conf_set(Candidates => 'fast,slow', Retention => '91d');
ok(logged(qr/configuration read again from/), 'precedentd reads a changed configuration');
$testbed->conf_set(Mode => 'no such mode');
ok(logged(qr/'no such mode' is not a mode.*; the configuration stays as it was/), 'and refuses one with an error');
$testbed->conf_set(Mode => 'observe');
ok(logged(qr/the configuration stays.*\n(?:.*\n)*.*configuration read again from/), 'and goes on with the next');
is(scalar(() = $testbed->log('precedentd') =~ /is not a mode/g), 1, 'the error was told once');

# Only: others are left alone, and explain says so.
$testbed->conf_set(Only => 'user:' . $testbed->other_user);
my $number = 0;
my $submitted = sub {
	my ($as) = @_;
	return $testbed->submit({as => $as}, "#!/bin/sh\n: " . ++$number . "\n");
};
ok(wait_until(60, sub { ($submitted->($testbed->other_user))[2] =~ /it is traced/ }), 'with Only, a job of the named user is traced');
(my $left, undef, $said) = $submitted->($testbed->user);
is($said, '', 'another user is told nothing');
unlike($testbed->job_info($left)->{AdminComment} // '', qr/precedent/, 'and the job is left alone');
my $explained = $testbed->run('precedent', 'explain', $left);
is($explained->{err}, "precedent: job $left is not known to Precedent, or not yours; it looks at jobs of these only: user:" .
	$testbed->other_user . "\n", 'explain says so');

# An administrator erases a user: store and spool.
my (undef, undef, $uid) = getpwnam $testbed->user;
my $part = "$dir/spool/precedent/$uid";
ok(-d $part, 'there are traces of the user');
symlink '/etc/hostname', "$part/link" or die $!;
is($testbed->run('precedent', 'forget', '--user', $testbed->user)->{rc}, 1, 'a user may not erase anybody');
ok(-d $part, '... and nothing is gone');
# A job that has not ended is known again at once, by its comment.
$testbed->run({as => 'root'}, 'scancel', '-u', $testbed->user);
wait_until(120, sub { $testbed->run('precedent', 'jobs')->{out} !~ /pending|running/ });
my $forgotten = $testbed->run({as => 'root'}, 'precedent', 'forget', '--user', $testbed->user);
is($forgotten->{rc}, 0, 'root may') or diag $forgotten->{err};
like($forgotten->{out}, qr/^\S+: forgotten, [1-9]\d* records and [1-9]\d* files$/, '... and is told how much went');
ok(!-e $part, 'the spool has nothing of the user');
ok(-e '/etc/hostname', '... links were not followed');
is($testbed->run('precedent', 'jobs')->{out}, "no jobs known to Precedent\n", 'precedentd knows nothing of the user');
isnt($testbed->run({as => $testbed->other_user}, 'precedent', 'jobs')->{out}, "no jobs known to Precedent\n", '... and knows the other');

done_testing();
