# SPDX-License-Identifier: GPL-2.0-or-later
#
# Testbed: the one-machine cluster (scripts/testbed) as the cluster tests see it.
#
#   my $testbed = Testbed->attach;                       # boots it if it is not up
#   my $r = $testbed->run('squeue', '-h');               # as the user; {rc, out, err}
#   my ($job, $out, $err) = $testbed->submit("#!/bin/sh\nsrun hostname\n", '-N2');
#   my $end = $testbed->wait_job($job, 60);              # {state, elapsed_s, info}; undef: not ended in time
#   is($testbed->output($job), ...);
#
# Options of run and submit come first, in a hash: {as => 'root' or a user, stdin => TEXT,
# timeout => SECONDS, chdir => DIR, env => {NAME => VALUE}, testbed_options...}.
# Every wait is bounded.  What cannot be (no testbed, no such program) dies.
package Testbed;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Path qw(make_path);
use File::Temp;
use List::Util qw(max min);
use POSIX qw(WEXITSTATUS WIFEXITED WTERMSIG);
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(run_command wait_until top build_dir);

my $TOP = abs_path(dirname(__FILE__) . '/../../..');
my $BASE = '/var/lib/precedent-testbed';

# Top of the source tree; the build directory, absolute.
sub top { return $TOP }

sub build_dir {
	my $dir = $ENV{PRECEDENT_BUILD} // 'build';
	return $dir =~ m{^/} ? $dir : "$TOP/$dir";
}

# A wait that ends too early blames the product for a busy machine; one for what comes is no shorter for it.
my $PATIENCE = 3;

# wait_until(SECONDS, CODE): polls until CODE returns true, which is returned; '' when time is up: so many seconds of a quick
# machine, and more on a slow one.
sub wait_until {
	my ($seconds, $code) = @_;
	my $end = time + $PATIENCE * $seconds;
	while (1) {
		my $asked = time;
		my $value = $code->();
		return $value if $value;
		return '' if time >= $end;
		sleep min(1, max(0.1, 3 * (time - $asked))); # what is waited for needs the processor too
	}
}

sub slurp {
	my ($path) = @_;
	open my $fh, '<', $path or die "$path: $!\n";
	local $/;
	my $text = <$fh>;
	return $text // '';
}

# run_command([{stdin => TEXT}], CMD...): {rc, out, err}; rc is 128 + N after signal N.
sub run_command {
	my $option = ref $_[0] eq 'HASH' ? shift : {};
	my @command = @_;
	my ($in, $out, $err) = map { File::Temp->new(DIR => '/dev/shm') } 1 .. 3; # no command waits for a busy disk
	print {$in} $option->{stdin} // '';
	close $in or die "temporary file: $!\n";
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDIN, '<', $in->filename and open STDOUT, '>', $out->filename and open STDERR, '>', $err->filename
		    and exec { $command[0] } @command;
		POSIX::_exit(127);
	}
	waitpid $pid, 0;
	my $rc = WIFEXITED($?) ? WEXITSTATUS($?) : 128 + WTERMSIG($?);
	return {rc => $rc, out => slurp($out->filename), err => slurp($err->filename)};
}

# attach([name => NAME], [up => [OPTIONS of testbed up]]): a testbed that is up.
sub attach {
	my ($class, %option) = @_;
	my $name = $option{name} // $ENV{PRECEDENT_TESTBED} // 'check';
	my $self = bless {name => $name, dir => "$BASE/$name", user => 'precedent-user'}, $class;
	my $r = $self->testbed('up', @{$option{up} // []});
	die "testbed $name does not come up: $r->{err}" if $r->{rc} != 0;
	return $self;
}

sub name { return $_[0]{name} }
sub dir { return $_[0]{dir} }
sub user { return $_[0]{user} }
sub other_user { return 'precedent-user2' }

# testbed(VERB, ...): scripts/testbed on this testbed.
sub testbed {
	my ($self, @arguments) = @_;
	return run_command("$TOP/scripts/testbed", '--name', $self->{name}, @arguments);
}

# run([OPTIONS], CMD...): on the login node, as the user unless {as => ...}; killed after
# {timeout => 120} seconds of a quick machine (rc 124).
sub run {
	my $self = shift;
	my $option = ref $_[0] eq 'HASH' ? shift : {};
	my @arguments = ('run', '--as', $option->{as} // $self->{user});
	push @arguments, '--chdir', $option->{chdir} if defined $option->{chdir};
	my %env = %{$option->{env} // {}};
	my @command = ('timeout', '--kill-after=5', $PATIENCE * ($option->{timeout} // 120),
		'env', (map { "$_=$env{$_}" } sort keys %env), @_);
	return run_command({stdin => $option->{stdin}}, "$TOP/scripts/testbed", '--name', $self->{name},
		@arguments, '--', @command);
}

# path(FILE[, USER]): absolute path of a file in the user's home.
sub path {
	my ($self, $file, $user) = @_;
	return $file if $file =~ m{^/};
	return "$self->{dir}/home/" . ($user // $self->{user}) . "/$file";
}

# write(FILE, TEXT[, MODE[, USER]]): a file of the user's, and the directories above it.
sub write {
	my ($self, $file, $text, $mode, $user) = @_;
	my $path = $self->path($file, $user);
	my (undef, undef, $uid, $gid) = getpwnam($user // $self->{user});
	make_path(dirname($path), {owner => $uid, group => $gid});
	open my $fh, '>', $path or die "$path: $!\n";
	print {$fh} $text;
	close $fh or die "$path: $!\n";
	chmod $mode // 0644, $path;
	chown $uid, $gid, $path;
	return $path;
}

sub read {
	my ($self, $file, $user) = @_;
	return slurp($self->path($file, $user));
}

# install(SOURCE[, FILE[, USER]]): a program copied into the user's home; returns its path.
sub install {
	my ($self, $source, $file, $user) = @_;
	($file) = $source =~ m{([^/]+)$} if !defined $file;
	return $self->write($file, slurp($source), 0755, $user);
}

# program(NAME[, USER]): tests/programs/NAME, built if need be and installed in the user's home.
sub program {
	my ($self, $name, $user) = @_;
	my $build = $ENV{PRECEDENT_BUILD} // 'build';
	my $r = run_command('make', '--silent', '-C', $TOP, "B=$build", "$build/tests/programs/$name");
	die "tests/programs/$name cannot be built: $r->{err}" if $r->{rc} != 0;
	return $self->install(build_dir() . "/tests/programs/$name", $name, $user);
}

# submit([OPTIONS], SCRIPT, ARGUMENTS of sbatch...): (job id or undef, stdout, stderr).
# SCRIPT is the text of a script, or the name of one in the user's home.
sub submit {
	my $self = shift;
	my $option = ref $_[0] eq 'HASH' ? shift : {};
	my ($script, @arguments) = @_;
	my $file = $script;
	if ($script =~ /\n/) {
		$file = 'job-' . ++$self->{scripts} . '.sh';
		$self->write($file, $script, 0755, $option->{as});
	}
	my $r = $self->run($option, 'sbatch', @arguments, $file);
	my ($job) = $r->{out} =~ /^Submitted batch job (\d+)/m;
	return ($job, $r->{out}, $r->{err});
}

# Lines of `scontrol show job` that hold one free text up to their end.
my $FREE_TEXT = qr/^\s*(AdminComment|Comment|SystemComment|Command|WorkDir|StdErr|StdIn|StdOut|SubmitLine)=(.*)$/;

# job_info(JOB): the fields of scontrol show job, by name; undef when there is no such job.
sub job_info {
	my ($self, $job) = @_;
	my $r = $self->run({as => 'root'}, 'scontrol', 'show', 'job', $job);
	return undef if $r->{rc} != 0;
	my %info;
	for my $line (split /\n/, $r->{out}) {
		if ($line =~ $FREE_TEXT) {
			$info{$1} //= $2 =~ s/\s+$//r; # scontrol adds a blank
			next;
		}
		for my $field ($line =~ /(\S+=\S*)/g) {
			my ($key, $value) = split /=/, $field, 2;
			$info{$key} //= $value;
		}
	}
	return \%info;
}

# "[D-]HH:MM:SS" or "MM:SS" in seconds.
sub seconds_of {
	my ($text) = @_;
	my ($days, $clock) = $text =~ /^(?:(\d+)-)?([\d:]+)$/ or return undef;
	my $seconds = 0;
	$seconds = $seconds * 60 + $_ for split /:/, $clock;
	return $seconds + 86400 * ($days // 0);
}

my $RUNS = qr/^(PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED|STOPPED|REQUEUED)/;

# wait_job(JOB, SECONDS): {state, elapsed_s, info} of the ended job; undef when it has not ended in time.
sub wait_job {
	my ($self, $job, $seconds) = @_;
	my $info;
	wait_until($seconds, sub {
		$info = $self->job_info($job) // die "job $job is not known\n";
		return $info->{JobState} !~ $RUNS;
	}) or return undef;
	return {state => $info->{JobState}, elapsed_s => seconds_of($info->{RunTime}), info => $info};
}

# wait_job_state(JOB, STATE, SECONDS): its job_info once it is in STATE; undef when time is up.
sub wait_job_state {
	my ($self, $job, $state, $seconds) = @_;
	my $info;
	wait_until($seconds, sub {
		$info = $self->job_info($job);
		return $info && $info->{JobState} eq $state;
	}) or return undef;
	return $info;
}

# output(JOB[, USER]): what the job printed, where sbatch was not told another file.
sub output {
	my ($self, $job, $user) = @_;
	return $self->read("slurm-$job.out", $user);
}

# log(DAEMON): the log of slurmctld, slurmd-NODE or precedentd.
sub log {
	my ($self, $daemon) = @_;
	my $path = "$self->{dir}/logs/$daemon.log";
	return -e $path ? slurp($path) : '';
}

# has_precedent: whether the plugins are installed.
sub has_precedent {
	my ($self) = @_;
	return -e "$self->{dir}/precedent/lib/slurm/job_submit_precedent.so";
}

# daemon(start|stop|kill|status): precedentd.
sub daemon {
	my ($self, $verb) = @_;
	return $self->testbed('daemon', $verb);
}

sub conf_path { return "$_[0]{dir}/etc/slurm/precedent.conf" }

# conf_set(KEY => VALUE, ...): changes precedent.conf; undef takes a key out.  The plugin sees the file
# change; precedentd is restarted by the caller where that matters.  Returns the old text for conf_restore.
sub conf_set {
	my ($self, %value) = @_;
	my $old = slurp($self->conf_path);
	my $text = '';
	for my $line (split /^/, $old) {
		$text .= $line if !($line =~ /^\s*([\w.]+)\s*=/ && grep { lc $_ eq lc $1 } keys %value);
	}
	$text .= "$_=$value{$_}\n" for grep { defined $value{$_} } sort keys %value;
	$self->conf_restore($text);
	return $old;
}

# conf_restore(TEXT): replaces precedent.conf as a whole.
sub conf_restore {
	my ($self, $text) = @_;
	my $path = $self->conf_path;
	open my $fh, '>', "$path.new" or die "$path.new: $!\n";
	print {$fh} $text;
	close $fh or die "$path.new: $!\n";
	chmod 0644, "$path.new";
	rename "$path.new", $path or die "$path: $!\n";
	return;
}

1;
