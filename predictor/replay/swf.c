/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader and writer of the Standard Workload Format: see swf.h. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/replay/swf.h"

#define NUMBER_MAX 9e15 /* larger ones are not whole in a double, and no job has them */
#define TOKEN_MAX  64
#define FILE_MAX   ((size_t)4 << 30)

static const char *const field_names[SWF_FIELDS] = {
    "job number",   "submit time", "wait time", "run time", "processors",   "processor time",
    "memory",	    "requested processors", "requested time", "requested memory", "status", "user",
    "group",	    "executable", "queue",	"partition", "preceding job", "think time",
};

struct parsing {
	const char *name;
	size_t line;
	swf_bad *bad;
	void *arg;
	struct swf *out;
	size_t room;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of [*p, end); its length, 0 when there is none. */
static size_t word(const char **p, const char *end, const char **start)
{
	while (*p < end && is_blank(**p))
		(*p)++;
	*start = *p;
	while (*p < end && !is_blank(**p))
		(*p)++;
	return (size_t)(*p - *start);
}

/* Text of the word for messages, printable; too long a word is cut, and no number. */
static void word_copy(char text[TOKEN_MAX], const char *start, size_t len)
{
	size_t n = len < TOKEN_MAX ? len : TOKEN_MAX - 1;

	memcpy(text, start, n);
	text[n] = 0;
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
}

static int parse_number(const char *text, int64_t *out)
{
	double value;
	char *end;

	if (!*text || text[strspn(text, "+-0123456789.eE")])
		return -1;
	value = strtod(text, &end);
	if (*end || !(fabs(value) <= NUMBER_MAX))
		return -1;
	*out = (int64_t)value;
	return 0;
}

static int parse_fields(const char *p, const char *end, struct swf_job *job, struct errbuf *err)
{
	const char *start;
	size_t len;
	int n = 0;

	while ((len = word(&p, end, &start)) > 0) {
		char text[TOKEN_MAX];

		if (n == SWF_FIELDS)
			return err_set(err, "more than %d fields", SWF_FIELDS);
		word_copy(text, start, len);
		if (len >= TOKEN_MAX || parse_number(text, &job->field[n]) < 0)
			return err_set(err, "field %d (%s): '%.40s' is no number", n + 1, field_names[n], text);
		n++;
	}
	if (n < SWF_FIELDS)
		return err_set(err, "%d fields instead of %d", n, SWF_FIELDS);
	if (job->field[SWF_SUBMIT_S] < 0)
		return err_set(err, "field %d (%s) is negative", SWF_SUBMIT_S + 1, field_names[SWF_SUBMIT_S]);
	return 0;
}

/* "; MaxProcs: 128"; what is no such line is a comment. */
static void parse_header(const char *p, const char *end, struct swf *out)
{
	char key[TOKEN_MAX], value[TOKEN_MAX];
	const char *start;
	size_t len;
	int64_t n;

	p++;
	len = word(&p, end, &start);
	word_copy(key, start, len);
	len = word(&p, end, &start);
	word_copy(value, start, len);
	if (len >= TOKEN_MAX || parse_number(value, &n) < 0 || n <= 0)
		return;
	if (!strcmp(key, "MaxNodes:"))
		out->max_nodes = n;
	else if (!strcmp(key, "MaxProcs:"))
		out->max_procs = n;
}

static int add(struct parsing *g, const struct swf_job *job, struct errbuf *err)
{
	if (g->out->n == g->room) {
		size_t room = g->room ? 2 * g->room : 1024;
		struct swf_job *more = reallocarray(g->out->jobs, room, sizeof(*more));

		if (!more)
			return err_set(err, "%s: out of memory after %zu jobs", g->name, g->out->n);
		g->out->jobs = more;
		g->room = room;
	}
	g->out->jobs[g->out->n++] = *job;
	return 0;
}

static int parse_line(struct parsing *g, const char *p, const char *end, struct errbuf *err)
{
	struct errbuf why;
	struct swf_job job;

	while (p < end && is_blank(*p))
		p++;
	if (p == end)
		return 0;
	if (*p == ';') {
		parse_header(p, end, g->out);
		return 0;
	}
	if (parse_fields(p, end, &job, &why) == 0)
		return add(g, &job, err);
	err_prefix(&why, "%s:%zu", g->name, g->line);
	if (g->bad)
		g->bad(g->arg, why.text);
	if (++g->out->bad > SWF_BAD_MAX)
		return err_set(err, "%s: more than %d damaged lines: no Standard Workload Format", g->name, SWF_BAD_MAX);
	return 0;
}

int swf_parse(const char *name, const char *text, size_t len, swf_bad *bad, void *arg, struct swf *out, struct errbuf *err)
{
	struct parsing g = {.name = name, .bad = bad, .arg = arg, .out = out};
	const char *p = text, *end = text + len;

	*out = (struct swf){.max_nodes = -1, .max_procs = -1};
	while (p < end) {
		const char *line = memchr(p, '\n', (size_t)(end - p));

		if (!line)
			line = end;
		g.line++;
		if (parse_line(&g, p, line, err) < 0)
			goto fail;
		p = line < end ? line + 1 : end;
	}
	if (out->n)
		return 0;
	err_set(err, "%s: no jobs in it", name);
fail:
	swf_free(out);
	return -1;
}

int swf_read(const char *path, swf_bad *bad, void *arg, struct swf *out, struct errbuf *err)
{
	size_t len = 0, room = 1 << 16;
	char *text = NULL;
	FILE *f = !strcmp(path, "-") ? stdin : fopen(path, "re");
	int rv = -1;

	*out = (struct swf){0};
	if (!f)
		return err_set(err, "%s: %s", path, strerror(errno));
	for (;;) {
		char *more = room <= FILE_MAX ? realloc(text, room) : NULL;

		if (!more) {
			err_set(err, "%s: too large (%zu bytes and more)", path, len);
			goto out;
		}
		text = more;
		len += fread(text + len, 1, room - len, f);
		if (len < room)
			break;
		room *= 2;
	}
	if (ferror(f))
		err_set(err, "%s: %s", path, strerror(errno));
	else if (len >= 2 && text[0] == '\x1f' && text[1] == '\x8b')
		err_set(err, "%s is compressed by gzip: uncompress it, as in zcat FILE | precedent replay --swf -", path);
	else
		rv = swf_parse(path, text, len, bad, arg, out, err);
out:
	free(text);
	if (f != stdin)
		fclose(f);
	return rv;
}

void swf_free(struct swf *s)
{
	free(s->jobs);
	*s = (struct swf){.max_nodes = -1, .max_procs = -1};
}

int swf_write_job(FILE *f, const struct swf_job *j)
{
	for (int i = 0; i < SWF_FIELDS; i++)
		if (fprintf(f, "%s%lld", i ? " " : "", (long long)j->field[i]) < 0)
			return -1;
	return fputc('\n', f) == EOF ? -1 : 0;
}
