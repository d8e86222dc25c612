/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two rule languages: what is accepted, what it becomes, and what is said about the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "expert/lang/rules.h"

static struct rules *load(const char *text, struct errbuf *err)
{
	return rules_load_text("t", text, strlen(text), err);
}

static struct rules *good(const char *text)
{
	struct errbuf err = {""};
	struct rules *r = load(text, &err);

	if (!r)
		fail_msg("%s\n%s", err.text, text);
	return r;
}

static void test_papers(void **state)
{
	static const char *const files[] = {"tests/unit/rules/exchange.rules", "tests/unit/rules/late.rules"};
	static const uint32_t n_rules[] = {4, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct errbuf err = {""};
		struct rules *r = rules_load(files[i], &err);

		assert_string_equal(err.text, "");
		assert_non_null(r);
		assert_int_equal(r->n_rule, n_rules[i]);
		rules_free(r);
	}
}

static void test_composite(void **state)
{
	struct rules *r = good("declare composite event both member(shared(s.bytes + 1) function_call_send_operation as s,"
			       " function_call_receive_operation as r) when s.dest == r.dest"
			       " parameters(when_sent = s.@start_time, half = s.bytes / 2.0, name = \"{s.tag}\", on = r.is_blocking);");
	const struct rules_struct *t = rules_find(r, "both");

	(void)state;
	assert_non_null(t);
	assert_true(t->composite);
	assert_int_equal(t->category, SC_EVENT);
	assert_int_equal(t->n_param, 4);
	assert_int_equal(t->param[0].type, RT_TIME);
	assert_int_equal(t->param[1].type, RT_DOUBLE);
	assert_int_equal(t->param[2].type, RT_STRING);
	assert_int_equal(t->param[3].type, RT_BOOLEAN);
	assert_int_equal(rules_slot(t, "half"), RA_N + 1);
	assert_int_equal(rules_slot(t, "none"), -1);
	assert_true(r->rule[0]->pattern[0].shared);
	assert_true(r->rule[0]->pattern[0].waits);
	assert_non_null(r->rule[0]->pattern[0].uses);
	assert_false(r->rule[0]->pattern[1].shared);
	rules_free(r);
}

/* The value of a problem's duration, as an expression. */
static const struct expr *expression(struct rules **r, const char *text)
{
	char buf[512];

	snprintf(buf, sizeof(buf), "defstruct event e \"\" param a, b, c type int param x type double param p, q type boolean;\n"
				   "defstruct observation o \"\" param d type double;\n"
				   "defrule \"\" struct v type e where %s assert o(d = 0);", text);
	*r = good(buf);
	return (*r)->rule[0]->where;
}

/* Fully parenthesised. */
static void show(const struct expr *e, FILE *f)
{
	static const char *const op[] = {[EX_OR] = "or", [EX_AND] = "and", [EX_EQ] = "==", [EX_NE] = "!=", [EX_LT] = "<",
					 [EX_LE] = "<=", [EX_GT] = ">", [EX_GE] = ">=", [EX_ADD] = "+", [EX_SUB] = "-",
					 [EX_MUL] = "*", [EX_DIV] = "/", [EX_MOD] = "%"};

	if (e->kind == EX_FIELD) {
		fputs(e->member, f);
	} else if (e->kind == EX_INT) {
		fprintf(f, "%lld", (long long)e->v.integer);
	} else if (e->kind == EX_CONVERT) {
		show(e->a, f);
	} else {
		fputs(e->b ? "(" : e->kind == EX_NOT ? "(not " : "(- ", f);
		show(e->a, f);
		if (e->b) {
			fprintf(f, " %s ", op[e->kind]);
			show(e->b, f);
		}
		fputs(")", f);
	}
}

static void test_precedence(void **state)
{
	static const char *const table[][2] = {
	    {"v.p or v.q and v.p", "(p or (q and p))"},
	    {"v.p and v.q or v.p", "((p and q) or p)"},
	    {"(v.p or v.q) and v.p", "((p or q) and p)"},
	    {"not v.p and v.q", "((not p) and q)"},
	    {"not v.a == v.b", "(not (a == b))"},
	    {"v.a + v.b * v.c == 7", "((a + (b * c)) == 7)"},
	    {"v.a - v.b - v.c < 1", "(((a - b) - c) < 1)"},
	    {"v.a / v.b / v.c < 1", "(((a / b) / c) < 1)"},
	    {"v.a % v.b * v.c >= 1", "(((a % b) * c) >= 1)"},
	    {"-v.a * v.b != 1", "(((- a) * b) != 1)"},
	    {"v.a - -v.b <= 1", "((a - (- b)) <= 1)"},
	    {"v.p == (v.a > v.b)", "(p == (a > b))"},
	    {"v.x > v.a or v.p and not not v.q", "((x > a) or (p and (not (not q))))"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct rules *r;
		char *out = NULL;
		size_t len;
		FILE *f = open_memstream(&out, &len);

		assert_non_null(f);
		show(expression(&r, table[i][0]), f);
		fclose(f);
		assert_string_equal(out, table[i][1]);
		free(out);
		rules_free(r);
	}
}

static void test_numbers_and_text(void **state)
{
	struct rules *r = good("defstruct observation o \"\" param t type time param s type string param d type double;\n"
			       "defrule \"\" struct v type function_call assert o(t = 1.5ms, d = 2e3,\n"
			       " s = \"one \\\"two\\\"\n\t\t  three \\{four}\");\n"
			       "defrule \"\" struct v type function_call assert o(t = 3s, d = 1, s = \"a {v.@rank} b {v.before + 1us}\");");
	const struct rules_action *a = &r->rule[0]->action[0], *b = &r->rule[1]->action[0];

	(void)state;
	assert_int_equal(a->set[0].value->v.integer, 1500000);
	assert_true(a->set[1].value->v.real == 2000.0);
	assert_string_equal(strings_get(&r->text, (uint64_t)a->set[2].value->v.integer), "one \"two\" three {four}");
	assert_int_equal(b->set[0].value->v.integer, 3000000000ll);
	assert_int_equal(b->set[1].value->kind, EX_CONVERT);
	assert_int_equal(b->set[2].value->kind, EX_TEMPLATE);
	assert_int_equal(b->set[2].value->n_arg, 4);
	assert_int_equal(b->set[2].value->arg[1]->slot, RA_RANK);
	assert_int_equal(b->set[2].value->arg[3]->type, RT_TIME);
	rules_free(r);
}

#define E "defstruct event e \"\" param n type int param s type string param b type boolean;\n"
#define S "defstruct state s \"\" param n type int;\n"
#define O "defstruct observation o \"\" param n type int param x type string;\n"

static void test_errors(void **state)
{
	static const char *const table[][2] = {
	    {"x", "t:1:1: 'x' found, 'declare', 'defstruct', 'defrule' or 'include' expected"},
	    {"declare foo", "t:1:9: 'foo' found, 'composite event' or 'problem for' expected"},
	    {"declare composite event", "t:1:24: the end of the file found, the name of the composite event expected"},
	    {"declare composite event a member(\n  b c", "t:2:5: 'c' found, 'as' expected"},
	    {"declare composite event a member(b as c) parameters", "t:1:52: the end of the file found, '(' expected"},
	    {"declare problem for a when 1 == 1 foo", "t:1:35: 'foo' found, an operator or 'parameters' expected"},
	    {"declare problem for a parameters(name = \"x\")", "t:1:45: the end of the file found, ';' expected"},
	    {"declare problem for a parameters(name \"x\");", "t:1:39: a string found, '=' expected"},
	    {"defstruct thing a", "t:1:11: 'thing' found, 'event', 'state' or 'observation' expected"},
	    {"defstruct event a param", "t:1:19: 'param' found, a comment in quotes expected"},
	    {"defstruct event a \"\" param x type float;", "t:1:35: 'float' found, a type: int, time, double, boolean or string"},
	    {"defstruct event a \"\" param x, x type int;", "t:1:31: 'a' has two parameters 'x'"},
	    {E E, "t:2:17: 'e' is declared twice: before at t:1"},
	    {"defstruct event function_call \"\";", "t:1:17: 'function_call' is the name of a built-in structure"},
	    {"defrule \"\" where", "t:1:12: 'where' found, 'struct' expected"},
	    {E "defrule \"\" struct v type e;", "t:2:27: ';' found, 'struct', 'where', 'assert', 'retract' or 'modify' expected"},
	    {E "defrule \"\" struct and type e", "t:2:19: 'and' is a word of the language; a name for the structure expected"},
	    {"defrule \"open", "t:1:9: this string has no end"},
	    {"\n /* open", "t:2:2: this comment has no end"},
	    {"defrule \"\" $", "t:1:12: '$' found"},
	    {"\x01", "t:1:1: byte 0x01 found"},
	    {E O "defrule \"\" struct v type e where v.n = 3 assert o(n = 1, x = \"\");", "t:3:38: '=' found; a comparison is written '=='"},
	    {E O "defrule \"\" struct v type e where v.b && v.b", "t:3:38: '&' found; the words are 'and', 'or', 'not'"},
	    {E O "defrule \"\" struct v type e where 1 < v.n < 3 assert o();", "t:3:42: two comparisons in a row"},
	    {E O "defrule \"\" struct v type e where v.n assert o(n=1, x=\"\");", "t:3:34: an int found, a condition expected"},
	    {E O "defrule \"\" struct v type e where v.b and v.n assert o(n=1, x=\"\");", "t:3:42: an int found, a condition expected after 'and'"},
	    {E O "defrule \"\" struct v type e where not v.n assert o(n=1, x=\"\");", "t:3:38: an int found, a condition expected after 'not'"},
	    {E O "defrule \"\" struct v type e where v.s < \"a\" assert o(n=1, x=\"\");", "t:3:38: a string and a string cannot be ordered"},
	    {E O "defrule \"\" struct v type e where v.s == 1 assert o(n=1, x=\"\");", "t:3:38: a string and an int cannot be compared"},
	    {E O "defrule \"\" struct v type e where v.s + v.s == \"\" assert o(n=1, x=\"\");", "t:3:38: strings are put together as"},
	    {E O "defrule \"\" struct v type e where v.n * v.b == 1 assert o(n=1, x=\"\");", "t:3:38: an int and a boolean cannot be multiplied"},
	    {E O "defrule \"\" struct v type e where 1s * 1s > 1s assert o(n=1, x=\"\");", "t:3:37: a time and a time cannot be multiplied"},
	    {E O "defrule \"\" struct v type e where w.n == 1 assert o(n=1, x=\"\");", "t:3:34: there is no structure 'w' in this rule, did you mean 'v'?"},
	    {E O "defrule \"\" struct v type e where v == 1 assert o(n=1, x=\"\");", "t:3:34: 'v' is a structure; a parameter of it expected"},
	    {E O "defrule \"\" struct v type e where n == 1 assert o(n=1, x=\"\");", "t:3:34: there is no constant 'n'"},
	    {E O "defrule \"\" struct v type e where v.@begin == 1 assert o(n=1, x=\"\");", "t:3:34: there is no attribute '@begin'"},
	    {E O "defrule \"\" struct v type e where v.@stat_time == 1 assert o(n=1, x=\"\");", "did you mean 'start_time'?"},
	    {E O "defrule \"\" struct v type e where v.m == 1 assert o(n=1, x=\"\");", "t:3:34: 'e' has no parameter 'm', did you mean 'n'?"},
	    {E O "defrule \"\" struct v type ee assert o(n=1, x=\"\");", "t:3:26: there is no structure 'ee', did you mean 'e'?"},
	    {E O "defrule \"\" struct v type o assert o(n=1, x=\"\");", "t:3:26: 'o' is an observation"},
	    {E O "defrule \"\" struct v type e struct v type e assert o(n=1, x=\"\");", "t:3:42: two structures of this rule are called 'v'"},
	    {E O "defrule \"\" struct v type e assert o(n=1);", "t:3:35: 'x' of 'o' is not given"},
	    {E O "defrule \"\" struct v type e assert o(n=1, x=\"\", n=2);", "t:3:48: 'n' is given twice"},
	    {E O "defrule \"\" struct v type e assert o(n=1, y=\"\");", "t:3:42: 'o' has no parameter 'y'"},
	    {E O "defrule \"\" struct v type e assert o(n=\"\", x=\"\");", "t:3:39: a string found, a value of type int for 'n' expected"},
	    {E O "defrule \"\" struct v type e assert o(n=1.5, x=\"\");", "t:3:39: a double found, a value of type int for 'n' expected; int(...)"},
	    {E O "defrule \"\" struct v type e assert q(n=1);", "t:3:35: there is no structure 'q'"},
	    {E "defrule \"\" struct v type e assert function_call(before = 1);", "t:2:35: 'function_call' comes from the trace"},
	    {E "defrule \"\" struct v type e retract v;", "t:2:36: 'v' is an event; only states can be retracted"},
	    {E "defrule \"\" struct v type e modify v(n = 1);", "only states can be modified"},
	    {S "defrule \"\" struct v type s retract w;", "t:2:36: there is no structure 'w' in this rule"},
	    {S "defrule \"\" struct v type s retract v modify v(n=1);", "'v' is retracted or modified twice"},
	    {S "declare composite event c member(s as x) parameters(n = x.n);", "t:2:34: 's' is a state; only events can be members"},
	    {S "declare problem for s parameters();", "t:2:21: 's' is a state; problems are declared for events"},
	    {"declare composite event c member(c as x) parameters(n = x.n);", "the composite event 'c' is a member of itself"},
	    {"declare composite event c member(d as x) parameters(n = x.n);\n"
	     "declare composite event d member(c as x) parameters(n = x.n);", "t:1:1: the composite event 'c' is a member of itself"},
	    {E "declare composite event c member(e as x) parameters(n = x.n, n = x.n);", "t:2:62: 'c' has two parameters 'n'"},
	    {E "declare problem for e parameters(name = \"\", description = \"\", advice = \"\");", "'duration' of 'problem' is not given"},
	    {E "declare problem for e when m == 1 parameters();", "t:2:28: 'e' has no parameter 'm', did you mean 'n'?"},
	    {E O "defrule \"\" struct v type e where foo(v.n) == 1 assert o(n=1, x=\"\");", "there is no function 'foo'"},
	    {E O "defrule \"\" struct v type e where min() == 1 assert o(n=1, x=\"\");", "min() does not take 0 arguments"},
	    {E O "defrule \"\" struct v type e where abs(v.s) == 1 assert o(n=1, x=\"\");", "abs() wants a number, this is a string"},
	    {E O "defrule \"\" struct v type e where sum(v.n) == 1 assert o(n=1, x=\"\");", "sum(...) of a group"},
	    {E O "defrule \"\" struct v type e struct w type e all 2 by (w.n) assert o(n=1, x=\"\");", "a group stands alone in its rule"},
	    {E O "defrule \"\" struct v type e all 2 by (v.n) assert o(n=sum(min(v.n)+min(v.n)+min(v.n)+min(v.n)+min(v.n)+min(v.n)+min(v.n)"
	     "+min(v.n)+min(v.n)), x=\"\");", "more than 8 functions over the group inside"},
	    {E O "defrule \"\" struct v type e all 2 by v.n assert o(n=1, x=\"\");", "'v' found, '(' expected"},
	    {E O "defrule \"\" struct v type e assert o(n=1, x=\"a {v.n\");", "t:3:47: '{' without '}'"},
	    {E O "defrule \"\" struct v type e assert o(n=1, x=\"a\n {v.k} b\");", "t:4:3: 'e' has no parameter 'k'"},
	    {E O "defrule \"\" struct v type e assert o(n=1, x=\"a {v.n v.n}\");", "'v' found, '}' expected"},
	    {E O "defrule \"\" struct v type e assert o(n=99999999999999999999, x=\"\");", "t:3:39: this number is too large"},
	    {E O "defrule \"\" struct v type e assert o(n=5m, x=\"\");", "t:3:39: this number has an unknown unit"},
	    {"include \"/nonexistent/x.rules\";", "t:1:1: /nonexistent/x.rules: cannot open: No such file or directory"},
	    {"include \"/\";", "t:1:1: /: is not a regular file"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct errbuf err = {""};
		struct rules *r = load(table[i][0], &err);

		if (r || !strstr(err.text, table[i][1]) || (table[i][1][0] == 't' && table[i][1][1] == ':' && strncmp(err.text, "t:", 2)))
			fail_msg("row %zu: \"%s\", expected \"%s\" for\n%s", i, err.text, table[i][1], table[i][0]);
	}
}

static char *repeated(const char *before, const char *piece, size_t n, const char *after)
{
	char *s = malloc(strlen(before) + n * strlen(piece) + strlen(after) + 1), *p = s;

	assert_non_null(s);
	p = stpcpy(p, before);
	for (size_t i = 0; i < n; i++)
		p = stpcpy(p, piece);
	stpcpy(p, after);
	return s;
}

static void test_limits(void **state)
{
	static const struct {
		const char *before, *piece, *after, *what;
		size_t n;
	} table[] = {
	    {E O "defrule \"\" struct v type e where ", "(", "", "nested more than", 100000},
	    {E O "defrule \"\" struct v type e where ", "not ", "", "nested more than", 100000},
	    {E O "defrule \"\" struct v type e where -", "-", "", "nested more than", 100000},
	    {E O "defrule \"\" struct v type e where v.b", " and v.b", "", "nested more than", 100000},
	    {E O "defrule \"\" struct v type e where v.n", " + v.n", "", "nested more than", 100000},
	    {E O "defrule \"\" struct v type e where v.n", " * v.n", "", "nested more than", 100000},
	    {E O "defrule \"\" struct v type e where abs(1", ",1", "", "more than 8 arguments", 100},
	    {E O "defrule \"\" ", "struct v type e ", "", "joins at most 8", 100},
	    {E O, "defrule \"\" struct v type e assert o(n=1, x=\"\");", "", "more than 4096 rules", 5000},
	    {S "defrule \"\" struct v type s retract v", ", v", "", "at most 16 actions", 100},
	    {"", " ", "", "at most 1048576 bytes", (1 << 20) + 1},
	    {"defstruct event ", "a", "", "this name is too long", 1000},
	    {E O "defrule \"\" struct v type e assert o(x=\"", "{v.n}", "\"", "pieces in a string", 100},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char *text = repeated(table[i].before, table[i].piece, table[i].n, table[i].after);
		struct errbuf err = {""};
		struct rules *r = load(text, &err);

		if (r || !strstr(err.text, table[i].what))
			fail_msg("row %zu: \"%s\", expected \"%s\"", i, err.text, table[i].what);
		free(text);
	}
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_includes(void **state)
{
	char dir[] = "/tmp/test-rules-XXXXXX", path[256], name[32], text[64];
	struct errbuf err = {""};
	struct rules *r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	put(dir, "a.rules", "include \"b.rules\";\ninclude \"c.rules\";\n" O "defrule \"\" struct v type e assert o(n=1, x=\"\");");
	put(dir, "b.rules", "include \"c.rules\";\n");
	put(dir, "c.rules", E);
	put(dir, "loop.rules", "\n include \"loop2.rules\";");
	put(dir, "loop2.rules", "include \"./loop.rules\";");
	put(dir, "bad.rules", "include \"wrong.rules\";");
	put(dir, "wrong.rules", "\n\n  oops");
	for (int i = 0; i < RULES_MAX_INCLUDES + 2; i++) {
		snprintf(name, sizeof(name), "d%d.rules", i);
		snprintf(text, sizeof(text), "include \"d%d.rules\";", i + 1);
		put(dir, name, text);
	}
	snprintf(path, sizeof(path), "%s/a.rules", dir);
	r = rules_load(path, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r->n_rule, 1);
	assert_int_equal(r->n_file, 4);
	rules_free(r);
	snprintf(path, sizeof(path), "%s/loop.rules", dir);
	assert_null(rules_load(path, &err));
	assert_non_null(strstr(err.text, "loop2.rules:1:1: "));
	assert_non_null(strstr(err.text, "this file includes itself"));
	snprintf(path, sizeof(path), "%s/bad.rules", dir);
	assert_null(rules_load(path, &err));
	assert_non_null(strstr(err.text, "wrong.rules:3:3: 'oops' found"));
	snprintf(path, sizeof(path), "%s/d0.rules", dir);
	assert_null(rules_load(path, &err));
	assert_non_null(strstr(err.text, "more than 16 files include each other"));
	snprintf(path, sizeof(path), "rm -rf %s", dir);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_papers),	     cmocka_unit_test(test_composite), cmocka_unit_test(test_precedence),
	    cmocka_unit_test(test_numbers_and_text), cmocka_unit_test(test_errors),	 cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_includes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
