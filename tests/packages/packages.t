#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The Debian packages on a fresh system with a real Slurm. The commands of the section Install of README.md are run as they stand
# there; then a job is traced and predicted; packages are upgraded, removed and purged; Slurm works at every step.
# PRECEDENT_SUITE: the Debian release that the packages were built for.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use File::Temp qw(tempdir);
use Fresh;
use Test::More;
use Testbed qw(build_dir run_command top wait_until);
use Time::HiRes qw(time);

my $suite = $ENV{PRECEDENT_SUITE} // die "PRECEDENT_SUITE is not set\n";
my $tmp = tempdir('precedent-packages-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($version) = Testbed::slurp(top() . '/Makefile') =~ /^VERSION\s*:=\s*(\S+)/m;
my $before = '0.0.9';
my @debs = glob build_dir() . "/packages/*_${version}_*.deb";

# The same packages with the version before.
sub older {
	my ($deb) = @_;
	my $dir = "$tmp/old";
	(my $old = $deb =~ s{.*/}{$tmp/}r) =~ s/_\Q$version\E_/_${before}_/;
	run_command('sh', '-ec', "rm -rf $dir; dpkg-deb -R $deb $dir; sed -i 's/\\b\Q$version\E\\b/$before/g' $dir/DEBIAN/control; dpkg-deb -b $dir $old")
	    ->{rc} == 0 or die "$deb cannot be packed again\n";
	return $old;
}

sub daemon_pid { return shell('systemctl show -P MainPID precedentd')->{out} =~ s/\s+//gr }

# ---- a cluster before Precedent ----

is(scalar @debs, 6, 'the packages of this version are built') or BAIL_OUT('make deb');
my @old = map { older($_) } @debs;
boot($suite, @debs, @old);
succeeds('systemctl start munge slurmctld slurmd');
my $heat = Testbed::slurp(build_dir() . '/tests/programs/heat');
shell('cat >/home/user/heat; chmod 755 /home/user/heat', $heat);
# Of a run that took 0 s by Slurm's clock nothing is predicted. A sleep lasts as long on a busy machine.
my $script = "#!/bin/sh\n#SBATCH -n 2 -t 30 -o /home/user/out\nsrun ./heat 256 1000 && sleep 2\n";
shell('cat >/home/user/job.sh', $script);
shell('cat >/home/user/off.sh', $script =~ s/(?=srun)/#SBATCH --predict=off\n/r);
ok(wait_until(30, sub { shell('sinfo -h -o %T')->{out} =~ /idle/ }), 'Slurm runs');
is(job('job.sh')->{state}, 'COMPLETED', 'and runs an MPI job');

# ---- README.md, to the letter ----

my ($install) = Testbed::slurp(top() . '/README.md') =~ /^## Install\n(.*?)^## /ms;
my @steps = grep { /\S/ } map { s/^ {4}//r } grep { /^ {4}/ } split /\n/, $install;
my @cluster = grep { !/\bmake\b|^git / } @steps; # packages are built by now
cmp_ok(scalar @cluster, '>=', 5, 'README has commands');
my $begun = time;
shell("mkdir new && mv *_${version}_*.deb new/");
for my $step (@cluster) {
	if ($step =~ /^apt install/) {
		succeeds($step, "$step ($before)");
		is(shell('systemctl is-enabled precedentd')->{out}, "disabled\n", 'installing enables nothing') if $step =~ /precedentd/;
		is(shell('systemctl is-active precedentd')->{out}, "inactive\n", 'and starts nothing') if $step =~ /precedentd/;
		next;
	}
	if ($step eq 'precedent doctor') {
		ok(wait_until(60, sub { shell('precedent doctor')->{rc} == 0 }), $step) or diag(shell('precedent doctor')->{out});
		next;
	}
	# A release whose default traces without Candidates does not say so in its sample.
	shell('! grep -q "jobs are neither traced" $0 || echo "Candidates = main" >>$0' =~ s{\$0}{/etc/precedent/precedent.conf}gr) if $step =~ /enable --now/;
	succeeds($step);
}
my $first = job('job.sh');
like($first->{said}, qr/first run of this job/, 'the first run is traced');
is($first->{state}, 'COMPLETED', 'and completes');
ok(wait_until(120, sub { shell('journalctl -u precedentd')->{out} =~ /: ready, 1 candidate predicted/ }), 'its skeleton is probed')
    or diag(shell('journalctl -u precedentd | tail')->{out});
my $second = job('job.sh');
like($second->{said}, qr/precedent: \d\d:\d\d:\d\d on main/, 'a predicted walltime');
note($second->{said}, sprintf '%.0f s after the first command of README', time - $begun);
cmp_ok(time - $begun, '<', 900, 'within fifteen minutes');

# ---- other paths, under systemd's eyes ----

succeeds('mkdir -p /home/spool /srv/metrics && chgrp slurm /home/spool && chmod 755 /home/spool && chown slurm /srv/metrics && ' .
	    'cp /etc/precedent/precedent.conf conf.saved && ' .
	    'sed -i "s|^SpoolDir.*|SpoolDir = /home/spool|; s|^StateDir.*|StateDir = /srv/state|" /etc/precedent/precedent.conf && ' .
	    'echo "MetricsFile = /srv/metrics/precedent.prom" >>/etc/precedent/precedent.conf && install -d -o slurm -g slurm -m 750 /srv/state && ' .
	    'install -d -o user -g slurm -m 2770 /home/spool/1000 /home/spool/1000/999999 && ' .
	    'touch -d "1 year ago" /home/spool/1000/999999/run.0.1.spill && chown user:slurm /home/spool/1000/999999/run.0.1.spill && ' .
	    'systemctl restart precedentd', 'spool below /home, store and metrics in /srv');
ok(wait_until(30, sub { shell('test -s /srv/state/precedent.db && test -s /srv/metrics/precedent.prom')->{rc} == 0 }), 'are written')
    or diag(shell('journalctl -u precedentd | tail')->{out});
ok(wait_until(30, sub { shell('test ! -e /home/spool/1000/999999/run.0.1.spill')->{rc} == 0 }), 'and the spool is swept')
    or diag(shell('ls -lR /home/spool; journalctl -u precedentd | tail')->{out});
succeeds('cp conf.saved /etc/precedent/precedent.conf && systemctl restart precedentd', 'the old paths again');

# ---- upgrade ----

succeeds('echo "# ours" >>/etc/precedent/precedent.conf');
my $pid = daemon_pid();
succeeds('cd new && apt-get install -y ./*.deb', "upgrade from $before to $version");
like(shell('precedent --version')->{out}, qr/\Q$version\E/, 'is done');
isnt(daemon_pid(), $pid, 'the daemon was restarted');
is(shell('systemctl is-active precedentd')->{out}, "active\n", 'and runs');
is(shell('tail -n 1 /etc/precedent/precedent.conf')->{out}, "# ours\n", 'the configuration is kept');
succeeds('systemctl restart slurmctld slurmd', 'slurmctld starts');
ok(wait_until(60, sub { job('job.sh')->{said} =~ /on main/ }), 'a job is predicted from the kept store')
    or diag(as_user('precedent explain $(squeue -h -o %i -t all | sort -n | tail -n 1)')->{out});

# ---- another Slurm ----

my ($slurm) = shell("dpkg-query -Wf '\${Version}' slurm-wlm-basic-plugins")->{out} =~ /^([^-]+)/;
(my $next = $slurm) =~ s/(\d+)$/$1 + 1/e;
shell("mkdir -p fake/DEBIAN; printf 'Package: slurm-wlm-basic-plugins\\nVersion: $next-1\\nArchitecture: amd64\\nMaintainer: nobody <nobody\@example.org>\\n" .
	    "Description: none\\n' >fake/DEBIAN/control; dpkg-deb -b fake slurm.deb");
like(shell('apt-get install --simulate --no-remove ./slurm.deb')->{err} . '', qr/to be removed|unmet dependencies|held|remove/i,
	"Slurm $next is not installed beside plugins for $slurm");

# ---- removal ----

my $refused = shell('apt-get remove -y precedent-slurm');
isnt($refused->{rc}, 0, 'the plugins are not removed while slurm.conf names them');
like($refused->{out} . $refused->{err}, qr/JobSubmitPlugins.*would not start/, 'and the reason is said');
succeeds('systemctl restart slurmctld', 'slurmctld starts');
succeeds('sed -i /^JobSubmitPlugins/d /etc/slurm/slurm.conf && systemctl restart slurmctld && apt-get remove -y precedent-slurm precedentd precedent',
	'removal after slurm.conf is without them');
succeeds('systemctl restart slurmctld slurmd && systemctl is-active slurmctld', 'slurmctld starts without Precedent');
for my $file ('job.sh', 'off.sh') {
	my $run = job($file);
	is($run->{state}, 'COMPLETED', "$file runs");
	is($run->{said}, '', 'and sbatch says nothing');
}
is(shell('cat /home/user/out')->{out} =~ /^heat: .*\n\z/ ? 1 : 0, 1, 'nor does srun');
succeeds('test -s /var/lib/precedent/precedent.db && test -s /etc/precedent/precedent.conf', 'the store and the configuration survive the removal');
succeeds('apt-get purge -y precedentd && test ! -e /var/lib/precedent && test ! -e /etc/precedent && test ! -e /var/spool/precedent',
	'they go with purge');
succeeds("apt-get purge -y '^precedent' '^libprecedent' && ! dpkg -l | grep precedent && systemctl restart slurmctld slurmd", 'purge of the rest');
is(job('job.sh')->{state}, 'COMPLETED', 'Slurm works as before');
is(shell("find /usr /etc /var -path '*precedent*' ! -path '/var/log/*' ! -path '/var/cache/*' ! -path '/etc/slurm/*'")->{out}, '', 'nothing is left but the links of README');

done_testing;
