/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A calibration for a skeleton that is about to run: see calibration.h. */
#include "cli/skeleton/calibration.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skelgen/runtime/calibfile.h"

int skel_calibration_copy(const char *from, const char *to, uint32_t n_ranks, struct errbuf *err)
{
	FILE *in = fopen(from, "re"), *out = NULL;
	char line[4096], ranks[32];
	bool whole = false;
	int rv = -1;

	snprintf(ranks, sizeof(ranks), "ranks %u\n", n_ranks);
	if (!in) {
		err_set(err, "%s: cannot open: %s", from, strerror(errno));
	} else if (!fgets(line, sizeof(line), in) || strcmp(line, CALIBFILE_HEAD) || !fgets(line, sizeof(line), in)) {
		err_set(err, "%s: is not a calibration: name the file 'calibration' of the skeleton that ran on the traced machine",
			from);
	} else if (strcmp(line, ranks)) {
		err_set(err, "%s: is the calibration of a skeleton of %.*s, and this one has %u: run this one on the traced machine", from,
			(int)strcspn(line, "\n"), line, n_ranks);
	} else if (!(out = fopen(to, "we"))) {
		err_set(err, "%s: cannot create: %s", to, strerror(errno));
	} else {
		fprintf(out, CALIBFILE_HEAD "%s", ranks);
		while (fgets(line, sizeof(line), in)) {
			fputs(line, out);
			whole = !strcmp(line, "end\n");
		}
		rv = ferror(in) || ferror(out) ? -1 : 0;
		if (fclose(out) || rv < 0)
			rv = err_set(err, "%s: cannot be copied to %s", from, to);
		else if (!whole)
			rv = err_set(err, "%s: is cut short: run the skeleton on the traced machine again", from);
	}
	if (in)
		fclose(in);
	return rv;
}
