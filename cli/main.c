/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent: how long a job will run, before it runs. This file only finds the verb; precedent.1 documents them.
 */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/ui/completion.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"

static const struct verb verb_completion;

static const struct verb *const verbs[] = {
	&verb_trace, &verb_info, &verb_import, &verb_view, &verb_skeleton, &verb_verify, &verb_predict,
	&verb_export, &verb_advise, &verb_model, &verb_jobs, &verb_queue, &verb_show, &verb_explain, &verb_accuracy,
	&verb_replay, &verb_retrace, &verb_forget, &verb_doctor, &verb_conf, &verb_completion,
	&verb_probe, &verb_collect, &verb_confine, NULL
};

#define N_VERBS (sizeof(verbs) / sizeof(*verbs) - 1)

static int completion_verb(int argc, char **argv)
{
	int rc;
	char **shell = options_read(&verb_completion, argc, argv, NULL, &rc);

	if (!shell)
		return rc;
	if (shell[1])
		return cli_usage("completion", "one shell at a time");
	completion_print(*shell, verbs);
	return 0;
}

static const struct verb verb_completion = {
	"completion", "bash | zsh | fish", "a script with which the shell completes all this",
	.forms = {"bash|zsh|fish"},
	.text = "Prints the script by which a shell completes verbs, options and files. It is installed with Precedent; for one shell: "
		"source <(precedent completion bash).",
	.examples = {"bash > ~/.local/share/bash-completion/completions/precedent", "zsh > ~/.zfunc/_precedent"},
	.options = (const struct verb_option[]){{0}}, .actions = (const char *const[]){"bash", "zsh", "fish", NULL}, .run = completion_verb,
};

static void help(FILE *f)
{
	fputs("Usage: precedent VERB [ARGUMENTS]\n\n"
	      "Predicts how long an MPI job will run, before it runs.\n\n",
	      f);
	for (size_t i = 0; i < N_VERBS; i++)
		if (verbs[i]->what)
			fprintf(f, "  %-10s %-20s %s\n", verbs[i]->name, verbs[i]->args, verbs[i]->what);
	fputs("\n'precedent help VERB' tells more, 'man precedent' all. To opt a job out: sbatch --predict=off\n", f);
}

/* Letters to change, leave out or add until one word is the other (Levenshtein); words of verbs are short. */
static int letters_apart(const char *a, const char *b)
{
	int row[16], n = (int)strlen(b);

	if (n >= 16)
		return INT_MAX;
	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		int corner = row[0];

		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int change = corner + (a[i - 1] != b[j - 1]), shift = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);

			corner = row[j];
			row[j] = change < shift ? change : shift;
		}
	}
	return row[n];
}

/* One line, with the verb that was probably meant; returns 2. */
static int no_such_verb(const char *word)
{
	const char *meant = NULL;
	int least = strlen(word) > 3 ? 3 : 2; /* that many letters wrong, and it is another word */

	for (size_t i = 0; i < N_VERBS && *word != '-'; i++) {
		int apart = verbs[i]->what && *word ? letters_apart(word, verbs[i]->name) : INT_MAX;

		if (apart < least) {
			least = apart;
			meant = verbs[i]->name;
		}
	}
	if (meant)
		fprintf(stderr, "precedent: there is no verb '%s'; did you mean '%s'? 'precedent --help' lists them\n", cli_shown(word), meant);
	else
		fprintf(stderr, "precedent: there is no verb '%s'; 'precedent --help' lists them\n", cli_shown(word));
	return 2;
}

/* The exit code of a verb, unless what it printed did not arrive. */
static int written(int rc)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	return rc ? rc : cli_fail("standard output cannot be written: %s", strerror(errno));
}

static int verb_run(int argc, char **argv)
{
	for (size_t i = 0; i < N_VERBS; i++)
		if (!strcmp(argv[0], verbs[i]->name))
			return written(verbs[i]->run(argc, argv));
	return no_such_verb(argv[0]);
}

/* `precedent help VERB` is `precedent VERB --help`. */
static int verb_help(int argc, char **argv)
{
	char *asked[] = {argv[0], (char[]){"--help"}, NULL};

	if (argc == 0) {
		help(stdout);
		return written(0);
	}
	if (argc > 1) {
		fprintf(stderr, "precedent help: one verb at a time, not '%s' too\n", cli_shown(argv[1]));
		return 2;
	}
	return verb_run(2, asked);
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_DFL);
	cli_end_clean();
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return verb_help(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("precedent " PRECEDENT_VERSION);
		return written(0);
	}
	return verb_run(argc - 1, argv + 1);
}
