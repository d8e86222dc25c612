#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Controllers die. precedentd is killed before and after it has changed a job, slurmctld is killed and started again, and in the
# end a backup controller takes over that has nothing of Precedent: no plugin, no store, no daemon. Each job is ended at its
# user's limit.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Guards;
use Testbed qw(wait_until);

my $g = Guards->new(name => 'limits-backup', up => ['--backup'], slurm => sub { s/^(PartitionName=slow .*)/$1 OverTimeLimit=1/m });
END { $g->down if $g }
my $testbed = $g->testbed;
my $dir = $testbed->dir;

sub backup_pid { return -s "$dir/run/slurm/backup.pid" ? $testbed->read("$dir/run/slurm/backup.pid") =~ s/\n//r : 0 }

# A directory without plugstack.conf, and a configuration without our plugins.
sub backup_start {
	my $conf = $testbed->read("$dir/etc/slurm/slurm.conf");
	$conf =~ s/^JobSubmitPlugins=.*\n//m or die "no JobSubmitPlugins in slurm.conf\n";
	$conf =~ s{^PluginDir=\Q$dir\E/precedent/lib/slurm:}{PluginDir=}m or die "no PluginDir in slurm.conf\n";
	$conf =~ s{/slurmctld\.(pid|log)$}{/backup.$1}mg;
	mkdir "$dir/etc/backup";
	$testbed->write("$dir/etc/backup/slurm.conf", $conf);
	unlike($conf, qr/precedent\b(?!-testbed)/, 'the backup controller has nothing of ours in its configuration');
	is($testbed->testbed('node', 'slow2', 'env', "SLURM_CONF=$dir/etc/backup/slurm.conf", 'slurmctld')->{rc}, 0, '... and starts');
	return;
}

# ---- precedentd and slurmctld are killed ----

my %job = map { $_ => $g->held($_) } qw(runs waits queued-again killed moved);
$g->is_short($job{$_}, $_) for sort keys %job;
$g->release(@job{qw(runs queued-again)});
$g->runs($job{$_}, $_) for qw(runs queued-again);
$testbed->daemon('kill');
$job{unseen} = $g->held('unseen');
is($g->planned($job{unseen}), $g->is_soft ? 'N/A' : '00:03:00', 'unseen: precedentd was dead, and the job has its own limit');
# slurmctld 24.11 without accounting may take an errno of its own for the result, and refuse.
ok(wait_until(20, sub { $g->user('scontrol', 'update', "JobId=$job{moved}", 'Partition=slow')->{rc} == 0 }),
	'a user moves a job where OverTimeLimit is shorter');
is($g->info($job{moved})->{TimeLimit}, '00:03:00', '... and it takes its own limit along');
$g->slurmctld('restart');
$g->release(@job{qw(killed unseen moved)});
$g->runs($job{$_}, $_) for qw(killed unseen moved);
isnt($testbed->daemon('status')->{rc}, 0, 'precedentd is dead all the while');

# ---- the backup controller takes over ----

backup_start();
ok(wait_until(30, sub { $g->user('scontrol', 'ping')->{out} =~ /slow2.*is UP/ }), 'both controllers answer');
my $saved = time + 8; # slurmctld saves its state five seconds after a change at the latest
wait_until(30, sub { time >= $saved });
$g->slurmctld('kill');
ok(wait_until(90, sub { $testbed->log('backup') =~ /Running as primary controller|assuming control|took over/i }), 'the backup controller takes over')
	or diag $testbed->log('backup');
ok(wait_until(30, sub { ($g->info($job{waits})->{JobState} // '') eq 'PENDING' }), '... and knows the jobs');
$g->release($job{waits});
is($g->root('scontrol', 'requeue', $job{'queued-again'})->{rc}, 0, 'a job is queued again there');
$g->runs($job{waits}, 'waits');
$g->reaches($job{$_}, 3, $_) for qw(runs killed waits queued-again);
$g->reaches_whole($job{unseen}, 3, 'unseen');
$g->reaches($job{moved}, 3, 'moved', 1); # OverTimeLimit of slow
ok(backup_pid() && kill(0, backup_pid()), 'the backup controller was in charge to the end');
done_testing;
