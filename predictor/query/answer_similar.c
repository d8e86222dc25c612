/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See answer_similar.h. */
#include <stdio.h>
#include <string.h>

#include "predictor/estimate/ladder.h"
#include "predictor/query/answer_similar.h"

#define SECONDS_MAX 4e9 /* as ladder.h has it, above any interval's upper bound that means something */

json_t *answer_similar(const char *similar)
{
	double mean, lo, hi;
	char rung[16];
	int end = 0;

	if (sscanf(similar, "%15[a-z]/%lf/%lf/%lf%n", rung, &mean, &lo, &hi, &end) != 4 || (similar[end] && similar[end] != ','))
		return NULL;
	if (!(lo >= 0 && lo <= mean && mean <= hi && hi <= SECONDS_MAX))
		return NULL;
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		if (!strcmp(rung, ladder_rung_name((enum ladder_rung)r)))
			return json_pack("{s:s, s:f, s:f, s:f}", "source", rung, "seconds", mean, "lo_s", lo, "hi_s",
					 hi);
	return NULL;
}

void answer_similar_parts(json_t *run, const char *similar)
{
	static const char *const parts[][2] = {{"launch/", "same_launches"}, {"fresh/", "fresh"}};

	for (const char *p = similar; *p; p += strcspn(p, ","), p += *p == ',') {
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			unsigned n;
			int end = 0;

			if (!strncmp(p, parts[i][0], strlen(parts[i][0])) && sscanf(p + strlen(parts[i][0]), "%10u%n", &n, &end) == 1 &&
			    end == (int)strcspn(p + strlen(parts[i][0]), ","))
				json_object_set_new(run, parts[i][1], json_integer(n));
		}
	}
}
