/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops that stay as they are: that what runs is the program's loop to the byte and lies where it lay, goes through its areas as often as
 * planned and then ends, for loops that count in each way that compilers have; that what cannot be so is refused; and for loops made
 * at random that they end and touch nothing outside of their memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* The kernels' memory, between pages that nothing may touch. */
static uint8_t *fenced;
static size_t fenced_bytes;

static int fenced_memalign(void **p, size_t align, size_t bytes)
{
	(void)align;
	fenced_bytes = (bytes + 4095) / 4096 * 4096;
	fenced = mmap(NULL, fenced_bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fenced == MAP_FAILED || mprotect(fenced + 4096, fenced_bytes, PROT_READ | PROT_WRITE) != 0)
		return 1;
	*p = fenced + 4096;
	return 0;
}

static void fenced_free(void *p)
{
	if (p != NULL && fenced != NULL && p == fenced + 4096) {
		munmap(fenced, fenced_bytes + 8192);
		fenced = NULL;
	} else {
		free(p);
	}
}

#define posix_memalign fenced_memalign
#define free           fenced_free
#include "skelgen/runtime/kernel_own.c"
#undef free
#undef posix_memalign

#include "skelgen/profile/native_select.h"
#include "skelgen/profile/native_rewrite.h"

/* What kernel.c has for the other classes. */
void kernel_nothing(uint64_t units)
{
	(void)units;
}

#define OFFSET 0x1000u /* of the code in its module */
#define LINE   64u

enum { AX, CX, DX, BX, SP, BP, SI, DI, R8, R9 };

/* ---- loops, as compilers make them ---- */

#define LOOP(NAME, CODE)                                                                                                                       \
	extern const uint8_t NAME##_begin[], NAME##_loop[], NAME##_end[];                                                                      \
	__asm__(".text\n" #NAME "_begin:\n" CODE #NAME "_end:\n")

LOOP(index, "mov $1, %eax\n nopl (%rax)\n index_loop: movsd (%rsi,%rax,8), %xmm0\n addsd 8(%rsi,%rax,8), %xmm0\n movsd %xmm0, (%rdi,%rax,8)\n"
	    "add $1, %rax\n cmp %rax, %r8\n jne index_loop\n");
LOOP(pointer, "mov %rcx, %rdx\n pointer_loop: movsd (%rdx), %xmm1\n add %rbx, %rdx\n mulsd %xmm5, %xmm1\n movsd %xmm1, (%rdi)\n add $8, %rdi\n"
	      "cmp %r9, %rdx\n jb pointer_loop\n");
LOOP(down, "mov %rbx, %rax\n down_loop: addsd (%rsi,%rax,8), %xmm0\n movsd %xmm0, (%rdi,%rax,8)\n sub $1, %rax\n test %eax, %eax\n jg down_loop\n");
LOOP(number, "xor %ecx, %ecx\n number_loop: movsd (%rsi,%rcx,8), %xmm0\n movsd %xmm0, (%rdi,%rcx,8)\n inc %ecx\n cmp $19, %ecx\n jle number_loop\n");
LOOP(count, "mov $40, %ebp\n count_loop: movsd (%rsi), %xmm0\n movsd %xmm0, (%rdi)\n add $8, %rsi\n add $8, %rdi\n dec %ebp\n jne count_loop\n");
LOOP(constant, "mov $0, %eax\n constant_loop: movsd (%rsi,%rax), %xmm0\n addsd 1f(%rip), %xmm0\n ucomisd %xmm0, %xmm0\n jp 1f\n"
	       "movsd %xmm0, (%rdi,%rax)\n add $8, %rax\n cmp $160, %rax\n jne constant_loop\n 1: ret\n");
LOOP(shrinks, "mov $40, %ebp\n shrinks_loop: movsd (%rsi), %xmm0\n mulsd %xmm1, %xmm0\n movsd %xmm0, (%rsi)\n dec %ebp\n jne shrinks_loop\n");
LOOP(packed, "mov $0, %eax\n packed_loop: movapd (%rsi,%rax), %xmm0\n addpd 0x1000(%rsi,%rax), %xmm0\n movaps %xmm0, (%rdi,%rax)\n"
	     "add $16, %rax\n cmp %rax, %rbx\n jne packed_loop\n");

LOOP(stack, "mov $0, %eax\n stack_loop: movsd 16(%rsp), %xmm0\n addsd (%rsi,%rax), %xmm0\n movsd %xmm0, 16(%rsp)\n add $8, %rax\n"
	    "cmp $160, %rax\n jne stack_loop\n");
LOOP(chained, "chained_loop: mov (%rax), %rax\n add $1, %ecx\n cmp %ecx, %ebx\n jne chained_loop\n");
LOOP(in_memory, "in_memory_loop: movsd (%rsi,%rax,8), %xmm0\n add $1, %rax\n cmp (%rdi), %rax\n jne in_memory_loop\n");
LOOP(narrow, "narrow_loop: movsd (%rsi), %xmm0\n addl $8, %esi\n cmp %esi, %ebx\n jne narrow_loop\n");
LOOP(stride, "stride_loop: movsd (%rsi), %xmm0\n add %rbx, %rsi\n add %rcx, %rbx\n add $1, %rax\n cmp %rax, %r8\n jne stride_loop\n");
LOOP(calls, "calls_loop: movsd (%rsi,%rax,8), %xmm0\n call *%rbx\n add $1, %rax\n cmp %rax, %r8\n jne calls_loop\n");
LOOP(around, "around_loop: add $1, %rax\n 1: movsd (%rsi,%rax,8), %xmm0\n jmp 2f\n nop\n 2: cmp %rax, %r8\n jne around_loop\n");
LOOP(scattered, "scattered_loop: mov (%rsi,%rax,8), %rcx\n movsd (%rdi,%rcx,8), %xmm0\n add $1, %rax\n cmp %rax, %r8\n jne scattered_loop\n");
LOOP(short_address, "short_address_loop: movsd (%esi,%eax,8), %xmm0\n add $1, %rax\n cmp %rax, %r8\n jne short_address_loop\n");

#define CODE(NAME) NAME##_begin, NAME##_loop, NAME##_end

/* ---- help ---- */

/* Areas of a loop by hand: two, those of `from` by si, cx or dx and of `to` by di. */
struct planned {
	struct mix_body b;
	struct mix_walk walk[MIX_OPS_MAX];
	struct mix_area area[2];
	uint64_t value[TSAMPLE_REGS];
	struct own_loop loop;
	struct buf code;
	struct own_made made;
};

static void body_of(const uint8_t *begin, const uint8_t *loop, const uint8_t *end, struct mix_body *b)
{
	struct trace_code c = {.offset = OFFSET, .len = (uint32_t)(end - begin), .bytes = (uint8_t *)(uintptr_t)begin};
	struct trace_samples s = {.n_code = 1, .code = &c};

	assert_int_equal(mix_body_find(&s, 0, OFFSET + (uint64_t)(loop - begin), b), 0);
	assert_int_equal(b->op[0].offset, OFFSET + (uint64_t)(loop - begin));
}

/* Every operand goes through an area of 8 KiB, `far` bytes apart in it by what its instruction says. */
static void lead_all(struct planned *p, uint32_t step)
{
	memset(p->walk, OWN_NO_WALK, sizeof(p->walk));
	for (int k = 0; k < 2; k++)
		p->area[k] = (struct mix_area){.step = step, .span = 3 * LINE + 0x1000, .bytes = 8192};
	for (uint32_t i = 0; i < p->b.n; i++) {
		const struct mix_op *op = &p->b.op[i];

		if (op->bytes && !op->lea && !op->relative)
			p->walk[i] = (struct mix_walk){.area = op->base == DI, .at = LINE + (uint32_t)op->disp};
	}
}

static bool plan(struct planned *p, uint32_t n_area, double row)
{
	if (!own_loop_plan(&p->b, p->walk, p->area, n_area, p->value, row, &p->loop))
		return false;
	struct own_instruction in[MIX_OPS_MAX];

	for (uint32_t i = 0; i < p->b.n; i++)
		in[i] = (struct own_instruction){.bytes = p->b.op[i].raw, .len = p->b.op[i].len, .follows = OWN_FOLLOWS_NONE, .walk = OWN_NO_WALK};
	return own_code_loop(in, p->b.n, &p->loop, &p->code, &p->made) == 0;
}

static struct own *open_own(const struct planned *p)
{
	struct own_image image = {.needs = p->made.needs, .len = (uint32_t)p->code.len, .code = p->code.data, .n_walk = p->loop.n_area,
				  .walk = p->loop.walk};
	const char *why = NULL;

	assert_int_equal(own_take(&image, 1, &why), 0);
	return own_create(1u << CLASS_OWN_0);
}

/* Doubles of an area from where a unit begins. */
static double *at_unit(const struct planned *p, struct own *o, uint32_t area, uint64_t unit)
{
	uint64_t begin = *(uint64_t *)(o->at[0] + OWN_DATA + OWN_WALK(area) + OWN_WALK_BEGIN),
		 end = *(uint64_t *)(o->at[0] + OWN_DATA + OWN_WALK(area) + OWN_WALK_END), at = begin;

	for (; unit > 0; unit--)
		at = at + p->loop.step[area] >= end ? begin : at + p->loop.step[area];
	return (double *)(uintptr_t)at;
}

static void planned_of(struct planned *p, const uint8_t *begin, const uint8_t *loop, const uint8_t *end)
{
	memset(p, 0, sizeof(*p));
	body_of(begin, loop, end, &p->b);
	for (int r = 0; r < TSAMPLE_REGS; r++)
		p->value[r] = 0x7f0000000000u + 0x100000u * (unsigned)r;
}

/* Where in the code the loop lies; the same bytes in the same place of a line. */
static void assert_lies(const struct planned *p, const uint8_t *loop, size_t n)
{
	const uint8_t *at = memmem(p->code.data, p->code.len, loop, n);

	assert_non_null(at);
	assert_int_equal((size_t)(at - p->code.data) % LINE, p->b.op[0].offset % LINE);
	assert_int_equal(p->loop.lies_at, p->b.op[0].offset);
}

static struct planned planned;

static void close_own(struct own *o)
{
	own_destroy(o);
	buf_free(&planned.code);
}

/* ---- each way to count ---- */

static void test_index(void **state)
{
	struct planned *p = &planned;
	struct own *o;

	(void)state;
	planned_of(p, CODE(index));
	lead_all(p, 8);
	assert_true(plan(p, 2, 32));
	assert_int_equal(p->loop.times, 32);
	assert_int_equal(p->made.n, 32 * p->b.n);
	assert_int_equal(p->loop.step[0], 32 * 8);
	assert_lies(p, index_loop, (size_t)(index_end - index_loop));
	o = open_own(p);
	for (uint64_t unit = 0; unit < 40; unit++) {
		const double *from = at_unit(p, o, 0, unit) + LINE / 8;
		double *to = at_unit(p, o, 1, unit) + LINE / 8;

		to[-1] = to[32] = -5;
		own_run(o, CLASS_OWN_0, 1);
		for (int i = 0; i < 32; i++)
			assert_true(to[i] == from[i] + from[i + 1]);
		assert_true(to[-1] == -5 && to[32] == -5);
	}
	close_own(o);
}

/* A stride that a register has, an end that one has, and a row that is longer than a unit: two units. */
static void test_pointer(void **state)
{
	struct planned *p = &planned;
	double factor;
	struct own *o;

	(void)state;
	planned_of(p, CODE(pointer));
	p->value[BX] = 24;
	lead_all(p, 8);
	p->area[0].step = 24;
	assert_true(plan(p, 2, 1000));
	assert_int_equal(p->loop.times, 500);
	assert_lies(p, pointer_loop, (size_t)(pointer_end - pointer_loop));
	o = open_own(p);
	memcpy(&factor, o->at[0] + OWN_DATA + OWN_VECTOR_DOUBLES + 5 * OWN_VECTOR_BYTES, sizeof(factor));
	for (uint64_t unit = 0; unit < 3; unit++) {
		const double *from = at_unit(p, o, 0, unit) + LINE / 8;
		double *to = at_unit(p, o, 1, unit) + LINE / 8;

		to[500] = -5;
		own_run(o, CLASS_OWN_0, 1);
		for (int i = 0; i < 500; i++)
			assert_true(to[i] == from[3 * i] * factor);
		assert_true(to[500] == -5);
	}
	close_own(o);
}

/* What goes down begins above; the sum begins anew with each row, since something is stored in xmm0 before: here nobody knows. */
static void test_down(void **state)
{
	struct planned *p = &planned;
	double begins;
	struct own *o;

	(void)state;
	planned_of(p, CODE(down));
	p->b.n_before = 0;
	lead_all(p, 8);
	assert_true(plan(p, 2, 30));
	assert_int_equal(p->loop.times, 30);
	assert_int_equal(p->loop.restart, 1);
	o = open_own(p);
	memcpy(&begins, o->at[0] + OWN_DATA + OWN_VECTOR_DOUBLES, sizeof(begins));
	for (uint64_t unit = 0; unit < 4; unit++) {
		double *from = at_unit(p, o, 0, unit) + (p->area[0].span + 29 * 8 - LINE) / 8, *to = at_unit(p, o, 1, unit) + (p->area[1].span + 29 * 8 - LINE) / 8,
		       sum = begins;

		to[1] = to[-30] = -5;
		own_run(o, CLASS_OWN_0, 1);
		for (int i = 0; i < 30; i++) {
			sum += from[-i];
			assert_true(to[-i] == sum);
		}
		assert_true(to[1] == -5 && to[-30] == -5);
	}
	close_own(o);
	/* And goes on where it is known that nothing does. */
	body_of(CODE(down), &p->b);
	assert_int_equal(p->b.n_before, 1);
	assert_true(plan(p, 2, 30));
	assert_int_equal(p->loop.restart, 0);
	buf_free(&p->code);
}

static void test_number(void **state)
{
	struct planned *p = &planned;
	struct own *o;

	(void)state;
	planned_of(p, CODE(number));
	lead_all(p, 8);
	assert_true(plan(p, 2, 20));
	assert_int_equal(p->loop.reg[CX].begin, OWN_NUMBER);
	assert_int_equal(p->loop.reg[CX].at, 0);
	/* Fewer than the number says: it begins later. */
	buf_free(&p->code);
	assert_true(plan(p, 2, 12));
	assert_int_equal(p->loop.reg[CX].at, 8);
	/* More: it would begin below nothing, where 32 bits are no index. */
	buf_free(&p->code);
	assert_false(plan(p, 2, 30));
	assert_true(plan(p, 2, 12));
	o = open_own(p);
	for (uint64_t unit = 0; unit < 4; unit++) {
		const double *from = at_unit(p, o, 0, unit) + LINE / 8;
		double *to = at_unit(p, o, 1, unit) + LINE / 8;

		to[-1] = to[12] = -5;
		own_run(o, CLASS_OWN_0, 1);
		assert_memory_equal(to, from, 12 * sizeof(*to));
		assert_true(to[-1] == -5 && to[12] == -5);
	}
	close_own(o);
}

/* What counts leads nowhere, and what leads goes through nothing that is known: it has a place of its own, in which it begins again. */
static void test_own_places(void **state)
{
	struct planned *p = &planned;
	struct own *o;

	(void)state;
	planned_of(p, CODE(count));
	p->value[SI] += 24;
	memset(p->walk, OWN_NO_WALK, sizeof(p->walk));
	assert_true(plan(p, 0, 40));
	assert_int_equal(p->loop.n_area, 2);
	assert_int_equal(p->loop.step[0] + p->loop.step[1], 0);
	assert_int_equal(p->loop.walk[0].bytes + p->loop.walk[1].bytes, 0);
	o = open_own(p);
	for (uint64_t unit = 0; unit < 3; unit++) {
		uint8_t *to = (uint8_t *)at_unit(p, o, p->loop.reg[DI].of, 0) + p->loop.reg[DI].at,
			*from = (uint8_t *)at_unit(p, o, p->loop.reg[SI].of, 0) + p->loop.reg[SI].at;

		assert_int_equal((uintptr_t)from % LINE, 24);
		assert_int_equal((uintptr_t)to % LINE, 0);
		memset(to, 0, 41 * 8);
		own_run(o, CLASS_OWN_0, 1);
		assert_memory_equal(to, from, 320);
		assert_true(((double *)to)[40] == 0);
	}
	close_own(o);
}

/* What becomes nothing in a place of its own begins anew, before it is executed so often again: also where it is one number in a page. */
static void test_shrinks(void **state)
{
	struct planned *p = &planned;
	const double *at;
	struct own *o;

	(void)state;
	planned_of(p, CODE(shrinks));
	memset(p->walk, OWN_NO_WALK, sizeof(p->walk));
	assert_true(plan(p, 0, 40));
	o = open_own(p);
	at = (const double *)((uint8_t *)at_unit(p, o, 0, 0) + p->loop.reg[SI].at);
	own_run(o, CLASS_OWN_0, LOOK_UNITS - 1);
	assert_true(*at == 0);
	own_run(o, CLASS_OWN_0, 1);
	assert_true(*at > 0);
	close_own(o);
}

/* A constant is one of the kernel's; a branch that is never taken leads nowhere. */
static void test_constant(void **state)
{
	struct planned *p = &planned;
	double add;
	struct own *o;

	(void)state;
	planned_of(p, CODE(constant));
	lead_all(p, 8);
	assert_true(plan(p, 2, 20));
	o = open_own(p);
	memcpy(&add, o->at[0] + OWN_DATA + OWN_DOUBLES * OWN_PAGE, sizeof(add));
	own_run(o, CLASS_OWN_0, 1);
	for (int i = 0; i < 20; i++)
		assert_true(at_unit(p, o, 1, 0)[LINE / 8 + i] == at_unit(p, o, 0, 0)[LINE / 8 + i] + add);
	/* Taken after all, it goes on. */
	at_unit(p, o, 0, 1)[LINE / 8 + 3] = NAN;
	own_run(o, CLASS_OWN_0, 1);
	assert_true(at_unit(p, o, 1, 1)[LINE / 8 + 19] == at_unit(p, o, 0, 1)[LINE / 8 + 19] + add);
	close_own(o);
}

static void test_packed(void **state)
{
	struct planned *p = &planned;
	struct own *o;

	(void)state;
	planned_of(p, CODE(packed));
	lead_all(p, 16);
	assert_true(plan(p, 2, 64));
	o = open_own(p);
	own_run(o, CLASS_OWN_0, 100);
	close_own(o);
	/* Units that go on by no multiple of what it wants its operands at. */
	planned_of(p, CODE(packed));
	lead_all(p, 16);
	p->area[0].step = 8;
	assert_false(plan(p, 2, 63));
}

static void test_refused(void **state)
{
	static const struct {
		const uint8_t *begin, *loop, *end;
	} no[] = {{CODE(stack)}, {CODE(chained)}, {CODE(in_memory)}, {CODE(narrow)}, {CODE(stride)}, {CODE(calls)}, {CODE(around)}, {CODE(scattered)},
		  {CODE(short_address)}};
	struct planned *p = &planned;

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		planned_of(p, no[i].begin, no[i].loop, no[i].end);
		p->value[BX] = p->value[CX] = 8;
		memset(p->walk, OWN_NO_WALK, sizeof(p->walk));
		if (plan(p, 0, 100))
			fail_msg("loop %zu was planned", i);
	}
	/* Too short to be worth it. */
	planned_of(p, CODE(index));
	lead_all(p, 8);
	assert_false(plan(p, 2, 3));
	/* Further apart than any area. */
	planned_of(p, CODE(pointer));
	p->value[BX] = 1 << 20;
	memset(p->walk, OWN_NO_WALK, sizeof(p->walk));
	assert_false(plan(p, 0, 500));
}

/* ---- loops made at random ---- */

static uint32_t draw(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

/* An instruction with a register and one in memory, by a base, often an index, and a short distance. */
static size_t put_access(uint32_t *x, uint8_t *out)
{
	static const uint8_t opcode[][4] = {{0xf2, 0x0f, 0x10}, {0xf2, 0x0f, 0x11}, {0xf2, 0x0f, 0x58},
					    {0x66, 0x0f, 0x28}, {0x66, 0x0f, 0x10}, {0xf2, 0x0f, 0x59}};
	const uint8_t *op = opcode[draw(x) % 6];
	uint8_t base = draw(x) % 4 == 0 ? R8 : SI + draw(x) % 2, index = draw(x) % 4, scale = draw(x) % 4, vector = draw(x) % 8;
	size_t n = 0;

	if (draw(x) % 16 == 0)
		base = draw(x) % 16;
	out[n++] = op[0];
	if (base >= 8)
		out[n++] = 0x41;
	out[n++] = op[1];
	out[n++] = op[2];
	if (draw(x) % 2 || (base & 7) == SP) {
		out[n++] = (uint8_t)(0x44 | vector << 3);
		out[n++] = (uint8_t)(scale << 6 | index << 3 | (base & 7));
	} else {
		out[n++] = (uint8_t)(0x40 | vector << 3 | (base & 7));
	}
	out[n++] = (uint8_t)(draw(x) % 2 ? draw(x) : (draw(x) & 0x70));
	return n;
}

static size_t put_one(uint32_t *x, uint8_t *out)
{
	uint8_t r = draw(x) % 4, by = (uint8_t)(1u << draw(x) % 5), kind = draw(x) % 12;

	switch (kind) {
	case 0: memcpy(out, (uint8_t[]){0x48, 0x83, 0xc0 | r, by}, 4); return 4;                    /* add r, by */
	case 1: memcpy(out, (uint8_t[]){0x83, 0xe8 | r, by}, 3); return 3;                          /* sub r32, by */
	case 2: memcpy(out, (uint8_t[]){0x48, 0x83, 0xc6 | (r & 1), by}, 4); return 4;              /* add rsi or rdi, by */
	case 3: memcpy(out, (uint8_t[]){0x48, 0x01, 0xc0 | BX << 3 | r}, 3); return 3;              /* add r, rbx */
	case 4: memcpy(out, (uint8_t[]){0x48, 0x8d, 0x40 | r << 3 | r, by}, 4); return 4;           /* lea r, [r + by] */
	case 5: memcpy(out, (uint8_t[]){0x66, 0x0f, 0x58, 0xc0 | draw(x) % 64}, 4); return 4;       /* addpd */
	default: return put_access(x, out);
	}
}

/* What looks, and what leads to the head. */
static size_t put_closing(uint32_t *x, uint8_t *out, size_t n)
{
	uint8_t r = draw(x) % 4, wide = draw(x) % 4 ? 0x48 : 0x40;

	switch (draw(x) % 4) {
	case 0: memcpy(out + n, (uint8_t[]){wide, 0x39, 0xc0 | r << 3 | (draw(x) % 2 ? BX : BP)}, 3); n += 3; break; /* cmp */
	case 1: memcpy(out + n, (uint8_t[]){wide | 1, 0x39, 0xc0 | R9 % 8 | r << 3}, 3); n += 3; break;
	case 2: memcpy(out + n, (uint8_t[]){wide, 0x83, 0xf8 | r, (uint8_t)(draw(x) % 4 ? draw(x) & 127 : draw(x))}, 4); n += 4; break;
	default: memcpy(out + n, (uint8_t[]){wide, 0x85, 0xc0 | r * 9}, 3); n += 3; break;                           /* test */
	}
	out[n++] = draw(x) % 2 ? 0x75 : 0x70 | draw(x) % 16;
	out[n] = (uint8_t)-(n + 1);
	return n + 1;
}

#define LOOPS 60000
#define BATCH 1000

static void run_random(uint32_t x, uint32_t *n_planned)
{
	struct planned *p = &planned;

	for (int k = 0; k < BATCH; k++) {
		struct trace_code c = {.offset = OFFSET + draw(&x) % 64};
		struct trace_samples s = {.n_code = 1, .code = &c};
		uint32_t many = 1 + draw(&x) % 8;
		uint8_t bytes[200];
		struct own *o;
		size_t n = 0;

		while (many-- > 0)
			n += put_one(&x, bytes + n);
		n = put_closing(&x, bytes, n);
		memset(p, 0, sizeof(*p));
		c.len = (uint32_t)n;
		c.bytes = bytes;
		if (mix_body_find(&s, 0, c.offset, &p->b) != 0 || !p->b.is_loop)
			continue;
		for (int r = 0; r < TSAMPLE_REGS; r++)
			p->value[r] = draw(&x) % 3 ? draw(&x) % 100 : 0x7f0000000000u + draw(&x);
		memset(p->walk, OWN_NO_WALK, sizeof(p->walk));
		for (uint32_t i = 0; i < p->b.n && draw(&x) % 2; i++) {
			struct mix_motion m = mix_motion_of(&p->b, &p->b.op[i], p->value);

			if (!p->b.op[i].bytes || m.order != MIX_EVEN || llabs(m.step) > 4096)
				continue;
			p->walk[i] = (struct mix_walk){.area = 0, .at = LINE + draw(&x) % 4096};
			p->area[0] = (struct mix_area){.step = (uint32_t)llabs(m.step), .span = 4096 + 2 * LINE, .bytes = draw(&x) % 100000};
		}
		if (plan(p, p->area[0].span > 0, draw(&x) % 200)) {
			*n_planned += 1;
			o = open_own(p);
			own_run(o, CLASS_OWN_0, 1 + draw(&x) % 300);
			own_destroy(o);
		}
		buf_free(&p->code);
	}
}

static void test_random(void **state)
{
	(void)state;
	for (uint32_t batch = 0; batch < LOOPS / BATCH; batch++) {
		pid_t child = fork();
		uint32_t n = 0;
		int status;

		assert_true(child >= 0);
		if (child == 0) {
			alarm(60);
			run_random(2463534242u + batch * 77777u, &n);
			_exit(n >= BATCH / 20 ? 0 : 3);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status != 0)
			fail_msg("batch %u: status %x", batch, (unsigned)status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index),    cmocka_unit_test(test_pointer),    cmocka_unit_test(test_down),
		cmocka_unit_test(test_number),   cmocka_unit_test(test_own_places), cmocka_unit_test(test_constant),
		cmocka_unit_test(test_shrinks),  cmocka_unit_test(test_packed),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_random),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
