#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each command of doc/admin.md runs, and its configuration is good; job_submit/lua beside the plugin, in the order that it names.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(run_command wait_until build_dir top);

my $testbed = Testbed->attach(name => 'guide', up => ['--build', build_dir()]);
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

my $guide = slurp(top() . '/doc/admin.md');
my ($user, $other) = ($testbed->user, $testbed->other_user);

# What the guide calls by a name of its own.
sub here {
	my ($text) = @_;
	return $text =~ s/\balice\b/$user/gr =~ s{/root/}{$dir/home/}gr;
}

sub said {
	return ($testbed->submit({as => $_[0]}, "#!/bin/sh\n: $_[1]\n"))[2];
}

ok(wait_until(60, sub { said($other, 'first') =~ /it is traced/ }), 'precedentd runs');
for my $line ($guide =~ /^ {4,}(\w+ = .*)$/mg) {
	my ($key, $value) = split / = /, here($line), 2;
	$testbed->conf_set($key => $value);
	is($testbed->run({as => 'root'}, 'precedent', 'conf', '--check')->{rc}, 0, "good: $line");
}
ok(wait_until(60, sub { said($other, 'second' . time) eq '' }), 'Only: others are left alone');
ok(wait_until(60, sub { said($user, 'second' . time) =~ /it is traced/ }), '... and the named user is not');

my @commands = $guide =~ /^ {4,}([#\$] .*)$/mg;
cmp_ok(scalar @commands, '>=', 8, 'the guide has commands');
for my $line (@commands) {
	my ($prompt, @words) = split ' ', here($line);
	my $r = $testbed->run({as => $prompt eq '#' ? 'root' : $user}, $words[0] eq 'precedentd' ? "$dir/precedent/sbin/precedentd" : $words[0], @words[1 .. $#words]);
	is($r->{rc}, 0, "runs: $line") or diag "$r->{out}$r->{err}";
	isnt($r->{out} . $r->{err}, '', '... and says something') if $words[1] ne '--backup';
}
ok(-s "$dir/home/precedent-backup.db", 'the backup is there');

SKIP: {
	my $lua = glob('/usr/lib/*/slurm-wlm/job_submit_lua.so');
	skip 'no job_submit/lua here', 3 if !$lua;
	my $conf = "$dir/etc/slurm/slurm.conf";
	my $text = slurp($conf);
	open my $script, '>', "$dir/etc/slurm/job_submit.lua" or die $!;
	print {$script} <<'LUA';
function slurm_job_submit(job, partitions, uid)
	slurm.log_user("lua was here")
	job.partition = "slow"
	return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
	return slurm.SUCCESS
end
LUA
	close $script or die $!;
	$text =~ s/^JobSubmitPlugins=precedent$/JobSubmitPlugins=lua,precedent/m or die "no JobSubmitPlugins in $conf";
	open my $fh, '>', $conf or die $!;
	print {$fh} $text;
	close $fh or die $!;
	is($testbed->run({as => 'root'}, 'scontrol', 'reconfigure')->{rc}, 0, 'slurmctld reads its configuration again');
	$testbed->conf_set(Only => undef, 'PartitionMode.slow' => 'limit');
	my ($job, $err, $info);
	my $n = 0;
	ok(wait_until(60, sub {
		($job, undef, $err) = $testbed->submit("#!/bin/sh\n: with lua " . ++$n . "\n");
		$info = $job ? $testbed->job_info($job) : {};
		# the plugin looks at its configuration once a second
		return $err =~ /it is traced/ && ($info->{AdminComment} // '') =~ /mode=limit/;
	}), 'Precedent speaks, in the mode of the partition that lua chose') or diag $err, $info->{AdminComment};
	like($err, qr/lua was here/, '... and so does the script of lua');
}

done_testing();
