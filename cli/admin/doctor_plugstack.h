/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For precedent doctor: the line of plugstack.conf that loads our SPANK plugin. */
#ifndef PRECEDENT_CLI_ADMIN_DOCTOR_PLUGSTACK_H
#define PRECEDENT_CLI_ADMIN_DOCTOR_PLUGSTACK_H

#include <stdbool.h>

#define PLUGSTACK_PATH_MAX 1024

struct plugstack_line {
	char file[PLUGSTACK_PATH_MAX]; /* where the line stands */
	char plugin[PLUGSTACK_PATH_MAX];
	bool required;
	char conf[PLUGSTACK_PATH_MAX], lib[PLUGSTACK_PATH_MAX], spool[PLUGSTACK_PATH_MAX]; /* arguments; "": not given */
};

/* Look in the file and the files that it includes. Returns whether there is such a line. */
bool plugstack_find(const char *path, struct plugstack_line *line);

#endif
