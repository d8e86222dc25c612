/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes stop files, marks and words, by the first byte. An accepted input can be written, and is accepted again. */
#include <stdlib.h>
#include <string.h>

#include "trace/format/stop.h"
#include "trace/format/words.h"

static void plan(const char *text, size_t n)
{
	struct stop_plan p, again;
	struct errbuf err;
	struct buf b = {0};

	if (stop_plan_parse(text, n, UINT32_MAX, &p, &err) < 0)
		return;
	stop_plan_format(&p, &b);
	if (stop_plan_parse((char *)b.data, b.len, UINT32_MAX, &again, &err) < 0)
		abort();
	stop_plan_free(&again);
	stop_plan_free(&p);
	buf_free(&b);
}

static void marks(const char *text, size_t n)
{
	struct stop_marks m, again;
	struct errbuf err;
	struct buf b = {0};

	if (stop_marks_parse(text, n, &m, &err) < 0)
		return;
	stop_marks_format(&m, &b);
	if (stop_marks_parse((char *)b.data, b.len, &again, &err) < 0)
		abort();
	stop_marks_free(&again);
	stop_marks_free(&m);
	buf_free(&b);
}

static void words(const char *data, size_t n)
{
	char *text = strndup(data, n), **list = text ? words_parse(text) : NULL;
	struct buf all = {0}, line = {0};

	for (size_t i = 0; list && list[i]; i++)
		buf_put(&all, list[i], strlen(list[i]) + 1);
	words_put(&line, (char *)all.data, all.len);
	buf_put_u8(&line, '\0');
	free(list);
	if (all.len) {
		list = words_parse((char *)line.data);
		if (!list)
			abort();
		free(list);
	}
	buf_free(&all);
	buf_free(&line);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (!size)
		return 0;
	if (data[0] % 3 == 0)
		plan(text, size - 1);
	else if (data[0] % 3 == 1)
		marks(text, size - 1);
	else
		words(text, size - 1);
	return 0;
}
