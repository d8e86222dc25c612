# SPDX-License-Identifier: GPL-2.0-or-later
#
# Counted functions: assembly that counts a call and jumps to the real function, without touching an argument.
package Generate::Passthrough;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(passthrough_text);

# The counted symbols of a function: C, mpif.h and mpi, mpi_f08, and the overloads for C pointers. MPICH's Fortran
# calls the C function by its interposable name, so the C symbol counts its calls. An mpi_f08 function without a
# choice buffer is the exception.
sub symbols {
	my ($name, $h) = @_;
	my $low = lc $name;
	my $large = $low =~ s/_c$// ? 'large_' : '';
	my @s = ($name, "${low}_f08_$large");
	return @s if $h->{mpich};
	push @s, $large ? ("${low}_c_f08_", "${low}_c_f08ts_") : "${low}_f08ts_" if $h->{ompi} >= 6;
	push @s, "${low}_" if !$large;
	push @s, "${low}_cptr_" if $name =~ /^MPI_(Alloc_mem|Win_shared_query)$/;
	return @s;
}

# The macro of a stub, and the code to which a stub jumps at first.
my $CODE = <<'END';
/* Generated from conf/trace.rules and mpi.h: functions that are counted and passed on.
 * A stub adds one to its counter and jumps; at first the jump leads to the resolver, which is given the number of
 * the target and must leave every argument as it was. */
#if defined(__x86_64__)
	.macro STUB name counter target
	.globl \name
	.type \name, @function
\name:
	incq passthrough_count+8*\counter(%rip)
	jmp *passthrough_target+8*\target(%rip)
8:	pushq $\target
	jmp passthrough_lazy
	.size \name, .-\name
	.pushsection .data.passthrough, "aw"
	.quad 8b
	.popsection
	.endm
#elif defined(__aarch64__)
	.macro STUB name counter target
	.globl \name
	.type \name, %function
\name:
	adrp x16, passthrough_count+8*\counter
	add x16, x16, :lo12:passthrough_count+8*\counter
	ldr x17, [x16]
	add x17, x17, #1
	str x17, [x16]
	adrp x16, passthrough_target+8*\target
	ldr x16, [x16, :lo12:passthrough_target+8*\target]
	br x16
8:	mov x17, #\target
	b passthrough_lazy
	.size \name, .-\name
	.pushsection .data.passthrough, "aw"
	.quad 8b
	.popsection
	.endm
#else
#error "no stubs for this processor"
#endif

	.hidden passthrough_count
	.hidden passthrough_target
	.hidden passthrough_name
	.hidden passthrough_symbol
	.hidden passthrough_n
	.hidden passthrough_resolve

	.section .data.passthrough, "aw"
	.balign 8
	.globl passthrough_target
passthrough_target:

	.text
#if defined(__x86_64__)
passthrough_lazy:
	subq $200, %rsp
	movq %rax, (%rsp)
	movq %rdi, 8(%rsp)
	movq %rsi, 16(%rsp)
	movq %rdx, 24(%rsp)
	movq %rcx, 32(%rsp)
	movq %r8, 40(%rsp)
	movq %r9, 48(%rsp)
	movq %r10, 56(%rsp)
	movups %xmm0, 64(%rsp)
	movups %xmm1, 80(%rsp)
	movups %xmm2, 96(%rsp)
	movups %xmm3, 112(%rsp)
	movups %xmm4, 128(%rsp)
	movups %xmm5, 144(%rsp)
	movups %xmm6, 160(%rsp)
	movups %xmm7, 176(%rsp)
	movq 200(%rsp), %rdi
	subq $8, %rsp
	call passthrough_resolve
	addq $8, %rsp
	movq %rax, %r11
	movups 176(%rsp), %xmm7
	movups 160(%rsp), %xmm6
	movups 144(%rsp), %xmm5
	movups 128(%rsp), %xmm4
	movups 112(%rsp), %xmm3
	movups 96(%rsp), %xmm2
	movups 80(%rsp), %xmm1
	movups 64(%rsp), %xmm0
	movq 56(%rsp), %r10
	movq 48(%rsp), %r9
	movq 40(%rsp), %r8
	movq 32(%rsp), %rcx
	movq 24(%rsp), %rdx
	movq 16(%rsp), %rsi
	movq 8(%rsp), %rdi
	movq (%rsp), %rax
	addq $208, %rsp
	jmp *%r11
#else
passthrough_lazy:
	stp x29, x30, [sp, #-224]!
	mov x29, sp
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	stp q0, q1, [sp, #96]
	stp q2, q3, [sp, #128]
	stp q4, q5, [sp, #160]
	stp q6, q7, [sp, #192]
	mov x0, x17
	bl passthrough_resolve
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp q0, q1, [sp, #96]
	ldp q2, q3, [sp, #128]
	ldp q4, q5, [sp, #160]
	ldp q6, q7, [sp, #192]
	ldp x29, x30, [sp], #224
	br x16
#endif

END

# The text of passthrough.S for these functions.
sub passthrough_text {
	my ($h, @name) = @_;
	my ($text, $names, $symbols, $k) = ($CODE, '', '', 0);
	for my $i (0 .. $#name) {
		for my $s (symbols($name[$i], $h)) {
			$text .= "\tSTUB $s $i $k\n";
			$symbols .= "\t.asciz \"$s\"\n";
			$k++;
		}
		$names .= "\t.asciz \"$name[$i]\"\n";
	}
	my $n = @name;
	my $room = 4096 * int((8 * $n + 4095) / 4096);
	$text .= <<"END";

/* pages of their own, which spill_counters can move into the spill file */
	.bss
	.balign 4096
	.globl passthrough_count
passthrough_count:
	.zero $room

	.section .rodata
	.balign 4
	.globl passthrough_n
passthrough_n:
	.long $n
/* names and symbols, one after the other, each ended by a zero byte */
	.globl passthrough_name
passthrough_name:
$names
	.globl passthrough_symbol
passthrough_symbol:
$symbols
	.section .note.GNU-stack, "", %progbits
END
	return $text;
}

1;
