/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See doctor_preempt.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/admin/doctor_preempt.h"
#include "cli/admin/finding.h"

#define NAMES_MAX 256

/* Is `name` one of the comma-separated words in text[0..n)? */
static bool in_list(const char *text, size_t n, const char *name)
{
	size_t len = strlen(name), at = 0;

	while (at < n) {
		const char *end = memchr(text + at, ',', n - at);
		size_t word = end ? (size_t)(end - (text + at)) : n - at;

		if (word == len && !memcmp(text + at, name, len))
			return true;
		at += word + 1;
	}
	return false;
}

/* Does the QOS exist? names: the QOS that may preempt it. */
static bool preemptors(const struct preempt_facts *f, char names[NAMES_MAX])
{
	const char *line = f->list;
	size_t len = 0;
	bool there = false;

	names[0] = '\0';
	while (*line) {
		size_t n = strcspn(line, "\n"), name = strcspn(line, "|\n");
		const char *preempt = name < n ? line + name + 1 : line + n;
		int w = 0;

		there |= name == strlen(f->qos) && !memcmp(line, f->qos, name);
		if (in_list(preempt, strcspn(preempt, "|\n"), f->qos))
			w = snprintf(names + len, NAMES_MAX - len, "%s%.*s", len ? ", " : "", (int)name, line);
		if (w > 0 && (size_t)w < NAMES_MAX - len)
			len += (size_t)w;
		else
			names[len] = '\0';
		line += n + (line[n] == '\n');
	}
	return there;
}

enum preempt_verdict preempt_judge(const struct preempt_facts *f, char *out, size_t size)
{
	char names[NAMES_MAX];

	if (!*f->qos) {
		snprintf(out, size, "no ProbeQos: a probe that runs, for seconds, is not preempted; name a QOS that others may "
				    "preempt where that matters");
		return PREEMPT_OK;
	}
	if (!*f->accounting || strstr(f->accounting, "none")) {
		snprintf(out, size, "ProbeQos %s: cannot tell whether it may be preempted, there is no QOS without accounting "
				    "(AccountingStorageType=%s)" TO_DO "take it out", f->qos, f->accounting);
		return PREEMPT_DOUBT;
	}
	if (!f->list) {
		snprintf(out, size, "ProbeQos %s: cannot tell whether it may be preempted, sacctmgr shows no QOS here" TO_DO
			    "see whether slurmdbd is up, and whether you may ask it", f->qos);
		return PREEMPT_DOUBT;
	}
	if (!preemptors(f, names)) {
		snprintf(out, size, "ProbeQos %s: there is no such QOS, every probe is refused" TO_DO "sacctmgr add qos %s", f->qos, f->qos);
		return PREEMPT_BROKEN;
	}
	if (!strstr(f->type, "qos") || !strncasecmp(f->mode, "off", 3)) {
		snprintf(out, size, "ProbeQos %s is not preempted: slurm.conf says PreemptType=%s, PreemptMode=%s" TO_DO "set preempt/qos "
				    "and CANCEL or REQUEUE", f->qos, f->type, f->mode);
		return PREEMPT_DOUBT;
	}
	if (!*names) {
		snprintf(out, size, "ProbeQos %s: no other QOS may preempt it" TO_DO "sacctmgr modify qos normal set preempt+=%s", f->qos,
			 f->qos);
		return PREEMPT_DOUBT;
	}
	snprintf(out, size, "ProbeQos %s may be preempted by jobs of QOS %s", f->qos, names);
	return PREEMPT_OK;
}
