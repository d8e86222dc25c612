/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of precedent doctor share. Every finding is one line: ok, warn or FAIL, the check, the fault, the remedy.
 * The doctor changes nothing. It needs no privilege, but sees more with it.
 */
#ifndef PRECEDENT_CLI_ADMIN_DOCTOR_H
#define PRECEDENT_CLI_ADMIN_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/admin/finding.h"
#include "common/conf.h"
#include "predictor/cluster/slurm_conf.h"

enum verdict { OK, WARN, FAIL };

struct doctor {
	json_t *list; /* findings, for --json */
	bool json;
	enum verdict worst;
	struct precedent_conf conf;
	bool have_conf;
	struct slurm_conf site;
	const char *slurm_file; /* slurm.conf; NULL: there is none here */
	char *slurm;		/* "Key = value" lines: from slurmctld, else from slurm.conf; NULL: no Slurm here */
	bool offline;		/* slurmctld does not answer */
	bool is_node;		/* this host is a compute node */
	char tracer[4096];	/* that nodes preload: InstallDir's, or lib= of plugstack.conf */
};

/* fmt: the fault, TO_DO, the remedy. check: a stable name, listed in precedent(1). */
void finding_add(struct doctor *d, enum verdict v, const char *check, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Up to `cap` bytes of a command's output, to be freed; NULL if the command fails or prints nothing. */
char *doctor_output(const char *command, size_t cap);
/* The value of a key of slurm.conf, copied to out. Returns false, and "", if it is not known. */
bool doctor_slurm_value(const struct doctor *d, const char *key, char *out, size_t size);

/* Fill site, slurm_file, slurm and offline. */
void doctor_slurm_read(struct doctor *d);
/* Plugins, versions and settings of Slurm, and whether its daemons and ours answer. */
void doctor_check_slurm(struct doctor *d);
/* Partitions of Candidates, and the tracer on all nodes. */
void doctor_check_nodes(struct doctor *d);
/* Directories and files: who owns them, who may write to them. */
void doctor_check_files(struct doctor *d);

#endif
