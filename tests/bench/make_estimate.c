/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What precedentd would tell, of two probes' records: the predictor's own estimate, for programs that measure how right it is.
 *	make_estimate SOURCE TARGET ELAPSED_S
 * SOURCE and TARGET: result records (predictor/result.h); ELAPSED_S: what the job took where it was traced. One line of JSON: by
 * the skeleton alone, by partial execution alone and by both, of each {"mean", "lo", "hi"} in seconds; {"mean", "refused"} with
 * the reason where it would not be told.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "predictor/estimate.h"

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

/* The record as if there were one kind of probe alone: the estimator treats the seconds of either in the same way. Partial
 * execution imitates nothing, so that nothing hangs on what the kernels take. False: it is not there. */
static bool alone(struct result *r, enum kind kind)
{
	for (unsigned i = 0; kind != BOTH && i < r->traces_n; i++) {
		struct result_trace *t = &r->traces[i];
		const struct result_partial p = t->partial;

		t->partial = (struct result_partial){0};
		if (kind == SKELETON)
			continue;
		if (!p.present)
			return false;
		t->skel_s = p.whole_s;
		t->lo_s = p.lo_s;
		t->hi_s = p.hi_s;
		t->confidence = 1;
		t->compute = p.compute;
		r->kernels_n = 0;
	}
	return true;
}

/* The same record, and nothing in doubt of what it says. */
static void make_certain(struct result *r)
{
	r->kernels_n = 0;
	r->noise = 0;
	for (unsigned i = 0; i < r->traces_n; i++) {
		struct result_trace *t = &r->traces[i];

		t->lo_s = t->hi_s = t->skel_s;
		t->partial.lo_s = t->partial.hi_s = t->partial.whole_s;
		t->confidence = 1;
	}
}

/* NULL: there is no probe of this kind. */
static json_t *told(const struct result *source, const struct result *target, double elapsed_s, enum kind kind)
{
	struct result s = *source, t = *target;
	struct estimate e;
	struct errbuf err, why;
	json_t *j;

	if (!alone(&s, kind) || !alone(&t, kind))
		return NULL;
	if (estimate_from_probes(&s, &t, elapsed_s, &e, &err) == 0)
		return json_pack("{s:f,s:f,s:f,s:s}", "mean", e.mean_s, "lo", e.lo_s, "hi", e.hi_s, "kind", estimate_kind_name(e.kind));
	j = json_pack("{s:s}", "refused", err.text);
	make_certain(&s);
	make_certain(&t);
	if (estimate_from_probes(&s, &t, elapsed_s, &e, &why) == 0)
		json_object_set_new(j, "mean", json_real(e.mean_s));
	return j;
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
