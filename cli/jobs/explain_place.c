/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The candidates between which a job's place was chosen, as a table in words; from predictor/query/answer_weighed.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/jobs/query_print.h"
#include "common/duration.h"

#define CELL 32

static const char *why_text(const char *word, bool known)
{
	static const struct {
		const char *word, *text;
	} words[] = {
		{"refused", "slurmctld would not start it there"},
		{"closed", "closed to the user or to this size"},
		{"changed", "partitions were changed a moment before"},
		{"limit", "the partition's limit is too short"},
		{"unnamed", "not among the partitions asked for"},
		{"features", "not with the features asked for"},
		{"mode", "nothing is placed there (mode)"},
		{"other", "no candidate any more"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i].word))
			return words[i].text;
	return known ? "" : "when it would start is not known";
}

static void cell(const json_t *o, const char *key, bool least, char out[CELL])
{
	char text[DURATION_TEXT_MAX];

	if (!json_is_number(json_object_get(o, key)))
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, "%s%s", least ? ">" : "", duration_format(text, sizeof(text), jnum(o, key)));
}

void explain_place(const json_t *weighed)
{
	char starts[CELL], runs[CELL], ends[CELL];
	const json_t *o;
	size_t i;

	if (!json_array_size(weighed))
		return;
	printf("Place:     %-16s %11s %11s %11s\n", "candidate", "starts in", "runs", "ends after");
	json_array_foreach(weighed, i, o)
	{
		const char *why = jstr(o, "why");
		bool least = !strcmp(why, "least");

		cell(o, "wait_s", least, starts);
		cell(o, "seconds", false, runs);
		cell(o, "ends_s", least, ends);
		printf("           %-16.40s %11s %11s %11s", jstr(o, "candidate"), starts, runs, ends);
		why = why_text(why, json_is_number(json_object_get(o, "wait_s")));
		if (json_is_true(json_object_get(o, "taken")))
			why = "here it went";
		printf("%s%s\n", *why ? "  " : "", why);
	}
}
