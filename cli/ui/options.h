/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A verb and its options as a table. Parsing, --help and the completions of shells are made of this table; tests compare
 * --help with precedent.1.
 */
#ifndef PRECEDENT_CLI_OPTIONS_H
#define PRECEDENT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define OPTIONS_MAX   16 /* rows of a verb */
#define OPTIONS_FORMS 5

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_REAL, OPTION_WORD, OPTION_CALL };

/* The values of an option, and the member of the verb's arguments that gets the value. Made by the macros below. */
struct option_value {
	enum option_kind kind;
	size_t at;
	double least, most;
	const char *const *words; /* NULL-ended */
	int (*call)(void *args, char *text);
};

/* Members: bool, const char *, long, double, and int for the index of a word. */
#define OPTION_AT(args, member, type) .at = offsetof(args, member) + 0 * sizeof(&((args *)0)->member == (type *)0) /* warns of others */
#define OPT_FLAG(args, member)		   {OPTION_FLAG, OPTION_AT(args, member, bool)}
#define OPT_TEXT(args, member)		   {OPTION_TEXT, OPTION_AT(args, member, const char *)}
#define OPT_NUMBER(args, member, min, max) {OPTION_NUMBER, OPTION_AT(args, member, long), .least = min, .most = max}
#define OPT_REAL(args, member, min, max)   {OPTION_REAL, OPTION_AT(args, member, double), .least = min, .most = max}
#define OPT_WORD(args, member, list)	   {OPTION_WORD, OPTION_AT(args, member, int), .words = list}
/* The function gets each value. It returns 0, -1 for a wrong value, or the exit code after a message of its own.
 * list: values for shells to complete, ended by NULL; or NULL. */
#define OPT_CALL(function, list)	   {OPTION_CALL, .call = function, .words = list}
#define OPTION_SPELL(number)		   OPTION_SPELL_(number) /* 8: "8" */
#define OPTION_SPELL_(number)		   #number
#define OPT_ABOVE_0			   1e-300 /* least of a real number that must not be 0 */

struct verb_option {
	const char *name;	   /* without "--" */
	char letter;		   /* or 0 */
	const char *value_name;	   /* "FILE": shells complete by this name (completion.c); NULL: a flag */
	struct option_value value;
	const char *help;	   /* NULL: not for people */
	const char *wants;	   /* a wrong value: "--NAME WANTS, not 'VALUE'"; NULL: "takes ..." by kind */
	const char *of;		   /* the actions it goes with: "fit predict"; NULL: all */
};

struct verb {
	const char *name;
	const char *args, *what;  /* its line in `precedent --help`; without `what` not for people */
	const char *forms[OPTIONS_FORMS + 1]; /* how it is called, without "precedent NAME" */
	const char *text;	  /* what it does */
	const char *examples[2];  /* without "precedent NAME" */
	const struct verb_option *options; /* ends with a row without name; -h, --help is in every table */
	const char *const *actions; /* words of which the first operand is one; NULL: there are none */
	const char *operand;	  /* "trace", "file", "job", "command"; NULL: it takes none but an action */
	bool one;		  /* exactly one operand */
	bool command;		  /* the first operand begins a command with options of its own */
	int (*run)(int argc, char **argv);
};

/*
 * Read the options of argv into args, which has the defaults. As getopt_long(3): options may stand behind operands, long
 * names may be abbreviated. Returns the operands, ended by NULL; or NULL with *rc, the exit code, after --help or a message.
 */
char **options_read(const struct verb *v, int argc, char **argv, void *args, int *rc);
void options_help(const struct verb *v);

#endif
