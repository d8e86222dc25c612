/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of a made-up Python 3.11: they are read where its objects are as expected. Where a pointer leads to no memory,
 * to another type or in a circle, none is read. The interpreter's functions and types are this program's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "spank/tracer/python.h"

#pragma GCC visibility push(default)
const char *Py_GetVersion(void);
void *PyGILState_GetThisThreadState(void);
int _Py_IsFinalizing(void);
int PyCode_Addr2Line(const void *code, int at);

char PyCode_Type[8], PyUnicode_Type[8];
#pragma GCC visibility pop

struct string {
	int64_t references;
	const void *type;
	int64_t length, hash;
	uint64_t state, wide;
	char text[16];
};

struct code {
	int64_t references;
	const void *type;
	int64_t units, other[11];
	const void *file, *function;
	int64_t more[7], first[8];
};

struct frame {
	int64_t other[4];
	const void *code;
	int64_t object;
	const void *back;
	const char *at;
	int64_t owner;
};

static struct {
	struct string file, function;
	struct code code;
	struct frame frame[3];
	const void *inner[2]; /* the second: the innermost frame */
	const void *state[8]; /* the last: inner */
} world;

static char *no_memory;
static void *state;
static int ending, line;

const char *Py_GetVersion(void)
{
	return "3.11.7 (made up)";
}

void *PyGILState_GetThisThreadState(void)
{
	return state;
}

int _Py_IsFinalizing(void)
{
	return ending;
}

int PyCode_Addr2Line(const void *code, int at)
{
	assert_ptr_equal(code, &world.code);
	return line + at;
}

static struct string string(const char *text)
{
	struct string s = {.type = PyUnicode_Type, .length = (int64_t)strlen(text), .state = 7 << 5};

	strcpy(s.text, text);
	return s;
}

/* Three frames in one function, in a thread whose state is known. */
static void make_world(void)
{
	world.file = string("a.py");
	world.function = string("work");
	world.code = (struct code){.type = PyCode_Type, .units = 32, .file = &world.file, .function = &world.function};
	for (int i = 0; i < 3; i++)
		world.frame[i] = (struct frame){.code = &world.code, .back = i < 2 ? &world.frame[i + 1] : NULL,
						.at = (char *)world.code.first + 2 * i};
	world.inner[1] = &world.frame[0];
	world.state[7] = world.inner;
	state = world.state;
	ending = 0;
	line = 10;
	python_begin();
	assert_true(python_runs);
}

static void test_lines(void **unused)
{
	struct python_line l[PYTHON_FRAMES];
	uint64_t h;

	(void)unused;
	make_world();
	h = python_hash();
	assert_true(h && python_runs);
	assert_int_equal(python_lines(l), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(l[i].file, "a.py");
		assert_string_equal(l[i].function, "work");
		assert_int_equal(l[i].line, 10 + 2 * i);
	}
	world.frame[0].at += 64; /* behind the code's end: it may be written while it runs */
	assert_int_equal(python_lines(l), 3);
	assert_int_equal(l[0].line, 0);
	assert_int_not_equal(python_hash(), h);
	ending = 1;
	assert_int_equal(python_hash(), 0);
	ending = 0;
	state = NULL;
	assert_int_equal(python_hash(), 0);
	assert_true(python_runs);
}

/* A thread without frames says nothing about the build. The next look is the first one. */
static void test_no_frame_yet(void **unused)
{
	struct python_line l[PYTHON_FRAMES];

	(void)unused;
	make_world();
	world.inner[1] = NULL;
	assert_int_equal(python_hash(), 0);
	assert_int_equal(python_lines(l), 0);
	assert_true(python_runs);
	world.inner[1] = &world.frame[1];
	assert_true(python_hash() && python_runs);
	assert_int_equal(python_lines(l), 2);
}

static void no_frames_are_read(void)
{
	struct python_line l[PYTHON_FRAMES];

	assert_int_equal(python_hash(), 0);
	assert_false(python_runs);
	assert_int_equal(python_lines(l), 0);
}

/* Each pointer that is followed leads to an unreadable page, to its last bytes, to an odd address or to text. */
static void test_wrong_pointers(void **unused)
{
	const void **place[] = {&world.state[7], &world.inner[1], &world.frame[0].code, &world.frame[0].back,
				&world.frame[2].code, &world.frame[2].back, &world.code.type, &world.code.file,
				&world.code.function, &world.file.type, &world.function.type};
	const void *to[] = {no_memory, no_memory - 8, no_memory - 16, (char *)&world + 1, "no object", (void *)8};

	(void)unused;
	for (size_t i = 0; i < sizeof(place) / sizeof(*place); i++)
		for (size_t k = 0; k < sizeof(to) / sizeof(*to); k++) {
			make_world();
			*place[i] = to[k];
			no_frames_are_read();
		}
	make_world();
	state = no_memory;
	no_frames_are_read();
}

static void test_wrong_values(void **unused)
{
	(void)unused;
	make_world();
	world.frame[2].back = &world.frame[0]; /* a circle */
	no_frames_are_read();
	make_world();
	world.frame[1].code = &world.file; /* another type */
	no_frames_are_read();
	make_world();
	world.frame[1].at = (char *)world.code.first + 64;
	no_frames_are_read();
	make_world();
	line = 2000000000;
	no_frames_are_read();
	for (int i = 0; i < 4; i++) {
		static const int64_t length[] = {-1, 3, 5, 5000};

		make_world();
		world.function.length = length[i];
		no_frames_are_read();
	}
	make_world();
	world.file.text[1] = '\x80';
	no_frames_are_read();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_no_frame_yet),
	    cmocka_unit_test(test_wrong_pointers),
	    cmocka_unit_test(test_wrong_values),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	no_memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (no_memory == MAP_FAILED || mprotect(no_memory += 4096, 4096, PROT_NONE))
		return 1;
	memset(no_memory - 4096, 0x58, 4096);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
