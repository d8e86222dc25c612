/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the text and the page of precedent accuracy share. Rows and answers are those of predictor/query/answer_accuracy.c. */
#ifndef PRECEDENT_CLI_ACCURACY_H
#define PRECEDENT_CLI_ACCURACY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* "3.1 %", "120 %", "140x". Returns out. */
const char *accuracy_percent(double share, char *out, size_t size);
/* Hours (or whatever) for people: "0.35", "41.2", "392,657". Returns out. */
const char *accuracy_hours(double hours, char *out, size_t size);
/* The user's name, or the number. Returns out. */
const char *accuracy_user_name(double uid, char *out, size_t size);
/* How many jobs were told a prediction; *of: of so many that have ended, 0: the answer does not say it. */
double accuracy_told(const json_t *all, double *of);
/* Whom a row is about: a partition, "name (family)", a user, a source. Returns out, size at least 32. */
const char *accuracy_group_name(const json_t *row, char *out, size_t size);

/* The simpler predictors, in the order in which they are shown; ends with key NULL. */
struct accuracy_label {
	const char *key, *name, *what;
};
extern const struct accuracy_label accuracy_labels[];

/* The answer as a page; path "-" is standard output. Returns the exit code. */
int accuracy_page_write(const json_t *answer, const char *path);

/* precedent accuracy --cost, from an answer of precedentd or from the file `from` (NULL: none). Returns the exit code. */
int accuracy_cost(long days, bool mine, bool json, const char *from);

#endif
