/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of verbs, read and explained by their tables: see options.h. */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ui/options.h"
#include "cli/ui/util.h"

#define WIDTH    100  /* columns of --help */
#define LONG_ROW 256  /* added to the row of a long option, so that it is no letter for getopt_long() */

/* ---- parsing ---- */

/* "fit, show or compile"; returns out. */
static const char *words_join(const char *const *words, char *out, size_t size)
{
	size_t k = 0;

	for (int i = 0; words[i] && k < size; i++)
		k += (size_t)snprintf(out + k, size - k, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	return out;
}

static int word_index(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	return -1;
}

/* 0, -1 for a wrong value, or the exit code after a message. */
static int value_take(const struct option_value *v, char *text, void *args)
{
	void *member = (char *)args + v->at;
	double real;
	char *end;

	switch (v->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)member = text;
		return 0;
	case OPTION_NUMBER:
		return cli_number(text, (long)v->least, (long)v->most, member);
	case OPTION_REAL:
		real = strtod(text, &end);
		if (end == text || *end || !(real >= v->least && real <= v->most))
			return -1;
		*(double *)member = real;
		return 0;
	case OPTION_WORD:
		*(int *)member = word_index(v->words, text);
		return *(int *)member < 0 ? -1 : 0;
	case OPTION_CALL:
		return v->call(args, text);
	}
	return -1;
}

/* "-o", or "--output" where there is no letter; returns out. */
static const char *shown(const struct verb_option *o, char *out, size_t size)
{
	snprintf(out, size, o->letter ? "-%.1s" : "--%s", o->letter ? &o->letter : o->name);
	return out;
}

static int wrong_value(const struct verb *v, const struct verb_option *o, const char *text)
{
	char name[32], words[128];

	shown(o, name, sizeof(name));
	if (o->wants)
		return cli_usage(v->name, "%s %s, not '%s'", name, o->wants, text);
	if (o->value.words)
		return cli_usage(v->name, "%s takes %s, not '%s'", name, words_join(o->value.words, words, sizeof(words)), text);
	return cli_usage(v->name, "%s takes a number from %.0f to %.0f, not '%s'", name, o->value.least, o->value.most, text);
}

/* Of the option that getopt_long() has just answered '?' for: optopt is 0, its letter, or its row. */
static int bad_option(const struct verb *v, const char *letters, char *const *argv)
{
	const char *given = argv[optind - 1], *known = strchr(letters, optopt);

	if (!optopt)
		return cli_usage(v->name, "bad option '%s'", given);
	if (optopt < LONG_ROW)
		return cli_usage(v->name, known && known[1] == ':' ? "-%c wants a value" : "bad option '-%c'", optopt);
	if (strchr(given, '='))
		return cli_usage(v->name, "%.*s takes no value", (int)strcspn(given, "="), given);
	return cli_usage(v->name, "%s wants a value", given);
}

/* The tables for getopt_long(). */
static void table_make(const struct verb *v, struct option *known, char *letters)
{
	int n = 0;

	if (v->command)
		*letters++ = '+';
	*letters++ = 'h';
	for (const struct verb_option *o = v->options; o->name && n < OPTIONS_MAX; o++, n++) {
		known[n] = (struct option){o->name, o->value_name ? required_argument : no_argument, NULL, LONG_ROW + n};
		if (o->letter)
			*letters++ = o->letter;
		if (o->letter && o->value_name)
			*letters++ = ':';
	}
	*letters = '\0';
	known[n] = (struct option){"help", no_argument, NULL, LONG_ROW + OPTIONS_MAX};
	known[n + 1] = (struct option){0};
}

static int row_of_letter(const struct verb *v, int letter)
{
	int i = 0;

	while (v->options[i].letter != letter)
		i++;
	return i;
}

/* -1, or the exit code. given: a bit for each row. */
static int rows_read(const struct verb *v, int argc, char **argv, void *args, uint32_t *given)
{
	struct option known[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 3];
	int c, row, rc;

	table_make(v, known, letters);
	opterr = optind = 0; /* 0: another argv than the last time */
	while ((c = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		if (c == 'h' || c == LONG_ROW + OPTIONS_MAX)
			return options_help(v), 0;
		if (c == '?')
			return bad_option(v, letters, argv);
		row = c < LONG_ROW ? row_of_letter(v, c) : c - LONG_ROW;
		rc = value_take(&v->options[row].value, optarg, args);
		if (rc)
			return rc > 0 ? rc : wrong_value(v, &v->options[row], optarg);
		*given |= 1u << row;
	}
	return -1;
}

/* 0, or the exit code: the first operand says what to do, and which options go with that. */
static int action_check(const struct verb *v, const char *action, uint32_t given)
{
	char words[128], name[32];

	words_join(v->actions, words, sizeof(words));
	if (!action)
		return cli_usage(v->name, "say what: %s", words);
	if (word_index(v->actions, action) < 0)
		return cli_usage(v->name, "'%s' is not %s", action, words);
	for (const struct verb_option *o = v->options; o->name; o++, given >>= 1)
		if (given & 1 && o->of && !strstr(o->of, action))
			return cli_usage(v->name, "%s is not for %s", shown(o, name, sizeof(name)), action);
	return 0;
}

/* What a verb writes is made from its operands: it is as private as the most private of them. */
static void keep_private(char *const file[])
{
	struct stat st;
	mode_t mask = 0;

	for (; *file; file++)
		if (stat(*file, &st) == 0 && S_ISREG(st.st_mode))
			mask |= (st.st_mode & S_IRGRP ? 0 : S_IRWXG) | (st.st_mode & S_IROTH ? 0 : S_IRWXO);
	umask(umask(077) | mask);
}

char **options_read(const struct verb *v, int argc, char **argv, void *args, int *rc)
{
	uint32_t given = 0;

	*rc = rows_read(v, argc, argv, args, &given);
	if (*rc >= 0)
		return NULL;
	*rc = 0;
	if (v->actions)
		*rc = action_check(v, argv[optind], given);
	else if (v->one && argc - optind != 1)
		*rc = cli_usage(v->name, optind < argc ? "one %s at a time" : "no %s named", v->operand);
	else if (!v->operand && optind < argc)
		*rc = cli_usage(v->name, "unexpected '%s'", argv[optind]);
	if (!*rc && !v->command)
		keep_private(argv + optind);
	return *rc ? NULL : argv + optind;
}

/* ---- --help ---- */

/* Text from the column at which the cursor is, in lines that begin there; not broken within brackets. */
static void fold(int column, const char *text)
{
	int at = column;

	while (*text) {
		int n = 0, depth = 0;

		for (; text[n] && text[n] != '\n' && (text[n] != ' ' || depth > 0); n++)
			depth += (text[n] == '[') - (text[n] == ']');
		if (at > column && at + 1 + n > WIDTH)
			at = printf("\n%*s", column, "") - 1;
		at += printf("%s%.*s", at > column ? " " : "", n, text);
		text += n;
		if (*text == '\n') {
			at = column;
			printf("\n%*s", column, "");
		}
		text += *text != '\0';
	}
	putchar('\n');
}

/* "  -o, --output FILE"; returns the columns. */
static int option_name(const struct verb_option *o, char *out, size_t size)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	return snprintf(out, size, "  %s--%s%s%s", letter, o->name, o->value_name ? " " : "", o->value_name ? o->value_name : "");
}

void options_help(const struct verb *v)
{
	static const struct verb_option help = {"help", 'h', .help = "this text"};
	const struct verb_option *row[OPTIONS_MAX + 1];
	int n = 0, widest = 0, columns;
	char name[64];

	for (const struct verb_option *o = v->options; o->name; o++)
		if (o->help)
			row[n++] = o;
	row[n++] = &help;
	for (int i = 0; i < n; i++) {
		columns = option_name(row[i], name, sizeof(name));
		widest = columns > widest ? columns : widest;
	}
	for (int i = 0; v->forms[i]; i++) {
		columns = printf("%s precedent %s ", i ? "      " : "Usage:", v->name);
		fold(columns, v->forms[i]);
	}
	putchar('\n');
	fold(0, v->text);
	putchar('\n');
	for (int i = 0; i < n; i++) {
		option_name(row[i], name, sizeof(name));
		printf("%-*s  ", widest, name);
		fold(widest + 2, row[i]->help);
	}
	for (size_t i = 0; i < sizeof(v->examples) / sizeof(*v->examples) && v->examples[i]; i++)
		printf("%s  precedent %s%s%s\n", i ? "" : "\nExamples:\n", v->name, *v->examples[i] ? " " : "", v->examples[i]);
}
