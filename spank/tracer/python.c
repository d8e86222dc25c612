/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Python: see python.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/arch/arch.h"
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
	int16_t first;	  /* in code: its first instruction; 0: it is in another object */
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
#define OBJECT_SIZE	16	     /* of a string's length in characters, and of code's in units of 2 bytes */
#define STRING_STATE	32	     /* offset of a string's flags */
#define STRING_ASCII	(3u << 5)    /* its text is in the object, and ASCII */
#define OWNED_BY_C	3	     /* a frame that stands for C code */
#define FRAMES_MOST	10000u	     /* of a thread: ten times the interpreter's limit, which programs raise */
#define TEXT_MOST	4096u	     /* bytes of a name: PATH_MAX */
#define LINE_MOST	10000000     /* of a file: generated ones have some 100,000 */

bool python_runs;

static bool checked; /* this interpreter's frames are where the layout has them; guarded by the recorder's lock */

/* Set once by python_begin. */
static const struct layout *layout;
static const void *code_type, *string_type;
static void *(*this_thread)(void);
static int (*is_ending)(void);
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

	python_runs = checked = false;
	*(void **)&version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
	*(void **)&this_thread = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	*(void **)&line_of = dlsym(RTLD_DEFAULT, "PyCode_Addr2Line");
	*(void **)&is_ending = dlsym(RTLD_DEFAULT, "Py_IsFinalizing"); /* 3.13 */
	if (!is_ending)
		*(void **)&is_ending = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
	code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
	string_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
	if (!version || !this_thread || !is_ending || !line_of || !code_type || !string_type || sizeof(void *) != 8)
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

static bool in_code(const char *code, int64_t at)
{
	int64_t units = INT32_MAX / 2;

	if (layout->first)
		memcpy(&units, code + OBJECT_SIZE, sizeof(units));
	return at >= 0 && at / 2 < units && at <= INT32_MAX;
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

/* While the interpreter ends, it frees the states of other threads. */
static const char *this_state(void)
{
	return is_ending() ? NULL : this_thread();
}

static const char *first_frame(void)
{
	const char *thread = this_state(), *at = thread ? pointer(thread + layout->thread) : NULL;

	return at && layout->inner >= 0 ? pointer(at + layout->inner) : at;
}

/* ---- the first look ---- */

/* Can the 8 bytes be read? See is_readable of caller.c. */
static bool is_readable(const char *at)
{
	return !((uintptr_t)at % 8) && arch_syscall(SYS_rt_sigprocmask, -1, (long)at, 0, 8) == -EINVAL;
}

static bool read_pointer(const char **at, int offset)
{
	if (!is_readable(*at + offset))
		return false;
	*at = pointer(*at + offset);
	return true;
}

static bool is_of_type(const char *object, const void *type)
{
	return read_pointer(&object, OBJECT_TYPE) && object == type;
}

/* Is it a string? One that is not ASCII is not read later. *ascii counts the others. */
static bool is_name(const char *string, int member, uint32_t *ascii)
{
	uint64_t length;
	uint32_t state;
	const char *text;

	if (!read_pointer(&string, member) || !is_of_type(string, string_type) || !is_readable(string + STRING_STATE) ||
	    !is_readable(string + OBJECT_SIZE))
		return false;
	memcpy(&length, string + OBJECT_SIZE, sizeof(length));
	memcpy(&state, string + STRING_STATE, sizeof(state));
	if ((state & STRING_ASCII) != STRING_ASCII)
		return true;
	text = string + layout->text;
	for (uint64_t i = 0; i <= length; i++)
		if (length > TEXT_MOST || (!(i % 8) && !is_readable(text + i)) || (uint8_t)text[i] > 127 ||
		    (text[i] == '\0') != (i == length))
			return false;
	++*ascii;
	return true;
}

/* Is the instruction of this frame in its code, and its line one of a file? Its code is of code's type. */
static bool has_line(const char *frame, const char *code)
{
	int64_t at;
	int line;

	if (!is_readable(frame + layout->at) || (layout->first && !is_readable(code + OBJECT_SIZE)))
		return false;
	at = instruction_of(frame, code);
	if (!in_code(code, at))
		return at == -1 || at == -2; /* none has run */
	line = line_of(code, (int)at);
	return line >= -1 && line <= LINE_MOST;
}

/* Is it a frame of Python, or one that stands for C code? */
static bool is_frame(const char *frame, uint32_t *names)
{
	const char *code = frame;

	if (!read_pointer(&code, layout->code))
		return false;
	if (layout->owner && !is_readable(frame + layout->owner / 8 * 8))
		return false;
	if (layout->owner && frame[layout->owner] == OWNED_BY_C)
		return !code || is_readable(code + OBJECT_TYPE);
	return is_of_type(code, code_type) && has_line(frame, code) && is_name(code, layout->file, names) &&
	       is_name(code, layout->function, names);
}

/*
 * Read all that is read later, in all frames of the thread, with checks. Builds of Python may differ from the release.
 * Their frames are not read. A thread without frames tells nothing.
 */
static void look_first(void)
{
	const char *at = this_state();
	uint32_t n = 0, names = 0;

	python_runs = false;
	if (is_readable((char *)8)) /* the kernel does not tell */
		return;
	if (at && !read_pointer(&at, layout->thread))
		return;
	if (at && layout->inner >= 0 && !read_pointer(&at, layout->inner))
		return;
	for (; at && n < FRAMES_MOST; n++)
		if (!is_frame(at, &names) || !read_pointer(&at, layout->back))
			return;
	python_runs = !at;
	checked = !at && names;
}

uint64_t python_hash(void)
{
	const char *at;
	uint64_t h = 0;
	struct frame f;

	if (__builtin_expect(!checked, 0))
		look_first();
	if (!checked)
		return 0;
	at = first_frame();
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
	const char *at = checked ? first_frame() : NULL;
	struct frame f;
	uint32_t n = 0;

	while (n < PYTHON_FRAMES && next_frame(&at, &f)) {
		int line = in_code(f.code, f.at) ? line_of(f.code, (int)f.at) : 0;

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
