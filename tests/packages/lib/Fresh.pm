# SPDX-License-Identifier: GPL-2.0-or-later
#
# A fresh system of scripts/fresh-system: run commands there, submit jobs as the user, and wait for their end.
package Fresh;

use strict;
use warnings;

use Exporter qw(import);
use Test::More;
use Testbed qw(run_command top wait_until);

our @EXPORT = qw(boot shell succeeds as_user quoted job);

my $control = top() . '/scripts/fresh-system';
my $name;

END {
	local $?;
	run_command($control, 'stop', $name) if $name;
}

# boot(SUITE, FILES...): the files are in its /root, and what .deb files depend on can be installed.
sub boot {
	my ($suite, @files) = @_;
	$name = "packages-$suite-$$";
	my $booted = run_command($control, 'start', $suite, $name, @files);
	return is($booted->{rc}, 0, "a fresh system of $suite") || BAIL_OUT($booted->{err});
}

sub shell {
	my ($script, $input) = @_;
	return run_command({ stdin => $input // '' }, 'timeout', '--kill-after=5', '600', $control, 'run', $name, 'sh', '-ec', $script);
}

sub succeeds {
	my ($script, $what) = @_;
	my $done = shell($script);
	is($done->{rc}, 0, $what // $script) or diag("$done->{out}$done->{err}");
	return $done->{out};
}

sub as_user { return shell('cd /home/user; exec runuser -u user -- sh -c ' . quoted(shift)) }
sub quoted { return "'" . ($_[0] =~ s/'/'\\''/gr) . "'" }

# Submit as the user and wait for the end: what sbatch said, and the state of the job.
sub job {
	my (@arguments) = @_;
	my $sent = as_user("sbatch @arguments");
	my ($id) = $sent->{out} =~ /Submitted batch job (\d+)/ or return { said => $sent->{err}, state => 'refused' };
	my $state = wait_until(60, sub { shell("scontrol show job $id")->{out} =~ /JobState=(COMPLETED|FAILED|TIMEOUT|CANCELLED)/ && $1 });
	return { said => $sent->{err}, state => $state, id => $id };
}

1;
