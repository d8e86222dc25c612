/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info --events: every call of a rank. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/trace/info_print.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"

/* Sources and tags of completed receives without a wildcard are those that their requests began with. */
static bool tells_nothing(const struct sig_walk *w)
{
	bool none = w->kind == TK_ASRC || w->kind == TK_ATAG || w->kind == TK_ASRCS || w->kind == TK_ATAGS;

	for (uint32_t i = 0; i < w->n; i++)
		none &= w->val[i] == TRACE_NULL;
	return none;
}

static void print_params(const struct trace_defs *d, uint32_t sym)
{
	struct sig_walk w;
	const char *sep = "";

	putchar('(');
	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);) {
		if (tells_nothing(&w))
			continue;
		printf("%s%s=", sep, w.name);
		sep = ", ";
		if (!trace_kind_is_array(w.kind)) {
			if (w.kind == TK_TYPE && w.val[0] >= 0 && d->type[w.val[0]].name)
				fputs(d->type[w.val[0]].name, stdout);
			else if (w.kind == TK_OP && w.val[0] >= 0 && d->op[w.val[0]].name)
				fputs(d->op[w.val[0]].name, stdout);
			else
				printf("%" PRId64, w.val[0]);
			continue;
		}
		putchar('[');
		for (uint32_t i = 0; i < w.n; i++)
			printf("%s%" PRId64, i ? " " : "", w.val[i]);
		putchar(']');
	}
	putchar(')');
}

int info_print_events(const struct trace *t, const char *path, uint32_t rank)
{
	struct errbuf err;
	struct trace_iter *it = trace_iter_create(t, rank, &err);
	struct symbolizer *sym = symbolizer_create();
	const struct trace_defs *d;
	struct trace_event ev;
	uint64_t at = 0;
	char site[256];
	bool known;

	if (!it) {
		symbolizer_destroy(sym);
		return cli_fail("%s: %s", path, err.text);
	}
	d = &trace_get_rank(t, rank)->defs;
	printf("# seconds  gap_us  duration_us  call  # call site\n");
	while (trace_iter_next(it, &ev, &known)) {
		at += ev.gap_ns;
		if (known)
			printf("%.6f %.2f %.2f ", (double)at * 1e-9, (double)ev.gap_ns * 1e-3,
			       (double)ev.dur_ns * 1e-3);
		else
			printf("- - - ");
		at += ev.dur_ns;
		fputs(trace_fn[d->sigs.sig[ev.sym].fn].name, stdout);
		print_params(d, ev.sym);
		printf("  # %s\n", symbolizer_site(sym, d, &d->site[d->sigs.sig[ev.sym].site], site, sizeof(site)));
	}
	trace_iter_destroy(it);
	symbolizer_destroy(sym);
	return ferror(stdout) ? 1 : 0;
}
