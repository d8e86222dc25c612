/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads past runs of all candidates at once: see past_runs.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/past_runs.h"

static int list_read(struct past_runs *r, enum past_of of, size_t rows, struct errbuf *errp)
{
	struct store_past_filter f = {.max_rows = rows};
	struct store_past *run;
	int n;

	if (r->list[of].looked_at >= rows)
		return 0;
	if (of == PAST_OF_PROGRAM) {
		f.key = r->key;
	} else if (of == PAST_OF_FAMILY) {
		f.family = r->family;
	} else {
		f.uid = r->uid;
		f.except = r->family;
	}
	run = malloc(rows * sizeof(*run));
	if (!run)
		return err_set(errp, "no memory for past runs");
	n = store_past_read(r->store, &f, run, rows, errp);
	if (n < 0) {
		free(run);
		return -1;
	}
	free(r->list[of].run);
	r->list[of].run = run;
	r->list[of].n = (size_t)n;
	r->list[of].looked_at = rows;
	return 0;
}

int past_runs_get(struct past_runs *r, enum past_of of, const char *candidate, int64_t since, struct store_past *out, size_t max,
		  struct errbuf *errp)
{
	size_t rows = STORE_PAST_WINDOW * max, n = 0;

	if (of == PAST_OF_FAMILY && !r->family[0])
		return 0;
	if (list_read(r, of, rows, errp) < 0)
		return -1;
	for (size_t i = 0; i < r->list[of].n && n < max; i++) {
		const struct store_past *run = &r->list[of].run[i];

		if (run->row >= rows)
			break;
		if (run->submit_time >= since && !strcmp(run->candidate, candidate))
			out[n++] = *run;
	}
	return (int)n;
}

static void list_free(struct past_runs *r, enum past_of of)
{
	free(r->list[of].run);
	r->list[of].run = NULL;
	r->list[of].n = r->list[of].looked_at = 0;
}

void past_runs_key_set(struct past_runs *r, const char *key)
{
	list_free(r, PAST_OF_PROGRAM);
	r->key = key;
}

void past_runs_free(struct past_runs *r)
{
	for (int i = 0; i < PAST_LISTS; i++)
		list_free(r, (enum past_of)i);
}
