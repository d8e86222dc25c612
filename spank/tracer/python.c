/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Python: see python.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "spank/tracer/python.h"

#define VERSION_MIN 8 /* 3.8 */

/* Offsets in the interpreter's objects, as its headers have them. */
struct layout {
	int16_t thread;	  /* in PyThreadState: the frame, or a pointer to it */
	int16_t inner;	  /* in that pointer: the frame; -1: the thread has the frame itself */
	int16_t code, back; /* in a frame: its code, and the frame that called it */
	int16_t at;	  /* in a frame: the instruction */
	int16_t unit;	  /* bytes of an instruction's number; 0: the instruction is a pointer */
	int16_t owner;	  /* in a frame: who owns it; 0: it has no such member */
	int16_t first;	  /* in code: its first instruction */
	int16_t file, function; /* in code: names */
	int16_t text;	  /* in a string of ASCII alone: its text */
};

static const struct layout layouts[] = {
	{24, -1, 32, 24, 104, 1, 0, 0, 104, 112, 48},
	{24, -1, 32, 24, 104, 1, 0, 0, 104, 112, 48},
	{24, -1, 32, 24, 96, 2, 0, 0, 104, 112, 48},
	{56, 8, 32, 48, 56, 0, 0, 184, 112, 120, 48},
	{56, 0, 0, 8, 56, 0, 70, 192, 112, 120, 40},
	{72, -1, 0, 8, 56, 0, 70, 200, 112, 120, 40},
};

#define OBJECT_TYPE	8	     /* offset of an object's type */
#define STRING_STATE	32	     /* offset of a string's flags */
#define STRING_ASCII	(3u << 5)    /* its text is in the object, and ASCII */
#define OWNED_BY_C	3	     /* a frame that stands for C code */

bool python_runs;

/* Set once by python_begin. */
static const struct layout *layout;
static const void *code_type;
static void *(*this_thread)(void);
static int (*line_of)(const void *code, int at);

struct frame {
	const char *code;
	int64_t at; /* bytes from the first instruction */
};

static const char *pointer(const char *at)
{
	const char *to;

	memcpy(&to, at, sizeof(to));
	return to;
}

/* 0.0: unknown. Versions before the release (3.13.0a1) may differ from it, and those without the lock do. */
static int minor_version(const char *text)
{
	int major = 0, minor = 0, micro = 0;
	char stage = ' ';

	if (sscanf(text, "%d.%d.%d%c", &major, &minor, &micro, &stage) < 3 || major != 3)
		return 0;
	return stage == 'a' || stage == 'b' || strstr(text, "free-threading") ? 0 : minor;
}

void python_begin(void)
{
	const char *(*version)(void);
	int minor;

	python_runs = false;
	*(void **)&version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
	*(void **)&this_thread = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	*(void **)&line_of = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
	code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
	if (!version || !this_thread || !line_of || !code_type || sizeof(void *) != 8)
		return;
	minor = minor_version(version());
	if (minor < VERSION_MIN || minor >= VERSION_MIN + (int)(sizeof(layouts) / sizeof(*layouts)))
		return;
	layout = &layouts[minor - VERSION_MIN];
	python_runs = true;
}

static int64_t instruction_of(const char *frame, const char *code)
{
	int32_t number;

	if (!layout->unit)
		return pointer(frame + layout->at) - (code + layout->first);
	memcpy(&number, frame + layout->at, sizeof(number));
	return (int64_t)number * layout->unit;
}

/* The frame behind *at that runs Python code, or false. *at: the next place to look. */
static bool next_frame(const char **at, struct frame *out)
{
	for (; *at; *at = pointer(*at + layout->back)) {
		const char *code = pointer(*at + layout->code);

		if (!code || pointer(code + OBJECT_TYPE) != code_type ||
		    (layout->owner && (*at)[layout->owner] == OWNED_BY_C))
			continue;
		*out = (struct frame){code, instruction_of(*at, code)};
		*at = pointer(*at + layout->back);
		return true;
	}
	return false;
}

static const char *first_frame(void)
{
	const char *thread = this_thread(), *at = thread ? pointer(thread + layout->thread) : NULL;

	return at && layout->inner >= 0 ? pointer(at + layout->inner) : at;
}

uint64_t python_hash(void)
{
	const char *at = first_frame();
	uint64_t h = 0;
	struct frame f;

	for (uint32_t n = 0; n < PYTHON_FRAMES && next_frame(&at, &f); n++) {
		h = (h ^ (uintptr_t)f.code ^ (uint64_t)f.at << 48) * 0x9fb21c651e98df25ull;
		h ^= h >> 29;
	}
	return h;
}

static const char *text_of(const char *string)
{
	uint32_t state;

	if (!string)
		return "?";
	memcpy(&state, string + STRING_STATE, sizeof(state));
	return (state & STRING_ASCII) == STRING_ASCII ? string + layout->text : "?";
}

uint32_t python_lines(struct python_line *to)
{
	const char *at = first_frame();
	struct frame f;
	uint32_t n = 0;

	while (n < PYTHON_FRAMES && next_frame(&at, &f)) {
		int line = f.at >= 0 && f.at <= INT32_MAX ? line_of(f.code, (int)f.at) : 0;

		to[n++] = (struct python_line){text_of(pointer(f.code + layout->file)),
					       text_of(pointer(f.code + layout->function)),
					       line > 0 ? (uint32_t)line : 0};
	}
	return n;
}

uintptr_t python_code(void)
{
	return (uintptr_t)this_thread;
}
