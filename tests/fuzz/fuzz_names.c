/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes small parsers of names and text: clean text, names in the spool, names of nodes, words of a trace's command. Clean
 * text is clean and as long as before. Words are written and read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clean.h"
#include "common/nodes.h"
#include "predictor/spool/spool.h"
#include "trace/format/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void cleaned(const char *text)
{
	char *line = strdup(text), *lines = strdup(text), cut[17];

	if (!line || !lines)
		abort();
	clean_line(line);
	clean_line(clean_text(lines));
	clean_copy(cut, sizeof(cut), text);
	if (!clean_is_line(line) || strcmp(line, lines) || strlen(line) != strlen(text) || !clean_is_line(cut) ||
	    (clean_is_line(text) && strcmp(line, text)))
		abort();
	free(line);
	free(lines);
}

static void words(const char *text)
{
	char **word = words_parse(text), **again;
	struct buf list = {0}, line = {0};

	if (!word)
		return;
	for (char **w = word; *w; w++)
		buf_put(&list, *w, strlen(*w) + 1);
	words_put(&line, (const char *)list.data, list.len);
	buf_put_u8(&line, 0);
	again = line.failed ? NULL : words_parse((const char *)line.data);
	if (!again)
		abort();
	for (size_t i = 0; word[i] || again[i]; i++)
		if (!word[i] || !again[i] || strcmp(word[i], again[i]))
			abort();
	free(again);
	free(word);
	buf_free(&list);
	buf_free(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	cleaned(text);
	words(text);
	if (spool_is_trace(text) && (strchr(text, '/') || *text == '.'))
		abort();
	spool_is_leftover(text);
	if (nodes_name_valid(text) && (strchr(text, '/') || *text == '.' || !clean_is_line(text)))
		abort();
	free(text);
	return 0;
}
