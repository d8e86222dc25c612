/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What precedentd would tell, of two probes' records: the predictor's own estimate, for programs that measure how right it is.
 *	make_estimate SOURCE TARGET ELAPSED_S
 * SOURCE and TARGET: result records (predictor/spool/result.h); ELAPSED_S: what the job took where it was traced. One line of JSON: by
 * the skeleton alone, by partial execution alone and by both, of each {"mean", "lo", "hi"} in seconds; {"refused"} with the
 * reason too where it would not be told.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "predictor/estimate/estimate.h"

static int record_read(const char *path, struct result *r)
{
	char text[RESULT_MAX_BYTES + 1];
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(text, 1, sizeof(text), f) : 0;
	struct errbuf err;

	if (!f || result_parse(text, len, r, &err) < 0) {
		fprintf(stderr, "%s: %s\n", path, f ? err.text : "cannot be read");
		if (f)
			fclose(f);
		return -1;
	}
	fclose(f);
	return 0;
}

enum kind { SKELETON, PARTIAL, BOTH };

/* NULL: there is no probe of this kind. */
static json_t *told(const struct result *source, const struct result *target, double elapsed_s, enum kind kind)
{
	struct result s = *source, t = *target;
	struct estimate e;
	struct errbuf err;
	int rc;

	for (unsigned i = 0; kind == SKELETON && i < s.traces_n && i < t.traces_n; i++)
		s.traces[i].partial.present = t.traces[i].partial.present = false;
	rc = kind == PARTIAL ? estimate_from_partial(&s, &t, elapsed_s, &e, &err) : estimate_from_probes(&s, &t, elapsed_s, &e, &err);
	if (rc == 0)
		return json_pack("{s:f,s:f,s:f,s:s}", "mean", e.mean_s, "lo", e.lo_s, "hi", e.hi_s, "kind", estimate_kind_name(e.kind));
	if (!(e.mean_s > 0))
		return kind == PARTIAL ? NULL : json_pack("{s:s}", "refused", err.text);
	return json_pack("{s:s,s:f,s:f,s:f}", "refused", err.text, "mean", e.mean_s, "lo", e.lo_s, "hi", e.hi_s);
}

int main(int argc, char **argv)
{
	static const char *const name[] = {"skeleton", "partial", "both"};
	static struct result source, target;
	double elapsed_s = argc == 4 ? strtod(argv[3], NULL) : 0;
	json_t *j;

	if (!(elapsed_s > 0)) {
		fputs("usage: make_estimate SOURCE TARGET ELAPSED_S\n", stderr);
		return 2;
	}
	if (record_read(argv[1], &source) < 0 || record_read(argv[2], &target) < 0)
		return 1;
	j = json_object();
	for (enum kind k = SKELETON; k <= BOTH; k++) {
		json_t *one = told(&source, &target, elapsed_s, k);

		if (one)
			json_object_set_new(j, name[k], one);
	}
	json_dumpf(j, stdout, JSON_COMPACT | JSON_SORT_KEYS);
	putchar('\n');
	json_decref(j);
	return 0;
}
