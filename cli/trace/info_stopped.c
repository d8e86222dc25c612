/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See info_stopped.h. */
#include "cli/trace/info_stopped.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/ending_text.h"
#include "cli/ui/term.h"
#include "cli/ui/util.h"
#include "trace/functions.h"

#define GROUPS_SHOWN   6
#define FINDINGS_SHOWN 3

bool info_first_ended(const struct trace *t, char *text, size_t size)
{
	struct errbuf err;
	struct ending *e = ending_create(t, &err);
	struct symbolizer *sym = e && e->n_finding ? symbolizer_create() : NULL;
	bool found = e && e->n_finding;

	*text = '\0';
	if (found)
		snprintf(text, size, "%s", ending_text(&(struct ending_words){.e = e, .sym = sym}, &e->finding[0]));
	symbolizer_destroy(sym);
	ending_destroy(e);
	return found;
}

struct group {
	char text[1024];
	uint32_t first, last, n;
	bool in_row;     /* its ranks follow each other */
	double seconds;  /* of the first */
};

/* Ranks that stood alike, as "ranks 1-3" or "4 ranks, the first 1". */
static void print_group(const struct info_view *v, const struct group *g)
{
	char who[80], at[32], line[1200], cut[1200];
	int used;

	if (g->n == 1)
		snprintf(who, sizeof(who), "rank %u", g->first);
	else if (g->in_row)
		snprintf(who, sizeof(who), "ranks %u-%u", g->first, g->last);
	else
		snprintf(who, sizeof(who), "%u ranks, the first %u,", g->n, g->first);
	snprintf(line, sizeof(line), "%s in %s", g->n == 1 ? "was" : "were", g->text);
	if (g->seconds > 0)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), ", for %s", info_time(at, sizeof(at), g->seconds));
	used = printf("  %sstopped%s  %s ", term_on(TERM_WARNING), term_off(), who);
	printf("%s\n", info_rest(v, used, line, cut, sizeof(cut)));
}

static void add_to_groups(struct group *g, uint32_t *n, const char *text, const struct ending *e, uint32_t rank)
{
	uint32_t i = 0;

	while (i < *n && strcmp(g[i].text, text) != 0)
		i++;
	if (i == *n) {
		g[i] = (struct group){.first = rank, .in_row = true, .seconds = e->rank[rank].seconds};
		snprintf(g[i].text, sizeof(g[i].text), "%s", text);
		(*n)++;
	} else {
		g[i].in_row &= rank == g[i].last + 1;
	}
	g[i].last = rank;
	g[i].n++;
}

/* Ranks outside of MPI first: one that was killed is among them as a rule, and the others wait for it. */
static int outside_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int in_x = strncmp(x->text, "no MPI", 6) != 0, in_y = strncmp(y->text, "no MPI", 6) != 0;

	return in_x != in_y ? in_x - in_y : (x->first > y->first) - (x->first < y->first);
}

static void print_findings(const struct info_view *v, const struct ending *e)
{
	uint32_t shown = v->all || e->n_finding <= FINDINGS_SHOWN ? e->n_finding : FINDINGS_SHOWN;
	struct ending_words w = {.e = e, .sym = v->sym};

	for (uint32_t i = 0; i < shown; i++)
		printf("  %s%-7s%s  %s\n", term_on(TERM_WARNING), ending_word(&e->finding[i]), term_off(),
		       ending_text(&w, &e->finding[i]));
	if (shown < e->n_finding)
		printf("           and %u more such findings: --all\n", e->n_finding - shown);
}

void info_print_stopped(const struct info_view *v)
{
	uint32_t n = 0, shown;
	struct group *g = calloc(trace_n_ranks(v->t), sizeof(*g));
	struct errbuf err;
	struct ending *e = ending_create(v->t, &err);
	struct ending_words w = {.e = e, .sym = v->sym};

	for (uint32_t r = 0; g && e && r < e->n_ranks; r++) {
		if (!ending_is_open(v->t, r) || (e->n_finding && e->finding[0].kind == ENDING_DIED && e->finding[0].rank[0] == r))
			continue;
		w.text[0] = '\0';
		text_add_place(&w, r);
		add_to_groups(g, &n, w.text, e, r);
	}
	if (e)
		print_findings(v, e);
	if (n)
		qsort(g, n, sizeof(*g), outside_first);
	shown = v->all || n < GROUPS_SHOWN ? n : GROUPS_SHOWN;
	for (uint32_t i = 0; i < shown; i++)
		print_group(v, &g[i]);
	if (shown < n)
		printf("           and %u more places: --all\n", n - shown);
	ending_destroy(e);
	free(g);
}

/* ---- for machines ---- */

static void set_rank(json_t *x, const char *key, int64_t rank)
{
	if (rank == TRACE_IN_CALL_NONE)
		return;
	if (rank == TRACE_ANY_SOURCE)
		json_object_set_new(x, key, json_string("any"));
	else if (rank == TRACE_PROC_NULL)
		json_object_set_new(x, key, json_string("none"));
	else if (rank >= 0)
		json_object_set_new(x, key, json_integer(rank));
}

static json_t *call_json(const struct trace_defs *d, struct symbolizer *sym, const struct trace_in_call *c)
{
	json_t *x = json_pack("{s:s}", "call", trace_fn[c->fn].name);
	char site[256];

	set_rank(x, "to", c->dst);
	set_rank(x, "from", c->src);
	if (c->tag == TRACE_ANY_TAG)
		json_object_set_new(x, "tag", json_string("any"));
	else if (c->tag >= 0)
		json_object_set_new(x, "tag", json_integer(c->tag));
	if (c->comm >= 0)
		json_object_set_new(x, "communicator", json_integer(c->comm));
	if (c->win >= 0)
		json_object_set_new(x, "window", json_integer(c->win));
	if (c->file >= 0 && c->file < (int64_t)d->n_file)
		json_object_set_new(x, "file", json_string(d->file[c->file].name));
	if (c->site < d->n_site)
		json_object_set_new(x, "site", json_string(symbolizer_site(sym, d, &d->site[c->site], site, sizeof(site))));
	return x;
}

static json_t *stop_json(const struct ending *e, uint32_t rank, struct symbolizer *sym)
{
	const struct trace_defs *d = &trace_get_rank(e->t, rank)->defs;
	const struct ending_rank *k = &e->rank[rank];
	json_t *x = k->call->inside ? call_json(d, sym, k->call) : json_object(), *under_way = json_array();
	struct ending_words w = {.e = e, .sym = sym};
	struct trace_in_call made;

	json_object_set_new(x, "rank", json_integer(rank));
	json_object_set_new(x, "hangs", json_boolean(k->hangs));
	if (k->call->inside)
		json_object_set_new(x, "seconds", json_real(k->seconds));
	if (!k->call->inside && k->last != ENDING_NONE) {
		made = text_call_of(d, k->last);
		json_object_set_new(x, "after", call_json(d, sym, &made));
	}
	if (k->where == ENDING_OUTSIDE && text_add_computing(&w, rank))
		json_object_set_new(x, "computing_in", json_string(strstr(w.text, "in ") + strlen("in ")));
	for (uint32_t i = 0; i < k->n_request; i++) {
		made = text_call_of(d, k->request[i]);
		json_array_append_new(under_way, call_json(d, sym, &made));
	}
	json_object_set_new(x, "requests", under_way);
	if (rank == ending_first(e->t))
		json_object_set_new(x, "ended_first", json_true());
	return x;
}

void info_set_stopped(json_t *root, const struct trace *t, struct symbolizer *sym)
{
	json_t *stopped = json_array();
	struct errbuf err;
	struct ending *e = ending_create(t, &err);

	for (uint32_t r = 0; e && r < e->n_ranks; r++)
		if (ending_is_open(t, r))
			json_array_append_new(stopped, stop_json(e, r, sym));
	if (e)
		json_object_set_new(root, "ending", ending_json(e, sym));
	json_object_set_new(root, "stopped", stopped);
	ending_destroy(e);
}
