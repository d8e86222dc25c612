#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that a tracer could harm (tests/programs/quirks.c), as jobs on the cluster: with the tracer each ends with the status and
# prints what it does with --predict=off, started by srun and by mpirun, with Open MPI and with MPICH. Jobs are marked by hand, as
# job_submit marks them, so that no probes come between.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP qw(decode_json);
use Sys::Hostname qw(hostname);
use Test::More;
use Testbed qw(run_command wait_until build_dir top);

my $testbed = Testbed->attach(name => 'disturbs', up => ['--plain']);
my $dir = $testbed->dir;
my $plugin = "$dir/plugin";
my $spool = "$plugin/spool";
my (undef, undef, $uid) = getpwnam $testbed->user;
my $slurm_gid = getgrnam 'slurm';
my @marked = ('--export=ALL,SLURM_PRECEDENT_TRACE=1');

END {
	my $status = $?;
	$testbed->testbed('down') if $testbed;
	$? = $status;
}

mkdir $plugin;
mkdir $spool;
chown 0, $slurm_gid, $spool;
chmod 0755, $plugin, $spool;
run_command('cp', build_dir() . "/$_", $plugin) for qw(spank_precedent.so precedent-agent libprecedent_trace.so
	libprecedent_trace_openmpi.so libprecedent_trace_mpich.so);
open my $stack, '>', "$dir/etc/slurm/plugstack.conf" or die $!;
print {$stack} "optional $plugin/spank_precedent.so spool=$spool lib=$plugin/libprecedent_trace.so\n";
close $stack or die $!;

$testbed->program('quirks');
my $pmi2 = join('', @{$testbed->run('srun', '--mpi=list')}{qw(out err)}) =~ /\bpmi2\b/ && -e build_dir() . '/tests/programs-mpich/quirks';
$testbed->install(build_dir() . '/tests/programs-mpich/quirks', 'quirks-mpich') if $pmi2;
# The nodes say that they have the tracer.
for my $node (qw(fast1 fast2)) {
	my ($job) = $testbed->submit("#!/bin/sh\ntrue\n", @marked, '-w', $node, '-p', 'fast');
	$testbed->wait_job($job, 60);
}

# How a script begins, and how it starts two ranks: each line that a rank prints, and each status, is printed by itself.
my $head = "#!/bin/bash\n#SBATCH -N1 -n2 -p fast -t 5\nexport OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1\n";
my %start = (
	srun => sub { "srun --mpi=pmix -n2 ./quirks @_; echo \"status \$?\"\n" },
	mpirun => sub { "mpirun --oversubscribe -n 2 ./quirks @_; echo \"status \$?\"\n" },
	($pmi2 ? (mpich => sub { "srun --mpi=pmi2 -n2 ./quirks-mpich @_; echo \"status \$?\"\n" }) : ()),
);

# With and without the tracer: [job id, job id].
sub submit_both {
	my ($script) = @_;
	return [map { ($testbed->submit($script, @marked, @$_))[0] // die "not submitted\n" } [], ['--predict=off']];
}

my $host = hostname;
sub output { # in any order; without the names of nodes and processes; tasks that end at once share a line of srun
	my ($job) = @_;
	my @line = grep { !/\bPID \d|\[\d+,\d+\]|pid=\d|^-+$|^\s*$/ } split /\n/,
		$testbed->output($job) =~ s/^(srun: error: \w+: )tasks 0-1(: .*)$/$1task 0$2\n$1task 1$2/gmr;
	return join '', map { s/\bfast\d\b/NODE/gr =~ s/\[?\Q$host\E:\d+\]?//r . "\n" } sort @line;
}

sub traces {
	my @found = glob "$spool/$uid/$_[0]/*.ptrace";
	return @found;
}

sub calls {
	my ($trace) = @_;
	my $r = run_command(build_dir() . '/precedent', 'info', '--json', '--all', $trace);
	return $r->{rc} ? -1 : (map { $_->{calls} } grep { $_->{name} eq 'MPI_Allreduce' } @{decode_json($r->{out})->{functions}})[0] // 0;
}

my @mode = ('every', 'urgent', 'signalfd', 'sigwait', 'altstack', 'timers', 'protect', 'possessions', 'files', 'environ', 'children', 'chdir',
	'atexit', 'jump', 'callback');
my %job; # mode => start => [with, without]
for my $mode (@mode) {
	$job{$mode}{$_} = submit_both($head . $start{$_}->($mode)) for sort keys %start;
}
for my $mode (@mode) {
	subtest $mode => sub {
		for my $start (sort keys %start) {
			my ($with, $without) = @{$job{$mode}{$start}};
			$testbed->wait_job($_, 300) // die "job $_ does not end\n" for $with, $without;
			is($testbed->job_info($with)->{ExitCode}, $testbed->job_info($without)->{ExitCode}, "$start: the same exit code");
			is(output($with), output($without), 'and output');
			my @trace = traces($with);
			is(scalar @trace, 1, 'there is a trace');
			is(calls($trace[0] // 'none'), 100, 'with every call');
			is_deeply([traces($without)], [], 'and none with --predict=off');
		}
	};
}

subtest 'a program with AddressSanitizer' => sub {
	plan skip_all => 'no AddressSanitizer for MPI here'
		if run_command('mpicc.openmpi', '-g', '-fsanitize=address', '-o', "$plugin/asan", '-x', 'c', top() . '/tests/programs/ring.c')->{rc};
	$testbed->install("$plugin/asan", 'asan');
	for my $step ('srun --mpi=pmix -n2 ./asan 20', 'mpirun --oversubscribe -n 2 ./asan 20') {
		# What the script sets after the tracer was handed to mpirun counts.
		my ($with, $without) = @{submit_both("${head}export ASAN_OPTIONS=detect_leaks=0\n$step; echo \"status \$?\"\n")};
		$testbed->wait_job($_, 120) // die "job $_ does not end\n" for $with, $without;
		like(output($with), qr/^status 0$/m, $step);
		is(output($with), output($without), 'the same output');
		is(scalar(my @trace = traces($with)), 1, 'and a trace');
	}
};

done_testing;
