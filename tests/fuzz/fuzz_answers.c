/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes what `precedent show` and `explain` print of an answer that comes from a file (--from). Every line is clean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/jobs/query_print.h"
#include "common/clean.h"
#include "common/clean_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void checked(char *text)
{
	for (char *end; *text; text = end + 1) {
		end = strchr(text, '\n');
		if (!end)
			abort();
		*end = '\0';
		if (!clean_is_line(text))
			abort();
	}
}

static void printed(json_t *answer, int (*print)(json_t *))
{
	FILE *before = stdout;
	char *text = NULL;
	size_t len;

	stdout = open_memstream(&text, &len);
	if (!stdout)
		abort();
	print(answer);
	fclose(stdout);
	stdout = before;
	if (strlen(text) != len)
		abort();
	checked(text);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *answer = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

	setenv("NO_COLOR", "1", 1);
	if (json_is_object(json_object_get(answer, "job"))) {
		clean_json_all(answer);
		printed(answer, query_print_show);
		printed(answer, query_print_explain);
	}
	json_decref(answer);
	return 0;
}
