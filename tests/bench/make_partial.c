/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partial execution in two steps, for machines that the command line cannot start a program on by itself: write the stop
 * file for a run that something else starts under the tracer (PRECEDENT_STOP_AT), then read the marks that it has left.
 *	make_partial plan|estimate TRACE SECONDS DIR
 * plan prints the seconds until the stop in the trace; estimate prints what the marks say of the whole run, a name and a
 * number on each line. On standard error, with status 1: why there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/partial/partial.h"
#include "skelgen/pipeline.h"

static int fail(const char *why)
{
	fprintf(stderr, "%s\n", why);
	return 1;
}

static int write_stop(const struct partial_plan *p, const char *dir)
{
	char path[4096];
	struct buf b = {0};
	FILE *f;
	int rv = 0;

	snprintf(path, sizeof(path), "%s/" STOP_FILE_NAME, dir);
	stop_plan_format(&p->stop, &b);
	f = fopen(path, "we");
	if (b.failed || !f || fwrite(b.data, 1, b.len, f) != b.len || fclose(f))
		rv = fail("the stop file cannot be written");
	else
		printf("planned_s %.9g\n", p->planned_s);
	buf_free(&b);
	return rv;
}

/* Contents of a small file, or NULL. */
static char *slurp(const char *dir, const char *name, size_t *len)
{
	enum { MOST = 1 << 26 };
	char path[4096], *text = malloc(MOST);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f || !text) {
		free(text);
		text = NULL;
	} else {
		*len = fread(text, 1, MOST - 1, f);
		text[*len] = '\0';
	}
	if (f)
		fclose(f);
	return text;
}

static int print_estimate(const struct partial_plan *p, const char *dir)
{
	struct partial_estimate e;
	struct stop_marks m = {0};
	struct errbuf err;
	size_t len;
	char *text = slurp(dir, STOP_MARKS_NAME, &len);
	int rv;

	if (!text) {
		text = slurp(dir, STOP_REFUSED_NAME, &len);
		if (text)
			text[strcspn(text, "\n")] = '\0';
		rv = fail(text ? text : "the program ended before the place where it was to stop");
	} else if (stop_marks_parse(text, len, &m, &err) < 0 || partial_estimate_make(p, &m, &e, &err) < 0) {
		rv = fail(err.text);
	} else {
		printf("whole_s %.9g\nlo_s %.9g\nhi_s %.9g\nran_s %.9g\nstartup_s %.9g\nratio %.9g\ntraced_computed_s %.9g\n"
		       "computed_s %.9g\n", e.whole_s, e.lo_s, e.hi_s, e.ran_s, e.startup_s, e.ratio, p->computed_s,
		       e.computed_s);
		rv = 0;
	}
	stop_marks_free(&m);
	free(text);
	return rv;
}

int main(int argc, char **argv)
{
	double seconds = argc == 5 ? strtod(argv[3], NULL) : 0;
	struct skel_tree tree = {0};
	struct skel_times times = {0};
	struct partial_plan plan = {0};
	struct errbuf err;
	struct trace *t;
	int rv = 1;

	if (!(seconds > 0) || (strcmp(argv[1], "plan") && strcmp(argv[1], "estimate")))
		return fail("usage: make_partial plan|estimate TRACE SECONDS DIR"), 2;
	t = trace_open(argv[2], &err);
	if (!t || skel_tree_build(t, &tree, &err) < 0)
		return fail(err.text);
	if (skel_times_collect(&tree, &times, &err) < 0 || partial_plan_make(&tree, &times, seconds, &plan, &err) < 0)
		fail(err.text);
	else
		rv = strcmp(argv[1], "plan") ? print_estimate(&plan, argv[4]) : write_stop(&plan, argv[4]);
	partial_plan_free(&plan);
	skel_times_free(&times);
	skel_tree_free(&tree);
	trace_close(t);
	return rv;
}
