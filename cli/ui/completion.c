/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts that complete verbs, options, their values and operands: see completion.h. Each script is a frame in the language
 * of its shell around lines made of the tables. The words behind "--" are a command with completions of its own.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ui/completion.h"

enum shell { BASH, ZSH, FISH, N_SHELL };

#define JOBS "precedent jobs 2>/dev/null | grep -o \"^[0-9]*\""

/* How shells complete a value or an operand whose name begins so: arguments of compgen, of _arguments, of fish's complete. */
static const struct kind {
	const char *name, *action[N_SHELL];
} kinds[] = {
	{"trace", {"-f -X '!*.ptrace'", "_files -g \"*.ptrace\"", "-x -k -a '(__fish_complete_suffix .ptrace)'"}},
	{"dir", {"-d", "_files -/", "-x -a '(__fish_complete_directories)'"}},
	{"file", {"-f", "_files", "-r -F"}},
	{"rules", {"-f", "_files", "-r -F"}},
	{"out", {"-f", "_files", "-r -F"}},
	{"job", {"-W \"$(" JOBS ")\"", "{compadd - $(" JOBS ")}", "-x -a '(" JOBS ")'"}},
	{"command", {"-f", "_normal", "-F"}},
	{"", {"-W ''", " ", "-x"}},
};

static void action_print(enum shell sh, const char *name, const char *const *words)
{
	const struct kind *k = kinds;

	if (words) {
		fputs(sh == ZSH ? "(" : sh == BASH ? "-W '" : "-x -a '", stdout);
		for (; *words; words++)
			printf("%s%s", *words, words[1] ? " " : "");
		fputs(sh == ZSH ? ")" : "'", stdout);
		return;
	}
	while (strncasecmp(k->name, name, strlen(k->name)) != 0)
		k++;
	fputs(k->action[sh], stdout);
}

/* The first clause of a text, between single quotes of zsh or fish. */
static void clause_print(enum shell sh, const char *text)
{
	for (; *text && *text != ';' && *text != '\n' && strncmp(text, " (", 2) != 0; text++)
		if (*text == '\'')
			fputs(sh == ZSH ? "'\\''" : "\\'", stdout);
		else
			printf(strchr(sh == ZSH ? "[]:\\" : "\\", *text) ? "\\%c" : "%c", *text);
}

/* ---- bash: cases of "verb, word before, word" ---- */

static void bash_verb(const struct verb *v)
{
	for (const struct verb_option *o = v->options; o->name; o++) {
		if (!o->help || !o->value_name)
			continue;
		printf("\t'%s --%s '*", v->name, o->name);
		if (o->letter)
			printf(" | '%s -%c '*", v->name, o->letter);
		printf(") take=(");
		action_print(BASH, o->value_name, o->value.words);
		puts(") ;;");
	}
	printf("\t'%s '*' -'*) take=(-W '", v->name);
	for (const struct verb_option *o = v->options; o->name; o++)
		if (o->help)
			printf("--%s ", o->name);
	puts("--help') ;;");
	if (v->actions) {
		printf("\t'%s %s '*) take=(", v->name, v->name);
		action_print(BASH, "", v->actions);
		puts(") ;;");
	}
	printf("\t'%s '*) take=(", v->name);
	action_print(BASH, v->operand ? v->operand : "", NULL);
	puts(") ;;");
}

static void bash_print(const struct verb *const *verbs)
{
	puts("_precedent()\n{\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} verbs i take=()\n\n"
	     "\tCOMPREPLY=()\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\t[[ ${COMP_WORDS[i]} != -- ]] || { compopt -o default 2>/dev/null; return; }\n"
	     "\tdone\n"
	     "\t[[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD-2]} # --name=value is three words\n"
	     "\t[[ $word != = ]] || word=\n"
	     "\t((COMP_CWORD > 1)) || verb=");
	fputs("\tverbs='", stdout);
	for (const struct verb *const *v = verbs; *v; v++)
		if ((*v)->what)
			printf("%s ", (*v)->name);
	puts("'\n"
	     "\tcase \"$verb $before $word\" in\n"
	     "\t' '*) take=(-W \"$verbs help --help --version\") ;;\n"
	     "\t'help help '*) take=(-W \"$verbs\") ;;");
	for (; *verbs; verbs++)
		if ((*verbs)->what)
			bash_verb(*verbs);
	puts("\t*) return ;;\n"
	     "\tesac\n"
	     "\t[[ ${take[0]} == -W ]] || compopt -o filenames -o plusdirs 2>/dev/null\n"
	     "\tmapfile -t COMPREPLY < <(compgen \"${take[@]}\" -- \"$word\")\n"
	     "}\ncomplete -F _precedent precedent");
}

/* ---- zsh: specifications for _arguments ---- */

/* '(-o --output)'{-o+,--output=}'[the trace]:FILE:_files' */
static void zsh_option(const struct verb_option *o)
{
	const char *repeated = o->value.kind == OPTION_CALL ? "*" : "", *equals = o->value_name ? "=" : "";

	if (o->letter)
		printf(" \\\n\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter, o->value_name ? "+" : "", o->name, equals);
	else
		printf(" \\\n\t\t'%s--%s%s[", repeated, o->name, equals);
	clause_print(ZSH, o->help);
	putchar(']');
	if (o->value_name) {
		printf(":%s:", o->value_name);
		action_print(ZSH, o->value_name, o->value.words);
	}
	putchar('\'');
}

static void zsh_verb(const struct verb *v)
{
	printf("%s)\n\t_arguments -s", v->name);
	for (const struct verb_option *o = v->options; o->name; o++)
		if (o->help)
			zsh_option(o);
	if (v->actions) {
		printf(" \\\n\t\t'1:action:");
		action_print(ZSH, "", v->actions);
		putchar('\'');
	}
	if (v->operand) {
		printf(" \\\n\t\t'*:%s%s:", v->command ? ":" : "", v->operand);
		action_print(ZSH, v->operand, NULL);
		putchar('\'');
	}
	puts(" ;;");
}

static void zsh_print(const struct verb *const *verbs)
{
	puts("#compdef precedent\n"
	     "local -a verbs=(");
	for (const struct verb *const *v = verbs; *v; v++)
		if ((*v)->what) {
			printf("\t'%s:", (*v)->name);
			clause_print(ZSH, (*v)->what);
			puts("'");
		}
	puts(")\n"
	     "local -i end=${words[(i)--]}\n"
	     "if (( end < CURRENT )); then\n"
	     "\tshift $end words; (( CURRENT -= end ))\n\t_normal\n\treturn\n"
	     "elif (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
	     "\t_describe verb verbs\n\treturn\n"
	     "fi\n"
	     "shift words; (( CURRENT-- ))\n"
	     "case $words[1] in");
	for (; *verbs; verbs++)
		if ((*verbs)->what)
			zsh_verb(*verbs);
	puts("esac");
}

/* ---- fish: a complete(1) for each option ---- */

static void fish_verb(const struct verb *v)
{
	for (const struct verb_option *o = v->options; o->name; o++) {
		if (!o->help)
			continue;
		printf("complete -c precedent -n '__precedent_verb %s' -l %s ", v->name, o->name);
		if (o->letter)
			printf("-s %c ", o->letter);
		if (o->value_name)
			action_print(FISH, o->value_name, o->value.words);
		fputs(" -d '", stdout);
		clause_print(FISH, o->help);
		puts("'");
	}
	if (v->actions) {
		printf("complete -c precedent -n '__precedent_verb %s; and test (count (commandline -opc)) -eq 2' ", v->name);
		action_print(FISH, "", v->actions);
		putchar('\n');
	}
	if (v->operand) {
		printf("complete -c precedent -n '__precedent_verb %s%s' ", v->name,
		       v->actions ? "; and test (count (commandline -opc)) -gt 2" : "");
		action_print(FISH, v->operand, NULL);
		putchar('\n');
	}
}

static void fish_print(const struct verb *const *verbs)
{
	puts("function __precedent_verb\n"
	     "\tset -l words (commandline -opc)\n"
	     "\ttest (count $words) -gt 1; and test $words[2] = $argv[1]; and not contains -- -- $words\n"
	     "end\n"
	     "complete -c precedent -f\n"
	     "complete -c precedent -n 'contains -- -- (commandline -opc)' -F");
	for (const struct verb *const *v = verbs; *v; v++)
		if ((*v)->what) {
			printf("complete -c precedent -n '__fish_use_subcommand; or __precedent_verb help' -a %s -d '", (*v)->name);
			clause_print(FISH, (*v)->what);
			puts("'");
			fish_verb(*v);
		}
}

void completion_print(const char *shell, const struct verb *const *verbs)
{
	(!strcmp(shell, "bash") ? bash_print : !strcmp(shell, "zsh") ? zsh_print : fish_print)(verbs);
}
