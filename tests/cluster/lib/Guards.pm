# SPDX-License-Identifier: GPL-2.0-or-later
#
# Guards: a testbed with a program that is predicted, under the limit guard of this Slurm: soft where there is one, else overtime.
# The same test body then holds for each guard.
#
#   my $g = Guards->new(name => 'limits-x');
#   my $job = $g->held('what');          # asks for 3 minutes, is told a shorter limit, waits held
#   $g->is_short($job, 'what');          # the scheduler plans it with one minute
#   $g->release($job);
#   $g->reaches($job, 3, 'what');        # is ended by its limit after 3 minutes, not before and not much later
package Guards;

use strict;
use warnings;

use Test::More;
use Testbed qw(run_command wait_until build_dir);

use constant {ASKED => 3, OVERTIME => 2}; # minutes, if a test names no others; the program is predicted to need less than one

my $SCRIPT = "#!/bin/sh\nsrun true\n: a program with a past\nsleep \$(cat \$HOME/seconds)\n";

# new(name => NAME, [asked => MINUTES, overtime => MINUTES], [up => [OPTIONS of testbed up]], [slurm => CODE that changes $_, slurm.conf], [before => CODE, called with the
# testbed]). All nodes take many jobs.
sub new {
	my ($class, %option) = @_;
	my ($version) = run_command('slurmctld', '-V')->{out} =~ /(\d+\.\d+)/;
	my $guard = $version < 23.11 ? 'overtime' : 'soft';
	my ($asked, $overtime) = ($option{asked} // ASKED, $option{overtime} // OVERTIME);
	my @overtime = $guard eq 'overtime' ? ('--overtime', $overtime) : ();
	my $testbed = Testbed->attach(name => $option{name}, up => ['--build', build_dir(), @overtime, @{$option{up} // []}]);
	my $self = bless {testbed => $testbed, guard => $guard, asked => $asked, overtime => $overtime}, $class;
	$option{before}->($testbed) if $option{before};
	$self->slurm_conf(sub {
		s/^(SchedulerParameters=\S+)/$1,time_min_as_soft_limit/m if $guard eq 'soft';
		s/^(PartitionName=.*)$/$1 OverSubscribe=FORCE:16/mg;
		s/^(AuthInfo=\S+)/$1,cred_expire=30/m; # a job that is queued again waits so long
		$option{slurm}->() if $option{slurm};
	});
	$self->slurmctld('restart');
	$testbed->write('seconds', "6\n");
	$testbed->conf_set(Mode => 'limit', LimitGuard => $guard, MinLimit => '00:01:00', PollInterval => 2);
	$testbed->daemon('stop');
	$testbed->daemon('start');
	ok(wait_until(30, sub { ($testbed->submit({as => $testbed->other_user}, "#!/bin/sh\n:\n"))[2] =~ /it is traced/ }),
		'precedentd runs, and the plugin sees it') or diag $testbed->log('precedentd');
	$self->learn('fast');
	$testbed->write('seconds', "3600\n");
	return $self;
}

sub testbed { return $_[0]{testbed} }
sub guard { return $_[0]{guard} }
sub is_soft { return $_[0]{guard} eq 'soft' }
sub script { return $SCRIPT }
sub down { return $_[0]{testbed}->testbed('down') }
sub root { my ($self, @command) = @_; return $self->{testbed}->run({as => 'root'}, @command) }
sub user { my ($self, @command) = @_; return $self->{testbed}->run(@command) }
sub info { return $_[0]{testbed}->job_info($_[1]) // {} }

# Three runs of the program, until it is predicted in the partition. Two runs that a busy machine makes unlike predict
# nothing.
sub learn {
	my ($self, $partition) = @_;
	my $testbed = $self->{testbed};
	my @asked = ('-p', $partition, '-N1', '-n1', '-t', $self->{asked});
	my @runs = map { ($testbed->submit($self->script, @asked))[0] } 1 .. 3;
	is($testbed->wait_job($_, 60)->{state}, 'COMPLETED', 'a run of the program') for @runs;
	ok(wait_until(20, sub {
		my ($job, undef, $said) = $testbed->submit($self->script, @asked, '-H');
		$testbed->run('scancel', $job);
		return $said =~ /precedent: [\d:]+ on $partition/;
	}), "it is predicted on $partition") or $self->give_up;
	return;
}

# Without a prediction there is nothing to test.
sub give_up {
	my ($self) = @_;
	diag $self->{testbed}->log('precedentd');
	$self->down;
	die "nothing is predicted\n";
}

sub told { return $_[0]->is_soft ? qr/Slurm plans with 00:0\d:00, your limit of/ : qr/limit will be 00:0\d:00/ }

# ---- jobs ----

# Submits the program with more options of sbatch. Returns the job and what sbatch said.
sub submit {
	my ($self, @options) = @_;
	my ($job, $out, $said) = $self->{testbed}->submit($self->script, '-N1', '-n1', '-t', $self->{asked}, @options);
	diag "$out$said" if !$job;
	return ($job, $said);
}

sub held {
	my ($self, $what, @options) = @_;
	my ($job, $said) = $self->submit('-H', @options);
	like($said, $self->told, "$what: sbatch tells what is planned");
	return $job;
}

# Under the soft guard the limit stays, and the planned time is TimeMin.
sub planned { my ($self, $job) = @_; return $self->info($job)->{$self->is_soft ? 'TimeMin' : 'TimeLimit'} // '' }

sub becomes {
	my ($self, $job, $want, $what) = @_;
	my $got = '';
	my $ok = ok(wait_until(30, sub { $got = $self->planned($job); return $got eq $want }), $what);
	diag "job $job: $got", $self->{testbed}->log('precedentd') if !$ok;
	return $ok;
}

sub is_short { my ($self, $job, $what) = @_; return $self->becomes($job, '00:01:00', "$what: it is planned with less") }

sub is_whole {
	my ($self, $job, $what) = @_;
	return $self->becomes($job, $self->is_soft ? 'N/A' : "00:0$self->{asked}:00", "$what: it is planned with what its user asked");
}

sub release {
	my ($self, @jobs) = @_;
	$self->root('scontrol', 'release', join ',', @jobs);
	return;
}

sub runs {
	my ($self, $job, $what) = @_;
	return ok($self->{testbed}->wait_job_state($job, 'RUNNING', 60), "$what: it runs") || diag $self->root('squeue')->{out};
}

# The job is ended by its limit after so many minutes of its last run. Slurm looks every 30 s, and waits some seconds for the end.
# more: minutes that it may have in addition, as any job of the site has by OverTimeLimit.
sub reaches {
	my ($self, $job, $minutes, $what, $more) = @_;
	my $end = $self->{testbed}->wait_job($job, 60 * ($minutes + ($more // 0)) + 60);
	return ok(0, "$what: it ends") || diag explain $self->info($job) if !$end;
	my $ok = $end->{state} eq 'TIMEOUT' && $end->{elapsed_s} >= 60 * $minutes && $end->{elapsed_s} < 60 * ($minutes + ($more // 0)) + 60;
	return ok($ok, "$what: ended by its limit after $minutes minutes" . ($more ? ", or up to $more more" : ''))
		|| diag "$end->{state} after $end->{elapsed_s} s";
}

# As any job of the site, with OverTimeLimit where there is one.
sub reaches_whole {
	my ($self, $job, $minutes, $what) = @_;
	return $self->reaches($job, $minutes, $what, $self->is_soft ? 0 : $self->{overtime});
}

# ---- slurmctld ----

# Change slurm.conf by code that changes $_.
sub slurm_conf {
	my ($self, $change) = @_;
	my $file = $self->{testbed}->dir . '/etc/slurm/slurm.conf';
	local $_ = $self->{testbed}->read($file);
	$change->();
	open my $fh, '>', $file or die "$file: $!\n";
	print {$fh} $_;
	close $fh or die "$file: $!\n";
	return;
}

sub reconfigure {
	my ($self, $change, $what) = @_;
	$self->slurm_conf($change);
	return is($self->root('scontrol', 'reconfigure')->{rc}, 0, $what);
}

# slurmctld('restart' or 'kill'): ended with TERM and started, or killed and not started.
sub slurmctld {
	my ($self, $verb) = @_;
	my $file = $self->{testbed}->dir . '/run/slurm/slurmctld.pid';
	chomp(my $pid = $self->{testbed}->read($file));
	kill $verb eq 'kill' ? 'KILL' : 'TERM', $pid;
	ok(wait_until(20, sub { !kill(0, $pid) || run_command('grep', '-q', '^State:.Z', "/proc/$pid/status")->{rc} == 0 }), 'slurmctld ends');
	return if $verb eq 'kill';
	is($self->root('slurmctld')->{rc}, 0, 'slurmctld starts');
	ok(wait_until(30, sub { $self->user('scontrol', 'ping')->{out} =~ /is UP/ }), '... and answers');
	return;
}

1;
