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

#define MAX_NS 1e12

static void write_rank(FILE *f, int rank, const struct calibration *c)
{
	fprintf(f, "rank %d call %.17g\n", rank, c->call_ns);
	fprintf(f, "rank %d block", rank);
	for (int i = 0; i < BLOCK_POINTS; i++)
		fprintf(f, " %.17g", c->block_ns[i]);
	fputc('\n', f);
	for (int k = 0; k < KERNEL_N; k++) {
		fprintf(f, "rank %d %s", rank, kernel_name(k));
		for (int i = 0; i < CURVE_POINTS; i++)
			fprintf(f, " %.17g", c->kernel[k].ns[i]);
		fputc('\n', f);
	}
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
	fprintf(f, "precedent-calibration 1\nranks %d\n", n_ranks);
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
		if (end == p || *p != ' ' || !isfinite(out[i]) || out[i] < 0 || out[i] > MAX_NS ||
		    (rising && (out[i] <= 0 || (i > 0 && out[i] <= out[i - 1]))))
			return -1;
		p = end;
	}
	return *p == '\n' ? 0 : -1;
}

static int read_rank(FILE *f, int rank, struct calibration *c)
{
	char head[64];

	snprintf(head, sizeof head, "rank %d call", rank);
	if (read_numbers(f, head, &c->call_ns, 1, 0) != 0)
		return -1;
	snprintf(head, sizeof head, "rank %d block", rank);
	if (read_numbers(f, head, c->block_ns, BLOCK_POINTS, 1) != 0)
		return -1;
	for (int k = 0; k < KERNEL_N; k++) {
		snprintf(head, sizeof head, "rank %d %s", rank, kernel_name(k));
		if (read_numbers(f, head, c->kernel[k].ns, CURVE_POINTS, 1) != 0)
			return -1;
	}
	return 0;
}

int calibfile_read(const char *path, struct calibration *all, int n_ranks, char *why, size_t why_size)
{
	char line[64];
	double ranks;
	int rv = -1;
	FILE *f = fopen(path, "r");

	if (f == NULL) {
		snprintf(why, why_size, "cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	snprintf(why, why_size, "%s is not a calibration of %d ranks: calibrate on the traced machine again", path,
		 n_ranks);
	if (fgets(line, sizeof line, f) == NULL || strcmp(line, "precedent-calibration 1\n") != 0)
		goto done;
	if (read_numbers(f, "ranks", &ranks, 1, 0) != 0 || ranks != n_ranks)
		goto done;
	for (int r = 0; r < n_ranks; r++)
		if (read_rank(f, r, &all[r]) != 0)
			goto done;
	if (fgets(line, sizeof line, f) == NULL || strcmp(line, "end\n") != 0 || fgetc(f) != EOF)
		goto done;
	rv = 0;
done:
	fclose(f);
	return rv;
}
