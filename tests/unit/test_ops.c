/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skel.ops: what emitted source becomes, and that nothing damaged passes. That it runs as the compiled source does is
 * shown by tests/cli/41-interp.t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/emit/data.h"
#include "skelgen/emit/ops.h"
#include "skelgen/replay/ops.h"

static const char head[] =
	"/* a comment: { ( \" */\n#include \"skelgen/runtime/skel.h\"\n\n"
	"__asm__(\".pushsection .rodata\\n\"\n\t\".popsection\\n\");\n"
	"extern const uint64_t skel_data_begin[], skel_data_end[];\n\n"
	"static const struct skel_program program = {\n\t.name = \"a/b\",\n\t.n_ranks = 2,\n\t.n_loops = 1,\n"
	"\t.n_requests = 3,\n\t.n_comms = 2,\n\t.n_types = 4,\n\t.data = skel_data_begin,\n\t.data_end = skel_data_end,\n"
	"\t.data_hash = 0x1234,\n\t.traced_s = 1.5,\n\t.confidence = 0.5,\n\t.events = 7,\n};\n\n"
	"static const int array0[] = {1, -2,\n\t3};\nstatic const char ranks1[] = \"01\"\n\t\"1\";\n\n";
static const char tail[] = "int main(int argc, char **argv)\n{\n\tint level;\n\n\tskel_start();\n"
			   "\tMPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);\n\treturn skel_status();\n}\n";

static uint64_t *data_words(size_t *n)
{
	struct emit_data *d = emit_data_create(2);
	const int64_t rows[] = {10, 11, 20, 21}, a[] = {5, 6, 7};
	const uint64_t end[] = {5, 9};
	const uint32_t row[] = {0, 1};
	uint64_t *w;

	emit_data_new_vary(d);
	emit_data_vary(d, 0, 0, end, row, 2, rows, 2, 2);
	emit_data_vary(d, 0, 1, end, row, 1, rows, 2, 2);
	emit_data_array(d, a, 3);
	w = emit_data_finish(d, n);
	emit_data_destroy(d);
	assert_non_null(w);
	return w;
}

/* Compile these statements: the words, or NULL with the reason in err. */
static uint64_t *compile(const char *statements, size_t *n, struct errbuf *err)
{
	uint64_t *data, *words = NULL;
	size_t n_data;
	char *source;
	int rv;

	data = data_words(&n_data);
	if (asprintf(&source, "%sstatic void run(int rank, int size)\n{\n\t(void)rank;\n\t(void)size;\n%s}\n\n%s", head,
		     statements, tail) < 0)
		abort();
	rv = skel_ops_compile(source, data, n_data, &words, n, err);
	assert_int_equal(rv == 0, words != NULL);
	free(source);
	free(data);
	return words;
}

static uint64_t *compiled(const char *statements, size_t *n)
{
	struct errbuf err = {""};
	uint64_t *w = compile(statements, n, &err);

	if (w == NULL)
		fail_msg("%s: %s", statements, err.text);
	return w;
}

/* The operations of the code as letters and numbers, easy to compare. */
static void code_is(const char *statements, const char *expected)
{
	static const char *const names[OPS_N] = {
		"", "", "rank", "size", "", "array", "elem", "v", "handle", "place", "int", "neg", "not", "+", "-", "*",
		"/", "%", "^", "|", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "?", "list", "", "do", "type=", "if",
		"else", "for", "loop", "values", "end"};
	char text[2000] = "";
	struct ops_file f;
	const char *why;
	size_t n, k = 0;
	uint64_t *w = compiled(statements, &n);

	assert_int_equal(ops_check(w, n, &f, &why), 0);
	for (uint64_t i = 0; i < f.n_code && k < sizeof text - 80; i++) {
		unsigned op = OPS_OP(f.code[i]), arg = OPS_ARG(f.code[i]);
		double d;

		memcpy(&d, f.code + i + 1, sizeof d);
		k += (size_t)(op == OPS_INT    ? snprintf(text + k, 80, "%lld ", (long long)f.code[++i])
			      : op == OPS_REAL ? (i++, snprintf(text + k, 80, "%g ", d))
			      : op == OPS_CALL ? snprintf(text + k, 80, "%s() ", ops_function[arg].name)
			      : op == OPS_NAMED ? snprintf(text + k, 80, "%s ", ops_constant[arg].name)
						: snprintf(text + k, 80, "%s%.0d ", names[op], (int)arg));
	}
	assert_string_equal(text, expected);
	ops_file_free(&f);
	free(w);
}

static void test_expressions(void **arg)
{
	(void)arg;
	code_is("\tskel_gap(rank + 2 * size - 1);\n", "rank 2 size * + 1 - skel_gap() do ");
	code_is("\tskel_gap((rank + size - 1) % size);\n", "rank size + 1 - size % skel_gap() do ");
	code_is("\tskel_gap(rank >= 1 ? rank - 1 : MPI_PROC_NULL);\n",
		"rank 1 >= rank 1 - MPI_PROC_NULL ? skel_gap() do ");
	code_is("\tskel_gap(rank == 0 || (rank % 2 == 1 && rank <= 7));\n",
		"rank 0 == rank 2 % 1 == rank 7 <= && || skel_gap() do ");
	code_is("\tskel_gap(rank ^ 4);\n\tskel_gap(-3);\n", "rank 4 ^ skel_gap() do 3 neg skel_gap() do ");
	code_is("\tskel_compute(0, 1234.5);\n", "0 1234.5 skel_compute() do ");
	code_is("\tskel_gap(array0[rank]);\n", "rank elem skel_gap() do ");
	code_is("\tMPI_Isend(skel_buf(SKEL_SLOT(2), (int64_t)4 * size, type[3]), 4, MPI_DOUBLE,\n\t\t1, 7, comm[0], &req[2]);\n",
		"2 2 2 * + 4 size * 3 handle1 skel_buf() 4 MPI_DOUBLE 1 7 0 handle 2 place3 MPI_Isend() do ");
	code_is("\tskel_wait(3, array0);\n", "3 array skel_wait() do ");
	code_is("\tMPI_Type_create_struct(2, (const int[]){1, 2}, (const MPI_Aint[]){0, -8},\n"
		"\t\t(const MPI_Datatype[]){MPI_INT, type[1]}, &type[2]);\n",
		"2 array2 array3 MPI_INT 1 handle1 list 2 place1 MPI_Type_create_struct() do ");
}

static void test_statements(void **arg)
{
	(void)arg;
	code_is("\tif (rank == 0) {\n\t\tskel_gap(0);\n\t} else {\n\t\tskel_gap(1);\n\t}\n",
		"rank 0 == if 0 skel_gap() do end else 1 skel_gap() do end ");
	code_is("\tif (ranks1[rank] == '1') {\n\t\tskel_gap(0);\n\t}\n", "rank elem1 49 == if 0 skel_gap() do end ");
	code_is("\tfor (skel_loop(0, 200, SKEL_ALL); skel_next(0);) {\n\t\tskel_gap(0); /* x */\n\t}\n",
		"0 200 SKEL_ALL skel_loop() loop 0 skel_gap() do end ");
	code_is("\tfor (long i1 = 0; i1 < rank + 1; i1++) {\n\t\tskel_gap(0);\n\t}\n", "rank 1 + for 0 skel_gap() do end ");
	code_is("\t{\n\t\tconst int64_t *v = skel_values(0);\n\n\t\tskel_gap((int)v[1]);\n\t}\n",
		"values v1 int skel_gap() do end ");
	code_is("\ttype[2] = MPI_INT;\n", "2 MPI_INT type= ");
}

static void test_program(void **arg)
{
	size_t n;
	uint64_t *w = compiled("", &n);
	struct ops_file f;
	const char *why;
	double d;

	(void)arg;
	assert_int_equal(ops_check(w, n, &f, &why), 0);
	assert_string_equal(f.name, "a/b");
	assert_int_equal(w[OPS_H_FIELDS + OPS_F_n_ranks], 2);
	assert_int_equal(w[OPS_H_FIELDS + OPS_F_n_requests], 3);
	assert_int_equal(w[OPS_H_FIELDS + OPS_F_thread_level], 2);
	memcpy(&d, &w[OPS_H_FIELDS + OPS_F_traced_s], sizeof d);
	assert_true(d == 1.5);
	assert_int_equal(f.n_array, 2);
	assert_int_equal(((const int32_t *)f.values[0])[1], -2);
	assert_memory_equal(f.values[1], "011", 3);
	assert_int_equal(f.n_code, 0);
	ops_file_free(&f);
	free(w);
}

static void refused(const char *statements, const char *why)
{
	struct errbuf err = {""};
	size_t n;
	uint64_t *w = compile(statements, &n, &err);

	if (w != NULL || strstr(err.text, why) == NULL)
		fail_msg("%s: \"%s\" instead of \"%s\"", statements, err.text, why);
}

static void test_refused_source(void **arg)
{
	char deep[600] = "\tskel_gap(";

	(void)arg;
	refused("\tabort();\n", "'abort' is not a function of calls.h");
	refused("\tskel_gap(1, 2);\n", "'skel_gap' has another number of parameters");
	refused("\tskel_gap(errno);\n", "'errno' is not a constant");
	refused("\tskel_gap(array7[0]);\n", "is not a constant");
	refused("\tskel_gap(1)\n", "stands where there should be ;");
	refused("\tskel_gap(v[0]);\n", "names what is not there"); /* outside its block */
	refused("\t{\n\t\tconst int64_t *v = skel_values(0);\n\n\t\tskel_gap(v[2]);\n\t}\n", "names what is not there");
	refused("\t{\n\t\tconst int64_t *v = skel_values(9);\n\n\t\tskel_gap(v[0]);\n\t}\n", "names what is not there");
	refused("\tskel_gap(MPI_COMM_WORLD);\n", "wrong kind");
	refused("\tfor (skel_loop(0, 5, 5); skel_next(9);) {\n\t}\n", "names what is not there");
	refused("\tfor (skel_gap(0); skel_next(0);) {\n\t}\n", "is not entered");
	refused("\tif (rank) {\n", "'int' is not a constant of calls.h");
	for (int i = 0; i < 200; i++)
		strcat(deep, "(");
	refused(deep, "nested too deeply");
}

static void test_damage(void **arg)
{
	size_t n;
	uint64_t *w = compiled("\tif (rank == 0) {\n\t\tskel_gap(1);\n\t}\n\tMPI_Barrier(MPI_COMM_WORLD);\n", &n);
	struct ops_file f;
	const char *why;

	(void)arg;
	for (size_t bit = 0; bit < 64 * n; bit++) {
		w[bit / 64] ^= 1ull << bit % 64;
		assert_int_equal(ops_check(w, n, &f, &why), -1);
		assert_non_null(why);
		w[bit / 64] ^= 1ull << bit % 64;
	}
	for (size_t k = 0; k < n; k++)
		assert_int_equal(ops_check(w, k, &f, &why), -1);
	/* With a checksum that is right: whatever passes can be gone through. */
	for (size_t bit = 0; bit < 64 * n; bit++) {
		w[bit / 64] ^= 1ull << bit % 64;
		w[OPS_H_HASH] = ops_hash(w, n);
		if (ops_check(w, n, &f, &why) == 0)
			ops_file_free(&f);
		else
			assert_non_null(why);
		w[bit / 64] ^= 1ull << bit % 64;
	}
	free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expressions), cmocka_unit_test(test_statements),	 cmocka_unit_test(test_program),
		cmocka_unit_test(test_refused_source), cmocka_unit_test(test_damage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
