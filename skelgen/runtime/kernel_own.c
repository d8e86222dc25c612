/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs loops of the program itself: see own.h. */
#include "skelgen/runtime/own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "skelgen/runtime/kernel_work.h"

#define LOOK_UNITS 16384 /* between two looks at the numbers in the memory */
#define LOOKS      64    /* numbers that are looked at */
#define LOOK_LESS  8     /* times as seldom, where the last look has found the same */
#define LARGE      1e100
#define FACTOR     0.125

typedef void (*own_fn)(uint64_t units);

struct own {
	uint8_t *at[OWN_MOST]; /* images; NULL: none */
	uint8_t *memory;       /* that they go through; NULL: none does */
	const uint8_t *numbers; /* that it is filled with, a page */
	size_t bytes;
	uint64_t units, look_at, look_every;
	int renewed; /* at the last look */
	uint32_t draw;
	unsigned before; /* of the processor's flags */
};

static struct {
	struct own_image image[OWN_MOST];
	int n;
	uint64_t most; /* bytes of the areas of one; 0: not bounded yet */
} taken;

void own_bound(uint64_t bytes)
{
	taken.most = bytes;
}

static uint32_t processor_has(void)
{
	uint32_t has = 0;

#if defined(__x86_64__)
	has |= __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") ? OWN_SSE4 : 0;
	has |= __builtin_cpu_supports("avx") ? OWN_AVX : 0;
	has |= __builtin_cpu_supports("avx2") ? OWN_AVX2 : 0;
	has |= __builtin_cpu_supports("fma") ? OWN_FMA : 0;
	has |= __builtin_cpu_supports("f16c") ? OWN_F16C : 0;
	has |= __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") ? OWN_BMI : 0;
#endif
	return has;
}

/* Numbers between 1 and 2 that differ from each other: sums and products of a few of them are normal numbers too. Whatever may be
 * taken for doubles, floats or integers is floats, of which two are a normal double as well: others would be slow. What is in registers to
 * begin with, which loops multiply by, is an eighth: what is stored and loaded again would grow without bound. */
static void fill_numbers(uint8_t *data)
{
	double *d = (double *)(data + OWN_DOUBLES * OWN_PAGE), *dv = (double *)(data + OWN_VECTOR_DOUBLES);
	float *f = (float *)(data + OWN_FLOATS * OWN_PAGE), *fv = (float *)(data + OWN_VECTOR_FLOATS);
	uint32_t x = 2463534242u;

	for (unsigned i = 0; i < OWN_PAGE / sizeof *f; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		f[i] = 1.0f + (float)(x >> 9) / (1u << 23);
		if (i < OWN_PAGE / sizeof *d)
			d[i] = 1.0 + (double)x / 4294967296.0;
	}
	for (unsigned i = 0; i < 16 * OWN_VECTOR_BYTES / sizeof *f; i++) {
		fv[i] = f[i] * (float)FACTOR;
		if (i < 16 * OWN_VECTOR_BYTES / sizeof *d)
			dv[i] = d[i] * FACTOR;
	}
	for (unsigned i = 0; i < OWN_VECTOR_BYTES / sizeof x; i++) {
		uint32_t *mask = (uint32_t *)(data + OWN_MASKS) + i;

		mask[OWN_MASK(0, 0) / 4 - OWN_MASKS / 4] = i % 2 ? INT32_MAX : UINT32_MAX;
		mask[OWN_MASK(0, 1) / 4 - OWN_MASKS / 4] = i % 2 ? 1u << 31 : 0;
		mask[OWN_MASK(1, 0) / 4 - OWN_MASKS / 4] = INT32_MAX;
		mask[OWN_MASK(1, 1) / 4 - OWN_MASKS / 4] = 1u << 31;
	}
	memcpy(data + OWN_GENERAL, f, 16 * sizeof(uint64_t));
	for (int part = OWN_INTEGERS; part < OWN_PARTS; part++)
		memcpy(data + (unsigned)part * OWN_PAGE, f, OWN_PAGE);
}

/* Where the areas of a loop begin, and how large they are. Returns the bytes of all. */
static uint64_t lay_out(const struct own_image *image, uint64_t begin[OWN_WALKS], uint64_t bytes[OWN_WALKS])
{
	double most = taken.most > 0 && taken.most < OWN_WALKS_MOST ? (double)taken.most : OWN_WALKS_MOST, all = 0, part;
	uint64_t at = 0;

	for (uint32_t k = 0; k < image->n_walk; k++) {
		all += (double)image->walk[k].bytes;
		most -= (double)image->walk[k].span + OWN_PAGE;
	}
	part = all > 0 && all > most ? fmax(0, most) / all : 1;
	for (uint32_t k = 0; k < image->n_walk; k++) {
		begin[k] = at;
		bytes[k] = (uint64_t)(part * (double)image->walk[k].bytes);
		at += (bytes[k] + image->walk[k].span + OWN_PAGE - 1) / OWN_PAGE * OWN_PAGE;
	}
	return at;
}

uint64_t own_memory(unsigned classes)
{
	uint64_t begin[OWN_WALKS], bytes[OWN_WALKS], most = 0, all;

	for (int i = 0; i < taken.n; i++) {
		all = classes >> (CLASS_OWN_0 + i) & 1 ? lay_out(&taken.image[i], begin, bytes) : 0;
		most = all > most ? all : most;
	}
	return most;
}

static void fill_memory(struct own *o)
{
	for (size_t at = 0; at < o->bytes; at += OWN_PAGE)
		memcpy(o->memory + at, o->numbers, o->bytes - at < OWN_PAGE ? o->bytes - at : OWN_PAGE);
}

/* Filled with numbers as the integers' part of an image. */
static int open_memory(struct own *o, size_t bytes, const uint8_t *numbers)
{
	void *p;

	if (posix_memalign(&p, OWN_PAGE, bytes) != 0)
		return -1;
	o->memory = p;
	o->bytes = bytes;
	o->numbers = numbers;
	o->look_at = o->look_every = LOOK_UNITS;
	o->draw = 2463534242u;
	fill_memory(o);
	return 0;
}

static int is_strange(const uint8_t *at)
{
	double v;

	memcpy(&v, at, sizeof v);
	return !(fabs(v) < LARGE) || fabs(v) < 1 / LARGE;
}

/* Where a loop is again and again. */
static int is_strange_place(const struct own_image *image, const uint8_t *memory)
{
	uint64_t begin[OWN_WALKS], bytes[OWN_WALKS];
	int strange = 0;

	lay_out(image, begin, bytes);
	for (uint32_t k = 0; k < image->n_walk; k++)
		for (uint64_t at = 0; image->walk[k].bytes == 0 && at + sizeof(double) <= image->walk[k].span && at < OWN_PAGE; at += sizeof(double))
			strange |= is_strange(memory + begin[k] + at);
	return strange;
}

/* What loops store they load again, and some numbers grow or shrink at each time until they are infinite or nothing, which the program's never
 * are and which emulated processors take several times as long for: then all begin anew. What is no number to begin with is looked at
 * less often. */
static void look_at_numbers(struct own *o, const struct own_image *image)
{
	int strange = is_strange_place(image, o->memory);

	for (int i = 0; i < LOOKS; i++) {
		o->draw = o->draw * 1664525u + 1013904223u;
		strange |= is_strange(o->memory + o->draw % (o->bytes / sizeof(double)) * sizeof(double));
	}
	if (strange)
		fill_memory(o);
	o->look_every = !strange ? LOOK_UNITS : o->renewed ? o->look_every * LOOK_LESS : o->look_every;
	o->renewed = strange;
	o->look_at = o->units + o->look_every;
}

static void begin_walks(const struct own_image *image, uint8_t *state, uint8_t *memory)
{
	uint64_t begin[OWN_WALKS], bytes[OWN_WALKS];

	lay_out(image, begin, bytes);
	for (uint32_t k = 0; k < image->n_walk; k++) {
		uint64_t *at = (uint64_t *)(state + OWN_WALK(k));

		at[0] = at[OWN_WALK_BEGIN / 8] = (uintptr_t)(memory + begin[k]);
		at[OWN_WALK_END / 8] = (uintptr_t)(memory + begin[k] + bytes[k]);
	}
}

/* The code in a file without a name, as that of programs is in files: emulators look at every turn whether code that is in none has
 * changed, for which valgrind takes up to as long as for the code. -1: there can be none. */
static int code_file(const struct own_image *image)
{
	int fd = memfd_create("precedent-loop", MFD_CLOEXEC);

	if (fd >= 0 && (ftruncate(fd, OWN_DATA + OWN_DATA_BYTES) != 0 || pwrite(fd, image->code, image->len, 0) != (ssize_t)image->len)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* fd: of code_file; -1: in memory alone. */
static uint8_t *map_code(const struct own_image *image, int fd)
{
	uint8_t *p = mmap(NULL, OWN_DATA + OWN_DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (fd < 0)
		memcpy(p, image->code, image->len);
	if (mprotect(p, OWN_DATA, PROT_READ | PROT_EXEC) != 0) {
		munmap(p, OWN_DATA + OWN_DATA_BYTES);
		return NULL;
	}
	return p;
}

static uint8_t *map_image(const struct own_image *image)
{
	int fd = code_file(image);
	uint8_t *p = map_code(image, fd);

	if (fd >= 0) {
		close(fd);
		p = p != NULL ? p : map_code(image, -1);
	}
	if (p == NULL)
		return NULL;
	fill_numbers(p + OWN_DATA);
	*(uint64_t *)(p + OWN_DATA + OWN_ADDRESS) = (uintptr_t)(p + OWN_DATA);
	return p;
}

#if defined(__x86_64__)
/* What is too small for a normal number is none, in all that the thread computes: programs' numbers hardly ever are; those that a loop is
 * led to become it here and there, where differences of them are multiplied or integers are taken for numbers, and some processors take a
 * hundred times as long for an operation then, others no longer than for any. Not at each run: valgrind takes longer for that than for a unit. */
static unsigned without_small_numbers(void)
{
	enum { DENORMALS_ARE_ZERO = 0x0040, FLUSH_TO_ZERO = 0x8000 };
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | DENORMALS_ARE_ZERO | FLUSH_TO_ZERO);
	return before;
}

static void with_small_numbers(unsigned before) { _mm_setcsr(before); }
#else
static unsigned without_small_numbers(void) { return 0; }
static void with_small_numbers(unsigned before) { (void)before; }
#endif

struct own *own_create(unsigned classes)
{
	struct own *o = calloc(1, sizeof *o);
	size_t memory = (size_t)own_memory(classes);

	if (o != NULL)
		o->before = without_small_numbers();
	for (int i = 0; o != NULL && i < taken.n; i++) {
		if (!(classes >> (CLASS_OWN_0 + i) & 1))
			continue;
		o->at[i] = map_image(&taken.image[i]);
		if (o->at[i] == NULL || (o->memory == NULL && memory > 0 && open_memory(o, memory, o->at[i] + OWN_DATA + OWN_INTEGERS * OWN_PAGE) != 0)) {
			own_destroy(o);
			return NULL;
		}
		begin_walks(&taken.image[i], o->at[i] + OWN_DATA, o->memory);
	}
	return o;
}

void own_destroy(struct own *o)
{
	if (o == NULL)
		return;
	for (int i = 0; i < OWN_MOST; i++)
		if (o->at[i] != NULL)
			munmap(o->at[i], OWN_DATA + OWN_DATA_BYTES);
	with_small_numbers(o->before);
	free(o->memory);
	free(o);
}

int own_take(const struct own_image *image, int n, const char **why)
{
	uint32_t has = processor_has();
	uint64_t most = taken.most;
	struct own *trial;

	taken.n = 0;
#if !defined(__x86_64__)
	if (n > 0) {
		*why = "the program's loops are of x86-64";
		return -1;
	}
#endif
	for (int i = 0; i < n; i++)
		if (image[i].needs & ~has) {
			*why = "this processor lacks instructions of the program's loops";
			return -1;
		}
	for (int i = 0; i < n && i < OWN_MOST; i++)
		taken.image[taken.n++] = image[i];
	taken.most = 1; /* the trial is of the code */
	trial = n > 0 ? own_create(~0u) : NULL;
	taken.most = most;
	if (n > 0 && trial == NULL) {
		taken.n = 0;
		*why = "code that is written at run time may not be executed here";
		return -1;
	}
	own_destroy(trial);
	return 0;
}

void own_run(struct own *o, int c, uint64_t units)
{
	int i = c - CLASS_OWN_0;

	if (units == 0)
		return;
	o->units += units;
	if (o->memory != NULL && o->units >= o->look_at)
		look_at_numbers(o, &taken.image[i]);
	if (o->at[i] != NULL)
		((own_fn)(uintptr_t)o->at[i])(units);
	else
		kernel_nothing(units);
}

uint64_t own_units(const struct own *o)
{
	return o->units;
}
