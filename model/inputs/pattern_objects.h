/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datatypes, windows and files of a rank, call by call. The values of a constructor determine the object that it makes.
 * A call uses the latest object that a certain control point made. Windows and files are numbered and named as the
 * tracer does it.
 */
#ifndef PRECEDENT_MODEL_INPUTS_PATTERN_OBJECTS_H
#define PRECEDENT_MODEL_INPUTS_PATTERN_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/inputs/call.h"
#include "common/arena.h"
#include "trace/format/defs.h"
#include "trace/format/event.h"

enum pattern_object { POBJ_TYPE, POBJ_WIN, POBJ_FILE, POBJ_N };

/* Control points whose latest object was the used one in every call. One is enough; if several are left, their latest
 * objects have to agree. */
struct pattern_makers {
	bool seen;
	uint32_t n;
	uint32_t *by;
};
/* Name of a file: text without the numbers in its last part, and the least number of digits of each number. */
struct pattern_name {
	char *text; /* a byte 1 for each number */
	uint8_t pad[CALL_FILE_NUMBERS];
	bool other; /* the calls do not all have such a form */
};

struct pattern_objects {
	uint32_t n; /* control points */
	int64_t *latest[POBJ_N];
	uint32_t n_win, n_file;
	struct trace_win *win;
	struct trace_file *file; /* names are malloced */
	bool *win_live, *file_live;
};

/* -1 without memory. */
int pattern_objects_begin(struct pattern_objects *o, uint32_t n_patterns);
void pattern_objects_end(struct pattern_objects *o);
/* A control point made one, or freed it. */
void pattern_objects_made(struct pattern_objects *o, enum pattern_object kind, uint32_t pattern, int64_t index);
void pattern_objects_freed(struct pattern_objects *o, enum pattern_object kind, int64_t index);
/* Index of a window or a file that is made now, with its ordinal corrected; TRACE_NULL without memory. */
int64_t pattern_objects_window(struct pattern_objects *o, const struct trace_win *w);
int64_t pattern_objects_file(struct pattern_objects *o, uint32_t comm, int32_t amode, const char *name);

/* -1 without memory. */
int pattern_makers_learn(struct pattern_makers *m, const struct pattern_objects *o, enum pattern_object kind, int64_t index,
			 struct arena *arena);
/* The object, or TRACE_NULL with the reason. */
int64_t pattern_makers_find(const struct pattern_makers *m, const struct pattern_objects *o, enum pattern_object kind, const char **why);

/* -1 without memory. */
int pattern_name_learn(struct pattern_name *p, const char *name, struct arena *arena);
/* Writes the name with these numbers to out. Returns -1 if the name does not fit, or if a number is missing or
 * negative. */
int pattern_name_make(const struct pattern_name *p, const int64_t *number, uint32_t n, char *out, size_t size);

/* Computes size, lower bound and extent of a datatype from its contents (MPI-3.1, section 4.1). type[]: the datatypes
 * that contain its parts. Returns 1 on success, 0 if the contents do not determine the sizes (call_type_measured), -1
 * if the contents are invalid. */
int pattern_type_measure(struct trace_type *t, const struct trace_type *type, uint32_t n_type);

#endif
