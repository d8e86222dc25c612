#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The first day: a job ran before Precedent was installed, and the accounting (a real slurmdbd) has kept its script. Its first
# submission with Precedent is told what that run took, from another file, name and directory.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(wait_until build_dir);

my $testbed = Testbed->attach(name => 'scripts', up => ['--plain', '--dbd']);
END { $testbed->testbed('down') if $testbed }
my $other = $testbed->other_user;

# sbatch does not tell less than a minute
my $script = "#!/bin/sh\n#SBATCH -J before\n: of the past\nsleep \$((61 + \$1))\n";
$testbed->write('old/job.sh', $script);
$testbed->write('new/again.sh', $script =~ s/before/again/r =~ s/^: of/# a comment\n\n: of/mr);
sub submitted { # in a directory: (job, message)
	my ($dir, @command) = @_;
	my $r = $testbed->run({chdir => $testbed->path($dir)}, 'sbatch', '-n1', @command);
	return ($r->{out} =~ /^Submitted batch job (\d+)/m, $r->{err});
}
my ($past) = submitted('old', '-N1', '-t', 7, 'job.sh', 0) or BAIL_OUT('sbatch does not work');
my ($theirs) = $testbed->submit({as => $other}, "#!/bin/sh\n: of somebody else\nsleep 1\n", '-N1', '-n1', '-t', 9);
is(($testbed->wait_job($_, 120) // {})->{state}, 'COMPLETED', "job $_ runs without Precedent") for $past, $theirs;

is($testbed->testbed('reload', '--build', build_dir())->{rc}, 0, 'Precedent is installed');
ok(wait_until(30, sub { ($testbed->submit("#!/bin/sh\n: first\n", '-N1', '-n1', '-t', 3, '-H'))[2] =~ /it is traced/ }), 'the plugin sees precedentd');
my ($added, $found) = (0, 0);
ok(wait_until(60, sub {
	my $r = eval { decode_json($testbed->run({as => 'root'}, 'precedent', 'import', '--sacct', '--json')->{out}) } // {};
	$added += $r->{added} // 0;
	$found += $r->{scripts}{found} // 0;
	return $added >= 2;
}), 'both jobs are imported');
is($found, $added, '... with their scripts');

my ($job, $message) = submitted('new', '-t', 11, '-H', 'again.sh', 0);
like($message, qr/; similar runs \(of the same script\) took 00:01:0\d \(00:0\d:\d\d-00:0\d:\d\d\)/, 'the first submission is told what the same script took');
ok(wait_until(30, sub { $testbed->run('precedent', 'explain', $job)->{out} =~ /^Similar: +runs of the same script took 00:01:0\d,$/m }), '... explain names the source');
my ($numbers) = submitted('new', '-t', 11, '-H', 'again.sh', 1);
like($testbed->job_info($numbers)->{AdminComment}, qr{ similar=numbers/6\d/}, 'another argument is not the same script, but like it');
my ($stranger, undef, $said) = $testbed->submit({as => $other}, $script, '-N1', '-n1', '-t', 11, '-H');
unlike($said . $testbed->job_info($stranger)->{AdminComment}, qr/same script|similar=(script|numbers)/, 'another user learns nothing of it');

done_testing();
