/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of options of a verb: values of every kind, operands, one line for each mistake, and the text of --help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/ui/options.h"

struct args {
	bool all;
	const char *out;
	long ranks;
	double seconds;
	int by, calls;
};

static const char *const groupings[] = {"user", "family", "partition", NULL}, *const actions[] = {"fit", "show", NULL};

static int call(void *args, char *text)
{
	((struct args *)args)->calls++;
	return !strcmp(text, "bad") ? -1 : !strcmp(text, "own") ? 7 : 0;
}

static const struct verb_option rows[] = {
	{"all", 'a', NULL, OPT_FLAG(struct args, all), .help = "every row"},
	{"output", 'o', "FILE", OPT_TEXT(struct args, out), .help = "where to", .of = "fit"},
	{"ranks", 'n', "N", OPT_NUMBER(struct args, ranks, 1, 500), .help = "how many"},
	{"seconds", 0, "S", OPT_REAL(struct args, seconds, OPT_ABOVE_0, 1e6), .help = "how long", .wants = "wants seconds"},
	{"by", 0, "WHAT", OPT_WORD(struct args, by, groupings),
	 .help = "one line for each user, each family of jobs or each partition: enough words for a line of its own below this one"},
	{"call", 0, "X", OPT_CALL(call, NULL), .wants = "wants X"},
	{0},
};
static const struct verb
	plain = {.name = "plain", .forms = {"FILE [--all]"}, .text = "Does it.", .options = rows, .operand = "file", .one = true},
	acts = {.name = "acts", .forms = {"fit -o FILE", "show"}, .text = "Does both.", .options = rows, .actions = actions},
	command = {.name = "command", .forms = {"-- CMD..."}, .text = "Runs it.", .options = rows, .operand = "command", .command = true};

/* A line of words, as it was read, and the text that was printed. */
static struct {
	struct args args;
	char **operand, *word[16], line[256];
	int rc;
	char *said;
} is;

static void read_line(const struct verb *v, const char *line)
{
	FILE *out = stdout, *err = stderr, *mem;
	size_t size;
	int n = 0;

	free(is.said);
	memset(&is, 0, sizeof(is));
	is.args.by = -1;
	snprintf(is.line, sizeof(is.line), "%s %s", v->name, line);
	for (char *p = is.line; (p = strtok(p, " ")); p = NULL)
		is.word[n++] = p;
	mem = open_memstream(&is.said, &size);
	assert_non_null(mem);
	stdout = stderr = mem;
	is.operand = options_read(v, n, is.word, &is.args, &is.rc);
	stdout = out;
	stderr = err;
	fclose(mem);
}

static void values(void **state)
{
	(void)state;
	read_line(&plain, "-a -o x --ranks 3 --seconds=0.5 --by family --call a --call b file");
	assert_non_null(is.operand);
	assert_string_equal(is.said, "");
	assert_true(is.args.all);
	assert_string_equal(is.args.out, "x");
	assert_int_equal(is.args.ranks, 3);
	assert_true(is.args.seconds == 0.5);
	assert_int_equal(is.args.by, 1);
	assert_int_equal(is.args.calls, 2);
	assert_string_equal(is.operand[0], "file");
	assert_null(is.operand[1]);
	/* behind the operand, together, shortened, the last of two */
	read_line(&plain, "file --rank 3 -an4 --out=y -oz --sec 2");
	assert_non_null(is.operand);
	assert_int_equal(is.args.ranks, 4);
	assert_true(is.args.all);
	assert_string_equal(is.args.out, "z");
	assert_string_equal(is.operand[0], "file");
	read_line(&plain, "-- -a");
	assert_non_null(is.operand);
	assert_false(is.args.all);
	assert_string_equal(is.operand[0], "-a");
	read_line(&command, "-a mpirun -n 4 --all");
	assert_non_null(is.operand);
	assert_string_equal(is.operand[0], "mpirun");
	assert_string_equal(is.operand[3], "--all");
	assert_int_equal(is.args.ranks, 0);
}

static void mistakes(void **state)
{
	static const struct {
		const struct verb *v;
		const char *line, *says;
	} wrong[] = {
		{&plain, "", "no file named"},
		{&plain, "a b", "one file at a time"},
		{&plain, "--nonsense a", "bad option '--nonsense'"},
		{&plain, "-Z a", "bad option '-Z'"},
		{&plain, "a -aZ1", "bad option '-Z'"},
		{&plain, "a -ao", "-o wants a value"},
		{&plain, "a --help=3", "--help takes no value"},
		{&plain, "a -:", "bad option '-:'"},
		{&plain, "--all=3 a", "--all takes no value"},
		{&plain, "a --output", "--output wants a value"},
		{&plain, "a -o", "-o wants a value"},
		{&plain, "a -n 0", "-n takes a number from 1 to 500, not '0'"},
		{&plain, "a --ra 501", "-n takes a number from 1 to 500, not '501'"},
		{&plain, "a --ranks 2x", "-n takes a number from 1 to 500, not '2x'"},
		{&plain, "a --ranks=", "-n takes a number from 1 to 500, not ''"},
		{&plain, "a --seconds 0", "--seconds wants seconds, not '0'"},
		{&plain, "a --seconds nan", "--seconds wants seconds, not 'nan'"},
		{&plain, "a --seconds 1e7", "--seconds wants seconds, not '1e7'"},
		{&plain, "a --seconds 1x", "--seconds wants seconds, not '1x'"},
		{&plain, "a --by use", "--by takes user, family or partition, not 'use'"},
		{&plain, "a --call bad", "--call wants X, not 'bad'"},
		{&acts, "", "say what: fit or show"},
		{&acts, "fi", "'fi' is not fit or show"},
		{&acts, "show -o x", "-o is not for show"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char line[256];

		snprintf(line, sizeof(line), "precedent %s: %s; try 'precedent %s --help'\n", wrong[i].v->name, wrong[i].says, wrong[i].v->name);
		read_line(wrong[i].v, wrong[i].line);
		assert_null(is.operand);
		assert_int_equal(is.rc, 2);
		assert_string_equal(is.said, line);
	}
	read_line(&plain, "a --call own"); /* said by the function */
	assert_null(is.operand);
	assert_int_equal(is.rc, 7);
	assert_string_equal(is.said, "");
	read_line(&acts, "fit -o x more");
	assert_non_null(is.operand);
}

static void help(void **state)
{
	static const char text[] =
		"Usage: precedent acts fit -o FILE\n"
		"       precedent acts show\n"
		"\n"
		"Does both.\n"
		"\n"
		"  -a, --all          every row\n"
		"  -o, --output FILE  where to\n"
		"  -n, --ranks N      how many\n"
		"      --seconds S    how long\n"
		"      --by WHAT      one line for each user, each family of jobs or each partition: enough words for\n"
		"                     a line of its own below this one\n"
		"  -h, --help         this text\n";

	(void)state;
	read_line(&acts, "--ranks 3 --help --nonsense");
	assert_null(is.operand);
	assert_int_equal(is.rc, 0);
	assert_string_equal(is.said, text);
	read_line(&acts, "-h");
	assert_string_equal(is.said, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(help),
	};
	int rc;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	rc = cmocka_run_group_tests(tests, NULL, NULL);

	free(is.said);
	return rc;
}
