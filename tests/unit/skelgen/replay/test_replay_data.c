/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values inside skel.ops are a user's: every field that is out of bounds or makes no sense is refused, also where
 * both checksums are right; and whatever is let pass can be read as the runtime reads it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "skelgen/emit/data.h"
#include "skelgen/emit/program.h"
#include "skelgen/runtime/data.h"

#define RANKS 2
#define GAPS  2
#define TIMES 60000 /* damage at random */

static uint64_t *data_words(size_t *n)
{
	struct emit_data *d = emit_data_create(RANKS);
	const double ns[] = {1000, 1100, 900, 1200, 50, 60};
	const struct emit_gap_values values = {.n_occ = 101, .n_stratum = 2, .n_slot = 2, .period = 10, .entry_stratum = 2,
					       .entry_slot = 1, .ns = ns};
	const struct sampled_plan plan = {.n = 2, .traced_ns = 1e5, .w = {{1, 1, 5, 50, 0, 5e3}, {51, 1, 5, 50, 0, 6e3}},
					  .spikes = {100, 0.01, 5, 25}};
	const int64_t rows[] = {10, 11, 20, 21}, a[] = {5, 6, 7};
	const uint64_t end[] = {5, 9};
	const uint32_t row[] = {0, 1};
	const struct compute_profile mixes = {.n_mix = 1, .mix = {{.share = {[CLASS_INTEGER] = 0.5, [CLASS_SCALAR] = 0.5}, .threads = 1}}};
	uint64_t *w;

	for (uint32_t gap = 0; gap < GAPS; gap++) {
		assert_int_equal(emit_data_new_gap(d), gap);
		for (uint32_t rank = 0; rank < RANKS; rank++)
			emit_data_gap(d, gap, rank, &values);
	}
	emit_data_new_vary(d);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		emit_data_vary(d, 0, rank, end, row, 2, rows, 2, 2);
	emit_data_array(d, a, 3);
	emit_data_mixes(d, &mixes);
	emit_data_windows(d, 0, &plan);
	w = emit_data_finish(d, n);
	emit_data_destroy(d);
	assert_non_null(w);
	return w;
}

/* A whole file, and where its values are. */
struct whole {
	uint64_t *word;
	size_t n_word, n_data;
	uint64_t *data; /* in it */
};

/* A loop entered by the call. */
static void loop_begin(struct code *c, const char *call, int64_t total, int64_t run)
{
	code_int(c, 0);
	code_int(c, total);
	code_int(c, run);
	code_call(c, call);
}

/* A loop with a gap, and a call with the values of varying call 0. */
static void code_make(struct code *c)
{
	loop_begin(c, "skel_loop", 101, 13);
	code_op(c, OPS_LOOP, 0);
	code_int(c, 0);
	code_do(c, "skel_gap");
	code_op(c, OPS_END, 0);
	code_op(c, OPS_VALUES, 0);
	code_op(c, OPS_VALUE, 1);
	code_op(c, OPS_TO_INT, 0);
	code_do(c, "skel_gap");
	code_op(c, OPS_END, 0);
}

/* The file of the code, which is freed, and the values. */
static int file_make(struct code *c, const uint64_t *data, size_t n, struct whole *f, struct errbuf *err)
{
	struct program p = {.name = "a", .field = {[OPS_F_n_ranks] = RANKS, [OPS_F_n_loops] = 2}, .code = *c, .data = data, .n_data = n};
	struct ops_file checked;
	int rv = program_file(&p, &f->word, &checked, err);

	if (rv == 0) {
		f->n_word = checked.n_word;
		f->data = f->word + (checked.data - f->word);
		f->n_data = checked.n_data;
		ops_file_free(&checked);
	}
	code_free(c);
	return rv;
}

static void whole_make(struct whole *f)
{
	struct errbuf err = {""};
	struct code c = {.n = 0};
	size_t n;
	uint64_t *data = data_words(&n);

	code_make(&c);
	if (file_make(&c, data, n, f, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(f->n_data, n);
	free(data);
}

static void data_seal(struct whole *f)
{
	f->data[7] = 0;
	f->data[7] = XXH3_64bits(f->data, f->n_data * sizeof *f->data);
}

static int passes(struct whole *f, struct ops_file *out, const char **why)
{
	f->word[OPS_H_HASH] = ops_hash(f->word, f->n_word);
	return ops_check(f->word, f->n_word, out, why) == 0;
}

/* ---- each field ---- */

enum place { HEAD, GAP_TABLE, GAP, VARY_TABLE, VARY, ARRAY_TABLE, ARRAY, MIX, WINDOWS, LOOP, WINDOW };

static size_t place_of(const struct whole *f, enum place p)
{
	const uint64_t *d = f->data;
	size_t vary = DATA_HEADER + RANKS * GAPS / 2, array = vary + RANKS / 2;

	switch (p) {
	case HEAD:
		return 0;
	case GAP_TABLE:
		return DATA_HEADER;
	case GAP:
		return data_offset(d + DATA_HEADER, 0);
	case VARY_TABLE:
		return vary;
	case VARY:
		return data_offset(d + vary, 0);
	case ARRAY_TABLE:
		return array;
	case ARRAY:
		return data_offset(d + array, 0);
	case MIX:
		return array + 1;
	case WINDOWS:
		return d[9];
	case LOOP:
		return d[9] + 1;
	default:
		return d[9] + 1 + DATA_LOOP;
	}
}

#define MUCH  (1ull << 60)
#define ALL   UINT64_MAX
#define BELOW (1ull << 63) /* added: the words in all */

static const struct field {
	const char *name;
	enum place place;
	unsigned k;
	uint64_t value[7];
	int n;
	double number[4]; /* after them */
	int n_number;
} fields[] = {
	{"magic", HEAD, 0, {0, ALL}, 2, {0}, 0},
	{"version", HEAD, 1, {0, DATA_VERSION - 1, DATA_VERSION + 1, ALL}, 4, {0}, 0},
	{"ranks", HEAD, 2, {0, 1, 3, ALL}, 4, {0}, 0},
	{"gaps", HEAD, 3, {60, 1 << 20, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"varying calls", HEAD, 4, {60, 1 << 20, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"arrays", HEAD, 5, {200, 1 << 20, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"words in all", HEAD, 6, {0, 9, BELOW - 1, BELOW + 1, ALL}, 5, {0}, 0},
	{"mixes", HEAD, 8, {0, 65, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"place of the windows", HEAD, 9, {1, BELOW - 1, BELOW, BELOW + 1, ALL}, 5, {0}, 0},
	{"place of a gap", GAP_TABLE, 0, {BELOW - 2, BELOW, BELOW + 1, MUCH - 1, ALL}, 5, {0}, 0},
	{"place of the third gap", GAP_TABLE, RANKS * GAPS / 2 - 1, {BELOW - 2, BELOW, BELOW + 1, MUCH - 1}, 4, {0}, 0},
	{"place of the gap in the upper half", GAP_TABLE, 0, {1ull << 62, ALL << 32}, 2, {0}, 0},
	{"strata and slots", GAP, 1, {200, 2ull << 32 | 200, 200ull << 32 | 2, MUCH | 1, ALL}, 5, {0}, 0},
	{"mix of a gap", GAP, 2, {1, 64, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"time of a gap", GAP, DATA_GAP, {0}, 0, {NAN, INFINITY, -INFINITY, 1e19}, 4},
	{"period of entries", GAP, 3, {0}, 1, {0}, 0},
	{"strata and slots of entries", GAP, 4, {0, 2ull << 32, 2, 200ull << 32 | 2, 2ull << 32 | 200, MUCH | 1, ALL}, 7, {0}, 0},
	{"last time of a gap", GAP, DATA_GAP + 3, {0}, 0, {NAN, INFINITY, -1e19, 1e300}, 4},
	{"last time of an entry", GAP, DATA_GAP + 5, {0}, 0, {NAN, INFINITY, -1e19, 1e300}, 4},
	{"place of a varying call", VARY_TABLE, 0, {BELOW - 2, BELOW, BELOW + 1, MUCH, ALL}, 5, {0}, 0},
	{"place of the varying call of the last rank", VARY_TABLE, 0, {1ull << 62, ALL << 32}, 2, {0}, 0},
	{"runs", VARY, 0, {0, 200, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"values per variant", VARY, 1, {0, 200, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"one value per variant", VARY, 1, {1}, 1, {0}, 0}, /* of which the code uses two */
	{"variants", VARY, 2, {0, 1, 200, MUCH, ALL}, 5, {0}, 0},
	{"end of a run", VARY, 3, {10, MUCH, ALL}, 3, {0}, 0},
	{"end of the last run", VARY, 5, {0, 4}, 2, {0}, 0},
	{"variant of a run", VARY, 4, {2, 1ull << 32, MUCH, ALL}, 4, {0}, 0},
	{"place of an array", ARRAY_TABLE, 0, {BELOW, BELOW + 1, MUCH - 1, ALL}, 4, {0}, 0},
	{"length of an array", ARRAY, 0, {200, INT32_MAX, 1ull << 31, MUCH, ALL}, 5, {0}, 0},
	{"share of a class", MIX, 0, {ALL}, 1, {NAN, -1, 2, INFINITY}, 4},
	{"share of the last class", MIX, CLASS_N - 1, {ALL}, 1, {NAN, -0.5, 1, 1e300}, 4},
	{"time off the processor", MIX, DATA_MIX_OFF_CPU, {ALL}, 1, {NAN, -1, 1.5, INFINITY}, 4},
	{"threads", MIX, DATA_MIX_THREADS, {ALL}, 1, {NAN, -1, 1e9, INFINITY}, 4},
	{"width of vectors", MIX, DATA_MIX_VECTOR_BITS, {ALL}, 1, {NAN, -1, 1e16, INFINITY}, 4},
	{"length of rows", MIX, DATA_MIX_ROW, {ALL}, 1, {NAN, -1, 1e16, INFINITY}, 4},
	{"the last of a mix", MIX, DATA_MIX - 1, {ALL}, 1, {NAN, -1, 1e16, INFINITY}, 4},
	{"loops with windows", WINDOWS, 0, {0, 2, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"number of a loop", LOOP, DATA_LOOP_NUMBER, {2, 1 << 16, 1ull << 32, MUCH, ALL}, 5, {0}, 0},
	{"windows", LOOP, DATA_LOOP_WINDOWS, {0, 1, 3, 33, ALL}, 5, {0}, 0},
	{"does it drift", LOOP, DATA_LOOP_TREND, {2, MUCH, ALL}, 3, {0}, 0},
	{"traced iterations", LOOP, DATA_LOOP_KNOWN, {MUCH, ALL}, 2, {0}, 0},
	{"share of spikes", LOOP, DATA_LOOP_RATE, {ALL}, 1, {NAN, -1, 1.5, INFINITY}, 4},
	{"excess of spikes", LOOP, DATA_LOOP_EXCESS, {ALL}, 1, {NAN, -1, INFINITY, 1e300}, 4},
	{"squares of spikes", LOOP, DATA_LOOP_SQUARE, {ALL}, 1, {NAN, -1, INFINITY, 1e300}, 4},
	{"traced time", LOOP, DATA_LOOP_TRACED, {ALL}, 1, {NAN, -1, INFINITY, 1e300}, 4},
	{"first iteration", WINDOW, 0, {MUCH, ALL}, 2, {0}, 0},
	{"warm-ups", WINDOW, 1, {2, 1ull << 32, MUCH, ALL}, 4, {0}, 0},
	{"iterations that count", WINDOW, 2, {0, 1ull << 32, MUCH, ALL}, 4, {0}, 0},
	{"iterations that it stands for", WINDOW, 3, {MUCH, ALL}, 2, {0}, 0},
	{"segment", WINDOW, DATA_WINDOW + 4, {1ull << 32, MUCH, ALL}, 3, {0}, 0},
	{"traced time of a window", WINDOW, DATA_WINDOW + 5, {ALL}, 1, {NAN, -1, INFINITY, 1e300}, 4},
};

static void is_refused(struct whole *f, size_t at, uint64_t value, const char *name)
{
	uint64_t before = f->data[at];
	struct ops_file out;
	const char *why = NULL;

	f->data[at] = value;
	data_seal(f);
	if (passes(f, &out, &why))
		fail_msg("%s: %llx passes", name, (unsigned long long)value);
	assert_non_null(why);
	if (!strstr(why, "its values are") && !strstr(why, "names what is not there"))
		fail_msg("%s: %llx is refused as \"%s\"", name, (unsigned long long)value, why);
	f->data[at] = before;
}

static void test_every_field(void **arg)
{
	struct whole f;

	(void)arg;
	whole_make(&f);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct field *c = &fields[i];
		size_t at = place_of(&f, c->place) + c->k;

		assert_true(c->n + c->n_number > 0 && at < f.n_data);
		for (int k = 0; k < c->n; k++) {
			uint64_t v = c->value[k];

			is_refused(&f, at, v - BELOW < 16 || BELOW - v < 16 ? v - BELOW + f.n_data : v, c->name);
		}
		for (int k = 0; k < c->n_number; k++) {
			uint64_t w;

			memcpy(&w, &c->number[k], sizeof w);
			is_refused(&f, at, w, c->name);
		}
	}
	free(f.word);
}

static void test_hash(void **arg)
{
	struct whole f;
	struct ops_file out;
	const char *why;

	(void)arg;
	whole_make(&f);
	for (size_t at = 0; at < f.n_data; at++) {
		f.data[at] ^= 1;
		assert_false(passes(&f, &out, &why));
		f.data[at] ^= 1;
	}
	assert_true(passes(&f, &out, &why));
	ops_file_free(&out);
	free(f.word);
}

/* Two loops of the same number, and words that belong to nothing. */
static void test_windows_once(void **arg)
{
	size_t n, loop = DATA_LOOP + 2 * DATA_WINDOW;
	uint64_t *data = data_words(&n), *two = malloc((n + loop) * sizeof *two);

	(void)arg;
	assert_non_null(two);
	for (int number = 0; number < 2; number++)
		for (int counted = 1; counted <= 2; counted++) {
			struct whole f = {.n_data = n + loop, .data = two};
			struct errbuf err = {""};
			struct code c = {.n = 0};

			memcpy(two, data, n * sizeof *two);
			memcpy(two + n, two + n - loop, loop * sizeof *two);
			two[n] = (uint64_t)number;
			two[two[9]] = (uint64_t)counted;
			two[6] = f.n_data;
			data_seal(&f);
			code_make(&c);
			if (file_make(&c, two, n + loop, &f, &err) == 0) {
				assert_true(number == 1 && counted == 2);
				free(f.word);
			} else {
				assert_false(number == 1 && counted == 2);
				assert_non_null(strstr(err.text, "its values are damaged"));
			}
		}
	free(two);
	free(data);
}

/* ---- at random ---- */

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 32 ^ *state;
}

static uint64_t sum_of(const uint64_t *w, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += w[i];
	return sum;
}

/* Every word that the runtime may read of this rank. */
static uint64_t walk(const uint64_t *d, uint64_t rank)
{
	const uint64_t *gap = d + DATA_HEADER, *vary = gap + data_table(RANKS * d[3]);
	const uint64_t *array = vary + data_table(RANKS * d[4]), *w = d + d[9] + 1;
	uint64_t sum = sum_of(array + data_table(d[5]), d[8] * DATA_MIX);

	for (uint64_t i = rank * d[3]; i < (rank + 1) * d[3]; i++) {
		const uint64_t *r = d + data_offset(gap, i);

		if (r != d)
			sum += sum_of(r, DATA_GAP + (r[1] >> 32) * (uint32_t)r[1] + (r[4] >> 32) * (uint32_t)r[4]);
	}
	for (uint64_t i = rank * d[4]; i < (rank + 1) * d[4]; i++) {
		const uint64_t *r = d + data_offset(vary, i);

		for (uint64_t k = 0; r != d && k < r[0]; k++)
			sum += sum_of(r + 3 + 2 * r[0] + r[3 + 2 * k + 1] * r[1], r[1]);
	}
	for (uint64_t i = 0; i < d[5]; i++)
		sum += sum_of(d + data_offset(array, i) + 1, (d[data_offset(array, i)] + 1) / 2);
	for (uint64_t i = 0; d[9] != 0 && i < d[d[9]]; i++) {
		sum += sum_of(w, DATA_LOOP + w[DATA_LOOP_WINDOWS] * DATA_WINDOW);
		w += DATA_LOOP + w[DATA_LOOP_WINDOWS] * DATA_WINDOW;
	}
	return sum;
}

static void test_random_damage(void **arg)
{
	uint64_t state = 20260101, sum = 0;
	size_t let_pass = 0, refused = 0;
	struct whole f;

	(void)arg;
	whole_make(&f);
	for (int i = 0; i < TIMES; i++) {
		const uint64_t values[] = {0, 1, 2, f.n_data, f.n_data - 1, f.n_data + 1, 1ull << 31, 1ull << 32, 1ull << 63,
					   UINT64_MAX, random_next(&state) % f.n_data, random_next(&state)};
		size_t at[3], n = 1 + random_next(&state) % 3;
		uint64_t before[3];
		struct ops_file out;
		const char *why;

		for (size_t k = 0; k < n; k++) {
			at[k] = random_next(&state) % f.n_data;
			before[k] = f.data[at[k]];
			f.data[at[k]] = values[random_next(&state) % (sizeof values / sizeof *values)];
		}
		data_seal(&f);
		if (passes(&f, &out, &why)) {
			for (uint64_t rank = 0; rank < RANKS; rank++)
				sum += walk(out.data, rank);
			let_pass++;
			ops_file_free(&out);
		} else {
			refused++;
		}
		while (n-- > 0)
			f.data[at[n]] = before[n];
	}
	assert_true(let_pass > TIMES / 100);
	assert_true(refused > TIMES / 2);
	assert_int_not_equal(sum, 0);
	free(f.word);
}

/* ---- loops as the code enters them ---- */

static void test_loops(void **arg)
{
	static const char *const why[] = {"runs inside itself", "is entered but does not run", "is entered but does not run"};
	size_t n;
	uint64_t *data = data_words(&n);

	(void)arg;
	for (int i = 0; i < 3; i++) {
		struct errbuf err = {""};
		struct code c = {.n = 0};
		struct whole f;

		for (int k = 0; k < (i == 0 ? 2 : 1); k++) {
			loop_begin(&c, i == 2 ? "skel_loop_first" : "skel_loop", 9, 9);
			code_op(&c, i == 0 ? OPS_LOOP : OPS_DO, 0);
		}
		for (int k = 0; i == 0 && k < 2; k++)
			code_op(&c, OPS_END, 0);
		assert_int_equal(file_make(&c, data, n, &f, &err), -1);
		if (strstr(err.text, why[i]) == NULL)
			fail_msg("\"%s\" instead of \"%s\"", err.text, why[i]);
	}
	free(data);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field), cmocka_unit_test(test_hash), cmocka_unit_test(test_windows_once),
		cmocka_unit_test(test_random_damage), cmocka_unit_test(test_loops),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
