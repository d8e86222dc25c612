/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the kernels. Each keeps its own between calls, so that a block continues where the last one stopped. */
#include "skelgen/runtime/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/kernel_work.h"

#define HAS(classes, c) (((classes) >> (c)) & 1u)

const char *kernel_name(int c)
{
#define NAME(UPPER, lower) #lower,
	static const char *const names[CLASS_N] = {SKEL_CLASSES(NAME)};
#undef NAME

	return c >= 0 && c < CLASS_N ? names[c] : "?";
}

int kernel_level(int c)
{
	switch (c) {
	case CLASS_STREAM_L2:
	case CLASS_RANDOM_L2:
	case CLASS_FILL_L2:
	case CLASS_COPY_L2:
		return LEVEL_L2;
	case CLASS_STREAM_L3:
	case CLASS_RANDOM_L3:
	case CLASS_FILL_L3:
	case CLASS_COPY_L3:
		return LEVEL_L3;
	case CLASS_STREAM_MEM:
	case CLASS_RANDOM_MEM:
	case CLASS_STRIDE_MEM:
	case CLASS_FILL_MEM:
	case CLASS_COPY_MEM:
		return LEVEL_MEM;
	default:
		return -1;
	}
}

static int is_chain(int c)
{
	return c == CLASS_RANDOM_L2 || c == CLASS_RANDOM_L3 || c == CLASS_RANDOM_MEM;
}

static int is_copy(int c)
{
	return c == CLASS_COPY_L2 || c == CLASS_COPY_L3 || c == CLASS_COPY_MEM;
}

static int is_string(int c)
{
	return c == CLASS_FILL_L2 || c == CLASS_FILL_L3 || c == CLASS_FILL_MEM || is_copy(c);
}

/* Do these classes need an array (or a chain) of this level? Strides and strings use the stream's. */
static int needs(unsigned classes, int level, int chain)
{
	for (int c = 0; c < CLASS_N; c++)
		if (HAS(classes, c) && kernel_level(c) == level && is_chain(c) == chain)
			return 1;
	return 0;
}

uint64_t kernel_bytes(const struct kernel_shape *s, unsigned classes)
{
	uint64_t sum = sizeof(struct kernel);

	for (int l = 0; l < LEVEL_N; l++)
		for (int chain = 0; chain < 2; chain++)
			sum += needs(classes, l, chain) ? s->bytes[l] : 0;
	return sum;
}

static void tables_fill(struct kernel *k)
{
	uint64_t x = 88172645463325252ull;

	for (int i = 0; i < TABLE_WORDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k->table[i] = x;
	}
	k->integer[0] = x;
	k->integer[1] = k->branch = k->hash = ~x;
	for (int i = 0; i < NUMBERS + 2; i++)
		k->number[i] = 1.0 + (double)(k->table[i] >> 40) / (1 << 24);
	for (int i = 0; i < NUMBERS; i++)
		k->sums[i] = k->shorts[i] = k->sweep[i] = k->number[i];
	k->scalar = 0.3;
	k->divide[0] = 0.3;
	k->divide[1] = 0.7;
	k->libm = 0.7;
	for (size_t i = 0; i < sizeof k->vec[0] / sizeof *k->vec[0]; i++)
		k->vec[0][i] = k->vec[1][i] = k->vec[2][i] = 1.0 + (double)i * 1e-6;
}

struct kernel *kernel_create(const struct kernel_shape *s, unsigned classes)
{
	void *p;
	struct kernel *k;

	if (posix_memalign(&p, 4096, sizeof *k) != 0)
		return NULL;
	k = memset(p, 0, sizeof *k);
	tables_fill(k);
	kernel_vector_choose(k, s->vector_bits);
	k->packed = (uint32_t)s->packed;
	k->row = s->row > 0 ? (uint32_t)s->row : KERNEL_ROW_MOST;
	for (int l = 0; l < LEVEL_N; l++) {
		if ((needs(classes, l, 0) && kernel_array_open(&k->stream[l], s->bytes[l]) != 0) ||
		    (needs(classes, l, 1) && kernel_chain_open(&k->chain[l], s->bytes[l]) != 0)) {
			kernel_destroy(k);
			return NULL;
		}
	}
	return k;
}

void kernel_destroy(struct kernel *k)
{
	if (k == NULL)
		return;
	for (int l = 0; l < LEVEL_N; l++) {
		free(k->stream[l].a);
		free(k->chain[l].line);
	}
	free(k);
}

uint64_t kernel_round(const struct kernel *k, int c)
{
	int l = kernel_level(c);

	if (l < 0)
		return VECTOR_DOUBLES / LINE_DOUBLES;
	if (is_string(c))
		return k->stream[l].n / (is_copy(c) ? 2 : 1) / STRING_DOUBLES;
	return is_chain(c) ? k->chain[l].n : k->stream[l].n / 3 / LINE_DOUBLES;
}

static int empty;

void kernel_be_empty(void)
{
	empty = 1;
}

void kernel_run(struct kernel *k, int c, uint64_t units)
{
	switch ((enum skel_class)c) {
	case CLASS_INTEGER:
		if (empty)
			kernel_nothing(units);
		else
			kernel_integer(k, units);
		break;
	case CLASS_INTEGER_CHAIN:
		kernel_integer_chain(k, units);
		break;
	case CLASS_BRANCH:
		kernel_branch(k, units);
		break;
	case CLASS_SCALAR:
		kernel_scalar(k, units);
		break;
	case CLASS_SCALAR_SHORT:
		kernel_scalar_short(k, units);
		break;
	case CLASS_SCALAR_CHAIN:
		kernel_scalar_chain(k, units);
		break;
	case CLASS_VECTOR:
		k->vector(k, c, units);
		break;
	case CLASS_DIVIDE:
		kernel_divide(k, units);
		break;
	case CLASS_LIBM:
		kernel_libm(k, units);
		break;
	case CLASS_STREAM_L2:
	case CLASS_STREAM_L3:
	case CLASS_STREAM_MEM:
		k->triad(k, c, units);
		break;
	case CLASS_RANDOM_L2:
	case CLASS_RANDOM_L3:
	case CLASS_RANDOM_MEM:
		kernel_chase(k, c, units);
		break;
	case CLASS_STRIDE_MEM:
		kernel_stride(k, units);
		break;
	case CLASS_FILL_L2:
	case CLASS_FILL_L3:
	case CLASS_FILL_MEM:
		kernel_fill(k, c, units);
		break;
	case CLASS_COPY_L2:
	case CLASS_COPY_L3:
	case CLASS_COPY_MEM:
		kernel_copy(k, c, units);
		break;
	case CLASS_N:
		break;
	}
}

double kernel_digest(const struct kernel *k)
{
	double sum = (double)((k->integer[0] ^ k->integer[1]) & 0xffffff) + (double)(k->hash & 0xffff) +
		     (double)(k->branch & 0xffff) + (double)((k->side[0] ^ k->side[1]) & 0xffff) + k->scalar + k->divide[0] +
		     k->divide[1] + k->libm + k->vec[0][LINE_DOUBLES] + k->vec[1][LINE_DOUBLES] + k->vec_at * 1e-3;

	sum += k->scalar_sum * 1e-6 + k->sums[0] + k->sums[NUMBERS - 1] + k->shorts[0] + k->sweep[0] + k->number_at * 1e-3;
	for (int l = 0; l < LEVEL_N; l++) {
		const struct kernel_array *s = &k->stream[l];
		const struct kernel_chain *c = &k->chain[l];

		if (s->a != NULL)
			sum += s->a[0] + (double)s->at * 1e-3 + (double)s->turn * 1e-2;
		if (c->line != NULL)
			sum += (double)(c->at - c->line) * 1e-3;
		sum += (double)(k->string[l].fill + k->string[l].copy) * 1e-3 + (double)(k->string[l].units & 0xffff);
	}
	return sum;
}

int kernel_vector_bits(const struct kernel *k)
{
	return k->vector_bits;
}
