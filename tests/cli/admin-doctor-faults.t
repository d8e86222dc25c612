#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent doctor finds each planted fault, says what to do, and fails. The cluster is only said to be: commands of Slurm in
# front of PATH answer for it. tests/cluster/doctor-faults.t has faults of a real one.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Cwd qw(getcwd);
use File::Copy qw(copy);
use JSON::PP qw(decode_json);
use POSIX qw(strftime);
use Test::More;
use Testbed qw(run_command top build_dir);

plan skip_all => 'faults of owners are planted as root' if $> != 0;
my $plugin = build_dir() . '/job_submit_precedent.so';
plan skip_all => 'built without Slurm' if !-e $plugin;

my $here = getcwd();
my $host = run_command('hostname', '-s')->{out} =~ s/\s+//r;
my @nobody = (getpwnam 'nobody')[2, 3];
my $make = build_dir() . '/tests/bench/make_history';
run_command('make', '--silent', '-C', top(), "B=$ENV{PRECEDENT_BUILD}", "$ENV{PRECEDENT_BUILD}/tests/bench/make_history") if !-x $make;

sub put {
	my ($path, $text, $mode) = @_;
	spew($path, $text);
	chmod $mode // 0644, $path;
	return;
}

# What the commands of Slurm print; undef: they fail.
my %says;

sub commands {
	for my $name (qw(scontrol sinfo squeue sacctmgr slurmctld)) {
		my $script = "#!/bin/sh\ncase \"\$*\" in\n";
		for my $call (grep { /^$name / && defined $says{$_} } sort keys %says) {
			$script .= "'" . ($call =~ s/^\S+ //r) . "') cat <<'X'\n$says{$call}X\nexit ;;\n";
		}
		put("bin/$name", "${script}esac\nexit 1\n", 0755);
	}
	return;
}

my %conf;

# A world without a fault.
sub heal {
	system 'rm', '-rf', qw(bin plugins prefix spool local state plugstack.conf slurm.conf precedent.conf);
	mkdir $_ or die "$_: $!\n" for qw(bin plugins prefix prefix/bin prefix/lib prefix/lib/precedent spool spool/nodes local state);
	copy($plugin, 'plugins/job_submit_precedent.so') or die $!;
	copy(build_dir() . '/spank_precedent.so', 'plugins/spank_precedent.so') or die $!;
	for (glob(build_dir() . '/libprecedent_trace*.so'), build_dir() . '/precedent-agent') {
		copy($_, 'prefix/lib/precedent/') or die $!;
	}
	put('prefix/bin/precedent', "#!/bin/sh\n", 0755);
	chmod 0755, 'prefix/lib/precedent/precedent-agent';
	chmod 0755, 'spool', 'spool/nodes';
	chmod 01777, 'local';
	put("spool/nodes/$_", "$here/prefix/lib/precedent/libprecedent_trace.so precedent-agent\n") for $host, 'two';
	is(run_command($make, 'state/precedent.db', 10, 2)->{rc}, 0, 'a store is made');
	put('plugstack.conf', "include $here/plugstack.d/*.conf\n");
	mkdir 'plugstack.d';
	put('plugstack.d/precedent.conf', "# ours\noptional spank_precedent.so conf=$here/precedent.conf\n");
	put('slurm.conf', "SlurmUser=root\nSlurmctldHost=localhost\nInclude $here/more.conf\nPlugStackConfig=$here/plugstack.conf\n");
	put('more.conf', "JobSubmitPlugins=lua,precedent # both\nPluginDir=$here/plugins:/nowhere\n");
	%conf = (Candidates => 'fast,slow:big', SpoolDir => "$here/spool", StateDir => "$here/state", LocalDir => "$here/local",
		InstallDir => "$here/prefix", ListenHost => '127.0.0.1', ListenPort => 1);
	%says = (
		'scontrol show config' => 'Configuration data as of ' . strftime('%Y-%m-%dT%H:%M:%S', gmtime) . "\n" .
		    "JobSubmitPlugins        = lua,precedent\nPluginDir               = $here/plugins\nMinJobAge               = 300 sec\n" .
		    "PlugStackConfig         = $here/plugstack.conf\nMaxJobCount             = 10000\nSLURM_VERSION           = VERSION\n",
		'scontrol show partition -o' => "PartitionName=fast AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL State=UP\n" .
		    "PartitionName=slow AllowGroups=ALL AllowAccounts=probes,physics AllowQos=ALL State=UP\n",
		'sinfo -h -p fast -o %f' => "(null)\n",
		'sinfo -h -p slow -o %f' => "big,ssd\nsmall\n",
		'sinfo -h -a -N -o %n %t' => "$host idle\ntwo.example.org mix\nthree down*\n",
		'squeue -a -h -r -t all -o x' => "x\n",
		'slurmctld -V' => "slurm-wlm VERSION\n",
	);
	return;
}

my $version;

sub doctor {
	put('precedent.conf', join('', map { "$_ = $conf{$_}\n" } sort keys %conf)) if !-e 'precedent.conf';
	defined $says{$_} and $says{$_} =~ s/VERSION$/$version/m for keys %says;
	commands();
	local $ENV{PATH} = "$here/bin:$ENV{PATH}";
	local $ENV{PRECEDENT_CONF} = "$here/precedent.conf";
	local $ENV{SLURM_CONF} = "$here/slurm.conf";
	my $r = precedent('doctor', '--json');
	return ($r->{rc}, @{ (eval { decode_json($r->{out}) } // die "$r->{out}$r->{err}")->{findings} });
}

sub faults { return grep { $_->{verdict} ne 'ok' } @_ }

# Which Slurm the plugin was built for, it says itself.
$version = '0.0.0';
heal();
my (undef, @first) = doctor();
($version) = map { $_->{found} =~ /was built for Slurm ([\d.]+),/ } grep { $_->{check} eq 'job_submit' } @first;
like($version, qr/^\d+\.\d+\.\d+$/, 'the plugin says for which Slurm it was built') or BAIL_OUT('no version');

# No munged runs here, and no precedentd: these two faults are always there, and no other is.
heal();
my (undef, @base) = doctor();
is_deeply([grep { !/^(?:munge|precedentd)$/ } map { "$_->{check}" } faults(@base)], [], 'no fault, none is found')
    or diag explain [faults(@base)];

# planted(CHECK, WHAT, CODE, FOUND, REMEDY): the one new fault, and a non-zero exit.
sub planted {
	my ($check, $what, $plant, $found, $remedy) = @_;
	heal();
	$plant->();
	my ($rc, @all) = doctor();
	my ($first) = grep { $_->{check} eq $check && $_->{verdict} eq 'FAIL' } @all;
	ok($first, "$what: found") or return diag explain [faults(@all)];
	like($first->{found}, $found, '... in words');
	like($first->{remedy}, $remedy, '... with what to do');
	is($rc, 1, '... and it fails');
	my %known = map { $_ => 1 } $check, qw(munge precedentd);
	is_deeply([grep { !$known{$_} } map { $_->{check} } faults(@all)], [], '... and nothing else is said')
	    or diag explain [faults(@all)];
	return;
}

planted('candidates', 'a candidate that does not exist', sub { $conf{Candidates} = 'fast,fats' },
	qr/^fats: there is no partition fats:/, qr/^correct Candidates in \Q$here\E\/precedent\.conf$/);
planted('candidates', 'a candidate that does not accept the account', sub { $conf{ProbeAccount} = 'chemistry' },
	qr/^slow:big does not accept ProbeAccount chemistry:/, qr/^add it to AllowAccounts/);
planted('candidates', 'a feature that no node has', sub { $conf{Candidates} = 'fast,slow:huge' },
	qr/^slow:huge: no node of slow has the feature huge:/, qr/^correct Candidates/);
planted('only', 'a user who does not exist', sub { $conf{Only} = 'user:root, user:no-such-user, account:physics' },
	qr/^Only names user:no-such-user, and there is no such user$/, qr/^correct Only in /);
planted('install_dir', 'another prefix', sub { $conf{InstallDir} = '/usr/local/nowhere'; unlink glob 'spool/nodes/*';
		put("spool/nodes/$_", "/usr/local/nowhere/lib/precedent/libprecedent_trace.so precedent-agent\n") for $host, 'two' },
	qr/^InstallDir \/usr\/local\/nowhere: no job is traced on this node: /, qr/^set InstallDir to the prefix/);
planted('install_dir', 'the command is not there', sub { unlink 'prefix/bin/precedent' }, qr/: probes cannot run \S+\/bin\/precedent: /, qr/^set InstallDir/);
planted('nodes', 'a node that has no tracer, or another spool', sub { unlink 'spool/nodes/two' },
	qr/^1 of 2 nodes have not said in \S+ that they have \S+, and are not traced: two$/, qr/SpoolDir must be shared, InstallDir/);
planted('local_dir', 'no LocalDir', sub { rmdir 'local' }, qr/^LocalDir \Q$here\E\/local: No such file/, qr/^create it as root, mode 1777/);
heal();
rmdir 'local';
$says{'sinfo -h -a -N -o %n %t'} = "two idle\n";
is_deeply([grep { $_->{check} eq 'local_dir' } grep { ref } doctor()], [], 'a host that is no node needs none');
planted('local_dir', 'LocalDir without a sticky bit', sub { chmod 0777, 'local' }, qr/sticky bit .*mode 0777/, qr/^chown root and chmod 1777$/);
planted('spank', 'a required line', sub { put('plugstack.d/precedent.conf', "required spank_precedent.so conf=$here/precedent.conf\n") },
	qr/^\S+precedent\.conf says required: /, qr/^write optional$/);
planted('spank', 'conf= of a missing file', sub { put('plugstack.d/precedent.conf', "optional spank_precedent.so conf=$here/none.conf\n") },
	qr/names conf=\Q$here\E\/none\.conf, and no job is traced: .*No such file/, qr/^install precedent\.conf there on every node$/);
planted('spank', 'conf= of another spool', sub {
		put('other.conf', "SpoolDir=/other/spool\nInstallDir=$here/prefix\n");
		put('plugstack.d/precedent.conf', "optional spank_precedent.so conf=$here/other.conf\n") },
	qr/^nodes write to SpoolDir \/other\/spool \(\S+\), and precedentd looks in /, qr/^use one precedent\.conf for all$/);
planted('spank', 'a plugin that is not there', sub { unlink 'plugins/spank_precedent.so' }, qr/names spank_precedent\.so, which is not there/, qr/^correct/);
planted('spank', 'a line that is not included', sub { put('plugstack.conf', "# nothing\n") }, qr/^neither \S+ nor a file that it includes loads/, qr/^include/);
planted('spool', 'a spool that users cannot enter', sub { chmod 0700, 'spool' }, qr/cannot enter it \(mode 0700\)$/, qr/^chmod 0755 /);
planted('spool', 'a spool of SlurmUser', sub { chown @nobody, 'spool' }, qr/must be a directory of root/, qr/^chown root/);
planted('conf_file', 'a configuration that all may write', sub {
		put('precedent.conf', join('', map { "$_ = $conf{$_}\n" } sort keys %conf), 0666) },
	qr/^others may write to \S+ \(mode 0666\)/, qr/^chmod 0644 /);
planted('conf_file', 'a configuration of a user', sub {
		put('precedent.conf', join('', map { "$_ = $conf{$_}\n" } sort keys %conf)); chown @nobody, 'precedent.conf' },
	qr/ belongs to uid $nobody[0], /, qr/^chown root /);
planted('store', 'a store of another user', sub {
		put('slurm.conf', slurp('slurm.conf') =~ s/SlurmUser=root/SlurmUser=nobody/r); chown 0, $nobody[1], 'spool' },
	qr/precedent\.db belongs to uid 0: precedentd \(nobody\) cannot write to it$/, qr/^chown -R nobody: \Q$here\E\/state$/);
planted('clock', 'a clock an hour off', sub {
		$says{'scontrol show config'} =~ s/as of \S+/'as of ' . strftime('%Y-%m-%dT%H:%M:%S', gmtime(time - 3600))/e },
	qr/^this host is 3[56]\d\d s ahead of slurmctld: /, qr/chrony/);
planted('job_submit', 'an update of Slurm while slurmctld runs', sub { $says{'slurmctld -V'} = "slurm-wlm 99.5.1\n" },
	qr/was built for Slurm \Q$version\E, this is 99\.5\.1: slurmctld does not start with it \(failed to initialize job_submit plugin\)$/, qr/^rebuild and install/);

subtest 'after an update of Slurm slurmctld does not start' => sub {
	heal();
	delete $says{'scontrol show config'};
	$says{'slurmctld -V'} = "slurm 99.5.1\n";
	my ($rc, @all) = doctor();
	my %found = map { $_->{check} => $_ } @all;
	is($rc, 1, 'the doctor fails');
	like($found{slurmctld}{found}, qr/^no answer, though \Q$here\E\/slurm\.conf is there/, 'slurmctld does not answer');
	like($found{job_submit}{found}, qr/was built for Slurm \Q$version\E, this is 99\.5\.1: slurmctld does not start/, 'and the doctor knows why');
	like($found{job_submit}{remedy}, qr/take precedent out of JobSubmitPlugins/, 'and what to do');
	$says{'slurmctld -V'} = "slurm $version\n";
	($rc, @all) = doctor();
	%found = map { $_->{check} => $_ } @all;
	is($found{job_submit}{verdict}, 'ok', 'the plugin is not blamed when it is right');
	is($found{slurmctld}{verdict}, 'FAIL', '... and slurmctld is still missed');
	is($rc, 1, '... for which the doctor fails');
};

subtest 'MUNGE does not run' => sub {
	heal();
	put('slurm.conf', slurp('slurm.conf') . "AuthInfo=socket=$here/no-munged\n");
	my ($rc, @all) = doctor();
	my ($munge) = grep { $_->{check} eq 'munge' } @all;
	is($munge->{verdict}, 'FAIL', 'it is found');
	like($munge->{remedy}, qr/^systemctl status munge$/, '... with what to do');
	is_deeply([grep { $_->{check} eq 'precedentd' } @all], [], '... and precedentd is not blamed');
};

done_testing;
