/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of precedent jobs --html. */
#ifndef PRECEDENT_CLI_JOBS_PAGE_H
#define PRECEDENT_CLI_JOBS_PAGE_H

#include <jansson.h>

/* answer: to the verb jobs. Returns the exit code. */
int jobs_page_write(const json_t *answer, const char *path);

#endif
