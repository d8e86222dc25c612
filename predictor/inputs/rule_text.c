/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rules as text: for people, and as the words that stand in a model's file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/inputs/rule.h"

static void put_product(const struct rule *r, uint32_t k, const struct feature *f, char *buf, size_t size)
{
	size_t n = strlen(buf);
	int64_t c = r->num[k + 1];

	snprintf(buf + n, size - n, "%s", n ? c < 0 ? " - " : " + " : c < 0 ? "-" : "");
	n = strlen(buf);
	if (llabs(c) != 1)
		snprintf(buf + n, size - n, "%lld*", llabs(c));
	n = strlen(buf);
	snprintf(buf + n, size - n, "%s%s%s", f[r->f[k]].name, r->g[k] == RULE_NONE ? "" : "*",
		 r->g[k] == RULE_NONE ? "" : f[r->g[k]].name);
}

const char *rule_format(const struct rule *r, const struct feature *f, char *buf, size_t size)
{
	size_t n;

	buf[0] = '\0';
	for (uint32_t k = 0; k < r->n; k++)
		put_product(r, k, f, buf, size);
	n = strlen(buf);
	if (!r->n)
		snprintf(buf, size, "%" PRId64, r->num[0]);
	else if (r->num[0])
		snprintf(buf + n, size - n, " %c %lld", r->num[0] < 0 ? '-' : '+', llabs(r->num[0]));
	n = strlen(buf);
	if (r->den != 1)
		snprintf(buf + n, size - n, ", over %" PRId64, r->den);
	return buf;
}

const char *rule_guard_format(const struct rule_guard *g, const struct feature *f, char *buf, size_t size)
{
	if (g->f == RULE_NONE)
		snprintf(buf, size, "always");
	else if (g->hi == INT64_MAX)
		snprintf(buf, size, "%s >= %" PRId64, f[g->f].name, g->lo);
	else if (g->lo == g->hi)
		snprintf(buf, size, "%s = %" PRId64, f[g->f].name, g->lo);
	else
		snprintf(buf, size, "%s <= %" PRId64, f[g->f].name, g->hi);
	return buf;
}

/* ---- words ---- */

static const char *name_of(const struct feature *f, uint32_t i)
{
	return i == RULE_NONE ? "-" : f[i].name;
}

const char *rule_write(const struct rule *r, const struct feature *f, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRId64 " %" PRId64, r->den, r->num[0]);
	for (uint32_t k = 0; k < r->n; k++) {
		size_t n = strlen(buf);

		snprintf(buf + n, size - n, " %" PRId64 " %s %s", r->num[k + 1], name_of(f, r->f[k]), name_of(f, r->g[k]));
	}
	return buf;
}

const char *rule_guard_write(const struct rule_guard *g, const struct feature *f, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRId64 " %" PRId64 " %s", g->lo, g->hi, name_of(f, g->f));
	return buf;
}

static int word(const char **s, char *buf, size_t size)
{
	size_t n = strcspn(*s, " ");

	if (!n || n >= size)
		return -1;
	memcpy(buf, *s, n);
	buf[n] = '\0';
	*s += n;
	*s += **s == ' ';
	return 0;
}

static int number(const char **s, int64_t *v)
{
	char buf[24], *end;

	if (word(s, buf, sizeof(buf)) < 0)
		return -1;
	*v = strtoll(buf, &end, 10);
	return *end || *v == INT64_MIN ? -1 : 0;
}

static int feature_word(const char **s, const struct feature *f, uint32_t n_features, bool none, uint32_t *out)
{
	char buf[FEATURE_NAME];

	if (word(s, buf, sizeof(buf)) < 0)
		return -1;
	*out = RULE_NONE;
	if (none && !strcmp(buf, "-"))
		return 0;
	for (uint32_t i = 0; i < n_features; i++)
		if (!strcmp(f[i].name, buf)) {
			*out = i;
			return 0;
		}
	return -1;
}

int rule_read(const char *s, const struct feature *f, uint32_t n_features, struct rule *out)
{
	*out = (struct rule){0};
	if (number(&s, &out->den) < 0 || out->den < 1 || number(&s, &out->num[0]) < 0)
		return -1;
	for (; *s; out->n++)
		if (out->n == 2 || number(&s, &out->num[out->n + 1]) < 0 ||
		    feature_word(&s, f, n_features, false, &out->f[out->n]) < 0 ||
		    feature_word(&s, f, n_features, true, &out->g[out->n]) < 0)
			return -1;
	return 0;
}

int rule_guard_read(const char *s, const struct feature *f, uint32_t n_features, struct rule_guard *out)
{
	if (number(&s, &out->lo) < 0 || number(&s, &out->hi) < 0 || feature_word(&s, f, n_features, true, &out->f) < 0)
		return -1;
	return *s ? -1 : 0;
}
