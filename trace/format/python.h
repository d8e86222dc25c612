/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Python in call sites. A function of Python is a module (struct trace_module). The path is that of the
 * source file. The build id is TRACE_PYTHON and the name of the function. Offsets are lines.
 */
#ifndef PRECEDENT_TRACE_PYTHON_H
#define PRECEDENT_TRACE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TRACE_PYTHON "python "

/* The function's name in such a build id; NULL: it is another module. */
static inline const char *trace_python_name(const char *build_id)
{
	size_t n = sizeof(TRACE_PYTHON) - 1;

	return build_id && !strncmp(build_id, TRACE_PYTHON, n) ? build_id + n : NULL;
}

/* Is the file a library's, or no file (<string>)? Python installs libraries below directories of these names. */
static inline bool trace_python_is_installed(const char *path)
{
	return path[0] == '<' || strstr(path, "/site-packages/") || strstr(path, "/dist-packages/") ||
	       strstr(path, "/lib/python");
}

#endif
