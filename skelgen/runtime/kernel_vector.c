/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packed floating point, in registers as wide as the program's: a three-point stencil and scaled sums on data in the
 * first-level cache, and a triad on the arrays of a level. Part of the triad is scalar, as in the program's code.
 * A stream works on one register of each cache line: it stands for the waiting alone. Other work on the line has kernels of
 * its own. A machine without such registers uses the next narrower ones, as the program's libraries would.
 */
#include "skelgen/runtime/kernel_work.h"

/* One number of each line, as code runs that was not packed. */
static inline __attribute__((always_inline)) void triad_by_number(double *x, const double *y, const double *z, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += LINE_DOUBLES) {
		double v = y[i] + 0.25 * z[i];

		HIDE_DOUBLE(v);
		x[i] = v;
	}
}

#define LINES_ALIKE 8 /* so that the loop over lines is what takes the time */
#define PERIOD      (16 * LINES_ALIKE)

static inline int is_packed(const struct kernel *k, uint32_t turn)
{
	return turn % PERIOD < k->packed * LINES_ALIKE;
}

/* Lines of a stream that are worked on in the same way, as many as are left until that changes or the arrays end. */
static inline uint64_t lines_alike(const struct kernel *k, uint32_t turn, uint64_t left, uint64_t until_end)
{
	uint32_t t = turn % PERIOD, change = k->packed * LINES_ALIKE;
	uint64_t n = left < until_end ? left : until_end, alike = (t < change ? change : PERIOD) - t;

	return k->packed == 0 || k->packed >= 16 || n < alike ? n : alike;
}

#define DEFINE(W, ATTRIBUTE)											       \
	typedef double v##W __attribute__((vector_size(W), aligned(8), may_alias));				       \
														       \
	ATTRIBUTE __attribute__((noinline)) static void stencil_##W(struct kernel *k, int c, uint64_t units)	       \
	{													       \
		const int step = W / 8;										       \
		const double third = 1.0 / 3;									       \
		uint32_t at = k->vec_at, from = k->vec_from;							       \
														       \
		(void)c;											       \
		for (uint64_t u = 0; u < units; u++) {								       \
			const double *in = k->vec[from] + LINE_DOUBLES + at;					       \
			double *out = k->vec[from ^ 1] + LINE_DOUBLES + at, *sum = k->vec[2] + at;		       \
														       \
			for (int i = 0; i < LINE_DOUBLES; i += step) {						       \
				const v##W here = *(const v##W *)(in + i);					       \
														       \
				*(v##W *)(out + i) = third * (*(const v##W *)(in + i - 1) + here +		       \
							      *(const v##W *)(in + i + 1));			       \
				*(v##W *)(sum + i) = 0.5 * *(const v##W *)(sum + i) + 0.25 * here;		       \
			}											       \
			for (int i = 0; i < LINE_DOUBLES; i += step)						       \
				*(v##W *)(sum + i) = 0.75 * *(const v##W *)(sum + i) + 0.125 * *(v##W *)(in + i);      \
			at += LINE_DOUBLES;									       \
			if (at == VECTOR_DOUBLES) {								       \
				at = 0;										       \
				from ^= 1;									       \
			}											       \
			HIDE_MEMORY(out);									       \
		}												       \
		k->vec_at = at;											       \
		k->vec_from = from;										       \
	}													       \
														       \
	ATTRIBUTE __attribute__((noinline)) static void triad_##W(struct kernel *k, int c, uint64_t units)	       \
	{													       \
		struct kernel_array *s = &k->stream[kernel_level(c)];						       \
		const uint64_t third = s->n / 3;								       \
		uint64_t at = s->at, lines;									       \
		uint32_t turn = k->turn;									       \
		double *a = s->a;										       \
														       \
		for (uint64_t left = units; left; left -= lines) {						       \
			double *x = a + at;									       \
			const double *y = x + third, *z = y + third;						       \
														       \
			lines = lines_alike(k, turn, left, (third - at) / LINE_DOUBLES);			       \
			if (is_packed(k, turn))									       \
				for (uint64_t l = 0; l < lines * LINE_DOUBLES; l += LINE_DOUBLES)		       \
					*(v##W *)(x + l) = *(const v##W *)(y + l) + 0.25 * *(const v##W *)(z + l);     \
			else											       \
				triad_by_number(x, y, z, lines * LINE_DOUBLES);					       \
			turn += (uint32_t)lines;								       \
			at += lines * LINE_DOUBLES;								       \
			if (at == third)									       \
				at = 0;										       \
			HIDE_MEMORY(a);										       \
		}												       \
		s->at = at;											       \
		k->turn = turn;											       \
	}

DEFINE(16, )
#ifdef ARCH_VECTOR_512
DEFINE(32, ARCH_VECTOR_256)
DEFINE(64, ARCH_VECTOR_512)
#endif

void kernel_vector_choose(struct kernel *k, int bits)
{
	k->vector = stencil_16;
	k->triad = triad_16;
	k->vector_bits = 128;
#ifdef ARCH_VECTOR_512
	if (bits >= 512 && arch_has_vectors(512)) {
		k->vector = stencil_64;
		k->triad = triad_64;
		k->vector_bits = 512;
	} else if (bits >= 256 && arch_has_vectors(256)) {
		k->vector = stencil_32;
		k->triad = triad_32;
		k->vector_bits = 256;
	}
#else
	(void)bits;
#endif
}
