/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See answer_weighed.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean_json.h"
#include "common/comment.h"
#include "predictor/query/answer_weighed.h"

/* "460": whole seconds to the end of the text; -1 when it is none. */
static double seconds_read(const char *text)
{
	char *end;
	double s;

	if (!*text || strlen(text) > 12 || strspn(text, "0123456789") != strlen(text))
		return -1;
	s = strtod(text, &end);
	return *end ? -1 : s;
}

/* "slow/0/460" or "slow/-/460/closed"; NULL when malformed. */
static json_t *candidate_json(char *text, bool taken)
{
	char *part[4] = {text, NULL, NULL, ""}, *p = text;
	double wait, run;
	bool known;
	int n = 1;

	while (n < 4 && (p = strchr(p, '/'))) {
		*p++ = '\0';
		part[n++] = p;
	}
	if (n < 3 || !*part[0])
		return NULL;
	known = strcmp(part[1], "-") != 0;
	wait = known ? seconds_read(part[1]) : 0;
	run = seconds_read(part[2]);
	if (wait < 0 || run < 0)
		return NULL;
	return json_pack("{s:o, s:b, s:o, s:f, s:o, s:o}", "candidate", clean_json(part[0]), "taken", taken, "wait_s",
			 known ? json_real(wait) : json_null(), "seconds", run, "ends_s",
			 known ? json_real(wait + run) : json_null(), "why", clean_json(part[3]));
}

json_t *answer_weighed(const char *at)
{
	char copy[COMMENT_AT_MAX], *save = NULL;
	json_t *list = json_array();

	snprintf(copy, sizeof(copy), "%s", at);
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		json_t *o = candidate_json(item, item == copy);

		if (o)
			json_array_append_new(list, o);
	}
	return list;
}
