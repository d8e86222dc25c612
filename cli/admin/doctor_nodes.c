/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent doctor: the partitions of Candidates, and whether all nodes have the tracer. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/admin/doctor.h"
#include "common/nodes.h"

#define OUTPUT_MAX (8u << 20)
#define NAMED_MAX  5

/* ---- candidates ---- */

/* The value of "Key=value" in one line of scontrol -o; "" when it is not there. */
static void field(const char *line, const char *key, char *out, size_t size)
{
	size_t n = strlen(key), end = strcspn(line, "\n");

	*out = '\0';
	for (const char *p = line; p < line + end; p += strcspn(p, " \n"), p += *p == ' ')
		if (!strncmp(p, key, n) && p[n] == '=') {
			snprintf(out, size, "%.*s", (int)strcspn(p + n + 1, " \n"), p + n + 1);
			return;
		}
}

static const char *partition_line(const char *text, const char *name)
{
	char found[256];

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		field(line, "PartitionName", found, sizeof(found));
		if (!strcmp(found, name))
			return line;
	}
	return NULL;
}

static bool in_list(const char *list, const char *name)
{
	size_t n;

	for (; *list; list += n, list += *list == ',') {
		n = strcspn(list, ",");
		if (n == strlen(name) && !strncasecmp(list, name, n))
			return true;
	}
	return false;
}

/* Does the partition refuse this account or QOS of probes? kind: "Accounts" or "Qos". */
static bool refuses(const char *line, const char *kind, const char *name)
{
	char key[32], list[4096];

	if (!*name)
		return false;
	snprintf(key, sizeof(key), "Allow%s", kind);
	field(line, key, list, sizeof(list));
	if (*list && strcmp(list, "ALL"))
		return !in_list(list, name);
	snprintf(key, sizeof(key), "Deny%s", kind);
	field(line, key, list, sizeof(list));
	return in_list(list, name);
}

/* Has any node of the partition the feature? true also for expressions, which are not looked at. */
static bool feature_exists(const struct conf_candidate *c)
{
	char command[512], *text;
	bool found;

	if (!*c->constraint)
		return true;
	for (const char *p = c->constraint; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return true;
	/* Names of the configuration hold no quotes. */
	snprintf(command, sizeof(command), "timeout 10 sinfo -h -p '%s' -o %%f 2>/dev/null </dev/null", c->partition);
	text = doctor_output(command, 1 << 16);
	for (char *p = text; p && *p; p++)
		if (*p == '\n')
			*p = ',';
	found = !text || in_list(text, c->constraint);
	free(text);
	return found;
}

static void check_candidate(struct doctor *d, const struct conf_candidate *c, const char *text)
{
	const char *line = partition_line(text, c->partition);
	char state[64] = "";

	if (line)
		field(line, "State", state, sizeof(state));
	if (!line)
		finding_add(d, FAIL, "candidates", "%s: there is no partition %s: every probe there fails" TO_DO "correct Candidates in %s", c->name,
			    c->partition, d->conf.file);
	else if (refuses(line, "Accounts", d->conf.probe_account))
		finding_add(d, FAIL, "candidates", "%s does not accept ProbeAccount %s: every probe there is refused" TO_DO
			    "add it to AllowAccounts of the partition, or take the candidate out", c->name, d->conf.probe_account);
	else if (refuses(line, "Qos", d->conf.probe_qos))
		finding_add(d, FAIL, "candidates", "%s does not accept ProbeQos %s: every probe there is refused" TO_DO
			    "add it to AllowQos of the partition, or take the candidate out", c->name, d->conf.probe_qos);
	else if (!feature_exists(c))
		finding_add(d, FAIL, "candidates", "%s: no node of %s has the feature %s: every probe there is refused" TO_DO
			    "correct Candidates in %s", c->name, c->partition, c->constraint, d->conf.file);
	else if (*state && strcmp(state, "UP"))
		finding_add(d, WARN, "candidates", "%s: the partition is %s: probes wait" TO_DO "scontrol update PartitionName=%s State=UP", c->name,
			    state, c->partition);
	else
		finding_add(d, OK, "candidates", "%s", c->name);
}

static void check_candidates(struct doctor *d)
{
	char *text = d->conf.n_candidates ? doctor_output("timeout 10 scontrol show partition -o 2>/dev/null </dev/null", OUTPUT_MAX) : NULL;

	for (size_t i = 0; text && i < d->conf.n_candidates; i++)
		check_candidate(d, &d->conf.candidates[i], text);
	free(text);
}

/* ---- nodes ---- */

/* Nodes of states in which slurmd does not answer say nothing. */
static bool is_up(const char *state)
{
	static const char *const away[] = {"down", "unk", "pow", "fut", "*", "#", "%", "~", "!"};

	for (size_t i = 0; i < sizeof(away) / sizeof(away[0]); i++)
		if (strstr(state, away[i]))
			return false;
	return true;
}

/* "name state" lines of sinfo, sorted. */
static void judge_nodes(struct doctor *d, char *text)
{
	char *save, *line, name[256], state[64], before[256] = "", missing[512] = "", host[256] = "";
	unsigned n = 0, lack = 0;
	struct errbuf err;

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%255s %63s", name, state) != 2 || !strcmp(name, before) || !is_up(state))
			continue;
		snprintf(before, sizeof(before), "%s", name);
		name[strcspn(name, ".")] = '\0'; /* as nodes name themselves */
		d->is_node |= !strcmp(name, host);
		n++;
		if (nodes_check(d->conf.spool_dir, name, d->tracer, &err) == 0)
			continue;
		if (lack++ < NAMED_MAX)
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s%.90s", *missing ? ", " : "", name);
	}
	if (lack)
		finding_add(d, FAIL, "nodes", "%u of %u nodes have not said in %s/nodes that they have %s, and are not traced: %s%s" TO_DO
			    "run precedent doctor there: SpoolDir must be shared, InstallDir and plugstack.conf right; then restart slurmd", lack, n,
			    d->conf.spool_dir, d->tracer, missing, lack > NAMED_MAX ? ", ..." : "");
	else if (n)
		finding_add(d, OK, "nodes", "all %u nodes that are up have %s", n, d->tracer);
}

void doctor_check_nodes(struct doctor *d)
{
	char *text;

	if (!d->slurm || d->offline)
		return;
	check_candidates(d);
	text = doctor_output("timeout 20 sinfo -h -a -N -o '%n %t' 2>/dev/null </dev/null | sort -u", OUTPUT_MAX);
	if (text)
		judge_nodes(d, text);
	free(text);
}
