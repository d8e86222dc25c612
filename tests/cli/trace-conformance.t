# SPDX-License-Identifier: GPL-2.0-or-later
# Conformance: small programs (tests/programs/conform_*) that use MPI in all the ways in which a tracer can go wrong:
# sentinels, handles, callbacks, error codes, threads, fork and exec, every kind of request and of communicator, in C and
# the three Fortran bindings. Each finds its own results right, prints the same traced and untraced, and the trace of each
# rank holds exactly the calls that the program says it made, no more, no fewer. With Open MPI, and with MPICH where it is.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use JSON::PP qw(decode_json);
use Test::More;
use Testbed qw(run_command);

plan skip_all => 'no mpirun here' if system('command -v mpirun >/dev/null 2>&1');

my @limit = ('timeout', '--kill-after=5', 60);
my %mpi = (
	programs => {name => 'Open MPI', run => [@limit, 'mpirun', '--oversubscribe', '--bind-to', 'none']},
	'programs-mpich' => {name => 'MPICH', run => [@limit, 'mpirun.mpich']},
);
if (system('command -v mpirun.mpich mpicc.mpich >/dev/null 2>&1')) {
	diag 'no MPICH here: it is not looked at';
	delete $mpi{'programs-mpich'};
}

sub build {
	my ($path) = @_;
	my $build = $ENV{PRECEDENT_BUILD} // 'build';
	my $r = run_command('make', '--silent', '-C', Testbed::top(), "B=$build", "$build/tests/$path");
	die "tests/$path cannot be built: $r->{err}" if $r->{rc} != 0;
	return Testbed::build_dir() . "/tests/$path";
}

# Lines in a fixed order: ranks print when they like, and how many requests complete at once is chance.
sub sorted { return join "\n", sort grep { length && !/ MPI_(Wait|Test)some / } split /\n/, $_[0] }

# {rank => {function => calls}} as the program says.
sub said {
	my ($out) = @_;
	my %did;
	while ($out =~ /^did (\d+) (\w+) (\d+)$/mg) { $did{$1}{$2} = $3 }
	return \%did;
}

# The same from the trace: events of a rank by function, without those that begin and end the run.
sub traced {
	my ($trace, $ranks) = @_;
	my %did;
	for my $rank (0 .. $ranks - 1) {
		my $r = precedent('info', $trace, '--events', $rank);
		is($r->{rc}, 0, "events of rank $rank") or diag $r->{err};
		for my $line (grep { !/^#/ } split /\n/, $r->{out}) {
			$did{$rank}{$1}++ if $line =~ /\b(MPI_\w+)/ && $1 !~ /^MPI_(Init|Init_thread|Finalize)$/;
		}
	}
	return \%did;
}

sub conforms {
	my ($where, $name, $ranks) = @_;
	my @mpirun = @{$mpi{$where}{run}};
	my $program = build("$where/conform_$name");
	my $plain = run_command(@mpirun, '-n', $ranks, $program);
	is($plain->{rc}, 0, 'runs') or diag $plain->{err};
	unlike($plain->{out}, qr/^wrong/m, 'and finds its results right');
	my $r = precedent('trace', '-q', '-o', "$name.ptrace", '--', @mpirun, '-n', $ranks, $program);
	is($r->{rc}, 0, 'runs under the tracer') or diag $r->{err};
	is(sorted($r->{out}), sorted($plain->{out}), 'and prints the same');
	is($r->{err}, $plain->{err}, 'and nothing else');
	is_deeply(traced("$name.ptrace", $ranks), said($r->{out}), 'the trace holds the calls that were made');
	return;
}

for my $where (sort keys %mpi) {
	for my $case (['sentinels', 4], ['callbacks', 3], ['requests', 4], ['comms', 4], ['processes', 2],
		['f08', 3], ['mpi', 3], ['mpif', 3]) {
		my ($name, $ranks) = @$case;
		subtest "$name with $mpi{$where}{name}" => sub { conforms($where, $name, $ranks) };
	}
}

done_testing();
