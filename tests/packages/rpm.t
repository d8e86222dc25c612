#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The RPM packages, by Debian's rpm on a fresh Debian with a real Slurm: installed, upgraded, removed. rpm knows nothing of
# Debian's packages there, so --nodeps; the libraries that the programs need are installed before.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use File::Temp qw(tempdir);
use Fresh;
use Test::More;
use Testbed qw(build_dir run_command top wait_until);

my $suite = $ENV{PRECEDENT_SUITE} // die "PRECEDENT_SUITE is not set\n";
my $tmp = tempdir('precedent-rpm-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($version) = Testbed::slurp(top() . '/Makefile') =~ /^VERSION\s*:=\s*(\S+)/m;
my $before = '0.0.9';
my @names = qw(precedent precedentd precedent-slurm precedent-slurm-option precedent-devel);
my $rpm = 'rpm --force-debian --nodeps'; # Debian's rpm wants to be told that this is not Debian's way

sub packages_of { my ($v, @of) = @_; return join ' ', map { "$_-$v-1.x86_64.rpm" } @of ? @of : @names }
sub daemon { return shell("systemctl $_[0] precedentd")->{out} =~ s/\s+//gr }

# ---- packages, and a system that can run them ----

for my $v ($before, $version) {
	my $made = run_command({}, 'make', '-C', top(), 'rpm', 'B=' . build_dir(), "VERSION=$v");
	is($made->{rc}, 0, "make rpm, version $v") or BAIL_OUT($made->{err});
	run_command('sh', '-c', 'cp ' . build_dir() . "/rpm/RPMS/*/*.rpm $tmp/");
}
is(scalar(my @rpms = glob "$tmp/*.rpm"), 2 * @names, 'all packages are built');
run_command('sh', '-c', "cd $tmp && ldd " . join(' ', map { build_dir() . "/$_" } qw(precedent precedentd)) .
	    q{ | awk '$3 ~ "^/" { print $3 }' | sort -u | xargs readlink -f | xargs dpkg -S 2>/dev/null | cut -d: -f1 | sort -u | xargs apt-get download rpm});
boot($suite, @rpms, glob "$tmp/*.deb");
succeeds('apt-get install -y --no-install-recommends ./*.deb', 'rpm, and libraries');
succeeds('systemctl start munge slurmctld slurmd');
shell('cat >/home/user/off.sh', "#!/bin/sh\n#SBATCH -n 1 -t 1 -o /dev/null\n#SBATCH --predict=off\nsrun true\n");
ok(wait_until(30, sub { shell('sinfo -h -o %T')->{out} =~ /idle/ }), 'Slurm runs');
is(job('off.sh')->{state}, 'refused', 'without Precedent, Slurm refuses the option --predict');

# ---- installed ----

succeeds("$rpm -i " . packages_of($before), "rpm -i, version $before");
is(daemon('is-enabled') . daemon('is-active'), 'disabledinactive', 'nothing is enabled, nothing started');
is(shell("rpm -V --nodeps @names")->{out}, '', 'files are as they were packed: contents, modes, owners');
is(shell("rpm -qlv @names | awk '\$3 != \"root\" || \$4 != \"root\" || (\$1 !~ /^[dl]/ && \$1 ~ /^.....w|^........w/)'")->{out}, '', 'all belong to root, and only root may write');
is(shell('stat -c "%U:%G %a" /var/spool/precedent')->{out}, "root:slurm 755\n", 'the spool is made by systemd-tmpfiles');
succeeds('echo JobSubmitPlugins=precedent >>/etc/slurm/slurm.conf; dir=$(scontrol show config | sed -n "s/^PluginDir *= //p"); ' .
	    'echo PluginDir=$dir:/usr/lib64/slurm >>/etc/slurm/slurm.conf; mkdir -p /etc/slurm/plugstack.conf.d; ' .
	    'echo "include /etc/slurm/plugstack.conf.d/*.conf" >/etc/slurm/plugstack.conf; ' .
	    'ln -s /usr/share/precedent/plugstack.conf.d/*.conf /etc/slurm/plugstack.conf.d/; ' .
	    'systemctl restart slurmctld slurmd; systemctl enable --now precedentd', 'Slurm and the daemon are configured');
ok(wait_until(30, sub { shell('precedent doctor')->{rc} == 0 }), 'precedent doctor finds no fault') or diag(shell('precedent doctor')->{out});
is(job('off.sh')->{state}, 'COMPLETED', 'a job with --predict=off runs');

# ---- upgraded ----

my $pid = daemon('show -P MainPID');
succeeds('echo "# ours" >>/etc/precedent/precedent.conf');
succeeds("$rpm -U " . packages_of($version), "rpm -U, version $version");
is(shell('rpm -q --qf "%{VERSION}\n" ' . "@names | sort -u")->{out}, "$version\n", 'all packages are the new ones');
is(daemon('is-enabled') . daemon('is-active'), 'enabledactive', 'the daemon is still enabled, and runs');
isnt(daemon('show -P MainPID'), $pid, '... the new one');
is(shell('tail -n 1 /etc/precedent/precedent.conf')->{out}, "# ours\n", 'the configuration is kept');

# ---- removed ----

my $refused = shell("$rpm -e precedent-slurm");
isnt($refused->{rc}, 0, 'the plugins are not removed while slurm.conf names them');
like($refused->{err}, qr/JobSubmitPlugins/, '... and the reason is said');
succeeds('systemctl restart slurmctld', '... slurmctld starts');
succeeds("sed -i /^JobSubmitPlugins/d /etc/slurm/slurm.conf; systemctl restart slurmctld; $rpm -e precedent-slurm precedentd precedent precedent-devel",
	'removed when slurm.conf is without them');
isnt(daemon('is-active'), 'active', 'the daemon was stopped');
isnt(daemon('is-enabled'), 'enabled', '... and is enabled no more');
succeeds('test -s /var/lib/precedent/precedent.db && grep -q "# ours" /etc/precedent/precedent.conf.rpmsave', 'the store and the changed configuration stay');
succeeds('systemctl restart slurmctld slurmd && systemctl is-active slurmctld', 'Slurm starts without Precedent');
ok(wait_until(30, sub { shell('sinfo -h -o %T')->{out} =~ /idle/ }), '... and takes jobs');
is(job('off.sh')->{state}, 'COMPLETED', 'precedent-slurm-option alone keeps scripts with --predict=off alive');
succeeds("$rpm -e precedent-slurm-option");
is(shell('find /usr /etc -path "*precedent*" ! -path "/etc/slurm/*" ! -type d ! -name "*.rpmsave"')->{out}, '', 'no file is left');
done_testing;
