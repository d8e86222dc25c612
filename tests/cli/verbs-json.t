# SPDX-License-Identifier: GPL-2.0-or-later
# With --json standard output is JSON and nothing else, however much the program, its launcher, the compiler and the MPI library
# print there: their lines go to standard error.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use BothMpi;
use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use Testbed qw(run_command);

my $lines = 2000;
empty_skeletons();
# Launchers and compilers that print a line first; the MPI library of MPICH has its transport say what it does.
mkdir 'noisy' or die "noisy: $!";
for my $name (qw(mpirun mpicc mpirun.mpich mpicc.mpich)) {
	my $real = run_command('sh', '-c', "command -v $name")->{out} =~ s/\n//r or next;
	spew("noisy/$name", "#!/bin/sh\necho 'noise of $name'\nexec $real \"\$@\"\n");
	chmod 0755, "noisy/$name";
}
$ENV{PATH} = getcwd() . "/noisy:$ENV{PATH}";
$ENV{UCX_LOG_LEVEL} = 'info';

# Lines of the program: launchers may break some of those that ranks print at once.
sub printed { return scalar(() = $_[0] =~ /\{"line": \d+\} and no more/g) }

sub json_alone {
	my ($title, @arguments) = @_;
	my $r = precedent(@arguments);
	is($r->{rc}, 0, "$title: it succeeds") or diag $r->{err};
	my $json = eval { decode_json($r->{out}) };
	ok($json, '... standard output is JSON') or diag substr($r->{out}, 0, 300);
	return ($json // {}, $r);
}

for my $mpi (libraries()) {
	my $name = $mpi->{name};
	my ($launcher) = grep { /^mpirun/ } @{ $mpi->{run} };
	my ($json, $r) = json_alone("$name: predict", 'predict', '--json', '--seconds', 0.2, '--', @{ $mpi->{run} }, '-n', 2,
		program_of($mpi, 'endings'), 'end', 0, $lines);
	cmp_ok($json->{predicted_s} // 0, '>', 0, '... with a prediction');
	cmp_ok(printed($r->{err}), '>', 1.9 * $lines, '... the program\'s lines are on standard error');
	cmp_ok(scalar(() = $r->{err} =~ /^noise of \Q$launcher\E$/mg), '>=', 2, '... and what its launcher and the skeleton\'s print');
	like($r->{err}, qr/UCX +(?:INFO|DIAG)/, '... and what the MPI library does') if $r->{err} =~ /UCX/;

	$r = precedent('trace', '-q', '-o', 'x.ptrace', '--', @{ $mpi->{run} }, '-n', 2, program_of($mpi, 'endings'), 'end', 0, $lines);
	cmp_ok(printed($r->{out}), '>', 1.9 * $lines, "$name: trace leaves the program's output where it is");
	($json, $r) = json_alone("$name: skeleton", 'skeleton', '--json', '--compile', '--tree', '-o', 'skel', 'x.ptrace');
	is($json->{ranks}, 2, '... of two ranks');
	like($r->{err}, qr/^noise of mpicc/m, '... the compiler\'s lines are on standard error');
	like($r->{err}, qr/MPI_Allreduce/, '... as is the tree');
}

done_testing;
