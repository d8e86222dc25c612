/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of shell scripts and of sbatch command lines: tables of the results of a shell or sbatch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/sbatch_args.h"
#include "common/script_words.h"

static const char *lookup(const char *name)
{
	if (strcmp(name, "HOME") == 0)
		return "/home/anna";
	if (strcmp(name, "SLURM_JOB_ID") == 0)
		return "7";
	return strcmp(name, "DATA") == 0 ? "/data" : NULL;
}

/* "word word >output ?opaque =assignment !head"; commands are separated by " | "; a directory other than the
 * first is @dir. */
static char *described(const char *script, size_t len)
{
	static char *const args[] = {"first", "second"};
	const struct script_context ctx = {.work_dir = "/jobs/./dir/", .submit_dir = "/submit", .args = args, .n_args = 2,
					   .lookup = lookup};
	static char text[65536];
	struct script_words w;
	size_t n = 0;
	assert_int_equal(script_words_read(script, len, &ctx, &w), 0);
	text[0] = '\0';
	for (size_t i = 0; i < w.n && n < sizeof(text) - 8192; i++) {
		const struct script_word *x = &w.words[i];
		const char *sep = !i ? "" : x->command == w.words[i - 1].command ? " " : " | ";
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s%s%s%s", sep, x->flags & SCRIPT_WORD_OUTPUT ? ">" : "",
				      x->flags & SCRIPT_WORD_OPAQUE ? "?" : "", x->flags & SCRIPT_WORD_ASSIGN ? "=" : "",
				      x->flags & SCRIPT_WORD_HEAD ? "!" : "", x->text);
		if (x->dir)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "@%s", w.dirs[x->dir]);
	}
	script_words_free(&w);
	return text;
}

static void test_words(void **state)
{
	static const struct {
		const char *script, *words;
	} CASES[] = {
		{"", ""},
		{"\n\n# nothing\n", ""},
		{"#!/bin/sh\n#SBATCH -n 2\n./app in.dat # input\n", "!./app in.dat"},
		{"a b; c d\ne | f && g || h &\n", "!a b | !c d | !e | !f | !g | !h"},
		{"./a\\\n b\\ c\n", "!./a b c"},
		{"'a b' \"c d\" e'f'\"g\"h\n", "!a b c d efgh"},
		{"echo \"\\$x \\\"q\\\" \\n\"", "!echo $x \"q\" \\n"},
		{"./app a#b '#' #c\n", "!./app a#b #"},
		{"app <in >out 2>err >>log 2>&1 &>both >|force\n", "!app in >out >err >log >both >force"},
		{"app >&- >&out 3<in <>rw 12\n", "!app >out in >rw 12"},
		{"app2>out\n", "!app2 >out"},
		{"app 'x'>out\n", "!app x >out"},
		{"cat <<EOF >deck\nfile.dat don't\n $x\nEOF\nnext\n", "!cat >deck | !next"},
		{"cat <<-'E F' && after\nbody\n\tE F\nnext\n", "!cat | !after | !next"},
		{"a <<X; b <<Y\n1\nX\n2\nY\nc\n", "!a | !b | !c"},
		{"cat <<EOF\nnever ended", "!cat"},
		{"read x <<< word\n", "!read x word"},
		{"A=1 B='x y' cmd C=3\n", "=A=1 =B=x y !cmd C=3"},
		{"IN=in.dat\n./app $IN ${IN}.bak \"$IN\"\n", "=IN=in.dat | !./app in.dat in.dat.bak in.dat"},
		{"export OUT=o; app >$OUT >${OUT:-x}\n", "!export =OUT=o | !app >o >?"},
		{"A=$(date)\napp $A.in\n", "?=A= | !date | !app ?.in"},
		{"app $DATA/x $UNKNOWN/y $1 $2 $3 $@ $HOME ~/z ~ $SLURM_JOB_ID\n",
		 "!app /data/x ?/y first second ? ? /home/anna /home/anna/z /home/anna ?${SLURM_JOB_ID}"},
		{"app *.dat a?c [ab] {1,2} '*'\n", "!app ?*.dat ?a?c ?[ab] ?{1,2} *"},
		{"app `cat list` x\n", "!app | !cat list | !x"},
		{"app \"$(dirname \"$0\")\" y\n", "!app ?(dirname ) y"},
		{"cd $SLURM_SUBMIT_DIR\napp in\n", "!cd /submit@/submit | !app@/submit in@/submit"},
		{"cd run; app in; cd ..; app in\n",
		 "!cd run@/jobs/dir/run | !app@/jobs/dir/run in@/jobs/dir/run | !cd@/jobs/dir/run .. | !app in"},
		{"cd $UNKNOWN; app\n", "!cd ? | !app"},
		{"if test -f x; then app y; fi\n", "!test -f x | !app y | !fi"},
		{"for i in a b; do app $i; done\n", "!for i in a b | !app ? | !done"},
		{"time mpirun -n 2 ./a\n", "!mpirun -n 2 ./a"},
		{"f() { app; }\n", "!f | !app | !}"},
		{"a\r\nb\r\n", "!a | !b"},
		{"echo 'open", "!echo open"},
		{"echo \"open $", "!echo ?open "},
		{"echo \\", "!echo"},
		{"> >", ""},
		{"PWD_=$PWD app\n", "=PWD_=/jobs/dir !app"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		assert_string_equal(described(CASES[i].script, strlen(CASES[i].script)), CASES[i].words);
	assert_string_equal(described("a\0b c", 5), "?!ab c");
}

static void test_bounds(void **state)
{
	const struct script_context ctx = {.work_dir = "/w"};
	const size_t len = 3 * 1024 * 1024;
	char *text = malloc(len);
	struct script_words w;
	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	assert_int_equal(script_words_read(text, len, &ctx, &w), 0);
	assert_int_equal(w.n, 1);
	assert_true(w.words[0].flags & SCRIPT_WORD_OPAQUE);
	assert_true(strlen(w.words[0].text) < SCRIPT_WORD_LEN_MAX);
	script_words_free(&w);
	for (size_t i = 0; i < len; i += 2)
		text[i] = ' ';
	assert_int_equal(script_words_read(text, len, &ctx, &w), 0);
	assert_int_equal(w.n, SCRIPT_WORDS_MAX);
	script_words_free(&w);
	script_words_free(&w);
	free(text);
}

static void test_path_normal(void **state)
{
	static const struct {
		const char *dir, *name, *path;
	} CASES[] = {
		{"/a/b", "c", "/a/b/c"},     {"/a/b", "./c/./d/", "/a/b/c/d"}, {"/a/b", "../c", "/a/c"},
		{"/a/b", "../../../c", "/c"}, {"/a/b", "/x//y", "/x/y"},	{"/a/b", ".", "/a/b"},
		{"/", "..", "/"},	      {"/a", "b/..", "/a"},		{"/a", "...", "/a/..."},
		{"/a", "..b", "/a/..b"},
	};
	char name[8192];
	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char *path = path_normal(CASES[i].dir, CASES[i].name);
		assert_non_null(path);
		assert_string_equal(path, CASES[i].path);
		free(path);
	}
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(path_normal("/", name));
}

static bool ends_in_sh(const char *word)
{
	size_t n = strlen(word);
	return n > 3 && strcmp(word + n - 3, ".sh") == 0;
}

#define SAME(a, b)                                                                                                         \
	do {                                                                                                               \
		if (b)                                                                                                     \
			assert_string_equal((a) ? (a) : "(null)", b);                                                      \
		else                                                                                                       \
			assert_null(a);                                                                                    \
	} while (0)

static void test_sbatch_args(void **state)
{
	static const struct {
		const char *line; /* words separated by blanks */
		const char *script, *first_arg, *wrap, *chdir, *output, *error;
	} CASES[] = {
		{.line = ""},
		{.line = "job.sh", .script = "job.sh"},
		{.line = "job.sh -o x", .script = "job.sh", .first_arg = "-o"},
		{.line = "-N 2 -n4 job.sh a", .script = "job.sh", .first_arg = "a"},
		{.line = "--nodes 2 --ntasks=4 job.sh a", .script = "job.sh", .first_arg = "a"},
		{.line = "-D /d -o out -e err job.sh", .script = "job.sh", .chdir = "/d", .output = "out", .error = "err"},
		{.line = "-D/d -oout --error=err job.sh", .script = "job.sh", .chdir = "/d", .output = "out", .error = "err"},
		{.line = "--chdir d --output o -- job.sh b", .script = "job.sh", .first_arg = "b", .chdir = "d", .output = "o"},
		{.line = "-HQD /d job.sh", .script = "job.sh", .chdir = "/d"},
		{.line = "-W -v -k -s -Q job.sh", .script = "job.sh"},
		{.line = "--exclusive --hold --requeue --nice job.sh", .script = "job.sh"},
		{.line = "--exclusive=user --nice=5 job.sh", .script = "job.sh"},
		{.line = "--part fast --outp o job.sh", .script = "job.sh", .output = "o"},
		{.line = "--predict=off job.sh", .script = "job.sh"},
		{.line = "--predict off job.sh", .script = "job.sh"},
		{.line = "--foreign job.sh a", .script = "job.sh", .first_arg = "a"},
		{.line = "--foreign value job.sh a", .script = "job.sh", .first_arg = "a"},
		{.line = "--foreign=value job.sh", .script = "job.sh"},
		{.line = "--wrap=./app", .wrap = "./app"},
		{.line = "--wrap ./app -n 2", .wrap = "./app"},
		{.line = "-n1 : -n2 job.sh", .script = "job.sh"},
		{.line = "-N"},
		{.line = "--nodes"},
		{.line = "--"},
		{.line = "-"  , .script = "-"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct sbatch_args args = {0};
		char line[256], *argv[16], *save = NULL;
		size_t n = 0;
		snprintf(line, sizeof(line), "%s", CASES[i].line);
		for (char *p = strtok_r(line, " ", &save); p; p = strtok_r(NULL, " ", &save))
			argv[n++] = p;
		sbatch_args_read(argv, n, ends_in_sh, &args);
		SAME(args.script, CASES[i].script);
		SAME(args.n_args ? args.args[0] : NULL, CASES[i].first_arg);
		SAME(args.wrap, CASES[i].wrap);
		SAME(args.chdir, CASES[i].chdir);
		SAME(args.output, CASES[i].output);
		SAME(args.error, CASES[i].error);
	}
}

static void test_directives(void **state)
{
	static const char SCRIPT[] = "#!/bin/bash\n\n#SBATCH -o 'my out' # tail\n# other\n#SBATCH\t--chdir=\"/a b\" -n2\n"
				     "#SBATCHING\n#SBATCH\n#SBATCH\\\nset -e\n#SBATCH -o late\n";
	size_t n;
	char **words = sbatch_directives(SCRIPT, strlen(SCRIPT), &n);
	struct sbatch_args args = {0};
	(void)state;
	assert_non_null(words);
	sbatch_args_read(words, n, NULL, &args);
	assert_string_equal(args.output, "my out");
	assert_string_equal(args.chdir, "/a b");
	assert_null(words[n]);
	free(words);
	words = sbatch_directives("", 0, &n);
	assert_non_null(words);
	assert_int_equal(n, 0);
	free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),	    cmocka_unit_test(test_bounds),     cmocka_unit_test(test_path_normal),
		cmocka_unit_test(test_sbatch_args), cmocka_unit_test(test_directives),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
