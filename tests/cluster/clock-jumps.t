#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Clocks that are set while jobs run: slurmctld's by an hour and by a day, forward and back, and precedentd's own. No job is ended
# before its user's limit by Precedent, precedentd is not blind after a clock was set back, and nothing is learned from a run
# whose time slurmctld measured with two clocks. The clocks are those of libfaketime.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(wait_until build_dir);

my ($faketime) = glob '/usr/lib/*/faketime/libfaketimeMT.so.1';
plan skip_all => 'libfaketime is not installed (Debian package faketime)' if !$faketime;

my $testbed = Testbed->attach(name => 'clock', up => ['--build', build_dir(), '--overtime', 2]);
END { $testbed->testbed('down') if $testbed }
my $dir = $testbed->dir;

my $script = "#!/bin/sh\nsrun true\n: a program with a past\nsleep \$(cat \$HOME/seconds)\n";

sub precedent { return $testbed->run('precedent', @_) }
sub scontrol { return $testbed->run({as => 'root'}, 'scontrol', @_) }
sub limit_of { return $testbed->job_info($_[0])->{TimeLimit} }
# The last change of slurmctld's clock that precedentd told, in seconds.
sub set_by {
	my @told = $testbed->log('precedentd') =~ /clock was set ((?:forward|back) by \d+) s/g;
	return !@told ? 0 : $told[-1] =~ /back by (\d+)/ ? -$1 : $told[-1] =~ s/\D+//r;
}
# slurmctld's answers that precedentd compares may come seconds late.
sub near { my ($seconds) = @_; return abs(set_by() - $seconds) <= 30 }

sub shown {
	my ($job) = @_;
	my $r = precedent('show', $job, '--json');
	return $r->{rc} == 0 ? decode_json($r->{out}) : {};
}

# The mean that is predicted for the job's program.
sub predicted { return shown($_[0])->{estimates}[0]{seconds} // 0 }
sub runs_of { return shown($_[0])->{estimates}[0]{runs} // 0 }

# ---- clocks ----

sub put {
	my ($path, $text, $mode) = @_;
	open my $fh, '>', "$path.new" or die "$path.new: $!\n";
	print {$fh} $text;
	close $fh or die "$path.new: $!\n";
	chmod $mode // 0644, "$path.new";
	return rename("$path.new", $path) || die "$path: $!\n";
}

sub fake_env {
	my ($who) = @_;
	return ("LD_PRELOAD=$faketime", "FAKETIME_TIMESTAMP_FILE=$dir/run/clock-$who", 'FAKETIME_NO_CACHE=1', 'FAKETIME_DONT_FAKE_MONOTONIC=1');
}

# The clock of slurmctld or precedentd differs from the machine's by so many seconds.
sub clock_is { my ($who, $seconds) = @_; return put("$dir/run/clock-$who", sprintf("%+d\n", $seconds)) }

sub slurmctld_fake {
	scontrol('shutdown', 'slurmctld');
	wait_until(20, sub { scontrol('ping')->{out} =~ /is DOWN/ }) or die "slurmctld does not end\n";
	$testbed->run({as => 'root'}, 'env', fake_env('slurmctld'), 'slurmctld');
	return wait_until(30, sub { scontrol('ping')->{out} =~ /is UP/ && $testbed->run('sinfo', '-h', '-t', 'idle', '-o', '%D')->{out} =~ /[24]/ });
}

# precedentd of the testbed, with a clock of its own from its next start on.
sub precedentd_fake {
	my $program = "$dir/precedent/sbin/precedentd";
	rename $program, "$program.real" or die "$program: $!\n";
	return put($program, '#!/bin/sh' . "\nexec env " . join(' ', fake_env('precedentd')) . " $program.real \"\$@\"\n", 0755);
}

clock_is($_ => 0) for qw(slurmctld precedentd);
ok(slurmctld_fake(), 'slurmctld runs with a clock that can be set') or BAIL_OUT('no slurmctld');

# ---- a program with a past ----

$testbed->write('seconds', "5\n");
$testbed->conf_set(Mode => 'limit', MinLimit => '00:01:00', PollInterval => 2);
precedentd_fake();
$testbed->daemon($_) for qw(stop start);
ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 }), 'precedentd answers');
ok(wait_until(20, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }), 'and the plugin sees it');
my @options = ('-N1', '-n1', '-t');
my ($first) = $testbed->submit($script, @options, 3);
$testbed->submit($script, @options, 3) for 2, 3; # two runs that a busy machine makes unlike predict nothing
ok(wait_until(60, sub { runs_of($first) == 3 }), 'the program is predicted from its three runs')
	or diag $testbed->log('precedentd');

# A job that runs and is limited to `limit` when it asked for so many minutes.
sub limited {
	my ($minutes, $limit, $what) = @_;
	$testbed->write('seconds', "900\n");
	my ($job) = $testbed->submit($script, @options, $minutes);
	ok(wait_until(40, sub { limit_of($job) eq $limit && $testbed->job_info($job)->{JobState} eq 'RUNNING' }), $what)
	    or diag limit_of($job), $testbed->log('precedentd');
	return $job;
}

# ---- the clock is set back ----

for my $by (3600, 86400) {
	my $job = limited(3, '00:01:00', "a job is shortened before the clock goes back by $by s");
	clock_is(slurmctld => -$by);
	ok(wait_until(20, sub { near(-$by) }), 'precedentd says so') or diag $testbed->log('precedentd');
	# OverTimeLimit goes: slurmctld would end the job at its short limit.
	my $conf = "$dir/etc/slurm/slurm.conf";
	my $text = Testbed::slurp($conf);
	put($conf, $text =~ s/^OverTimeLimit=.*$/OverTimeLimit=0/mr);
	scontrol('reconfigure');
	ok(wait_until(30, sub { limit_of($job) eq '00:03:00' }), 'it sees that OverTimeLimit has gone, and restores the limit')
	    or diag limit_of($job), $testbed->log('precedentd');
	put($conf, $text);
	scontrol('reconfigure');
	$testbed->run('scancel', $job);
	ok(wait_until(30, sub { (shown($job)->{job}{state} // '') eq 'CANCELLED' }), 'and the end of the job') or diag $testbed->log('precedentd');
	clock_is(slurmctld => 0);
	ok(wait_until(30, sub { near($by) }), 'the clock is right again');
}

# ---- precedentd's own clock is wrong ----

for my $by (86400, -86400, 3600, -3600) {
	my $at = length $testbed->log('precedentd');
	clock_is(precedentd => $by);
	$testbed->daemon($_) for qw(stop start);
	ok(wait_until(20, sub { precedent('jobs')->{rc} == 0 && substr($testbed->log('precedentd'), $at) =~ /started/ }), "precedentd with a clock $by s ahead");
	my $job = limited(3, '00:01:00', 'the plugin takes it for alive, and jobs are shortened');
	$testbed->run('scancel', $job);
	ok(wait_until(20, sub { (shown($job)->{job}{state} // '') eq 'CANCELLED' }), 'their end is seen');
	cmp_ok(shown($job)->{job}{elapsed_s}, '<', 300, 'and their time is right');
}

# ---- the clock goes forward: last, since slurmctld starts no job for an hour after that is undone ----

$testbed->write('seconds', "20\n");
my $mean = predicted($first);
my ($jumped) = $testbed->submit($script, @options, 90);
ok($testbed->wait_job_state($jumped, 'RUNNING', 30), 'a job of 20 s runs');
clock_is(slurmctld => 3600);
ok(wait_until(20, sub { near(3600) }), 'the clock goes forward by an hour');
my $info = $testbed->wait_job_state($jumped, 'COMPLETED', 60) // {};
like($info->{RunTime} // '', qr/^01:00:/, 'an hour more does not end it, since it asked for 90 minutes; slurmctld believes that it ran for one')
    or diag $testbed->run({as => 'root'}, 'scontrol', 'show', 'job', $jumped)->{err}, $testbed->log('slurmctld');
ok(wait_until(20, sub { (shown($jumped)->{job}{state} // '') eq 'COMPLETED' }), 'precedentd sees the end');
is(shown($jumped)->{job}{elapsed_s}, 0, 'and does not believe the time');
is(predicted($first), $mean, 'nothing was learned from it');

unlike($testbed->log('precedentd'), qr/before the limit that its user asked for/, 'no job was ended before its limit');
done_testing();
