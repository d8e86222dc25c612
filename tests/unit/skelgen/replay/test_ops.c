/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations as C source, the file that they become, and that nothing damaged passes. That both run alike is shown by
 * tests/cli/skeleton-replay.t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/emit/data.h"
#include "skelgen/emit/print_c.h"

/* ---- programs of these tests ---- */

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

/* One operation by its name, an argument behind it: "+", "handle1", "skel_gap()", "MPI_INT", "12", "0.5". */
static void operation_add(struct code *c, const char *text)
{
	static const char *const names[OPS_N] = {
		"", "", "rank", "size", "", "array", "elem", "v", "handle", "place", "int", "neg", "not", "+", "-", "*",
		"/", "%", "^", "|", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "?", "list", "", "do", "type=", "if",
		"else", "for", "loop", "values", "end"};
	size_t n = strcspn(text, "0123456789");
	uint32_t arg = (uint32_t)strtoul(text + n, NULL, 10);
	char name[40];

	if (n == 0) {
		if (strchr(text, '.') != NULL)
			code_real(c, strtod(text, NULL), 6);
		else
			code_int(c, strtoll(text, NULL, 10));
		return;
	}
	for (unsigned op = 0; op < OPS_N; op++)
		if (strlen(names[op]) == n && memcmp(names[op], text, n) == 0) {
			code_word(c, op == OPS_LIST ? OPS_WORD(op, arg, 0) : OPS_WORD(op, 0, arg));
			return;
		}
	snprintf(name, sizeof name, "%s", text);
	if (strstr(name, "()") != NULL) {
		*strstr(name, "()") = '\0';
		code_call(c, name);
	} else {
		code_named(c, name);
	}
}

/* "#text" is a comment, "#" an empty line, "~text" a comment beside; '_' is a blank in them. */
static void code_add(struct code *c, const char *postfix)
{
	char *text = strdup(postfix), *rest = NULL;

	for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
		for (char *at = word; (*word == '#' || *word == '~') && *at != '\0'; at++)
			*at = *at == '_' ? ' ' : *at;
		if (*word == '#')
			code_comment(c, "%s", word + 1);
		else if (*word == '~')
			code_comment_beside(c, "%s", word + 1);
		else
			operation_add(c, word);
	}
	free(text);
}

/* With array0, ranks1, and the arrays 2 and 3 without a name. */
static void program_make(struct program *p, const char *postfix)
{
	*p = (struct program){.name = "a/b", .n_named = 2, .field = {
		[OPS_F_n_ranks] = 2, [OPS_F_n_loops] = 1, [OPS_F_n_requests] = 3, [OPS_F_n_comms] = 2, [OPS_F_n_types] = 4,
		[OPS_F_thread_level] = 2}};
	program_real(p, OPS_F_traced_s, 1.5);
	program_real(p, OPS_F_confidence, 0.5);
	program_real(p, OPS_F_events, 7);
	code_array(&p->array, 'I', (const int64_t[]){1, -2, 3}, 3);
	code_array(&p->array, 'B', (const int64_t[]){'0', '1', '1'}, 3);
	code_array(&p->array, 'I', (const int64_t[]){1, 2}, 2);
	code_array(&p->array, 'A', (const int64_t[]){0, -8}, 2);
	code_add(&p->code, postfix);
	p->data = data_words(&p->n_data);
}

static void program_end(struct program *p)
{
	code_free(&p->code);
	code_free(&p->array.entry);
	code_free(&p->array.value);
	free((void *)p->data);
}

static uint64_t *filed(struct program *p, const char *postfix, struct ops_file *f)
{
	struct errbuf err = {""};
	uint64_t *w;

	program_make(p, postfix);
	if (program_file(p, &w, f, &err) != 0)
		fail_msg("%s: %s", postfix, err.text);
	return w;
}

/* ---- printed ---- */

/* What run() holds. */
static void prints(const char *postfix, const char *expected)
{
	struct text c = {.len = 0};
	struct program p;
	struct ops_file f;
	uint64_t *w = filed(&p, postfix, &f);
	char *begin, *end;

	print_c(&f, &p, &c);
	assert_false(c.failed);
	begin = strstr(c.data, "(void)size;\n") + strlen("(void)size;\n");
	end = strstr(begin, "}\n\nint main");
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(begin, expected);
	text_free(&c);
	ops_file_free(&f);
	free(w);
	program_end(&p);
}

static void test_expressions(void **arg)
{
	(void)arg;
	prints("rank 2 size * + 1 - skel_gap() do", "\tskel_gap(rank + 2 * size - 1);\n");
	prints("rank size + 1 - size % skel_gap() do", "\tskel_gap((rank + size - 1) % size);\n");
	prints("rank size rank - - skel_gap() do", "\tskel_gap(rank - (size - rank));\n");
	prints("2 rank 3 / * 4 rank 3 % * + skel_gap() do", "\tskel_gap(2 * (rank / 3) + 4 * (rank % 3));\n");
	prints("rank 1 >= rank 1 - MPI_PROC_NULL ? skel_gap() do",
	       "\tskel_gap(rank >= 1 ? rank - 1 : MPI_PROC_NULL);\n");
	prints("rank 0 == rank 2 % 1 == rank 7 <= && || skel_gap() do",
	       "\tskel_gap(rank == 0 || (rank % 2 == 1 && rank <= 7));\n");
	prints("rank 0 == rank 1 == || rank 7 == || skel_gap() do", "\tskel_gap(rank == 0 || rank == 1 || rank == 7);\n");
	prints("rank 4 ^ skel_gap() do 3 neg skel_gap() do", "\tskel_gap(rank ^ 4);\n\tskel_gap(-3);\n");
	prints("rank 1 + neg skel_gap() do", "\tskel_gap(-(rank + 1));\n");
	prints("0 1234.5 skel_compute() do", "\tskel_compute(0, 1234.5);\n");
	prints("2000 0.25 skel_share() do", "\tskel_share(2000, 0.25);\n");
	prints("5.0 skel_delay() do", "\tskel_delay(5.0);\n");
	prints("rank elem0 skel_gap() do", "\tskel_gap(array0[rank]);\n");
	prints("MPI_MODE_NOPUT MPI_MODE_NOSTORE | 0 handle2 MPI_Win_fence() do",
	       "\tMPI_Win_fence(MPI_MODE_NOPUT | MPI_MODE_NOSTORE, win[0]);\n");
	prints("3 array0 skel_wait() do", "\tskel_wait(3, array0);\n");
	prints("2 array2 array3 MPI_INT 1 handle1 list2 2 place1 MPI_Type_create_struct() do",
	       "\tMPI_Type_create_struct(2, (const int[]){1, 2}, (const MPI_Aint[]){0, -8},\n"
	       "\t\t(const MPI_Datatype[]){MPI_INT, type[1]}, &type[2]);\n");
}

/* Casts that C needs and the operations do not. */
static void test_casts(void **arg)
{
	(void)arg;
	prints("2 2 2 * + 4 size * 3 handle1 skel_buf() 4 MPI_DOUBLE 1 7 0 handle 2 place3 MPI_Isend() do",
	       "\tMPI_Isend(skel_buf(SKEL_SLOT(2), (int64_t)4 * size, type[3]), 4, MPI_DOUBLE, 1, 7, comm[0],\n\t\t&req[2]);\n");
	prints("values0 2 2 v0 int * + 1 + rank 1 + size * MPI_INT skel_buf() 0 MPI_INT 0 MPI_COMM_WORLD MPI_Bcast() do end",
	       "\t{\n\t\tconst int64_t *v = skel_values(0);\n\n"
	       "\t\tMPI_Bcast(skel_buf(SKEL_SLOT((int)v[0]) + 1, (rank + 1) * (int64_t)size, MPI_INT), 0,\n"
	       "\t\t\tMPI_INT, 0, MPI_COMM_WORLD);\n\t}\n");
	prints("0 rank 0 == 4 size * 0 ? MPI_INT skel_buf() 0 MPI_INT 0 MPI_COMM_WORLD MPI_Bcast() do",
	       "\tMPI_Bcast(skel_buf(0, rank == 0 ? (int64_t)4 * size : 0, MPI_INT), 0, MPI_INT, 0,\n\t\tMPI_COMM_WORLD);\n");
	prints("3 array0 0 handle3 MPI_Pready_list() do", "\tMPI_Pready_list(3, (int *)array0, req[0]);\n");
	prints("rank elem1 49 == if 0 skel_gap() do end", "\tif (ranks1[rank] == '1') {\n\t\tskel_gap(0);\n\t}\n");
}

static void test_statements(void **arg)
{
	(void)arg;
	prints("rank 0 == if 0 skel_gap() do end else 1 skel_gap() do end",
	       "\tif (rank == 0) {\n\t\tskel_gap(0);\n\t} else {\n\t\tskel_gap(1);\n\t}\n");
	prints("0 skel_file_close() not if 0 skel_gap() do end",
	       "\tif (!skel_file_close(0)) {\n\t\tskel_gap(0);\n\t}\n");
	prints("0 200 SKEL_ALL skel_loop() loop0 0 skel_gap() do ~x end",
	       "\tfor (skel_loop(0, 200, SKEL_ALL); skel_next(0);) {\n\t\tskel_gap(0); /* x */\n\t}\n");
	prints("rank 1 + for rank 4 ^ for 0 skel_gap() do end end",
	       "\tfor (long i1 = 0; i1 < rank + 1; i1++) {\n\t\tfor (long i2 = 0; i2 < (rank ^ 4); i2++) {\n"
	       "\t\t\tskel_gap(0);\n\t\t}\n\t}\n");
	prints("values0 v1 int skel_gap() do end",
	       "\t{\n\t\tconst int64_t *v = skel_values(0);\n\n\t\tskel_gap((int)v[1]);\n\t}\n");
	prints("2 MPI_INT type= #", "\ttype[2] = MPI_INT;\n\n");
}

static void test_comments(void **arg)
{
	(void)arg;
	prints("#first rank 0 == if #in_front 0 skel_gap() do ~beside #after end #last",
	       "\t/* first */\n\tif (rank == 0) {\n\t\t/* in front */\n\t\tskel_gap(0); /* beside */\n\t\t/* after */\n"
	       "\t}\n\t/* last */\n");
}

static void test_declarations(void **arg)
{
	struct text c = {.len = 0};
	struct program p;
	struct ops_file f;
	uint64_t *w = filed(&p, "", &f);

	(void)arg;
	print_c(&f, &p, &c);
	assert_non_null(strstr(c.data, "\t.name = \"a/b\",\n\t.n_ranks = 2,\n\t.n_loops = 1,\n\t.n_requests = 3,\n"));
	assert_non_null(strstr(c.data, "\t.traced_s = 1.500000000,\n\t.confidence = 0.5000,\n\t.events = 7,\n"));
	assert_null(strstr(c.data, "n_wins"));
	assert_non_null(strstr(c.data, "static const int array0[] = {1, -2, 3};\n"));
	assert_non_null(strstr(c.data, "static const char ranks1[] = \"011\";\n"));
	assert_null(strstr(c.data, "array2"));
	assert_non_null(strstr(c.data, "MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);"));
	text_free(&c);
	ops_file_free(&f);
	free(w);
	program_end(&p);
}

/* ---- parts ---- */

/* Lines of a function's body without their tabs, parts in the place of their calls. Returns the longest body's bytes. */
static size_t lines_put(const char *c, const char *function, struct text *out)
{
	char head[80];
	const char *at;
	size_t most, own;

	snprintf(head, sizeof head, "void %s(int rank, int size)\n{\n\t(void)rank;\n\t(void)size;\n", function);
	at = strstr(c, head);
	assert_non_null(at);
	at += strlen(head);
	most = (size_t)(strstr(at, "\n}\n") - at);
	for (const char *line = at; *line != '}'; line += strcspn(line, "\n") + 1) {
		const char *text = line + strspn(line, "\t");
		unsigned part;

		assert_true(text > line || *text == '\n');
		if (sscanf(text, "part%u(", &part) == 1) {
			snprintf(head, sizeof head, "part%u", part);
			own = lines_put(c, head, out);
			most = own > most ? own : most;
		} else {
			text_put(out, "%.*s\n", (int)strcspn(text, "\n"), text);
		}
	}
	return most;
}

/* Adds a statement, and its line to what is expected. */
static void both_add(struct code *c, struct text *expected, const char *postfix, const char *line)
{
	code_add(c, postfix);
	text_put(expected, "%s\n", line);
}

static void many_add(struct code *c, struct text *expected, int n)
{
	for (int i = 0; i < n; i++)
		both_add(c, expected, "#why values0 v1 int skel_gap() do end", "/* why */\n{\nconst int64_t *v = skel_values(0);\n\n"
			 "skel_gap((int)v[1]);\n}");
}

/* Long blocks at three depths: what is printed is the same in parts, and no function is long. */
static void test_parts(void **arg)
{
	enum { MANY = 6000, LONGEST = 2 * 40000 };
	struct text expected = {.len = 0}, printed = {.len = 0}, c = {.len = 0};
	struct errbuf err = {""};
	struct program p;
	struct ops_file f;
	uint64_t *w;

	(void)arg;
	program_make(&p, "");
	many_add(&p.code, &expected, MANY);
	both_add(&p.code, &expected, "0 200 SKEL_ALL skel_loop() loop0", "for (skel_loop(0, 200, SKEL_ALL); skel_next(0);) {");
	many_add(&p.code, &expected, MANY);
	both_add(&p.code, &expected, "rank 0 == if", "if (rank == 0) {");
	many_add(&p.code, &expected, MANY);
	both_add(&p.code, &expected, "end else", "} else {");
	many_add(&p.code, &expected, MANY);
	both_add(&p.code, &expected, "end", "}");
	many_add(&p.code, &expected, 1);
	both_add(&p.code, &expected, "end", "}");
	many_add(&p.code, &expected, 1);
	assert_int_equal(program_file(&p, &w, &f, &err), 0);
	print_c(&f, &p, &c);
	assert_false(c.failed);
	assert_in_range(lines_put(c.data, "run", &printed), 1, LONGEST);
	assert_string_equal(printed.data, expected.data);
	assert_non_null(strstr(c.data, "\tpart2(rank, size);\n"));
	text_free(&c);
	text_free(&printed);
	text_free(&expected);
	ops_file_free(&f);
	free(w);
	program_end(&p);
}

/* ---- the file ---- */

static void test_file(void **arg)
{
	struct program p;
	struct ops_file f;
	uint64_t *w = filed(&p, "", &f);
	double d;

	(void)arg;
	assert_string_equal(f.name, "a/b");
	assert_int_equal(w[OPS_H_FIELDS + OPS_F_n_ranks], 2);
	assert_int_equal(w[OPS_H_FIELDS + OPS_F_n_requests], 3);
	assert_int_equal(w[OPS_H_FIELDS + OPS_F_thread_level], 2);
	memcpy(&d, &w[OPS_H_FIELDS + OPS_F_traced_s], sizeof d);
	assert_true(d == 1.5);
	assert_int_equal(f.n_array, 4);
	assert_int_equal(((const int32_t *)f.values[0])[1], -2);
	assert_memory_equal(f.values[1], "011", 3);
	assert_int_equal(f.values[3][1], -8);
	assert_int_equal(f.n_code, 0);
	assert_memory_equal(f.data, p.data, p.n_data * sizeof *p.data);
	ops_file_free(&f);
	free(w);
	program_end(&p);
}

/* What is printed and read again is the same value. */
static void test_rounding(void **arg)
{
	struct code c = {.n = 0}, d = {.n = 0};

	(void)arg;
	code_real(&c, 1234.56789, 1);
	code_real(&d, 1234.6, 9);
	assert_int_equal(c.word[1], d.word[1]);
	assert_true(code_rounded(0.123456789, 4) == 0.1235);
	code_free(&c);
	code_free(&d);
}

/* As many loops as a skeleton of a long run can have: only the length of the file bounds them. */
static void test_many_loops(void **arg)
{
	enum { LOOPS = 1 << 18 };
	struct errbuf err = {""};
	struct program p;
	struct ops_file f;
	const char *why;
	uint64_t *w;

	(void)arg;
	program_make(&p, "");
	p.field[OPS_F_n_loops] = LOOPS;
	for (uint32_t i = 0; i < LOOPS; i++) {
		code_int(&p.code, i);
		code_add(&p.code, "200 SKEL_ALL skel_loop()");
		code_op(&p.code, OPS_LOOP, i);
		code_op(&p.code, OPS_END, 0);
	}
	if (program_file(&p, &w, &f, &err) != 0)
		fail_msg("%s", err.text);
	ops_file_free(&f);
	for (uint64_t more = 0; more < 2; more++) {
		w[OPS_H_FIELDS + OPS_F_n_loops] = w[OPS_H_WORDS] + more;
		w[OPS_H_HASH] = ops_hash(w, w[OPS_H_WORDS]);
		assert_int_equal(ops_check(w, w[OPS_H_WORDS], &f, &why), more == 0 ? 0 : -1);
		ops_file_free(&f);
	}
	assert_string_equal(why, "one of its numbers is out of range");
	free(w);
	program_end(&p);
}

static void refused(const char *postfix, const char *why)
{
	struct errbuf err = {""};
	struct program p;
	struct ops_file f;
	uint64_t *w;

	program_make(&p, postfix);
	assert_int_equal(program_file(&p, &w, &f, &err), -1);
	assert_null(w);
	if (strstr(err.text, why) == NULL)
		fail_msg("%s: \"%s\" instead of \"%s\"", postfix, err.text, why);
	program_end(&p);
}

static void test_refused(void **arg)
{
	char deep[600] = "rank", open[600] = "";

	(void)arg;
	refused("abort() do", "names what is not there");
	refused("errno skel_gap() do", "names what is not there");
	refused("array7 skel_gap() do", "names what is not there");
	refused("1 2 skel_gap() do", "leaves something over");
	refused("skel_gap() do", "lacks operands");
	refused("v0 skel_gap() do", "names what is not there"); /* outside its block */
	refused("values0 v2 skel_gap() do end", "names what is not there");
	refused("values9 v0 skel_gap() do end", "names what is not there");
	refused("MPI_COMM_WORLD skel_gap() do", "wrong kind");
	refused("0 5 5 skel_loop() loop9 end", "names what is not there");
	refused("0 skel_gap() loop0 end", "is not entered");
	refused("rank if", "has no end");
	for (int i = 0; i < 100; i++) {
		strcat(deep, " neg");
		strcat(open, "1 if ");
	}
	refused(deep, "too deep");
	refused(open, "nested too deeply");
}

static void test_damage(void **arg)
{
	struct program p;
	struct ops_file f;
	uint64_t *w = filed(&p, "rank 0 == if 1 skel_gap() do end MPI_COMM_WORLD MPI_Barrier() do", &f);
	size_t n = f.n_word;
	const char *why;

	(void)arg;
	ops_file_free(&f);
	program_end(&p);
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
		cmocka_unit_test(test_expressions), cmocka_unit_test(test_casts),	 cmocka_unit_test(test_statements),
		cmocka_unit_test(test_comments),    cmocka_unit_test(test_declarations), cmocka_unit_test(test_file),
		cmocka_unit_test(test_rounding),    cmocka_unit_test(test_refused),	 cmocka_unit_test(test_damage),
		cmocka_unit_test(test_many_loops), cmocka_unit_test(test_parts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
