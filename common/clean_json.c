/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clean text as JSON: see clean_json.h. */
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "common/clean_json.h"

json_t *clean_json(const char *s)
{
	char *copy = s ? clean_line(strdup(s)) : NULL;
	json_t *t = copy ? json_string(copy) : json_null();

	free(copy);
	return t;
}

static void clean_string(json_t *v)
{
	char *copy = clean_line(strdup(json_string_value(v)));

	if (!copy || json_string_set(v, copy) < 0)
		json_string_set(v, "?");
	free(copy);
}

/* The parser limits how deep values are nested. */
void clean_json_all(json_t *v)
{
	const char *key;
	json_t *item;
	size_t i;
	void *next;

	if (json_is_string(v) && !clean_is_line(json_string_value(v)))
		clean_string(v);
	json_array_foreach(v, i, item)
		clean_json_all(item);
	json_object_foreach_safe(v, next, key, item) {
		if (clean_is_line(key))
			clean_json_all(item);
		else
			json_object_del(v, key);
	}
}
