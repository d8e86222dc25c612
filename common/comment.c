/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of admin_comment that Precedent writes: see comment.h. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/append.h"
#include "common/comment.h"
#include "common/duration.h"

#define COMMENT_START "precedent:1 "
#define LIMIT_ROOM    16 /* comment_set_limit writes a longer limit than "-" */

static const char *const act_names[] = {
    [ACT_NONE] = "none",       [ACT_TRACE] = "trace", [ACT_PREDICT] = "predict",
    [ACT_OBSERVE] = "observe", [ACT_PROBE] = "probe",
};

const char *act_name(enum job_act act)
{
	return (unsigned)act < sizeof(act_names) / sizeof(act_names[0]) ? act_names[act] : "none";
}

void comment_init(struct job_comment *c)
{
	*c = (struct job_comment){
	    .act = ACT_NONE,
	    .mode = MODE_OBSERVE,
	    .user_limit_min = DURATION_UNSET,
	    .wish_min = DURATION_UNSET,
	    .limit_min = DURATION_UNSET,
	    .task = COMMENT_NO_TASK,
	};
}

static void append_minutes(char *buf, size_t size, size_t *len, const char *name, uint32_t minutes)
{
	append_text(buf, size, len, name);
	if (minutes == DURATION_UNSET)
		append_text(buf, size, len, "-");
	else if (minutes == DURATION_UNLIMITED)
		append_text(buf, size, len, "unlimited");
	else
		append_number(buf, size, len, minutes);
}

static void append_field(char *buf, size_t size, size_t *len, const char *name, const char *value)
{
	if (!*value)
		return;
	append_text(buf, size, len, name);
	append_text(buf, size, len, value);
}

/* Leaves the field out if it does not fit beside a limit that is set later. */
static void append_spare(char *buf, size_t size, size_t *len, const char *name, const char *value)
{
	const size_t before = *len;

	append_field(buf, size, len, name, value);
	if (*len + LIMIT_ROOM < size)
		return;
	buf[before] = '\0';
	*len = before;
}

static void append_seconds(char *buf, size_t size, size_t *len, const char *name, double s)
{
	append_text(buf, size, len, name);
	append_rounded(buf, size, len, s);
}

int comment_format(const struct job_comment *c, char *buf, size_t size)
{
	size_t len = 0, whole;

	append_field(buf, size, &len, COMMENT_START "act=", act_name(c->act));
	append_field(buf, size, &len, " mode=", mode_name(c->mode));
	append_field(buf, size, &len, " key=", c->key);
	append_field(buf, size, &len, " family=", c->family);
	if (c->act != ACT_PROBE || c->user_limit_min != DURATION_UNSET)
		append_minutes(buf, size, &len, " user_limit=", c->user_limit_min);
	if (c->act != ACT_PROBE) {
		if (c->wish_min != DURATION_UNSET)
			append_minutes(buf, size, &len, " wish=", c->wish_min);
		append_minutes(buf, size, &len, " limit=", c->limit_min);
	}
	if (c->task != COMMENT_NO_TASK) {
		append_text(buf, size, &len, " task=");
		append_number(buf, size, &len, c->task);
	}
	append_field(buf, size, &len, " cand=", c->candidate);
	if (c->pred_s > 0) {
		append_seconds(buf, size, &len, " pred=", fmax(c->pred_s, 1));
		append_seconds(buf, size, &len, " lo=", c->lo_s);
		append_seconds(buf, size, &len, " hi=", ceil(c->hi_s));
	}
	if (len >= size) {
		if (size)
			buf[0] = '\0';
		return -1;
	}
	whole = len;
	if (c->kin[0]) {
		append_field(buf, size, &len, " kin=", c->kin);
		append_text(buf, size, &len, " vars=");
		append_text(buf, size, &len, c->vars);
	}
	if (len >= size) {
		buf[whole] = '\0';
		len = whole;
	}
	/* These fields do without, so they are the first ones left out if the text gets too long. */
	if (c->at[0] && len + strlen(c->at) + 5 < size)
		append_field(buf, size, &len, " at=", c->at);
	whole = len;
	if (c->launch) {
		append_text(buf, size, &len, " launch=");
		append_number(buf, size, &len, c->launch);
	}
	if (len + LIMIT_ROOM >= size) {
		buf[whole] = '\0';
		len = whole;
	}
	append_spare(buf, size, &len, " groups=", c->groups);
	append_spare(buf, size, &len, " similar=", c->similar);
	return (int)len;
}

static int parse_minutes(const char *v, uint32_t *out)
{
	char *end;
	unsigned long n;

	if (!strcmp(v, "-")) {
		*out = DURATION_UNSET;
		return 0;
	}
	if (!strcmp(v, "unlimited")) {
		*out = DURATION_UNLIMITED;
		return 0;
	}
	if (!isdigit((unsigned char)*v))
		return -1;
	n = strtoul(v, &end, 10);
	if (*end || n >= DURATION_UNSET)
		return -1;
	*out = (uint32_t)n;
	return 0;
}

static int parse_seconds(const char *v, double *out)
{
	char *end;
	unsigned long long n;

	if (!isdigit((unsigned char)*v) || strlen(v) > 15)
		return -1;
	n = strtoull(v, &end, 10);
	if (*end)
		return -1;
	*out = (double)n;
	return 0;
}

static int parse_key(const char *v, char out[IDENTITY_KEY_LEN + 1])
{
	if (!identity_key_valid(v))
		return -1;
	memcpy(out, v, IDENTITY_KEY_LEN + 1);
	return 0;
}

static int parse_launch(const char *v, uint64_t *out)
{
	if (!*v || strlen(v) > 19 || v[strspn(v, "0123456789")])
		return -1;
	*out = strtoull(v, NULL, 10);
	return 0;
}

static int parse_act(const char *v, enum job_act *act)
{
	for (unsigned i = 0; i < sizeof(act_names) / sizeof(act_names[0]); i++) {
		if (!strcmp(v, act_names[i])) {
			*act = (enum job_act)i;
			return 0;
		}
	}
	return -1;
}

/* Fields that this version does not know are skipped: later versions may add some. */
static int parse_field(const char *name, const char *v, struct job_comment *c)
{
	if (!strcmp(name, "act"))
		return parse_act(v, &c->act);
	if (!strcmp(name, "mode"))
		return mode_parse(v, &c->mode);
	if (!strcmp(name, "key"))
		return parse_key(v, c->key);
	if (!strcmp(name, "family"))
		return parse_key(v, c->family);
	if (!strcmp(name, "kin"))
		return parse_key(v, c->kin);
	if (!strcmp(name, "vars"))
		return snprintf(c->vars, sizeof(c->vars), "%s", v) < (int)sizeof(c->vars) ? 0 : -1;
	if (!strcmp(name, "user_limit"))
		return parse_minutes(v, &c->user_limit_min);
	if (!strcmp(name, "wish"))
		return parse_minutes(v, &c->wish_min);
	if (!strcmp(name, "limit"))
		return parse_minutes(v, &c->limit_min);
	if (!strcmp(name, "task"))
		return parse_minutes(v, &c->task);
	if (!strcmp(name, "pred"))
		return parse_seconds(v, &c->pred_s);
	if (!strcmp(name, "lo"))
		return parse_seconds(v, &c->lo_s);
	if (!strcmp(name, "hi"))
		return parse_seconds(v, &c->hi_s);
	if (!strcmp(name, "at"))
		return snprintf(c->at, sizeof(c->at), "%s", v) < (int)sizeof(c->at) ? 0 : -1;
	if (!strcmp(name, "launch"))
		return parse_launch(v, &c->launch);
	if (!strcmp(name, "groups"))
		return snprintf(c->groups, sizeof(c->groups), "%s", v) < (int)sizeof(c->groups) ? 0 : -1;
	if (!strcmp(name, "similar"))
		return snprintf(c->similar, sizeof(c->similar), "%s", v) < (int)sizeof(c->similar) ? 0 : -1;
	if (!strcmp(name, "cand"))
		return snprintf(c->candidate, sizeof(c->candidate), "%s", v) < (int)sizeof(c->candidate) ? 0
													 : -1;
	return 0;
}

/*
 * Find the last occurrence at the start of the text or behind " | ". Our part is appended; the text before is
 * foreign.
 */
static const char *find_start(const char *text)
{
	const char *found = NULL;

	for (const char *p = text; (p = strstr(p, COMMENT_START)); p++) {
		if (p == text || (p - text >= 3 && !strncmp(p - 3, " | ", 3)))
			found = p;
	}
	return found;
}

int comment_parse(const char *text, struct job_comment *c)
{
	const char *p = text ? find_start(text) : NULL;
	char field[CONF_CANDIDATE_MAX + 16];

	comment_init(c);
	if (!p)
		return -1;
	p += strlen(COMMENT_START);
	while (*p && *p != '|' && *p != '\n') {
		size_t n = strcspn(p, " \n");
		char *eq;

		if (n >= sizeof(field))
			goto bad;
		memcpy(field, p, n);
		field[n] = '\0';
		eq = strchr(field, '=');
		if (n && !eq)
			goto bad;
		if (n) {
			*eq = '\0';
			if (parse_field(field, eq + 1, c) < 0)
				goto bad;
		}
		p += n;
		p += strspn(p, " ");
	}
	if (c->act == ACT_NONE)
		goto bad;
	return 0;
bad:
	comment_init(c);
	return -1;
}

static bool is_field(const char *word, const char *name)
{
	return !strncmp(word, name, strlen(name));
}

static void append_span(char *buf, size_t size, size_t *len, const char *span, size_t n)
{
	if (*len + n < size) {
		memcpy(buf + *len, span, n);
		buf[*len + n] = '\0';
	}
	*len += n;
}

/* The wish goes in any case. wishes: minutes is a new one, else the limit. */
static int comment_change(const char *text, bool wishes, uint32_t minutes, char *buf, size_t size)
{
	const char *p = text ? find_start(text) : NULL;
	bool ours = true;
	size_t len = 0;

	if (!p)
		return -1;
	p += strlen(COMMENT_START) - 1; /* the space before the first field belongs to the field */
	append_span(buf, size, &len, text, (size_t)(p - text));
	while (*p) {
		size_t gap = strspn(p, " "), n = gap + strcspn(p + gap, " \n");

		if (n == gap)
			n += p[gap] != '\0'; /* the end of a line */
		ours = ours && p[gap] != '|' && p[gap] != '\n';
		if (ours && is_field(p + gap, "limit=")) {
			append_minutes(buf, size, &len, wishes ? " wish=" : " limit=", minutes);
			if (wishes)
				append_span(buf, size, &len, p, n);
		} else if (!ours || !is_field(p + gap, "wish="))
			append_span(buf, size, &len, p, n);
		p += n;
	}
	return len < size ? (int)len : -1;
}

int comment_set_limit(const char *text, uint32_t limit_min, char *buf, size_t size)
{
	return comment_change(text, false, limit_min, buf, size);
}

int comment_set_wish(const char *text, uint32_t wish_min, char *buf, size_t size)
{
	return comment_change(text, true, wish_min, buf, size);
}
