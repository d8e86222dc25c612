/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See doctor_plugstack.h. The syntax is that of spank(7). */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "cli/admin/doctor_plugstack.h"

#define INCLUDES_MAX 8 /* deep: files may include each other */
#define BLANKS	     " \t\r\n"

static bool find_in(const char *path, struct plugstack_line *line, int depth);

static void take_argument(const char *word, const char *name, char out[PLUGSTACK_PATH_MAX])
{
	size_t n = strlen(name);

	if (!strncmp(word, name, n) && word[n] == '=')
		snprintf(out, PLUGSTACK_PATH_MAX, "%s", word + n + 1);
}

static bool find_included(const char *pattern, struct plugstack_line *line, int depth)
{
	glob_t found;
	bool there = false;

	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc && !there; i++)
		there = find_in(found.gl_pathv[i], line, depth + 1);
	globfree(&found);
	return there;
}

/* "optional|required PLUGIN ARGUMENTS..." or "include PATTERN". */
static bool read_line(const char *path, char *text, struct plugstack_line *line, int depth)
{
	char *save, *word, *plugin;

	text[strcspn(text, "#")] = '\0';
	word = strtok_r(text, BLANKS, &save);
	plugin = word ? strtok_r(NULL, BLANKS, &save) : NULL;
	if (!plugin)
		return false;
	if (!strcmp(word, "include"))
		return find_included(plugin, line, depth);
	if (!strstr(plugin, "spank_precedent.so"))
		return false;
	*line = (struct plugstack_line){.required = !strcmp(word, "required")};
	snprintf(line->file, sizeof(line->file), "%s", path);
	snprintf(line->plugin, sizeof(line->plugin), "%s", plugin);
	while ((word = strtok_r(NULL, BLANKS, &save))) {
		take_argument(word, "conf", line->conf);
		take_argument(word, "lib", line->lib);
		take_argument(word, "spool", line->spool);
	}
	return true;
}

static bool find_in(const char *path, struct plugstack_line *line, int depth)
{
	FILE *f = depth < INCLUDES_MAX ? fopen(path, "re") : NULL;
	char text[4096];
	bool found = false;

	while (f && !found && fgets(text, sizeof(text), f))
		found = read_line(path, text, line, depth);
	if (f)
		fclose(f);
	return found;
}

bool plugstack_find(const char *path, struct plugstack_line *line)
{
	return find_in(path, line, 0);
}
