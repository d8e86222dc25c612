/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent conf --check: checks the configuration and prints its values. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ui/json_out.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/clean_json.h"
#include "common/conf.h"

static int print_json(const struct precedent_conf *c)
{
	char only[CONF_ONLY_MAX * (CONF_NAME_MAX + 12)];
	json_t *cand = json_array(), *costs = json_object(), *root;

	for (size_t i = 0; i < c->n_candidates; i++)
		json_array_append_new(cand, json_string(c->candidates[i].name));
	for (size_t i = 0; i < c->n_costs; i++)
		json_object_set_new(costs, c->costs[i].candidate, json_real(c->costs[i].per_node_hour));
	root = json_pack("{s:o, s:s, s:o, s:f, s:I, s:f, s:f, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:i, s:s, s:s, s:o}", "file", clean_json(c->file), "mode",
			 mode_name(c->mode), "candidates", cand, "margin", c->margin, "min_limit_min",
			 (json_int_t)c->min_limit_min, "probe_budget", c->probe_budget, "probe_seconds",
			 c->probe_seconds, "spool_dir", c->spool_dir, "local_dir", c->local_dir, "scratch_dir", c->scratch_dir, "state_dir", c->state_dir, "install_dir",
			 c->install_dir, "retention_s", (json_int_t)c->retention_s, "poll_interval_s",
			 (json_int_t)c->poll_interval_s, "heartbeat_timeout_s", (json_int_t)c->heartbeat_timeout_s,
			 "listen_host", c->listen_host, "listen_port", (int)c->listen_port, "partial_execution",
			 partial_name(c->partial), "policy", policy_name(c->policy), "costs", costs);
	only_text(c, only, sizeof(only));
	json_object_set_new(root, "only", json_string(only)); /* "": all jobs */
	json_object_set_new(root, "limit_guard", json_string(limit_guard_name(c->limit_guard)));
	json_object_set_new(root, "end_at_asked", json_boolean(c->end_at_asked));
	json_object_set_new(root, "message", json_string(message_name(c->message)));
	json_object_set_new(root, "spool_quota", json_integer((json_int_t)c->spool_quota)); /* 0: none */
	json_object_set_new(root, "metrics_file", json_string(c->metrics_file));
	json_object_set_new(root, "metrics_host", json_string(c->metrics_host));
	json_object_set_new(root, "metrics_port", json_integer(c->metrics_port)); /* 0: nobody listens */
	return cli_print_json(root);
}

static void print_guard(const struct precedent_conf *c)
{
	if (!conf_limits(c))
		return;
	printf("  limit guard   %s\n", limit_guard_name(c->limit_guard));
	if (c->limit_guard <= GUARD_SOFT)
		printf("                in slurm.conf, from Slurm 23.11 on: SchedulerParameters=time_min_as_soft_limit\n");
	if (c->limit_guard == GUARD_AUTO || c->limit_guard == GUARD_OVERTIME)
		printf("                in slurm.conf: OverTimeLimit=60 lets limits be shortened by up to 60 minutes; without it, none is\n");
	if (c->end_at_asked)
		printf("  end at asked  jobs are cancelled a minute after their limit, and do not run on by OverTimeLimit%s\n",
		       c->limit_guard == GUARD_AUTO || c->limit_guard == GUARD_OVERTIME ? "" : ": no effect without LimitGuard = overtime");
}

static int print_text(const struct precedent_conf *c)
{
	char only[CONF_ONLY_MAX * (CONF_NAME_MAX + 12)];

	printf("%s: good\n", c->file ? cli_shown(c->file) : "no configuration file: these are the defaults");
	printf("  mode          %s\n", mode_name(c->mode));
	for (size_t i = 0; i < c->n_partition_modes; i++)
		printf("  mode on %-5s %s\n", c->partition_modes[i].partition, mode_name(c->partition_modes[i].mode));
	only_text(c, only, sizeof(only));
	printf("  whose jobs    %s\n", c->n_only ? only : "all");
	printf("  candidates   ");
	for (size_t i = 0; i < c->n_candidates; i++)
		printf(" %s", c->candidates[i].name);
	printf("%s\n", c->n_candidates ? "" : " none: a job is probed where it was traced, other partitions are told from past runs");
	printf("  policy        %s\n", policy_name(c->policy));
	for (size_t i = 0; i < c->n_costs; i++)
		printf("  cost on %-5s %g a node hour\n", c->costs[i].candidate, c->costs[i].per_node_hour);
	printf("  limit         upper bound + %.0f %%, at least %u min\n", c->margin * 100, c->min_limit_min);
	print_guard(c);
	printf("  message       %s\n", message_name(c->message));
	printf("  probes        %.1f %% of the job's node seconds, %.0f s of skeleton\n", c->probe_budget * 100,
	       c->probe_seconds);
	printf("  partial       %s\n", partial_name(c->partial));
	for (size_t i = 0; i < c->n_partials; i++)
		printf("  partial on %-2s %s\n", c->partials[i].candidate, partial_name(c->partials[i].partial));
	printf("  spool         %s%s\n", c->spool_dir, access(c->spool_dir, F_OK) < 0 ? "  (missing)" : "");
	if (c->spool_quota)
		printf("  spool quota   %.0f MiB of each user\n", (double)c->spool_quota / (1 << 20));
	if (*c->scratch_dir)
		printf("  scratch       %s%s\n", c->scratch_dir, access(c->scratch_dir, W_OK) < 0 ? "  (no files can be made there)" : "");
	printf("  state         %s\n", c->state_dir);
	printf("  daemon        %s:%u, every %u s\n", *c->listen_host ? c->listen_host : "SlurmctldHost", c->listen_port, c->poll_interval_s);
	if (*c->metrics_file)
		printf("  metrics       %s\n", c->metrics_file);
	if (c->metrics_port)
		printf("  metrics on    %s:%u\n", c->metrics_host, c->metrics_port);
	return 0;
}

struct args {
	bool check, json;
};

static int conf_verb(int argc, char **argv)
{
	struct precedent_conf conf = {0};
	struct args a = {0};
	struct errbuf err;
	int rc;
	char **file = options_read(&verb_conf, argc, argv, &a, &rc);

	if (!file)
		return rc;
	if (!a.check)
		return cli_usage("conf", "say what to do: --check");
	if (*file && file[1])
		return cli_usage("conf", "one file at a time");
	if (conf_load(*file && !strcmp(*file, "-") ? "/dev/stdin" : *file, &conf, &err) < 0)
		return cli_fail("%s", err.text);
	rc = a.json ? print_json(&conf) : print_text(&conf);
	conf_free(&conf);
	return rc;
}

static const struct verb_option options[] = {
	{"check", 0, NULL, OPT_FLAG(struct args, check), .help = "read and judge"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "the values for machines"},
	{0},
};

const struct verb verb_conf = {
	"conf", "--check [FILE]", "check the configuration",
	.forms = {"--check [FILE] [--json]"},
	.text = "Reads the configuration (FILE, - for standard input, else $PRECEDENT_CONF, else " CONF_DEFAULT_FILE "), says what is wrong with it, or prints "
		"what it means.",
	.examples = {"--check", "--check conf/precedent.conf"},
	.options = options, .operand = "file", .run = conf_verb,
};
