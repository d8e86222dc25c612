/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes and reads the calibration file. The reader takes nothing on trust: every line in its place, every number in
 * range, nothing after the end. */
#include "skelgen/runtime/calibfile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NUMBER 1e12

static void write_numbers(FILE *f, const double *v, int n)
{
	for (int i = 0; i < n; i++)
		fprintf(f, " %.17g", v[i]);
	fputc('\n', f);
}

static void write_rank(FILE *f, int rank, const struct calibration *c)
{
	fprintf(f, "rank %d call %.17g %.17g\n", rank, c->call_ns, c->gap_ns);
	for (int m = 0; m < c->n_mix; m++) {
		fprintf(f, "rank %d mix %d", rank, m);
		write_numbers(f, c->block_ns[m], BLOCK_POINTS);
		fprintf(f, "rank %d among %d", rank, m);
		write_numbers(f, c->among[m], CLASS_N);
	}
	for (int k = 0; k < CLASS_N; k++) {
		if (!(c->classes >> k & 1))
			continue;
		fprintf(f, "rank %d %s", rank, kernel_name(k));
		write_numbers(f, c->kernel[k].ns, CURVE_POINTS);
	}
}

static void write_head(FILE *f, int n_ranks, const struct calibration *c)
{
	fprintf(f, CALIBFILE_HEAD "ranks %d\nmixes %d %llu\ndata", n_ranks, c->n_mix,
		(unsigned long long)c->mixes);
	for (int l = 0; l < LEVEL_N; l++)
		fprintf(f, " %llu", (unsigned long long)c->shape.bytes[l]);
	fprintf(f, "\nvector %d\nlacked %.17g\n", c->shape.vector_bits, c->lacked);
}

int calibfile_write(const char *path, const struct calibration *all, int n_ranks, char *why, size_t why_size)
{
	char beside[4096];
	FILE *f;
	int bad;

	if (snprintf(beside, sizeof beside, "%s.%d", path, (int)getpid()) >= (int)sizeof beside) {
		snprintf(why, why_size, "name of the calibration file is too long");
		return -1;
	}
	f = fopen(beside, "w");
	if (f == NULL) {
		snprintf(why, why_size, "cannot write %s: %s", path, strerror(errno));
		return -1;
	}
	write_head(f, n_ranks, &all[0]);
	for (int r = 0; r < n_ranks; r++)
		write_rank(f, r, &all[r]);
	fprintf(f, "end\n");
	bad = ferror(f) != 0;
	if (fclose(f) != 0 || bad || rename(beside, path) != 0) {
		snprintf(why, why_size, "cannot write %s: %s", path, strerror(errno));
		unlink(beside);
		return -1;
	}
	return 0;
}

/* The numbers of a line that starts with `head`; -1 unless there are exactly n, rising if asked. */
static int read_numbers(FILE *f, const char *head, double *out, int n, int rising)
{
	char line[1024], *p = line, *end;
	size_t len = strlen(head);

	if (fgets(line, sizeof line, f) == NULL || strncmp(line, head, len) != 0 || line[len] != ' ')
		return -1;
	p += len;
	for (int i = 0; i < n; i++) {
		out[i] = strtod(p, &end);
		if (end == p || *p != ' ' || !isfinite(out[i]) || out[i] < 0 || out[i] > MAX_NUMBER ||
		    (rising && (out[i] <= 0 || (i > 0 && out[i] <= out[i - 1]))))
			return -1;
		p = end;
	}
	return *p == '\n' ? 0 : -1;
}

/* What all ranks have in common; `want` holds the program's mixes and classes. */
static int read_head(FILE *f, int n_ranks, struct calibration *want)
{
	char line[64];
	double ranks, mixes[2], bits;
	double bytes[LEVEL_N];

	if (fgets(line, sizeof line, f) == NULL || strcmp(line, CALIBFILE_HEAD) != 0 ||
	    read_numbers(f, "ranks", &ranks, 1, 0) != 0 || ranks != n_ranks ||
	    read_numbers(f, "mixes", mixes, 2, 0) != 0 || mixes[0] != want->n_mix || mixes[1] != (double)want->mixes ||
	    read_numbers(f, "data", bytes, LEVEL_N, 0) != 0 || read_numbers(f, "vector", &bits, 1, 0) != 0 ||
	    read_numbers(f, "lacked", &want->lacked, 1, 0) != 0 || want->lacked > 1)
		return -1;
	for (int l = 0; l < LEVEL_N; l++) {
		if (bytes[l] < (double)LEVEL_LEAST || bytes[l] > (double)LEVEL_MOST ||
		    (uint64_t)bytes[l] % LEVEL_UNIT != 0 || bytes[l] != floor(bytes[l]))
			return -1;
		want->shape.bytes[l] = (uint64_t)bytes[l];
	}
	if (bits != 128 && bits != 256 && bits != 512)
		return -1;
	want->shape.vector_bits = (int)bits;
	return 0;
}

static int read_rank(FILE *f, int rank, struct calibration *c)
{
	char head[64];
	double costs[2];

	snprintf(head, sizeof head, "rank %d call", rank);
	if (read_numbers(f, head, costs, 2, 0) != 0)
		return -1;
	c->call_ns = costs[0];
	c->gap_ns = costs[1];
	for (int m = 0; m < c->n_mix; m++) {
		snprintf(head, sizeof head, "rank %d mix %d", rank, m);
		if (read_numbers(f, head, c->block_ns[m], BLOCK_POINTS, 1) != 0)
			return -1;
		snprintf(head, sizeof head, "rank %d among %d", rank, m);
		if (read_numbers(f, head, c->among[m], CLASS_N, 0) != 0)
			return -1;
		for (int k = 0; k < CLASS_N; k++)
			if (c->among[m][k] < 1 / AMONG_MOST || c->among[m][k] > AMONG_MOST)
				return -1;
	}
	for (int k = 0; k < CLASS_N; k++) {
		snprintf(head, sizeof head, "rank %d %s", rank, kernel_name(k));
		if ((c->classes >> k & 1) && read_numbers(f, head, c->kernel[k].ns, CURVE_POINTS, 1) != 0)
			return -1;
	}
	return 0;
}

int calibfile_read(const char *path, struct calibration *all, int n_ranks, char *why, size_t why_size)
{
	struct calibration *want;
	char line[64];
	int rv = -1;
	FILE *f = fopen(path, "r");

	if (f == NULL) {
		snprintf(why, why_size, "cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	snprintf(why, why_size, "%s is not a calibration of this program on %d ranks: calibrate on the traced machine again",
		 path, n_ranks);
	want = malloc(sizeof *want);
	if (want == NULL)
		goto done;
	*want = all[0];
	if (read_head(f, n_ranks, want) != 0)
		goto done;
	for (int r = 0; r < n_ranks; r++) {
		all[r] = *want;
		if (read_rank(f, r, &all[r]) != 0)
			goto done;
	}
	if (fgets(line, sizeof line, f) == NULL || strcmp(line, "end\n") != 0 || fgetc(f) != EOF)
		goto done;
	rv = 0;
done:
	free(want);
	fclose(f);
	return rv;
}
