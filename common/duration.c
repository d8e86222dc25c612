/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time spans in Slurm's formats: see duration.h. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/append.h"
#include "common/duration.h"

#define FIELD_DIGITS_MAX 9 /* keeps products below 2^63 */

/* Read 1 to FIELD_DIGITS_MAX decimal digits, and move *text behind them. */
static int take_number(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	while (isdigit((unsigned char)*p)) {
		if (p - *text >= FIELD_DIGITS_MAX)
			return -1;
		v = v * 10 + (uint64_t)(*p++ - '0');
	}
	if (p == *text)
		return -1;
	*text = p;
	*value = v;
	return 0;
}

/* Read numbers separated by ':' up to the end of the text. Returns how many (1 to 3), or -1. */
static int take_fields(const char *text, uint64_t field[3])
{
	int n = 0;

	for (;;) {
		if (n == 3 || take_number(&text, &field[n]) < 0)
			return -1;
		n++;
		if (!*text)
			return n;
		if (*text++ != ':')
			return -1;
	}
}

static int parse_with_days(const char *text, uint64_t days, uint64_t *seconds)
{
	uint64_t f[3] = {0};

	if (take_fields(text, f) < 0)
		return -1;
	*seconds = days * 86400 + f[0] * 3600 + f[1] * 60 + f[2];
	return 0;
}

static int parse_without_days(const char *text, uint64_t *seconds)
{
	uint64_t f[3] = {0};

	switch (take_fields(text, f)) {
	case 1:
		*seconds = f[0] * 60;
		return 0;
	case 2:
		*seconds = f[0] * 60 + f[1];
		return 0;
	case 3:
		*seconds = f[0] * 3600 + f[1] * 60 + f[2];
		return 0;
	default:
		return -1;
	}
}

int duration_parse(const char *text, uint64_t *seconds, struct errbuf *err)
{
	const char *p = text ? text : "";
	uint64_t days;
	int rv;

	if (!strcasecmp(p, "UNLIMITED") || !strcasecmp(p, "INFINITE") || !strcmp(p, "-1")) {
		*seconds = UINT64_MAX;
		return 0;
	}
	if (strchr(p, '-'))
		rv = take_number(&p, &days) < 0 || *p++ != '-' ? -1 : parse_with_days(p, days, seconds);
	else
		rv = parse_without_days(p, seconds);
	if (rv < 0)
		return err_set(err, "'%.40s' is not a time: write minutes, HH:MM:SS or D-HH:MM:SS",
			       text ? text : "");
	return 0;
}

int duration_parse_minutes(const char *text, uint32_t *minutes, struct errbuf *err)
{
	uint64_t s;

	if (duration_parse(text, &s, err) < 0)
		return -1;
	if (s == UINT64_MAX)
		*minutes = DURATION_UNLIMITED;
	else if ((s + 59) / 60 >= DURATION_UNSET)
		return err_set(err, "'%.40s' is too long a time", text);
	else
		*minutes = (uint32_t)((s + 59) / 60);
	return 0;
}

int duration_parse_span(const char *text, uint64_t *seconds, struct errbuf *err)
{
	static const struct {
		char unit;
		uint64_t s;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
	const char *p = text ? text : "";
	uint64_t v;

	if (strpbrk(p, ":-"))
		return duration_parse(text, seconds, err);
	if (take_number(&p, &v) < 0)
		goto bad;
	if (!*p) {
		*seconds = v;
		return 0;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (tolower((unsigned char)p[0]) == units[i].unit && !p[1]) {
			*seconds = v * units[i].s;
			return 0;
		}
	}
bad:
	return err_set(err, "'%.40s' is not a time span: write a number with s, m, h, d or w, as in 90d",
		       text ? text : "");
}

const char *duration_format(char *buf, size_t size, double seconds)
{
	unsigned long long s;
	size_t len = 0;

	if (!size)
		return buf;
	if (isnan(seconds)) {
		snprintf(buf, size, "-");
		return buf;
	}
	if (seconds > 1e15) {
		snprintf(buf, size, "UNLIMITED");
		return buf;
	}
	s = seconds > 0 ? (unsigned long long)(seconds + 0.5) : 0;
	if (s >= 86400) {
		append_number(buf, size, &len, s / 86400);
		append_text(buf, size, &len, "-");
	}
	append_padded(buf, size, &len, s / 3600 % 24, 2);
	append_text(buf, size, &len, ":");
	append_padded(buf, size, &len, s / 60 % 60, 2);
	append_text(buf, size, &len, ":");
	append_padded(buf, size, &len, s % 60, 2);
	return buf;
}

const char *duration_format_minutes(char *buf, size_t size, uint32_t minutes)
{
	if (minutes == DURATION_UNSET)
		snprintf(buf, size, "-");
	else if (minutes == DURATION_UNLIMITED)
		snprintf(buf, size, "UNLIMITED");
	else
		duration_format(buf, size, minutes * 60.0);
	return buf;
}

uint32_t duration_ceil_minutes(double seconds)
{
	double m;

	if (!(seconds > 0))
		return 0;
	m = ceil(seconds / 60.0);
	return m >= DURATION_UNSET ? DURATION_UNSET - 1 : (uint32_t)m;
}

int duration_parse_share(const char *text, double max, double *share, struct errbuf *err)
{
	const char *start = text ? text : "";
	char *end = NULL;
	double v = 0;

	/* strtod also accepts "nan", "inf" and hexadecimal numbers; a share starts with a digit or a point. */
	if (isdigit((unsigned char)*start) || *start == '.')
		v = strtod(start, &end);
	if (!end || end == start || start[strcspn(start, "xX")])
		goto bad;
	if (*end == '%') {
		v /= 100;
		end++;
	}
	if (*end || !isfinite(v) || v > max)
		goto bad;
	*share = v;
	return 0;
bad:
	return err_set(err, "'%.40s' is not a share between 0 and %g: write it as 15%% or 0.15", start, max);
}
