#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Arguments that the MPI library refuses: a program that goes on after errors (MPI_ERRORS_RETURN) calls every recorded function
# with NULL for one argument after the other. What it sees is the same with the tracer as without.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib", "$FindBin::Bin/../../spank/tracer";
use Cli;
use Generate::Header qw(find_header read_header);
use Generate::Rules qw(read_rules);
use Test::More;
use Testbed qw(run_command top build_dir);

my $build = build_dir();
my @rule = grep { !$_->{counted} } read_rules(top() . '/conf/trace.rules');

# Not called: the begin and the end of MPI, what starts or meets other programs, and what ends this one (Open MPI refuses messages that it
# does not know in the name of no communicator).
my $never = qr/^MPI_(?:Init|Finalize|Abort|Comm_(?:spawn|connect|accept|join|disconnect)|Grequest|Open_port|Session|I?[Mm]recv$)/;

# A value of each type that some function accepts.
my %value = (MPI_Comm => 'MPI_COMM_SELF', MPI_Datatype => 'MPI_INT', MPI_Op => 'MPI_SUM', MPI_Group => 'group', MPI_Win => 'MPI_WIN_NULL',
	MPI_File => 'MPI_FILE_NULL', MPI_Info => 'MPI_INFO_NULL', MPI_Request => 'MPI_REQUEST_NULL', MPI_Message => 'MPI_MESSAGE_NO_PROC',
	MPI_Aint => '0', MPI_Offset => '0', MPI_Count => '1', MPI_Errhandler => 'MPI_ERRORS_RETURN');

# The arguments of a call, and which of them are pointers.
sub arguments {
	my ($rule, $prototype) = @_;
	my (@argument, @pointer);
	for my $i (0 .. $#{$prototype->{params}}) {
		my ($type, $suffix) = @{$prototype->{params}[$i]};
		my ($base) = $type =~ /^(?:const )?(\w+)/;
		my $name = $rule->{args}[$i];
		if ($base =~ /_(?:function|fn)(?:_c)?$|^MPI_User_function/) {
			return;
		} elsif ("$type$suffix" !~ /[*\[]/) {
			push @argument, $value{$base} // ($name =~ /^(?:dest|source)$/ ? 'MPI_PROC_NULL' : $name =~ /^(?:root|rank|tag|sendtag|recvtag|target_rank)$/ ? '0' : '1');
		} else {
			push @pointer, $i;
			push @argument, $base eq 'MPI_Request' ? 'requests()' : $base eq 'char' ? '"name"' : $base eq 'MPI_Datatype' ? 'types()' :
				$base eq 'MPI_Comm' ? 'comms()' : $base eq 'MPI_Op' ? 'ops()' : "(void *)memory[$i]";
		}
	}
	return (\@argument, \@pointer);
}

sub program_text {
	my ($header) = @_;
	my ($cases, $n) = ('', 0);
	for my $rule (@rule) {
		my $prototype = $header->{fn}{$rule->{name}} or next;
		next if $rule->{name} =~ $never;
		my ($argument, $pointer) = arguments($rule, $prototype) or next;
		for my $null (@$pointer) {
			my @a = @$argument;
			$a[$null] = 'NULL';
			$a[$_] = $a[$_] eq 'MPI_COMM_SELF' ? 'grid' : $a[$_] for $rule->{name} =~ /eighbor/ ? 0 .. $#a : ();
			# A macro is what a library says of a function that it has no more.
			$cases .= "#ifndef $rule->{name}\n\tTRY(\"$rule->{name} $rule->{args}[$null]\", $rule->{name}(" . join(', ', @a) . "));\n#endif\n";
			$n++;
		}
	}
	return ($n, <<"C");
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf back;
static long memory[32][512];
static MPI_Group group;
static MPI_Request request[64];
static MPI_Datatype type[64];
static MPI_Comm comm[4], grid;
static MPI_Op op[4];

static void crash(int no)
{
	siglongjmp(back, no);
}

static MPI_Request *requests(void)
{
	for (int i = 0; i < 64; i++)
		request[i] = MPI_REQUEST_NULL;
	return request;
}

static MPI_Datatype *types(void)
{
	for (int i = 0; i < 64; i++)
		type[i] = MPI_DATATYPE_NULL;
	return type;
}

static MPI_Comm *comms(void)
{
	comm[0] = MPI_COMM_NULL;
	return comm;
}

static MPI_Op *ops(void)
{
	op[0] = MPI_OP_NULL;
	return op;
}

#define TRY(name, call) do { \\
	int rc, class = -1, no = sigsetjmp(back, 1); \\
	if (no) { printf("%s: signal %d\\n", name, no); break; } \\
	memset(memory, 0, sizeof(memory)); \\
	alarm(2); \\
	rc = call; \\
	alarm(0); \\
	MPI_Error_class(rc, &class); \\
	printf("%s: %d\\n", name, class); \\
} while (0)

int main(int argc, char **argv)
{
	struct sigaction a = {.sa_handler = crash, .sa_flags = SA_NODEFER};

	(void)requests, (void)types, (void)comms, (void)ops;
	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_group(MPI_COMM_WORLD, &group);
	MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){1}, 0, &grid);
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	sigaction(SIGABRT, &a, NULL);
	sigaction(SIGALRM, &a, NULL);
$cases	fflush(stdout);
	_exit(0);
}
C
}

for my $library (qw(openmpi mpich)) {
	my $cc = "mpicc.$library";
	-e "$build/libprecedent_trace_$library.so" && run_command($cc, '--version')->{rc} == 0 or next;
	subtest $library => sub {
		my ($n, $text) = program_text(read_header(find_header($cc)));
		cmp_ok($n, '>', 250, 'there are many arguments');
		spew("null_$library.c", $text);
		my $r = run_command($cc, '-w', '-O1', '-o', "null_$library", "null_$library.c");
		is($r->{rc}, 0, 'the program is built') or diag $r->{err};
		mkdir "traces_$library" or die $!;
		my $plain = run_command('timeout', 300, "./null_$library");
		my $traced = run_command('timeout', 300, 'env', "LD_PRELOAD=$build/libprecedent_trace.so",
			"PRECEDENT_TRACE_DIR=" . abs_path("traces_$library"), "./null_$library");
		is($traced->{rc}, $plain->{rc}, 'it ends alike');
		my %before = $plain->{out} =~ /^(MPI_\w+ \w+): (.*)$/mg;
		my %after = $traced->{out} =~ /^(MPI_\w+ \w+): (.*)$/mg;
		# Where the library itself goes wrong nobody can say where.
		my @refused = grep { $before{$_} !~ /signal/ } sort keys %before;
		cmp_ok(scalar @refused, '>', 40, 'the library answers in many cases');
		is_deeply({map { $_ => $after{$_} } @refused}, {map { $_ => $before{$_} } @refused}, 'in all of them as it does without the tracer');
	};
}

# Fortran has no NULL: handles that are null, and values that no message has.
spew('refused.f90', <<'F');
program refused
  use mpi
  implicit none
  integer :: e, r, rs(2), st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, 2), n, t
  integer :: answer(20), idx, idxs(2), one
  logical :: flag

  call MPI_Init(e)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, e)
  r = MPI_REQUEST_NULL
  rs = MPI_REQUEST_NULL
  answer = -1
  one = 1
  call MPI_Wait(r, st, answer(1))
  call MPI_Waitall(2, rs, sts, answer(2))
  call MPI_Waitany(2, rs, idx, st, answer(3))
  call MPI_Testall(2, rs, flag, sts, answer(4))
  call MPI_Waitsome(2, rs, n, idxs, sts, answer(5))
  call MPI_Testsome(2, rs, n, idxs, sts, answer(6))
  call MPI_Request_free(r, answer(7))
  call MPI_Start(r, answer(8))
  call MPI_Startall(2, rs, answer(9))
  t = MPI_DATATYPE_NULL
  call MPI_Type_free(t, answer(10))
  t = MPI_COMM_NULL
  call MPI_Comm_free(t, answer(11))
  t = MPI_OP_NULL
  call MPI_Op_free(t, answer(12))
  t = MPI_GROUP_NULL
  call MPI_Group_free(t, answer(13))
  call MPI_Send(one, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, answer(14))
  call MPI_Send(one, 1, MPI_INTEGER, 77, 0, MPI_COMM_WORLD, answer(15))
  call MPI_Send(one, 1, MPI_INTEGER, 0, -5, MPI_COMM_WORLD, answer(16))
  call MPI_Send(one, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, answer(17))
  call MPI_Send(one, 1, MPI_INTEGER, 0, 0, MPI_COMM_NULL, answer(18))
  do n = 1, 18
    call MPI_Error_class(answer(n), answer(n), e)
  end do
  print *, answer
  call MPI_Finalize(e)
end program
F
for my $library (qw(openmpi mpich)) {
	my $fc = "mpifort.$library";
	-e "$build/libprecedent_trace_$library.so" && run_command($fc, '--version')->{rc} == 0 or next;
	subtest "$library: Fortran" => sub {
		my $r = run_command($fc, '-w', '-fallow-argument-mismatch', '-o', "refused_$library", 'refused.f90');
		is($r->{rc}, 0, 'the program is built') or diag $r->{err};
		my $plain = run_command("./refused_$library");
		my $traced = precedent('trace', '-o', "refused_$library.ptrace", '--', "./refused_$library");
		is($plain->{rc}, 0, 'it runs');
		cmp_ok(scalar(grep { $_ > 0 } split ' ', $plain->{out}), '>', 6, 'the library refuses many calls');
		is("$traced->{rc} $traced->{out}", "$plain->{rc} $plain->{out}", 'and answers as without the tracer');
	};
}

done_testing;
