/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For precedent doctor: may the jobs of others take the nodes of a probe that runs? Pure; the texts are Slurm's. */
#ifndef PRECEDENT_CLI_DOCTOR_PREEMPT_H
#define PRECEDENT_CLI_DOCTOR_PREEMPT_H

#include <stddef.h>

enum preempt_verdict { PREEMPT_OK, PREEMPT_DOUBT, PREEMPT_BROKEN };

struct preempt_facts {
	const char *qos;	 /* ProbeQos; "" = none */
	const char *type, *mode; /* PreemptType and PreemptMode of slurm.conf; "" = not known */
	const char *accounting;	 /* AccountingStorageType */
	const char *list;	 /* "name|preempt" lines of sacctmgr; NULL: it gives none */
};

/* Writes one line for people to `out`: the finding and the remedy. */
enum preempt_verdict preempt_judge(const struct preempt_facts *f, char *out, size_t size);

#endif
