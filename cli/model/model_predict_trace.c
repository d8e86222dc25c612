/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent model predict -o: the predicted run as a trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/model.h"
#include "cli/ui/util.h"
#include "common/buf.h"
#include "model/inputs/predicted_trace.h"

static void put_string(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

/* "heat.model (6 runs) for N=577 on 8 ranks, with types, requests and kinds of computation from a.ptrace, b.ptrace" */
static void say_from(const struct model_options *o, const char *path, const struct foresee *f, struct buf *b)
{
	char text[64];

	put_string(b, basename(path));
	snprintf(text, sizeof(text), " (%u runs) for ", f->m->n_runs);
	put_string(b, text);
	for (uint32_t i = 0; i < o->n_given; i++) {
		put_string(b, o->given[i].name);
		put_string(b, "=");
		put_string(b, o->given[i].text);
		put_string(b, i + 1 < o->n_given ? ", " : " ");
	}
	snprintf(text, sizeof(text), "on %u ranks", f->ranks);
	put_string(b, text);
	put_string(b, ", with types, requests and kinds of computation from ");
	for (uint32_t i = 0; i < o->n_from; i++) {
		put_string(b, i ? ", " : "");
		put_string(b, basename(o->from[i]));
	}
	put_string(b, f->about[0] ? "; " : "");
	put_string(b, f->about);
	buf_put_u8(b, '\0');
}

static struct trace *open_run(const char *path, struct errbuf *err)
{
	struct trace *t = trace_open(path, err);
	const char *why = NULL;

	if (!t)
		return NULL;
	if (trace_predicted(t))
		why = "is itself predicted: name traces of runs";
	else if (trace_is_imported(t))
		why = "was imported: it has no calls to learn from";
	else if (trace_is_partial(t))
		why = "is of a run that was cut short: name traces of whole runs";
	if (!why)
		return t;
	trace_close(t);
	err_set(err, "%s %s", path, why);
	return NULL;
}

int model_predict_trace(const struct model_options *o, const char *path, struct foresee *f, struct errbuf *err)
{
	struct trace **t = calloc(o->n_from + 1u, sizeof(struct trace *));
	struct pattern_set set = {0};
	struct buf from = {0};
	uint32_t n = 0;
	int rc = -1;

	while (t && n < o->n_from && (t[n] = open_run(o->from[n], err)))
		n++;
	if (!t)
		err_set(err, "no memory for %u traces", o->n_from);
	if (!t || n < o->n_from || patterns_learn(&set, t, n, err) < 0)
		goto out;
	say_from(o, path, f, &from);
	if (from.failed)
		err_set(err, "no memory to predict a trace");
	else
		rc = predicted_trace_write(f, &set, (const char *)from.data, o->out, err);
out:
	buf_free(&from);
	patterns_free(&set);
	for (uint32_t i = 0; i < n; i++)
		trace_close(t[i]);
	free(t);
	return rc;
}
