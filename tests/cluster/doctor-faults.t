#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent doctor on a real cluster: without a fault it succeeds, on the controller and on a node. Faults of daemons, of the
# spool and of the store are found, each with what to do.
use strict;
use warnings;

use FindBin;
use IO::Handle;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command wait_until build_dir);

my $testbed = Testbed->attach(name => 'doctor', up => ['--build', build_dir()]);
my $dir = $testbed->dir;
my ($spool, $store) = ("$dir/spool/precedent", "$dir/state/precedent/precedent.db");
my $conf = $testbed->conf_path;

END {
	my $status = $?;
	$testbed->testbed('down') if $testbed;
	$? = $status;
}

# doctor([NODE]): (exit code, findings).
sub doctor {
	my ($node) = @_;
	my @command = ('env', "PRECEDENT_CONF=$conf", "$dir/precedent/bin/precedent", 'doctor', '--json');
	my $r = $node ? $testbed->testbed('node', $node, @command) : $testbed->run({as => 'root'}, @command);
	return ($r->{rc}, @{ (eval { decode_json($r->{out}) } // die "$r->{out}$r->{err}")->{findings} });
}

sub failed { return map { "$_->{check}: $_->{found}" } grep { $_->{verdict} eq 'FAIL' } @_ }

# found(CHECK, WHAT, FOUND, REMEDY[, NODE]): the fault is found, in time.
sub found {
	my ($check, $what, $found, $remedy, $node) = @_;
	my ($rc, @all, $finding);
	wait_until(40, sub {
		($rc, @all) = doctor($node);
		($finding) = grep { $_->{check} eq $check && $_->{verdict} eq 'FAIL' } @all;
		return $finding && $finding->{found} =~ $found;
	});
	like($finding->{found} // '', $found, $what) or diag join "\n", failed(@all);
	like($finding->{remedy} // '', $remedy, '... with what to do');
	is($rc, 1, '... and the doctor fails');
	return;
}

sub healthy {
	my ($what, $node) = @_;
	my ($rc, @all);
	wait_until(40, sub { ($rc, @all) = doctor($node); return $rc == 0 });
	is_deeply([failed(@all)], [], $what);
	is($rc, 0, '... and the doctor succeeds');
	return;
}

$testbed->conf_set(HeartbeatTimeout => 4, Candidates => 'fast,slow');
healthy('a cluster without a fault');
healthy('a node without a fault', 'fast1');

$testbed->conf_set(Candidates => 'fast,fats');
found('candidates', 'a candidate that does not exist', qr/^fats: there is no partition fats/, qr/^correct Candidates/);
$testbed->conf_set(Candidates => 'fast,slow', ProbeAccount => 'chemistry');
$testbed->run({as => 'root'}, qw(scontrol update PartitionName=slow AllowAccounts=physics));
found('candidates', 'a candidate that does not accept the account', qr/^slow does not accept ProbeAccount chemistry/, qr/AllowAccounts/);
$testbed->run({as => 'root'}, qw(scontrol update PartitionName=slow AllowAccounts=ALL));
$testbed->conf_set(ProbeAccount => undef);

my $mode = (stat $conf)[2] & 07777;
chmod 0666, $conf;
found('conf_file', 'a configuration that all may write', qr/mode 0666/, qr/^chmod 0644/);
chmod $mode, $conf;

my $prefix = "$dir/precedent";
$testbed->conf_set(InstallDir => '/usr/local');
found('install_dir', 'another InstallDir, on a node', qr/^InstallDir \/usr\/local: no job is traced on this node/, qr/^set InstallDir/, 'fast1');
$testbed->conf_set(InstallDir => $prefix);

$testbed->testbed('node', 'fast1', 'mount', '-n', '-t', 'tmpfs', '-o', 'mode=0755', 'none', $spool);
found('nodes', 'a spool that a node does not share', qr/^\d of 4 nodes have not said in \S+ that they have /, qr/SpoolDir must be shared/, 'fast1');
$testbed->testbed('node', 'fast1', 'umount', $spool);
chmod 0700, $spool;
found('spool', 'a spool that users cannot enter', qr/mode 0700/, qr/^chmod 0755/);
chmod 0755, $spool;
my $group = (stat $spool)[5];
chown 0, 0, $spool;
found('spool', 'a spool of another group', qr/precedentd \(slurm\) cannot read traces there: the group is 0$/, qr/chgrp/);
chown 0, $group, $spool;

$testbed->conf_set(LocalDir => '/none');
found('local_dir', 'no LocalDir, on a node', qr/^LocalDir \/none: No such file/, qr/^create it/, 'fast1');
$testbed->conf_set(LocalDir => undef);
healthy('all is mended');

# A shell of an administrator that has forgotten its transaction.
my $shell_pid = open my $shell, '|-', 'setpriv', '--reuid', 'slurm', '--regid', 'slurm', '--init-groups', 'sqlite3', $store or die "sqlite3: $!\n";
$shell->autoflush(1);
print {$shell} ".timeout 20000\nBEGIN IMMEDIATE;\n"; # precedentd writes several times a second
found('precedentd', 'a store that somebody has locked', qr/(?:not followed jobs for \d+ s|cannot open its store|locked)/, qr/fuser -v|journalctl/);
kill 'TERM', $shell_pid;
close $shell;
healthy('when it is unlocked');

$testbed->daemon('stop');
my ($uid, $gid) = (stat $store)[4, 5];
chown 0, 0, $store;
found('store', 'a store of root', qr/belongs to uid 0: precedentd \(slurm\) cannot write to it/, qr/^chown -R slurm: /);
chown $uid, $gid, $store;
found('precedentd', 'no precedentd', qr/^cannot reach precedentd at .*set ListenHost in precedent\.conf$/, qr/systemctl status precedentd/);
$testbed->daemon('start');
healthy('when it runs again');

rename "$dir/munge/munge.socket.2", "$dir/munge/away" or die $!;
found('munge', 'MUNGE is silent', qr/Slurm and precedentd know nobody/, qr/^systemctl status munge/);
rename "$dir/munge/away", "$dir/munge/munge.socket.2" or die $!;
healthy('when it answers again');

my ($slurmctld) = $testbed->read("$dir/run/slurm/slurmctld.pid") =~ /^(\d+)/;
kill 'TERM', $slurmctld;
found('slurmctld', 'slurmctld is down', qr/^no answer, though \S+slurm\.conf is there/, qr/systemctl status slurmctld/);

done_testing();
