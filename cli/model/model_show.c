/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent model show: the rules of a model. Traces of its runs tell the function and line of each call. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/model.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "model/induce/file.h"
#include "model/induce/text.h"
#include "model/inputs/call.h"
#include "trace/read/reader.h"

/* The site with this place in a call's name, or NULL. */
static const struct trace_site *find_site(const struct trace_defs *d, const char *place, size_t len)
{
	char text[CALL_PLACE];

	for (uint32_t i = 0; i < d->n_site; i++)
		if (call_place(d, i, text, sizeof(text)) == len && !memcmp(text, place, len))
			return &d->site[i];
	return NULL;
}

/* "MPI_Send app+0x1294 world (count)" becomes "MPI_Send main (app.c:12) world (count)". */
static char *name_call(struct model *m, char *call, const struct trace *t, struct symbolizer *sym)
{
	const char *place = strstr(call, "+0x");
	size_t len;
	char line[256], *name = NULL, *kept = NULL;

	while (place && place > call && place[-1] != ' ')
		place--;
	len = place ? strcspn(place, " ") : 0;
	for (uint32_t r = 0; len && !kept && r < trace_n_ranks(t); r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;
		const struct trace_site *s = find_site(d, place, len);

		if (!s)
			continue;
		symbolizer_site(sym, d, s, line, sizeof(line));
		if (asprintf(&name, "%.*s%s%s", (int)(place - call), call, line, place + len) < 0)
			return call;
		kept = model_strdup(m, name);
		free(name);
	}
	return kept ? kept : call;
}

static int name_calls(const struct model_options *o, struct model *m, struct errbuf *err)
{
	struct symbolizer *sym = symbolizer_create();

	for (uint32_t i = o->n_from; i-- > 0;) {
		struct trace *t = trace_open(o->from[i], err);

		if (!t) {
			symbolizer_destroy(sym);
			return -1;
		}
		for (uint32_t p = 0; p < m->n_points; p++)
			m->point[p] = name_call(m, m->point[p], t, sym);
		for (uint32_t v = 0; v < m->n_vars; v++) /* doubts name their calls */
			m->var[v].name = name_call(m, m->var[v].name, t, sym);
		trace_close(t);
	}
	symbolizer_destroy(sym);
	return 0;
}

int model_show(const struct model_options *o, const char *path)
{
	struct errbuf err;
	struct model *m = model_load(path, &err);
	int rc;

	if (!m)
		return cli_fail("%s", err.text);
	rc = name_calls(o, m, &err);
	if (rc < 0)
		cli_fail("%s", err.text);
	else if ((rc = o->dot ? model_print_dot(m, stdout) : model_print(m, stdout)) < 0)
		cli_fail("the model could not be written");
	model_destroy(m);
	return rc < 0 ? EXIT_FAILURE : 0;
}
