/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rules as text: for people, and as the words that stand in a model's file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/rule.h"

static void put_product(const struct rule *r, uint32_t k, const struct feature *f, char *buf, size_t size)
{
	size_t n = strlen(buf);
	int64_t c = r->num[k + 1];

	snprintf(buf + n, size - n, "%s", n ? c < 0 ? " - " : " + " : c < 0 ? "-" : "");
	n = strlen(buf);
	if (llabs(c) != 1)
		snprintf(buf + n, size - n, "%lld*", llabs(c));
	n = strlen(buf);
	snprintf(buf + n, size - n, "%s%s%s%s%s", f[r->f[k]].name, r->g[k] == RULE_NONE ? "" : "*",
		 r->g[k] == RULE_NONE ? "" : f[r->g[k]].name, r->h[k] == RULE_NONE ? "" : "*",
		 r->h[k] == RULE_NONE ? "" : f[r->h[k]].name);
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

static void put_range(const char *name, const char *than, int64_t lo, int64_t hi, char *buf, size_t size)
{
	char less[FEATURE_NAME + 4] = "";

	if (than)
		snprintf(less, sizeof(less), " - %s", than);
	if (hi == INT64_MAX)
		snprintf(buf, size, "%s%s >= %" PRId64, name, less, lo);
	else if (lo == hi)
		snprintf(buf, size, "%s%s = %" PRId64, name, less, lo);
	else
		snprintf(buf, size, "%s%s <= %" PRId64, name, less, hi);
}

const char *rule_guard_format(const struct rule_guard *g, const struct feature *f, char *buf, size_t size)
{
	size_t n;

	snprintf(buf, size, "always");
	if (g->f == RULE_NONE)
		return buf;
	put_range(f[g->f].name, g->than ? f[g->g].name : NULL, g->lo, g->hi, buf, size);
	if (g->both) {
		n = strlen(buf);
		snprintf(buf + n, size - n, " and ");
		n = strlen(buf);
		put_range(f[g->f2].name, NULL, g->lo2, g->hi2, buf + n, size - n);
	}
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

		snprintf(buf + n, size - n, " %" PRId64 " %s %s%s%s", r->num[k + 1], name_of(f, r->f[k]), name_of(f, r->g[k]),
			 r->h[k] == RULE_NONE ? "" : "*", r->h[k] == RULE_NONE ? "" : f[r->h[k]].name);
	}
	return buf;
}

const char *rule_guard_write(const struct rule_guard *g, const struct feature *f, char *buf, size_t size)
{
	size_t n;

	snprintf(buf, size, "%" PRId64 " %" PRId64 " %s", g->lo, g->hi, name_of(f, g->f));
	n = strlen(buf);
	if (g->than)
		snprintf(buf + n, size - n, " than %s", f[g->g].name);
	else if (g->both)
		snprintf(buf + n, size - n, " and %" PRId64 " %" PRId64 " %s", g->lo2, g->hi2, f[g->f2].name);
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

static int find_feature(const char *name, const struct feature *f, uint32_t n_features, uint32_t *out)
{
	for (uint32_t i = 0; i < n_features; i++)
		if (!strcmp(f[i].name, name)) {
			*out = i;
			return 0;
		}
	return -1;
}

static int feature_word(const char **s, const struct feature *f, uint32_t n_features, bool none, uint32_t *out)
{
	char buf[FEATURE_NAME];

	if (word(s, buf, sizeof(buf)) < 0)
		return -1;
	*out = RULE_NONE;
	return none && !strcmp(buf, "-") ? 0 : find_feature(buf, f, n_features, out);
}

/* "-", a feature, or two of them: "N*ranks". */
static int factors_word(const char **s, const struct feature *f, uint32_t n_features, uint32_t *g, uint32_t *h)
{
	char buf[2 * FEATURE_NAME], *second;

	*g = *h = RULE_NONE;
	if (word(s, buf, sizeof(buf)) < 0)
		return -1;
	if (!strcmp(buf, "-"))
		return 0;
	second = strchr(buf, '*');
	if (second)
		*second++ = '\0';
	if (find_feature(buf, f, n_features, g) < 0)
		return -1;
	return second ? find_feature(second, f, n_features, h) : 0;
}

int rule_read(const char *s, const struct feature *f, uint32_t n_features, struct rule *out)
{
	*out = (struct rule){0};
	if (number(&s, &out->den) < 0 || out->den < 1 || number(&s, &out->num[0]) < 0)
		return -1;
	for (; *s; out->n++)
		if (out->n == 2 || number(&s, &out->num[out->n + 1]) < 0 ||
		    feature_word(&s, f, n_features, false, &out->f[out->n]) < 0 ||
		    factors_word(&s, f, n_features, &out->g[out->n], &out->h[out->n]) < 0)
			return -1;
	return 0;
}

int rule_guard_read(const char *s, const struct feature *f, uint32_t n_features, struct rule_guard *out)
{
	char more[8];

	*out = (struct rule_guard){0};
	if (number(&s, &out->lo) < 0 || number(&s, &out->hi) < 0 || feature_word(&s, f, n_features, true, &out->f) < 0)
		return -1;
	if (!*s)
		return 0;
	if (word(&s, more, sizeof(more)) < 0 || out->f == RULE_NONE)
		return -1;
	out->than = !strcmp(more, "than");
	out->both = !strcmp(more, "and");
	if (out->than ? feature_word(&s, f, n_features, false, &out->g) < 0
		      : !out->both || number(&s, &out->lo2) < 0 || number(&s, &out->hi2) < 0 ||
				feature_word(&s, f, n_features, false, &out->f2) < 0)
		return -1;
	return *s ? -1 : 0;
}
