#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Samples by timers, where signal handlers begin with a stack that is not aligned as for a call, as emulators begin them: by the
# tracer's handler called that way, and under qemu-user.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use JSON::PP;
use Test::More;
use Testbed qw(run_command);

chomp(my $machine = qx(uname -m));
$machine eq 'x86_64' or plan skip_all => 'samples are taken on x86-64 only';
patience(1) > 1 and plan skip_all => 'sanitizers are not made for misaligned stacks, nor for emulators';

sub traced {
	my ($name, $ranks, @command) = @_;
	my $r = precedent('trace', '-q', '-o', "$name.ptrace", '--', qw(mpirun --oversubscribe --bind-to none
		--mca btl_vader_single_copy_mechanism none -n), $ranks, @command);
	is($r->{rc}, 0, 'it runs to its end') or diag $r->{err};
	is(precedent('verify', "$name.ptrace")->{rc}, 0, 'and its trace is sound');
	return $r;
}

sub samples_of {
	my ($name) = @_;
	my $r = precedent('info', '--mix', '--json', "$name.ptrace");
	my $samples = 0;
	$samples += $_->{samples} // 0 for $r->{rc} == 0 ? @{decode_json($r->{out})->{mixes}} : ();
	return $samples;
}

# As if a timer had expired, so often, with the stack as it is ahead of a call and with one 8 bytes off.
spew('unaligned.c', <<'C');
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static void call(void *f, int no, siginfo_t *info, void *context, long off)
{
	__asm__ volatile("mov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tand $-16, %%rsp\n\tsub %4, %%rsp\n\tcall *%0\n\tmov %%rbx, %%rsp"
			 : "+r"(f), "+D"(no), "+S"(info), "+d"(context)
			 : "r"(off)
			 : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "cc", "memory");
}

int main(int argc, char **argv)
{
	siginfo_t info = {.si_signo = 32, .si_code = SI_TIMER, .si_value.sival_int = 0x50524500};
	struct {
		void *handler;
		unsigned long flags, restorer, mask;
	} a;
	ucontext_t context;

	MPI_Init(&argc, &argv);
	if (syscall(SYS_rt_sigaction, 32, NULL, &a, 8) || !(a.flags & SA_SIGINFO) || getcontext(&context))
		return 3;
	for (int i = 0; i < 20; i++) {
		call(a.handler, 32, &info, &context, 0);
		call(a.handler, 32, &info, &context, 8);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	puts("done");
	MPI_Finalize();
	return 0;
}
C

subtest 'a handler with a stack that is not aligned' => sub {
	my $r = run_command(qw(mpicc -O1 -o unaligned unaligned.c));
	is($r->{rc}, 0, 'a program that calls it') or diag $r->{err};
	is(traced('unaligned', 1, program('without_perf'), './unaligned')->{out}, "done\n", 'the program notices nothing');
};

SKIP: {
	skip 'qemu-user is not installed', 1 if !grep { -x "$_/qemu-x86_64" } split /:/, $ENV{PATH};
	for my $of (['mixes', 1, '0.5', 'scalar', 'threads'], ['sp', 2, 16, 100]) {
		my ($name, $ranks, @arguments) = @$of;
		subtest "$name under qemu-user" => sub {
			my $alone = $name eq 'sp' && run_command('timeout', 120, qw(mpirun --oversubscribe -n), $ranks, program($name), @arguments);
			my $r = traced($name, $ranks, 'qemu-x86_64', program($name), @arguments);
			is($r->{out}, $alone->{out}, 'with the result that it has on the processor itself') if $alone;
			cmp_ok(samples_of($name), '>', 10, 'it was sampled');
		};
	}
}

done_testing;
