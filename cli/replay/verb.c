/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent replay runs a site's past jobs through Precedent's decisions. It needs neither Slurm nor precedentd. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/replay/replay.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"

#define BAD_TOLD	20   /* damaged lines that are told one by one */
#define RESERVATIONS	500  /* waiting jobs with a reservation: the default of Slurm's bf_max_job_test */

static const char *const guards[] = {"soft", "overtime", "raise", NULL};
static const enum limit_guard guard_of[] = {GUARD_SOFT, GUARD_OVERTIME, GUARD_RAISE};
static const enum sim_guard sim_guard_of[] = {SIM_SOFT, SIM_OVERTIME, SIM_RAISE};
static const char *const policies[] = {"easy", "conservative", "slurm", NULL};
static const enum sim_policy policy_of[] = {SIM_EASY, SIM_CONSERVATIVE, SIM_SLURM};

struct args {
	const char *sacct, *swf, *html;
	long nodes, overtime;
	double load;
	int guard, policy;
	bool json;
};

static void tell_bad(void *arg, const char *text)
{
	size_t *told = arg;

	if ((*told)++ < BAD_TOLD)
		fprintf(stderr, "precedent: %s\n", cli_shown(text));
}

static void tell_progress(double done, double total)
{
	cli_progress("replaying", done, total);
}

static int stream_read(const struct args *a, struct stream *out, struct errbuf *err)
{
	size_t told = 0;
	struct swf swf;
	FILE *in;
	int rv;

	if (a->swf) {
		if (swf_read(a->swf, tell_bad, &told, &swf, err) < 0)
			return -1;
		rv = stream_from_swf(&swf, (uint32_t)a->nodes, out, err);
		swf_free(&swf);
		return rv < 0 ? err_prefix(err, "%s", a->swf) : 0;
	}
	in = !strcmp(a->sacct, "-") ? stdin : fopen(a->sacct, "re");
	if (!in)
		return err_set(err, "%s: %s", a->sacct, strerror(errno));
	rv = stream_from_sacct(in, a->sacct, (uint32_t)a->nodes, tell_bad, &told, out, err);
	if (in != stdin)
		fclose(in);
	if (told > BAD_TOLD)
		fprintf(stderr, "precedent: %zu more lines are left out\n", told - BAD_TOLD);
	return rv;
}

/* The site's Margin, MinLimit and candidates, with limits set on all partitions and for everybody. */
static int conf_take(const struct args *a, struct precedent_conf *conf, struct errbuf *err)
{
	if (conf_load(NULL, conf, err) < 0)
		return -1;
	conf->mode = MODE_LIMIT;
	conf->n_partition_modes = 0;
	conf->n_only = 0;
	conf->limit_guard = guard_of[a->guard];
	conf->end_at_asked = false;
	return 0;
}

static int show(const struct args *a, const struct replay_conf *conf, const struct stream *stream, const struct replay *r)
{
	if (a->html)
		return replay_page_write(conf, stream, r, a->html);
	if (a->json)
		return replay_print_json(conf, stream, r);
	replay_print(conf, stream, r);
	return 0;
}

static int replay_stream(const struct args *a, const struct precedent_conf *site, const struct stream *stream)
{
	const char *file = a->swf ? a->swf : a->sacct;
	const struct replay_conf conf = {
		.conf = site,
		.sim = {.policy = policy_of[a->policy],
			.guard = sim_guard_of[a->guard],
			.overtime_s = a->guard == 1 ? a->overtime * 60 : 0,
			.poll_interval_s = site->poll_interval_s,
			.depth = RESERVATIONS},
		.file = strcmp(file, "-") ? file : "standard input",
		.progress = tell_progress,
	};
	struct errbuf err;
	struct replay r;

	if (replay_simulate(&conf, stream, &r, &err) < 0)
		return cli_fail("%s: %s", cli_shown(conf.file), err.text);
	return show(a, &conf, stream, &r);
}

static int replay_verb(int argc, char **argv)
{
	struct args a = {.overtime = 60};
	struct precedent_conf conf;
	struct stream stream;
	struct errbuf err;
	int rc;

	if (!options_read(&verb_replay, argc, argv, &a, &rc))
		return rc;
	if (!a.sacct == !a.swf)
		return cli_usage("replay", a.sacct ? "--sacct or --swf, not both" : "no file named: --sacct FILE or --swf FILE");
	if (a.html && a.json)
		return cli_usage("replay", "--html or --json, not both");
	if (conf_take(&a, &conf, &err) < 0)
		return cli_fail("%s", err.text);
	if (stream_read(&a, &stream, &err) < 0) {
		rc = cli_fail("%s", cli_shown(err.text));
	} else {
		if (a.load > 0 && stream.load > 0)
			stream_load_set(&stream, a.load);
		if (a.load > 0 && !(stream.load > 0))
			rc = cli_fail("%s: all jobs were submitted at one moment: leave --load out", cli_shown(a.sacct ? a.sacct : a.swf));
		else
			rc = replay_stream(&a, &conf, &stream);
		stream_free(&stream);
	}
	conf_free(&conf);
	return rc;
}

static const struct verb_option options[] = {
	{"sacct", 0, "FILE", OPT_TEXT(struct args, sacct), .help = "past jobs, as 'sacct --parsable2' printed them; - is standard input"},
	{"swf", 0, "FILE", OPT_TEXT(struct args, swf), .help = "past jobs in Standard Workload Format; - is standard input"},
	{"nodes", 0, "N", OPT_NUMBER(struct args, nodes, 1, 1 << 20),
	 .help = "size of the machine; of --swf in processors (default: the header, or the most that was in use at once)"},
	{"load", 0, "SHARE", OPT_REAL(struct args, load, 0.01, 2),
	 .help = "submit the jobs faster or slower, so that they ask for this share of the machine"},
	{"guard", 0, "GUARD", OPT_WORD(struct args, guard, guards), .help = "LimitGuard: soft (the default), overtime, raise"},
	{"overtime", 0, "MIN", OPT_NUMBER(struct args, overtime, 0, 525600), .help = "OverTimeLimit in minutes, for --guard overtime (default 60)"},
	{"policy", 0, "NAME", OPT_WORD(struct args, policy, policies), .help = "easy (the default), conservative, slurm: how the scheduler fills gaps"},
	{"html", 0, "OUT", OPT_TEXT(struct args, html), .help = "write the figures as one page; - is standard output"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "the tables for machines"},
	{0},
};

const struct verb verb_replay = {
	"replay", "--sacct FILE", "what Precedent would have told and gained for past jobs",
	.forms = {"--sacct FILE [options]", "--swf FILE [options]"},
	.text = "Runs past jobs through the decisions of Precedent and a simulation of the scheduler. Prints how many jobs would have had an "
		"estimate and how good the estimates were. Prints how long jobs wait if the scheduler plans by requests, by the last two "
		"runs of each user, by Precedent, and with perfect knowledge. Changes nothing on the cluster.",
	.examples = {"--sacct jobs.txt --nodes 128", "--swf log.swf --guard raise --html replay.html"},
	.options = options, .run = replay_verb,
};
