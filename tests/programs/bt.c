/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bt: alternating directions with block tridiagonal solves, in the pattern of the BT kernel. Unlike in sp, each
 * point costs products and eliminations of 5 x 5 blocks, and a line hands on a block and a vector.
 * Usage: bt [N=32] [ITERATIONS=20]. Rank 0 prints one line with a checksum.
 */
#include "adi.h"

#define B COMPONENTS

/* c = solution X of M X = [c0 | r0], in place: M is B x B, c is B x B, r a vector. */
static void block_solve(double m[B][B], double c[B][B], double r[B])
{
	for (int i = 0; i < B; i++) {
		double pivot = 1.0 / m[i][i];

		for (int j = i + 1; j < B; j++)
			m[i][j] *= pivot;
		for (int j = 0; j < B; j++)
			c[i][j] *= pivot;
		r[i] *= pivot;
		for (int k = 0; k < B; k++) {
			double f = m[k][i];

			if (k == i)
				continue;
			for (int j = i + 1; j < B; j++)
				m[k][j] -= f * m[i][j];
			for (int j = 0; j < B; j++)
				c[k][j] -= f * c[i][j];
			r[k] -= f * r[i];
		}
	}
}

static void forward(double *p, size_t stride, int n, double *carry, int begins)
{
	double c[B][B] = {{0}}, r[B] = {0};

	if (!begins) {
		memcpy(c, carry, sizeof(c));
		memcpy(r, carry + B * B, sizeof(r));
	}
	for (int i = 0; i < n; i++, p += stride) {
		double m[B][B], next[B][B], a[B][B];

		for (int x = 0; x < B; x++)
			for (int y = 0; y < B; y++) {
				a[x][y] = x == y ? -0.2 : 0.01 * p[y];
				next[x][y] = x == y ? -0.2 : 0.005 * p[x];
				m[x][y] = x == y ? 1.5 + 0.1 * p[x] : 0.02 * p[y];
			}
		for (int x = 0; x < B; x++) {
			double s = p[x];

			for (int y = 0; y < B; y++) {
				double t = m[x][y];

				for (int z = 0; z < B; z++)
					t -= a[x][z] * c[z][y];
				m[x][y] = t;
				s -= a[x][y] * r[y];
			}
			p[x] = s;
		}
		block_solve(m, next, p);
		memcpy(c, next, sizeof(c));
		memcpy(r, p, sizeof(r));
	}
	memcpy(carry, c, sizeof(c));
	memcpy(carry + B * B, r, sizeof(r));
}

static void backward(double *p, size_t stride, int n, double *carry, int begins)
{
	double r[B] = {0};

	if (!begins)
		memcpy(r, carry, sizeof(r));
	for (int i = 0; i < n; i++, p += stride) {
		for (int x = 0; x < B; x++)
			for (int y = 0; y < B; y++)
				p[x] += (x == y ? 0.15 : 0.004) * r[y];
		memcpy(r, p, sizeof(r));
	}
	memcpy(carry, r, sizeof(r));
}

int main(int argc, char **argv)
{
	return adi_main(argc, argv, "bt", 32, 20, B * B + B, forward, backward);
}
