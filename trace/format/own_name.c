/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See own_name.h. */
#include "trace/format/own_name.h"

#include <string.h>

/* The names between commas. */
static bool split(char *list, const char **value, uint32_t *n)
{
	while (*list) {
		size_t len = strcspn(list, ",");

		if (!len || *n == TRACE_OWN_VALUES)
			return false;
		value[(*n)++] = list;
		list += len;
		if (*list)
			*list++ = '\0';
	}
	return true;
}

bool trace_own_name(const char *string, struct trace_own_name *out)
{
	size_t len = string ? strlen(string) : 0;
	char *open, *middle;

	*out = (struct trace_own_name){.name = out->text};
	if (len < 4 || len >= sizeof(out->text) || string[len - 1] != ')')
		return false;
	memcpy(out->text, string, len - 1);
	open = strchr(out->text, '(');
	middle = open ? strchr(open, ';') : NULL;
	if (!middle || open == out->text)
		return false;
	*open = *middle = '\0';
	return split(open + 1, out->value[0], &out->n[0]) && split(middle + 1, out->value[1], &out->n[1]);
}
