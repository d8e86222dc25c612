/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops of the program as kernels: the way through a body, what becomes of its instructions, what they do when they run, that
 * nothing that runs leaves the kernel, whatever the code was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if !defined(__x86_64__)

int main(void)
{
	print_message("1..0 # SKIP loops of the program are kernels on x86-64 only\n");
	return 0;
}

#else

#include "skelgen/profile/native_select.h"
#include "skelgen/profile/native_rewrite.h"
#include "skelgen/runtime/kernel_own.c"
#include "skip.h"

/* What kernel.c has for the other classes. */
void kernel_nothing(uint64_t units)
{
	(void)units;
}

#define OFFSET 0x1000u
#define LONGEST_CODE 4096

/* ---- help ---- */

/* Straight code as it would lie in a traced program. */
static int body_of(const uint8_t *bytes, size_t n, struct mix_body *b)
{
	struct trace_code c = {.offset = OFFSET, .len = (uint32_t)n, .bytes = (uint8_t *)(uintptr_t)bytes};
	struct trace_samples s = {.n_code = 1, .code = &c};

	return mix_body_range(&s, 0, OFFSET, OFFSET + n - 1, b);
}

/* Set: every address goes by way of its register. */
static bool by_register;

static uint8_t follows_at(const struct mix_op *op)
{
	return by_register && op->bytes && op->base < MIX_REG_VECTOR ? op->base : OWN_FOLLOWS_NONE;
}

/* Bytes that a unit goes on by; 0: nothing goes anywhere. Then each instruction's operand is so far ahead. */
static uint32_t walks_by, ahead_of[MIX_OPS_MAX];

/* Set: each instruction is of another iteration. */
static bool turns;

static int make(const uint8_t *bytes, size_t n, struct buf *out, struct own_made *made)
{
	struct own_steps steps = {walks_by > 0, {walks_by}};
	static struct mix_body b;
	struct own_instruction in[MIX_OPS_MAX];

	assert_int_equal(body_of(bytes, n, &b), 0);
	for (uint32_t i = 0; i < b.n; i++)
		in[i] = (struct own_instruction){.bytes = b.op[i].raw, .len = b.op[i].len, .follows = follows_at(&b.op[i]),
						 .walk = walks_by ? 0 : OWN_NO_WALK, .ahead = ahead_of[i], .turn = turns ? i : 0};
	return own_code_make(in, b.n, &steps, out, made);
}

/* A page and the next one's begin, which code that goes through memory goes through. */
#define AREA 4096u
#define SPAN 512u
static const struct own_walk area = {AREA, SPAN};

static struct own *open_own(const struct buf *code, uint32_t needs)
{
	struct own_image image = {.needs = needs, .len = (uint32_t)code->len, .code = code->data, .n_walk = walks_by > 0, .walk = &area};
	const char *why = NULL;

	assert_int_equal(own_take(&image, 1, &why), 0);
	assert_true(own_memory(1u << CLASS_OWN_0) == (walks_by > 0 ? AREA + OWN_PAGE : 0));
	assert_true(own_memory(1u << CLASS_OWN_1 | 1u << CLASS_FILL_MEM) == 0);
	return own_create(1u << CLASS_OWN_0);
}

static double number_at(const struct own *o, uint32_t at)
{
	double v;

	memcpy(&v, o->at[0] + OWN_DATA + at, sizeof(v));
	return v;
}

/* Calls a kernel: not 0 when a register that belongs to the caller, or the stack, is not as before. */
uint64_t guarded_call(own_fn f, uint64_t units);
uint64_t guarded_stack;

__asm__(".text\n"
	"guarded_call:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n	sub $8, %rsp\n"
	"	mov %rsp, guarded_stack(%rip)\n"
	"	mov %rdi, %rax\n	mov %rsi, %rdi\n"
	"	mov $0x1111, %ebx\n	mov $0x2222, %ebp\n	mov $0x3333, %r12d\n	mov $0x4444, %r13d\n	mov $0x5555, %r14d\n"
	"	mov $0x6666, %r15d\n"
	"	call *%rax\n"
	"	mov $1, %eax\n"
	"	cmp guarded_stack(%rip), %rsp\n	jne 1f\n	cmp $0x1111, %rbx\n	jne 1f\n	cmp $0x2222, %rbp\n	jne 1f\n"
	"	cmp $0x3333, %r12\n	jne 1f\n	cmp $0x4444, %r13\n	jne 1f\n	cmp $0x5555, %r14\n	jne 1f\n"
	"	cmp $0x6666, %r15\n	jne 1f\n"
	"	xor %eax, %eax\n"
	"1:	mov guarded_stack(%rip), %rsp\n"
	"	add $8, %rsp\n	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n	ret\n");

static bool run_guarded(struct own *o, uint64_t units)
{
	return guarded_call((own_fn)(uintptr_t)o->at[0], units) == 0;
}

/* ---- the way through a body ---- */

/* 0 .. 3, a branch at 1 over 2 and back from 3. */
static void diamond(struct mix_body *b)
{
	static const uint8_t kind[] = {MIX_INTEGER, MIX_BRANCH, MIX_SCALAR, MIX_BRANCH};

	memset(b, 0, offsetof(struct mix_body, op) + 4 * sizeof(b->op[0]));
	b->is_loop = true;
	b->n = 4;
	for (uint32_t i = 0; i < 4; i++)
		b->op[i] = (struct mix_op){.offset = 16 * i, .len = 16, .kind = kind[i], .target = UINT64_MAX};
	b->op[1].target = 48;
	b->op[3].target = 0;
}

/* Every step of a path is one that the code can take. */
static bool is_way(const struct mix_body *b, const uint16_t *path, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < n; i++) {
		const struct mix_op *op = &b->op[path[i]];
		uint32_t next = path[i + 1];
		bool falls = next == path[i] + 1u && op->kind != MIX_JUMP && op->kind != MIX_RETURN,
		     goes = (op->kind == MIX_BRANCH || op->kind == MIX_JUMP) && op->target == b->op[next].offset;

		if (!falls && !goes && next != 0)
			return false;
	}
	return true;
}

static void test_path(void **state)
{
	static const double share[] = {0, 0.25, 0.5, 0.9, 1};
	static struct mix_body b;
	uint16_t path[MIX_OWN_PATH];

	(void)state;
	diamond(&b);
	for (size_t k = 0; k < sizeof(share) / sizeof(*share); k++) {
		const double often[] = {1, 1, share[k], 1};
		double count[4] = {0};
		uint32_t n = mix_own_path(&b, often, path);

		assert_in_range(n, 500, 504);
		assert_true(is_way(&b, path, n));
		for (uint32_t i = 0; i < n; i++)
			count[path[i]]++;
		assert_true(count[1] == count[0] && count[3] == count[0]);
		assert_true(count[2] >= share[k] * count[0] - 1 && count[2] <= share[k] * count[0] + 1);
	}
	/* A loop in it that goes on for ever ends with the iteration; straight code comes again from its begin. */
	b.op[3].target = 32;
	assert_in_range(mix_own_path(&b, (double[]){0.01, 0.01, 1, 1}, path), 500, MIX_OWN_PATH);
	b.is_loop = false;
	assert_int_equal(mix_own_path(&b, (double[]){0, 0, 0, 0}, path), 500);
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(path[i], i % 4);
}

/* ---- what instructions become ---- */

static const uint8_t sum_and_store[] = {
	0xf2, 0x0f, 0x58, 0x04, 0xc8,                         /* addsd xmm0, [rax+8*rcx] */
	0xf2, 0x0f, 0x11, 0x47, 0x40,                         /* movsd [rdi+64], xmm0 */
	0x66, 0x0f, 0x28, 0xc8,                               /* movapd xmm1, xmm0 */
	0xf2, 0x0f, 0x59, 0x04, 0xc8,                         /* mulsd xmm0, [rax+8*rcx], the same place */
	0xf2, 0x0f, 0x11, 0x47, 0x48,                         /* movsd [rdi+72], xmm0 */
};

static void test_instructions_do_what_they_did(void **state)
{
	struct own_made made = {0};
	struct buf code = {0};
	struct own *o;
	double x;

	by_register = *state != NULL;
	assert_int_equal(make(sum_and_store, sizeof(sum_and_store), &code, &made), 0);
	assert_int_equal(made.n, 5);
	assert_int_equal(made.left_out, 0);
	assert_int_equal(made.needs, 0);
	o = open_own(&code, made.needs);
	assert_non_null(o);
	for (uint64_t units = 1; units < 4; units++) { /* each begins with the same registers */
		assert_true(run_guarded(o, units));
		x = number_at(o, OWN_VECTOR_DOUBLES) + number_at(o, OWN_DOUBLES * OWN_PAGE);
		assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072) == x);
		assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072 + 16) == x * number_at(o, OWN_DOUBLES * OWN_PAGE));
		assert_true(number_at(o, OWN_LEFT) == 0);
	}
	own_run(o, CLASS_OWN_0, 17);
	own_run(o, CLASS_OWN_0, 0);
	own_run(o, CLASS_OWN_1, 3); /* that has none */
	assert_int_equal(own_units(o), 20);
	own_destroy(o);
	buf_free(&code);
}

/* psrlq xmm0, 60; addsd xmm0, xmm0; movsd [rdi+64], xmm0: a few bits as a number are one that many processors are slow for. */
static void test_what_is_too_small_is_nothing(void **state)
{
	static const uint8_t bytes[] = {0x66, 0x0f, 0x73, 0xd0, 60, 0xf2, 0x0f, 0x58, 0xc0, 0xf2, 0x0f, 0x11, 0x47, 0x40};
	struct own_made made = {0};
	struct buf code = {0};
	unsigned control = _mm_getcsr();
	struct own *o;

	(void)state;
	by_register = false;
	assert_int_equal(make(bytes, sizeof(bytes), &code, &made), 0);
	o = open_own(&code, made.needs);
	own_run(o, CLASS_OWN_0, 1);
	assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072) == 0);
	_mm_setcsr(control);
	own_run(o, CLASS_OWN_0, 1);
	assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072) > 0); /* as the processor has it */
	own_destroy(o);
	o = open_own(&code, made.needs);
	assert_int_not_equal(_mm_getcsr() & ~0x3fu, control & ~0x3fu); /* what was met is told by these bits */
	own_destroy(o);
	assert_int_equal(_mm_getcsr() & ~0x3fu, control & ~0x3fu);
	buf_free(&code);
}

/* andpd xmm0, xmm5; xorpd xmm0, xmm6; andpd xmm0, [rsi]; movsd [rdi+64], xmm0: what stays and takes signs away or turns them is no number, and
 * neither is what lies in memory; addsd xmm6, xmm1 makes it one. */
static void test_masks(void **state)
{
	static const uint8_t bytes[] = {0x66, 0x0f, 0x54, 0xc5, 0x66, 0x0f, 0x57, 0xc6, 0xf2, 0x0f, 0x11, 0x47, 0x40, 0x66, 0x0f, 0x54, 0x06,
					0xf2, 0x0f, 0x11, 0x47, 0x60, 0xf2, 0x0f, 0x58, 0xf1};
	struct own_made made = {0};
	struct buf code = {0};
	struct own *o;

	turns = *state != NULL;
	/* Of the third and the fifth instruction, so many lines further on. */
	const uint32_t first = OWN_STORES * OWN_PAGE + 3072 + (turns ? 2 * 64 : 0), second = OWN_STORES * OWN_PAGE + 3072 + 16 + (turns ? 4 * 64 : 0);

	assert_int_equal(make(bytes, sizeof(bytes) - 4, &code, &made), 0);
	o = open_own(&code, made.needs);
	assert_true(run_guarded(o, 1));
	assert_true(number_at(o, first) == -number_at(o, OWN_VECTOR_DOUBLES));
	assert_true(number_at(o, second) == number_at(o, OWN_VECTOR_DOUBLES));
	own_destroy(o);
	code.len = 0;
	assert_int_equal(make(bytes, sizeof(bytes), &code, &made), 0);
	o = open_own(&code, made.needs);
	assert_true(run_guarded(o, 1));
	assert_true(number_at(o, first) != -number_at(o, OWN_VECTOR_DOUBLES));
	own_destroy(o);
	buf_free(&code);
	turns = false;
}

/* addsd xmm0, [rax+8*rcx]; call; movsd [rdi+64], xmm0: a loop, in which what it calls is executed: mulsd xmm0, xmm1; ret; nothing after. */
static void test_callee(void **state)
{
	static const uint8_t loop[] = {0xf2, 0x0f, 0x58, 0x04, 0xc8, 0xe8, 1, 0, 0, 0, 0xf2, 0x0f, 0x11, 0x47, 0x40},
			     function[] = {0xf2, 0x0f, 0x59, 0xc1, 0xc3, 0xf2, 0x0f, 0x58, 0xc0};
	double often[] = {1, 1, 1};
	const struct mix_course course = {.often = often};
	static struct skel_mixes m;
	static struct mix_body b, f;
	struct mix_own_callee callee = {"libm.so.6", &f, 1};
	uint32_t number;

	(void)state;
	assert_int_equal(body_of(function, sizeof(function), &f), 0);
	for (int called = 0; called < 2; called++) {
		assert_int_equal(body_of(loop, sizeof(loop), &b), 0);
		b.is_loop = true;
		assert_int_equal(mix_own_add(&m, "program", &b, &course, false, called ? &callee : NULL, &number), 0);
		assert_int_equal(number, 0);
		struct buf code = {.data = m.own[0].code, .len = m.own[0].len};
		struct own *o = open_own(&code, m.own[0].needs);
		double x = number_at(o, OWN_VECTOR_DOUBLES), y = number_at(o, OWN_DOUBLES * OWN_PAGE), by = number_at(o, OWN_VECTOR_DOUBLES + OWN_VECTOR_BYTES);

		for (uint32_t n = 0; n < m.own[0].n; n += called ? 3 : 2)
			x = called ? (x + y) * by : x + y;
		assert_true(run_guarded(o, 1));
		assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072) == x);
		assert_int_equal(mix_own_find(&m, "program", b.op[0].offset, b.op[2].offset, true), 0);
		assert_int_equal(mix_own_find(&m, "libm.so.6", f.op[1].offset, f.op[1].offset, false), called ? 0 : MIX_OWN_NONE);
		assert_int_equal(mix_own_find(&m, "libm.so.6", f.op[2].offset + 10, f.op[2].offset + 10, false), MIX_OWN_NONE);
		assert_int_equal(mix_own_find(&m, "libc.so.6", f.op[1].offset, f.op[1].offset, false), MIX_OWN_NONE);
		own_destroy(o);
		mix_own_free(&m);
	}
}

/* mov eax, [rdx]; add rdx, 4; sar eax, 12; cdqe; add dword [r12+4*rax], 1: a count by what data say, elsewhere in each iteration, as for all
 * that is known it is in the program; add dword [r12], 1 is in the same place, add dword [rdx], 1 goes on with the loop, and [rsp+4*rax] lies with
 * what is kept on the stack. */
static void test_counts(void **state)
{
	static const uint8_t head[] = {0x8b, 0x02, 0x48, 0x83, 0xc2, 0x04, 0xc1, 0xf8, 0x0c, 0x48, 0x98},
			     count[][5] = {{0x41, 0x83, 0x04, 0x84, 1}, {0x41, 0x83, 0x04, 0x24, 1}, {0x3e, 0x83, 0x42, 0, 1}, {0x3e, 0x83, 0x04, 0x84, 1}};
	static const uint32_t part[] = {OWN_STORES, OWN_STORES, OWN_STORES, OWN_STACK},
			      lines[] = {(OWN_PAGE - 3072) / 64, 1, (OWN_PAGE - 3072) / 64, (3072 - 2560) / 64};
	double often[] = {1, 1, 1, 1, 1};
	const struct mix_course course = {.often = often};
	static struct skel_mixes m;
	static struct mix_body b;

	(void)state;
	for (int k = 0; k < 4; k++) {
		uint8_t bytes[sizeof(head) + sizeof(count[0])];
		uint32_t number, before[OWN_PAGE / 4], sum = 0, met = 0;
		struct own *o;

		memcpy(bytes, head, sizeof(head));
		memcpy(bytes + sizeof(head), count[k], sizeof(count[k]));
		assert_int_equal(body_of(bytes, sizeof(bytes), &b), 0);
		b.is_loop = true;
		assert_int_equal(mix_own_add(&m, "program", &b, &course, false, NULL, &number), 0);
		struct buf code = {.data = m.own[0].code, .len = m.own[0].len};
		o = open_own(&code, m.own[0].needs);
		memcpy(before, o->at[0] + OWN_DATA + part[k] * OWN_PAGE, sizeof(before));
		assert_true(run_guarded(o, 1));
		for (uint32_t i = 0; i < OWN_PAGE / 4; i++) {
			uint32_t now;

			memcpy(&now, o->at[0] + OWN_DATA + part[k] * OWN_PAGE + 4 * i, sizeof(now));
			met += now != before[i];
			sum += now - before[i];
		}
		assert_int_equal(sum, m.own[0].n / 5);
		assert_int_equal(met, lines[k]);
		own_destroy(o);
		mix_own_free(&m);
	}
}

/* addsd xmm0, xmm1; movsd [rdi+64], xmm0: each pass adds to what the one before has left, but for a function, which has new arguments. */
static void test_function(void **state)
{
	static const uint8_t code_of[] = {0xf2, 0x0f, 0x58, 0xc1, 0xf2, 0x0f, 0x11, 0x47, 0x40};
	static struct skel_mixes m;
	static struct mix_body b;
	uint32_t number;

	(void)state;
	assert_int_equal(body_of(code_of, sizeof(code_of), &b), 0);
	for (int function = 0; function < 2; function++) {
		assert_int_equal(mix_own_add(&m, "libm.so.6", &b, NULL, function, NULL, &number), 0);
		struct buf code = {.data = m.own[0].code, .len = m.own[0].len};
		struct own *o = open_own(&code, m.own[0].needs);
		double first = number_at(o, OWN_VECTOR_DOUBLES), by = number_at(o, OWN_VECTOR_DOUBLES + OWN_VECTOR_BYTES), x = first;

		assert_true(m.own[0].n > 100);
		for (uint32_t n = 0; n < m.own[0].n; n += 2)
			x = (function ? first : x) + by;
		assert_true(run_guarded(o, 1));
		assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072) == x);
		own_destroy(o);
		mix_own_free(&m);
	}
}

/* The upper halves of vector registers begin as nothing unless something uses them: 128 bits, then 256. */
static void test_upper_halves(void **state)
{
	static const uint8_t narrow[] = {0xc5, 0xf1, 0x58, 0xc2}, wide[] = {0xc5, 0xf5, 0x58, 0xc2};
	struct own_made made = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct buf code = {0};

		assert_int_equal(make(i ? wide : narrow, 4, &code, &made), 0);
		assert_int_equal(made.needs, OWN_AVX);
		assert_int_equal(memmem(code.data, code.len, "\xc5\xf8\x10\x05", 4) == NULL, i);
		assert_int_equal(memmem(code.data, code.len, "\xc5\xfc\x10\x05", 4) != NULL, i);
		assert_int_equal(memmem(code.data, code.len, "\xc5\x78\x10\x3d", 4) == NULL, i);
		buf_free(&code);
	}
}

/* push rbx, mov rbx, 7, pop rbx, call, ret, a branch, store and load on the stack, lea rax, [rip+8] */
static void test_stack_and_calls(void **state)
{
	static const uint8_t bytes[] = {0x53, 0x48, 0xc7, 0xc3, 7, 0, 0, 0, 0x5b, 0xe8, 1, 0, 0, 0, 0x75, 0x10, 0x48, 0x89, 0x5c,
					0x24, 0x10, 0x48, 0x8b, 0x4c, 0x24, 0x10, 0x48, 0x8d, 0x05, 8, 0, 0, 0, 0x48, 0x89, 0x08};
	struct own_made made = {0};
	struct buf code = {0};
	struct own *o;
	uint64_t begin, end;

	(void)state;
	assert_int_equal(make(bytes, sizeof(bytes), &code, &made), 0);
	assert_int_equal(made.left_out, 0);
	assert_int_equal(made.n, 8); /* all but the call */
	o = open_own(&code, made.needs);
	assert_true(run_guarded(o, 1000));
	memcpy(&begin, o->at[0] + OWN_DATA + OWN_GENERAL + 8 * 3, 8);
	memcpy(&end, o->at[0] + OWN_DATA + OWN_STORES * OWN_PAGE + 3072, 8);
	assert_true(begin == end); /* what was pushed came back, by way of the stack */
	own_destroy(o);
	buf_free(&code);
}

/* Halves of two numbers that are taken for one may be none. */
static bool is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* movsd xmm0, [rax]; addsd xmm0, [rdi+8]; movsd [rdi+8*rcx], xmm0; addsd xmm1, [r12]; movapd [rdi], xmm1; add rax, 8; sub rdi, 24;
 * addsd xmm1, [rax]; add edi, 1; movsd [rdi], xmm1; registers that were moved by known steps lead where others would: through an area, from unit to
 * unit by 32 bytes, until its end and from its begin again. */
static void test_walk(void **state)
{
	static const uint8_t bytes[] = {0xf2, 0x0f, 0x10, 0x00, 0xf2, 0x0f, 0x58, 0x47, 0x08, 0xf2, 0x0f, 0x11, 0x04, 0xcf,
					0xf2, 0x41, 0x0f, 0x58, 0x0c, 0x24, 0x66, 0x0f, 0x29, 0x0f, 0x48, 0x83, 0xc0, 0x08,
					0x48, 0x83, 0xef, 0x18, 0xf2, 0x0f, 0x58, 0x08, 0x83, 0xc7, 0x01, 0xf2, 0x0f, 0x11, 0x0f};
	const uint64_t rounds = AREA / 32;
	struct own_made made = {0};
	struct buf code = {0};
	struct own *o;

	(void)state;
	walks_by = 32;
	memcpy(ahead_of, (uint32_t[]){0, 8, 256, 16, 250, 0, 0, 24, 0, 300}, 10 * sizeof(*ahead_of)); /* what must be at a multiple of 16 is at the one before */
	assert_int_equal(make(bytes, sizeof(bytes), &code, &made), 0);
	assert_int_equal(made.n, 10);
	assert_int_equal(made.left_out, 0);
	o = open_own(&code, made.needs);
	assert_non_null(o);
	for (uint64_t unit = 0; unit < 2 * rounds; unit++) {
		const double *at = (const double *)(o->memory + unit % rounds * 32);
		double sum = at[0] + at[1], next = number_at(o, OWN_VECTOR_DOUBLES + OWN_VECTOR_BYTES) + at[2], last = next + at[3], stored;

		assert_true(run_guarded(o, 1));
		assert_true(is_same(at[256 / 8], sum));
		assert_true(is_same(at[240 / 8], next));
		memcpy(&stored, (const uint8_t *)at + 300, sizeof(stored));
		assert_true(is_same(stored, last));
	}
	own_destroy(o);
	/* Steps of 8 bytes: what must be at a multiple of 16 cannot go along. */
	walks_by = 8;
	buf_free(&code);
	assert_int_equal(make(bytes, sizeof(bytes), &code, &made), 0);
	o = open_own(&code, made.needs);
	assert_true(run_guarded(o, 1));
	assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072) == number_at(o, OWN_VECTOR_DOUBLES + OWN_VECTOR_BYTES) + ((const double *)o->memory)[2]);
	own_destroy(o);
	buf_free(&code);
	walks_by = 0;
	memset(ahead_of, 0, sizeof(ahead_of));
}

/* Areas have their sizes as far as there is room, and share it in proportion. */
static void test_areas(void **state)
{
	static const struct own_walk walk[] = {{1 << 20, 5000}, {3 << 20, 100}};
	const struct own_image image = {.n_walk = 2, .walk = walk};
	uint64_t begin[OWN_WALKS], bytes[OWN_WALKS], all;

	(void)state;
	all = lay_out(&image, begin, bytes);
	assert_true(bytes[0] == walk[0].bytes && bytes[1] == walk[1].bytes);
	for (uint64_t most = 3 << 20; most > 1; most /= 4) {
		own_bound(most);
		all = lay_out(&image, begin, bytes);
		assert_true(all <= most || most < 16384);
		assert_true(begin[0] + bytes[0] + walk[0].span <= begin[1] && begin[1] + bytes[1] + walk[1].span <= all);
		assert_true(bytes[1] >= 3 * bytes[0] && bytes[1] <= 3 * bytes[0] + 3);
		assert_true(most < 65536 || all > most / 2);
	}
	own_bound(0);
}

/* A loop that goes through memory by one number a unit. */
static struct own *open_by_numbers(const uint8_t *bytes, size_t n)
{
	struct own_made made = {0};
	struct buf code = {0};
	struct own *o;

	walks_by = 8;
	assert_int_equal(make(bytes, n, &code, &made), 0);
	o = open_own(&code, made.needs);
	walks_by = 0;
	buf_free(&code);
	assert_non_null(o);
	return o;
}

static bool any_infinite(const struct own *o)
{
	const double *v = (const double *)o->memory;

	for (uint32_t i = 0; i < AREA / 8; i++)
		if (v[i] > LARGE)
			return true;
	return false;
}

/* movsd xmm0, [rax]; addsd xmm0, xmm0, twice; mulsd xmm0, xmm1; movsd [rax], xmm0: sums of four that are multiplied do not grow. */
static void test_factors_are_small(void **state)
{
	static const uint8_t bytes[] = {0xf2, 0x0f, 0x10, 0x00, 0xf2, 0x0f, 0x58, 0xc0, 0xf2, 0x0f, 0x58, 0xc0, 0xf2, 0x0f, 0x59, 0xc1,
					0xf2, 0x0f, 0x11, 0x00};
	struct own *o = open_by_numbers(bytes, sizeof(bytes));

	(void)state;
	own_run(o, CLASS_OWN_0, LOOK_UNITS - 1);
	for (uint32_t i = 0; i < AREA / 8; i++) {
		double v = ((const double *)o->memory)[i];

		assert_true(v > 0 && v <= 2);
	}
	own_destroy(o);
}

/* movsd xmm0, [rax]; mulsd xmm0, xmm0; movsd [rax], xmm0: numbers that grow at each time begin anew, the next time later. */
static void test_numbers_stay_numbers(void **state)
{
	static const uint8_t bytes[] = {0xf2, 0x0f, 0x10, 0x00, 0xf2, 0x0f, 0x59, 0xc0, 0xf2, 0x0f, 0x11, 0x00};
	struct own *o = open_by_numbers(bytes, sizeof(bytes));

	(void)state;
	assert_false(any_infinite(o));
	for (int look = 0; look < 3; look++) { /* the third is later */
		for (int i = 1; i < (look < 2 ? 1 : LOOK_LESS); i++)
			own_run(o, CLASS_OWN_0, LOOK_UNITS);
		own_run(o, CLASS_OWN_0, LOOK_UNITS - 1);
		assert_true(any_infinite(o));
		own_run(o, CLASS_OWN_0, 1);
		assert_false(any_infinite(o));
	}
	own_destroy(o);
}

static void test_wide_vectors(void **state)
{
	/* vaddpd ymm3, ymm2, [rsi]; vmovapd [rdi], ymm3; vfmadd231pd ymm1, ymm2, ymm3 */
	static const uint8_t bytes[] = {0xc5, 0xed, 0x58, 0x1e, 0xc5, 0xfd, 0x29, 0x1f, 0xc4, 0xe2, 0xed, 0xb8, 0xcb};
	struct own_made made = {0};
	struct buf code = {0};
	struct own *o;
	const char *why = NULL;
	struct own_image image;

	(void)state;
	assert_int_equal(make(bytes, sizeof(bytes), &code, &made), 0);
	assert_int_equal(made.needs, OWN_AVX | OWN_FMA);
	image = (struct own_image){.needs = made.needs, .len = (uint32_t)code.len, .code = code.data};
	if (own_take(&image, 1, &why) < 0) {
		assert_non_null(strstr(why, "lacks"));
		buf_free(&code);
		SKIP("this processor has no AVX or no FMA");
	}
	o = open_own(&code, made.needs);
	assert_true(run_guarded(o, 100));
	for (uint32_t i = 0; i < 4; i++)
		assert_true(number_at(o, OWN_STORES * OWN_PAGE + 3072 + 8 * i) ==
			    number_at(o, OWN_VECTOR_DOUBLES + 2 * OWN_VECTOR_BYTES + 8 * i) + number_at(o, OWN_DOUBLES * OWN_PAGE + 8 * i));
	own_destroy(o);
	/* Nobody has what no bit stands for. */
	image.needs = OWN_NEEDS;
	assert_int_equal(own_take(&image, 1, &why), -1);
	buf_free(&code);
}

static void test_refused(void **state)
{
	static const struct {
		uint8_t n, bytes[10];
	} no[] = {
		{3, {0x48, 0xf7, 0xf9}},                        /* idiv rcx */
		{2, {0x0f, 0x05}},                              /* syscall */
		{2, {0x0f, 0xa2}},                              /* cpuid */
		{2, {0x0f, 0x0b}},                              /* ud2 */
		{1, {0xcc}},                                    /* int3 */
		{1, {0xf4}},                                    /* hlt */
		{1, {0xfd}},                                    /* std */
		{3, {0x0f, 0xae, 0x10}},                        /* ldmxcsr [rax] */
		{4, {0xf0, 0x48, 0x01, 0x08}},                  /* lock add [rax], rcx */
		{3, {0x48, 0x87, 0x08}},                        /* xchg [rax], rcx */
		{3, {0xf3, 0x48, 0xab}},                        /* rep stosq */
		{1, {0xa4}},                                    /* movsb */
		{4, {0x48, 0x0f, 0xa3, 0x08}},                  /* bt [rax], rcx */
		{2, {0xd9, 0xfe}},                              /* fsin */
		{4, {0x48, 0x83, 0xec, 0x20}},                  /* sub rsp, 32 */
		{3, {0x48, 0x89, 0xc4}},                        /* mov rsp, rax */
		{1, {0xc9}},                                    /* leave */
		{6, {0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1}},      /* vaddps zmm0, zmm0, zmm1 */
		{4, {0x66, 0x0f, 0xf7, 0xc1}},                  /* maskmovdqu xmm0, xmm1 */
		{6, {0xc4, 0xe2, 0xf5, 0x92, 0x04, 0xd8}},      /* vgatherdpd ymm0, [rax+8*xmm3], ymm1 */
		{3, {0x0f, 0x01, 0xf9}},                        /* rdtscp */
		{2, {0x8e, 0xd8}},                              /* mov ds, eax */
		{3, {0x0f, 0x6f, 0xc1}},                        /* movq mm0, mm1 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		struct own_made made = {0};
		struct buf code = {0};

		if (make(no[i].bytes, no[i].n, &code, &made) != 1)
			fail_msg("refused %zu was made", i);
		assert_int_equal(code.len, 0);
		buf_free(&code);
	}
}

/* One in sixteen may be missing; more may not. */
static void test_few_are_left_out(void **state)
{
	uint8_t bytes[LONGEST_CODE];

	(void)state;
	for (int missing = 0; missing < 4; missing++) {
		struct own_made made = {0};
		struct buf code = {0};
		size_t n = 0;

		for (int i = 0; i < 40; i++) {
			memcpy(bytes + n, i < missing ? "\x0f\xa2" : "\x01\xc8", 2); /* cpuid, add eax, ecx */
			n += 2;
		}
		assert_int_equal(make(bytes, n, &code, &made), missing * 16 > 40);
		if (code.len) {
			assert_int_equal(made.left_out, missing);
			assert_int_equal(made.n, 40 - missing);
		}
		buf_free(&code);
	}
}

/* ---- whatever the code was ---- */

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* An instruction at random that may be part of a kernel: its length, or 0. */
static size_t one(uint64_t *x, uint8_t *bytes)
{
	static struct mix_body b;
	struct own_made made = {0};
	struct buf code = {0};
	size_t len = 0;

	for (int i = 0; i < 15; i++)
		bytes[i] = (uint8_t)draw(x);
	if (draw(x) & 1) { /* more of those of two bytes, and of vectors */
		static const uint8_t prefix[] = {0x66, 0xf2, 0xf3, 0x48};

		bytes[0] = prefix[draw(x) & 3];
		bytes[1] = 0x0f;
	} else if (draw(x) & 1) {
		bytes[0] = draw(x) & 1 ? 0xc5 : 0xc4;
	}
	if (body_of(bytes, 15, &b) == 0) {
		struct own_instruction in = {.bytes = b.op[0].raw, .len = b.op[0].len, .follows = follows_at(&b.op[0]), .walk = OWN_NO_WALK};

		if (own_code_make(&in, 1, &(struct own_steps){0}, &code, &made) == 0 && made.n == 1)
			len = b.op[0].len;
	}
	buf_free(&code);
	return len;
}

/* Sanitizers look at each of a million small allocations. */
#ifdef __SANITIZE_ADDRESS__
#define KERNELS 100
#else
#define KERNELS 1500
#endif

static void test_nothing_leaves_the_kernel(void **state)
{
	enum { BATCH = 50 };
	uint64_t x = 88172645463325252ull;
	size_t made_of = 0;

	by_register = *state == &by_register || *state == &turns;
	turns = *state == &turns;
	walks_by = *state == &walks_by ? 40 : 0;
	for (int i = 0; i < MIX_OPS_MAX; i++)
		ahead_of[i] = walks_by ? (uint32_t)i * 7 % (SPAN - 64) : 0;
	for (int batch = 0; batch < KERNELS / BATCH; batch++) {
		uint64_t begin = x;
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		for (int k = 0; k < BATCH; k++) {
			uint8_t bytes[LONGEST_CODE];
			struct own_made made = {0};
			struct buf code = {0};
			size_t n = 0, len;

			while (n < 600) {
				len = one(&x, bytes + n);
				n += len;
				made_of += len > 0;
			}
			if (child == 0) {
				struct own_image image;
				const char *why;
				struct own *o;

				alarm(60);
				if (make(bytes, n, &code, &made) != 0)
					_exit(2);
				image = (struct own_image){.needs = made.needs, .len = (uint32_t)code.len, .code = code.data,
							   .n_walk = walks_by > 0, .walk = &area};
				if (own_take(&image, 1, &why) == 0) {
					o = own_create(1u << CLASS_OWN_0);
					if (o == NULL || !run_guarded(o, 3))
						_exit(3);
					own_destroy(o);
				}
				buf_free(&code);
			}
		}
		if (child == 0)
			_exit(0);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status != 0)
			fail_msg("batch %d, from %llx: status %x", batch, (unsigned long long)begin, (unsigned)status);
	}
	assert_true(made_of > 30 * KERNELS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_instructions_do_what_they_did),
		cmocka_unit_test_prestate(test_instructions_do_what_they_did, &by_register),
		cmocka_unit_test(test_what_is_too_small_is_nothing),
		cmocka_unit_test(test_masks),
		cmocka_unit_test_prestate(test_masks, &turns),
		cmocka_unit_test(test_callee),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_upper_halves),
		cmocka_unit_test(test_stack_and_calls),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_areas),
		cmocka_unit_test(test_factors_are_small),
		cmocka_unit_test(test_numbers_stay_numbers),
		cmocka_unit_test(test_wide_vectors),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_few_are_left_out),
		cmocka_unit_test(test_nothing_leaves_the_kernel),
		cmocka_unit_test_prestate(test_nothing_leaves_the_kernel, &by_register),
		cmocka_unit_test_prestate(test_nothing_leaves_the_kernel, &turns),
		cmocka_unit_test_prestate(test_nothing_leaves_the_kernel, &walks_by),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
