/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See build_sources.h. */
#include "common/build_sources.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "common/shells.h"

static const char *const COMMANDS[] = {"cmake", "gmake", "make", "meson", "ninja", "scons"};
static const char *const DIR_OPTIONS[] = {"--build", "--directory", "-C"};
static const char *const FILES[] = {"CMakeLists.txt", "GNUmakefile", "Makefile", "SConstruct",
				    "build.ninja",    "makefile",    "meson.build"};
static const char *const SUFFIXES[] = {
	"C", "F", "F03", "F08", "F77", "F90", "F95", "S", "c", "cc", "cmake", "cpp", "cu", "cuh", "cxx",
	"f", "f03", "f08", "f77", "f90", "f95", "for", "h", "hh", "hpp", "hxx", "inc", "inl", "mk", "s"
};

static bool is_build_command(const char *name)
{
	return WORD_LISTED(path_base(name), COMMANDS);
}

const struct script_word *build_word(const struct script_word *words, size_t n)
{
	size_t i = 0;
	while (i < n && (words[i].flags & (SCRIPT_WORD_ASSIGN | SCRIPT_WORD_OUTPUT)))
		i++;
	if (i < n && (is_launcher(words[i].text) || shell_is_starter(words[i].text)))
		while (i < n && !is_build_command(words[i].text))
			i++;
	return i < n && is_build_command(words[i].text) ? &words[i] : NULL;
}

/* Where words[0..n) build, relative to the command's directory. NULL: it is not known. */
static const char *build_dir(const struct script_word *words, size_t n)
{
	const char *dir = ".";
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sizeof(DIR_OPTIONS) / sizeof(DIR_OPTIONS[0]); k++) {
			const char *option = DIR_OPTIONS[k], *value;
			if (strncmp(words[i].text, option, strlen(option)) != 0)
				continue;
			value = words[i].text + strlen(option);
			if (option[1] == '-' && *value && *value != '=')
				continue;
			if ((words[i].flags & SCRIPT_WORD_OPAQUE) ||
			    (!*value && (i + 1 == n || (words[i + 1].flags & SCRIPT_WORD_OPAQUE))))
				return NULL;
			dir = !*value ? words[i + 1].text : value + (*value == '=');
		}
	}
	return dir;
}

static bool is_source(const char *name)
{
	const char *dot = strrchr(name, '.');
	return WORD_LISTED(name, FILES) || (dot && dot > name && WORD_LISTED(dot + 1, SUFFIXES));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the sources in a directory, in their order. Returns how many; the caller frees the names. */
static size_t sources_of(const char *dir, char *names[BUILD_SOURCES_MAX])
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0, entries = 0;
	bool whole = d != NULL;
	while (whole && (e = readdir(d))) {
		whole = ++entries <= 100 * BUILD_SOURCES_MAX;
		if (!whole || !is_source(e->d_name))
			continue;
		whole = n < BUILD_SOURCES_MAX && (names[n] = strdup(e->d_name));
		n += whole;
	}
	if (d)
		closedir(d);
	while (!whole && n > 0)
		free(names[--n]);
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	return n;
}

static void each_below(const char *dir, const char *below, void (*f)(const char *path, void *arg), void *arg)
{
	char *names[BUILD_SOURCES_MAX], *path = path_normal(dir, below);
	size_t n = path ? sources_of(path, names) : 0;
	for (size_t i = 0; i < n; i++) {
		char *file = path_normal(path, names[i]);
		if (file)
			f(file, arg);
		free(file);
		free(names[i]);
	}
	free(path);
}

void build_sources_each(const struct script_words *w, size_t from, size_t to, void (*f)(const char *path, void *arg),
			void *arg)
{
	const struct script_word *word = build_word(w->words + from, to - from);
	const char *below = word ? build_dir(word, (size_t)(w->words + to - word)) : NULL;
	char *dir = below ? path_normal(w->dirs[word->dir], below) : NULL;
	if (dir) {
		each_below(dir, ".", f, arg);
		each_below(dir, "include", f, arg);
		each_below(dir, "src", f, arg);
	}
	free(dir);
}
