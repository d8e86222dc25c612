/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What better time limits are worth: the same jobs under the same scheduler, planned by requests, by the user's last two
 * runs, by Precedent's predictions with their measured errors, by the truth. See doc/evaluation/benefit.md.
 *
 *   backfill [OPTIONS]          workloads of the model, every combination, mean of the seeds with 95 % intervals
 *   backfill --swf FILE         a trace in Standard Workload Format
 */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/replay/measure.h"
#include "tests/bench/backfill/intervals.h"
#include "tests/bench/backfill/predict.h"

#define LIST_MAX  8
#define SEEDS_MAX 100

struct options {
	struct workload_conf work;
	struct predict_conf predict;
	uint32_t poll_interval_s, depth;
	enum sim_guard guard;
	double overtime_min;
	double nodes[LIST_MAX], loads[LIST_MAX];
	size_t n_nodes, n_loads, n_policies, n_kinds;
	enum sim_policy policies[SIM_POLICIES];
	enum predict_kind kinds[PREDICT_KINDS];
	size_t seeds;
	const char *errors, *column, *swf, *write_swf, *write_sacct;
	bool json, summary;
};

/* Of one combination, a column for each seed. */
struct column {
	struct measured m[SEEDS_MAX];
	struct sim_totals totals[SEEDS_MAX];
	uint64_t predicted[SEEDS_MAX];
};

static const char usage[] =
    "usage: backfill [OPTIONS]\n"
    "  --nodes LIST --load LIST            machines and loads (128,1024 and 0.7,0.8,0.9)\n"
    "  --policy easy,conservative,slurm  --depth N   waiting jobs with a reservation (but for easy; 500, 0: all)\n"
    "  --predictor LIST                    request,last-two,precedent,family,mixed,perfect\n"
    "  --jobs N --seeds N                  of each workload (10000), how many of them (10)\n"
    "  --new SHARE --same SHARE            jobs of a new program (0.2); repetitions with the same input (0.5)\n"
    "  --window N                          a repetition repeats one of so many last jobs (1000)\n"
    "  --arrays SHARE                      programs that are submitted as arrays (0)\n"
    "  --ask-most SHARE                    programs for which the longest time is asked (0.15)\n"
    "  --errors FILE --column NAME         measured errors (tests/bench/accuracy.jsonl, skeleton)\n"
    "  --cover SHARE --withheld SHARE      of errors below the upper bound (0.9); programs never predicted (0)\n"
    "  --margin SHARE --min-limit MIN --poll S   as in precedent.conf (0.15, 5, 10)\n"
    "  --guard raise|soft|overtime --overtime MIN   LimitGuard of precedent.conf (raise); OverTimeLimit (60)\n"
    "  --swf FILE                          a trace instead of the model; --nodes N where it does not say\n"
    "  --write-swf FILE --seed N           the model's workload of that seed (1), and nothing else\n"
    "  --write-sacct FILE --seed N         the same as sacct prints it, with arrays\n"
    "  --json | --summary                  a line of JSON for each run; a line for each scheduler, machine and load\n";

static void complain(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "backfill: %s\n", text);
}

/* ---- options ---- */

static int parse_number(const char *text, double min, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return *text && !*end && *out >= min && *out <= max ? 0 : -1;
}

static int parse_numbers(char *text, double min, double max, double out[LIST_MAX], size_t *n)
{
	*n = 0;
	for (char *save, *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (*n == LIST_MAX || parse_number(word, min, max, &out[(*n)++]) < 0)
			return -1;
	return *n ? 0 : -1;
}

static int parse_policies(char *text, struct options *o)
{
	o->n_policies = 0;
	for (char *save, *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		unsigned policy = 0;

		while (policy < SIM_POLICIES && strcmp(word, sim_policy_name((enum sim_policy)policy)))
			policy++;
		if (o->n_policies == SIM_POLICIES || policy == SIM_POLICIES)
			return -1;
		o->policies[o->n_policies++] = (enum sim_policy)policy;
	}
	return o->n_policies ? 0 : -1;
}

static int parse_kinds(char *text, struct options *o)
{
	o->n_kinds = 0;
	for (char *save, *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (o->n_kinds == PREDICT_KINDS || predict_parse(word, &o->kinds[o->n_kinds++]) < 0)
			return -1;
	return o->n_kinds ? 0 : -1;
}

enum { O_NODES = 256, O_LOAD, O_POLICY, O_DEPTH, O_PREDICTOR, O_JOBS, O_SEEDS, O_NEW, O_SAME, O_WINDOW, O_ASK_MOST, O_ERRORS, O_COLUMN, O_COVER,
       O_WITHHELD, O_MARGIN, O_MIN_LIMIT, O_POLL, O_GUARD, O_OVERTIME, O_SWF, O_WRITE_SWF, O_WRITE_SACCT, O_ARRAYS, O_SEED, O_JSON, O_SUMMARY, O_HELP };

static const struct option long_options[] = {
    {"nodes", 1, NULL, O_NODES}, {"load", 1, NULL, O_LOAD}, {"policy", 1, NULL, O_POLICY}, {"depth", 1, NULL, O_DEPTH},
    {"predictor", 1, NULL, O_PREDICTOR}, {"jobs", 1, NULL, O_JOBS}, {"seeds", 1, NULL, O_SEEDS}, {"new", 1, NULL, O_NEW},
    {"same", 1, NULL, O_SAME}, {"window", 1, NULL, O_WINDOW}, {"ask-most", 1, NULL, O_ASK_MOST}, {"errors", 1, NULL, O_ERRORS}, {"column", 1, NULL, O_COLUMN}, {"cover", 1, NULL, O_COVER},
    {"withheld", 1, NULL, O_WITHHELD}, {"margin", 1, NULL, O_MARGIN}, {"min-limit", 1, NULL, O_MIN_LIMIT},
    {"poll", 1, NULL, O_POLL}, {"guard", 1, NULL, O_GUARD}, {"overtime", 1, NULL, O_OVERTIME}, {"swf", 1, NULL, O_SWF}, {"write-swf", 1, NULL, O_WRITE_SWF},
    {"write-sacct", 1, NULL, O_WRITE_SACCT}, {"arrays", 1, NULL, O_ARRAYS}, {"seed", 1, NULL, O_SEED}, {"json", 0, NULL, O_JSON}, {"summary", 0, NULL, O_SUMMARY},
    {"help", 0, NULL, O_HELP}, {NULL, 0, NULL, 0}};

static int parse_model(int option, char *value, struct options *o)
{
	double x;
	int rv = -1;

	switch (option) {
	case O_NODES:
		return parse_numbers(value, 1, 1 << 20, o->nodes, &o->n_nodes);
	case O_LOAD:
		return parse_numbers(value, 0.01, 2, o->loads, &o->n_loads);
	case O_JOBS:
		rv = parse_number(value, 100, 1e7, &x);
		o->work.jobs = (size_t)x;
		return rv;
	case O_SEEDS:
		rv = parse_number(value, 1, SEEDS_MAX, &x);
		o->seeds = (size_t)x;
		return rv;
	case O_SEED:
		rv = parse_number(value, 1, 1e9, &x);
		o->work.seed = (uint64_t)x;
		return rv;
	case O_WINDOW:
		rv = parse_number(value, 1, 1e9, &x);
		o->work.window = (uint32_t)x;
		return rv;
	case O_ASK_MOST:
		return parse_number(value, 0, 1, &o->work.ask_most);
	case O_ARRAYS:
		return parse_number(value, 0, 1, &o->work.arrays);
	case O_NEW:
		return parse_number(value, 0, 1, &o->work.new_program);
	default:
		return parse_number(value, 0, 1, &o->work.same_input);
	}
}

static int parse_rule(int option, char *value, struct options *o)
{
	double x;
	int rv;

	switch (option) {
	case O_COVER:
		return parse_number(value, 0, 1, &o->predict.cover);
	case O_WITHHELD:
		return parse_number(value, 0, 1, &o->predict.withheld);
	case O_MARGIN:
		return parse_number(value, 0, 10, &o->predict.margin);
	case O_MIN_LIMIT:
		rv = parse_number(value, 1, 1e6, &x);
		o->predict.min_limit_min = (uint32_t)x;
		return rv;
	case O_DEPTH:
		rv = parse_number(value, 0, 1e9, &x);
		o->depth = (uint32_t)x;
		return rv;
	default:
		rv = parse_number(value, 1, 3600, &x);
		o->poll_interval_s = (uint32_t)x;
		return rv;
	}
}

static int parse_guard(const char *value, enum sim_guard *guard)
{
	for (*guard = 0; *guard < SIM_GUARDS; (*guard)++)
		if (!strcmp(value, sim_guard_name(*guard)))
			return 0;
	return -1;
}

static int parse_option(int option, char *value, struct options *o)
{
	switch (option) {
	case O_GUARD:
		return parse_guard(value, &o->guard);
	case O_OVERTIME:
		return parse_number(value, 0, 1e6, &o->overtime_min);
	case O_POLICY:
		return parse_policies(value, o);
	case O_PREDICTOR:
		return parse_kinds(value, o);
	case O_ERRORS:
		o->errors = value;
		return 0;
	case O_COLUMN:
		o->column = value;
		return 0;
	case O_SWF:
		o->swf = value;
		return 0;
	case O_WRITE_SACCT:
		o->write_sacct = value;
		return 0;
	case O_WRITE_SWF:
		o->write_swf = value;
		return 0;
	case O_JSON:
		o->json = true;
		return 0;
	case O_SUMMARY:
		o->summary = true;
		return 0;
	case O_COVER:
	case O_WITHHELD:
	case O_MARGIN:
	case O_MIN_LIMIT:
	case O_DEPTH:
	case O_POLL:
		return parse_rule(option, value, o);
	default:
		return parse_model(option, value, o);
	}
}

/* 0, or the exit status + 1. */
static int parse_options(int argc, char **argv, struct options *o)
{
	for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		if (c == O_HELP)
			return fputs(usage, stdout), 1;
		if (c == '?')
			return 3;
		if (parse_option(c, optarg, o) < 0)
			return fprintf(stderr, "backfill: '%s' is not what %s takes; see --help\n", optarg, argv[optind - 2]), 3;
	}
	if (optind < argc)
		return fprintf(stderr, "backfill: '%s' is one too many; see --help\n", argv[optind]), 3;
	return 0;
}

/* ---- runs ---- */

static void print_json(const struct options *o, const struct workload *w, enum sim_policy policy, enum predict_kind kind,
		       uint64_t seed, const struct column *c, size_t i)
{
	const struct measured *m = &c->m[i];
	const struct sim_totals *t = &c->totals[i];

	printf("{\"policy\":\"%s\",\"guard\":\"%s\",\"nodes\":%u,\"load\":%.4f,\"predictor\":\"%s\",\"seed\":%llu,\"jobs\":%zu,\"counted\":%zu,"
	       "\"users\":%u,\"programs\":%u,\"inputs\":%u,\"predicted\":%llu,",
	       sim_policy_name(policy), sim_guard_name(o->guard), w->nodes, w->load, predict_name(kind), (unsigned long long)seed,
	       w->n, m->jobs, w->users, w->programs, w->inputs, (unsigned long long)c->predicted[i]);
	printf("\"wait_s\":%.2f,\"wait_median_s\":%.1f,\"wait_max_s\":%.0f,\"slowdown\":%.4f,\"slowdown_median\":%.4f,"
	       "\"utilisation\":%.4f,\"planned_by_run\":%.4f,\"ran_past_limit\":%.5f,",
	       m->wait_s, m->wait_median_s, m->wait_max_s, m->slowdown, m->slowdown_median, m->utilisation, m->planned,
	       m->short_share);
	printf("\"extensions\":%llu,\"killed_by_us\":%llu,\"killed_at_own_request\":%llu,\"reservations_moved_back\":%llu,"
	       "\"withheld\":%.3f,\"cover\":%.3f,\"margin\":%.3f}\n",
	       (unsigned long long)t->extensions, (unsigned long long)t->killed_by_us, (unsigned long long)t->killed_by_user,
	       (unsigned long long)t->moved, o->predict.withheld, o->predict.cover, o->predict.margin);
}

static int run_one(const struct options *o, const struct workload *w, enum sim_policy policy, enum predict_kind kind,
		   uint64_t seed, struct column *c, size_t i, struct errbuf *err)
{
	struct sim_conf sim = {.policy = policy,
			       .guard = o->guard,
			       .overtime_s = (int64_t)(o->overtime_min * 60),
			       .nodes = w->nodes,
			       .poll_interval_s = o->poll_interval_s,
			       .depth = o->depth,
			       .never_late = kind == PREDICT_REQUEST || kind == PREDICT_PERFECT};
	struct sim_outcome *outcomes = calloc(w->n, sizeof(*outcomes));
	struct predict_conf conf = o->predict;
	struct sim_predictor callbacks;
	struct predict *p = NULL;
	int rv = -1;

	conf.kind = kind;
	conf.seed = seed;
	if (!outcomes) {
		err_set(err, "out of memory for %zu jobs", w->n);
		goto out;
	}
	if (predict_create(&conf, w, &p, err) < 0)
		goto out;
	callbacks = predict_callbacks(p);
	if (sim_run(&sim, w->jobs, w->n, &callbacks, outcomes, &c->totals[i], err) < 0 ||
	    measure_run(&(struct measure_of){w->jobs, w->n, w->nodes}, outcomes, &c->m[i], err) < 0)
		goto out;
	c->predicted[i] = predict_predicted(p);
	if (c->totals[i].killed_by_us)
		err_set(err, "%llu jobs were killed by limits that we had set", (unsigned long long)c->totals[i].killed_by_us);
	else
		rv = 0;
	if (o->json && rv == 0)
		print_json(o, w, policy, kind, seed, c, i);
out:
	predict_destroy(p);
	free(outcomes);
	return rv;
}

/* ---- the table ---- */

static void figures(const struct column *c, size_t seeds, size_t offset, double out[SEEDS_MAX])
{
	for (size_t i = 0; i < seeds; i++)
		out[i] = *(const double *)((const char *)&c->m[i] + offset);
}

static double mean_of(const struct column *c, size_t seeds, size_t offset)
{
	double v[SEEDS_MAX];

	figures(c, seeds, offset, v);
	return interval_of(v, seeds).mean;
}

static void print_change(const struct column *c, const struct column *base, size_t seeds, size_t offset)
{
	double a[SEEDS_MAX] = {0}, b[SEEDS_MAX] = {0};
	struct interval r;

	figures(c, seeds, offset, a);
	figures(base, seeds, offset, b);
	r = interval_of_change(a, b, seeds);
	if (c == base)
		printf(" | -");
	else if (seeds > 1)
		printf(" | %+.0f ± %.0f", 100 * r.mean, 100 * r.half);
	else
		printf(" | %+.0f", 100 * r.mean);
}

/* Figures of the first predictor, and how wait and slowdown of the others differ from them. */
static void print_summary(const struct options *o, const struct workload *w, enum sim_policy policy, const struct column *c)
{
	const struct column *base = &c[0];

	printf("| %s, %u, %.1f | %.0f | %.0f", sim_policy_name(policy), w->nodes, w->load,
	       mean_of(base, o->seeds, offsetof(struct measured, wait_s)) / 60,
	       mean_of(base, o->seeds, offsetof(struct measured, slowdown)));
	for (size_t k = 1; k < o->n_kinds; k++) {
		print_change(&c[k], base, o->seeds, offsetof(struct measured, wait_s));
		print_change(&c[k], base, o->seeds, offsetof(struct measured, slowdown));
	}
	printf(" |\n");
	fflush(stdout);
}

static void print_head(const struct options *o)
{
	if (o->summary) {
		printf("| scheduler, nodes, load | %s: wait min | slowdown", predict_name(o->kinds[0]));
		for (size_t k = 1; k < o->n_kinds; k++)
			printf(" | %s: wait %% | slowdown %%", predict_name(o->kinds[k]));
		printf(" |\n| --- | --- | ---");
		for (size_t k = 1; k < o->n_kinds; k++)
			printf(" | --- | ---");
		printf(" |\n");
		return;
	}
	printf("| scheduler, nodes, load | planned by | predicted %% | wait min | change %% | median | longest h | slowdown | change %% | median "
	       "| utilisation %% | killed by us | extended by 1000 jobs | past limit %% | limit / run |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
}

static void print_row(const struct options *o, const struct workload *w, enum sim_policy policy, enum predict_kind kind,
		      const struct column *c, const struct column *base)
{
	double predicted = 0, extensions = 0, killed = 0, n = (double)o->seeds;

	for (size_t i = 0; i < o->seeds; i++) {
		predicted += (double)c->predicted[i] / (double)w->n / n;
		extensions += (double)c->totals[i].extensions / (double)w->n / n;
		killed += (double)c->totals[i].killed_by_us;
	}
#define MEAN(field) mean_of(c, o->seeds, offsetof(struct measured, field))
	printf("| %s, %u, %.1f | %s | %.0f | %.1f", sim_policy_name(policy), w->nodes, w->load,
	       predict_name(kind), 100 * predicted, MEAN(wait_s) / 60);
	print_change(c, base, o->seeds, offsetof(struct measured, wait_s));
	printf(" | %.1f | %.0f | %.1f", MEAN(wait_median_s) / 60, MEAN(wait_max_s) / 3600, MEAN(slowdown));
	print_change(c, base, o->seeds, offsetof(struct measured, slowdown));
	printf(" | %.2f | %.1f | %.0f | %.1f | %.2f | %.2f |\n", MEAN(slowdown_median), 100 * MEAN(utilisation), killed,
	       1000 * extensions, 100 * MEAN(short_share), MEAN(planned));
#undef MEAN
	fflush(stdout);
}

static int source(const struct options *o, const struct swf *swf, double nodes, double load, uint64_t seed,
		  struct workload *out, struct errbuf *err)
{
	struct workload_conf conf = o->work;

	if (o->swf)
		return workload_from_swf(swf, (uint32_t)nodes, out, err);
	conf.nodes = (uint32_t)nodes;
	conf.load = load;
	conf.seed = seed;
	return workload_generate(&conf, out, err);
}

/* One machine and load: every predictor sees the same workloads. */
static int combination(const struct options *o, const struct swf *swf, double nodes, double load, struct errbuf *err)
{
	struct column *columns = calloc((size_t)SIM_POLICIES * PREDICT_KINDS, sizeof(*columns));
	struct workload w = {0};
	int rv = -1;

	if (!columns)
		return err_set(err, "out of memory");
	for (size_t i = 0; i < o->seeds; i++) {
		workload_free(&w);
		if (source(o, swf, nodes, load, i + 1, &w, err) < 0)
			goto out;
		for (size_t p = 0; p < o->n_policies; p++)
			for (size_t k = 0; k < o->n_kinds; k++)
				if (run_one(o, &w, o->policies[p], o->kinds[k], i + 1, &columns[p * PREDICT_KINDS + k], i, err) < 0)
					goto out;
	}
	for (size_t p = 0; p < o->n_policies && o->summary; p++)
		print_summary(o, &w, o->policies[p], &columns[p * PREDICT_KINDS]);
	for (size_t p = 0; p < o->n_policies && !o->json && !o->summary; p++)
		for (size_t k = 0; k < o->n_kinds; k++)
			print_row(o, &w, o->policies[p], o->kinds[k], &columns[p * PREDICT_KINDS + k],
				  &columns[p * PREDICT_KINDS]);
	rv = 0;
out:
	workload_free(&w);
	free(columns);
	return rv;
}

static int write_workload(const struct options *o, struct errbuf *err)
{
	const char *path = o->write_swf ? o->write_swf : o->write_sacct;
	struct workload w;
	FILE *f;
	int rv;

	if (source(o, NULL, o->nodes[0], o->loads[0], o->work.seed, &w, err) < 0)
		return -1;
	f = fopen(path, "we");
	rv = f && (o->write_swf ? workload_write_swf : workload_write_sacct)(&w, f) >= 0 ? 0 : -1;
	if ((f && fclose(f)) || rv < 0)
		rv = err_set(err, "%s: %m", path);
	workload_free(&w);
	return rv;
}

static int run_all(struct options *o, struct errbuf *err)
{
	struct predict_errors errors = {0};
	struct swf swf = {0};
	int rv = -1;

	if (o->write_swf || o->write_sacct)
		return write_workload(o, err);
	if (predict_errors_read(o->errors, o->column, &errors, err) < 0)
		return -1;
	o->predict.errors = &errors;
	if (o->swf && swf_read(o->swf, complain, NULL, &swf, err) < 0)
		goto out;
	if (!o->json)
		print_head(o);
	for (size_t n = 0; n < o->n_nodes; n++)
		for (size_t l = 0; l < o->n_loads; l++)
			if (combination(o, &swf, o->nodes[n], o->loads[l], err) < 0)
				goto out;
	rv = 0;
out:
	swf_free(&swf);
	predict_errors_free(&errors);
	return rv;
}

int main(int argc, char **argv)
{
	static struct options o = {
	    .poll_interval_s = 10,
	    .depth = 500,
	    .overtime_min = 60,
	    .nodes = {128, 1024},
	    .loads = {0.7, 0.8, 0.9},
	    .n_loads = 3,
	    .n_policies = SIM_POLICIES,
	    .n_kinds = PREDICT_KINDS,
	    .policies = {SIM_EASY, SIM_CONSERVATIVE, SIM_SLURM},
	    .kinds = {PREDICT_REQUEST, PREDICT_LAST_TWO, PREDICT_PRECEDENT, PREDICT_FAMILY, PREDICT_MIXED,
		      PREDICT_PERFECT},
	    .seeds = 10,
	    .errors = "tests/bench/accuracy.jsonl",
	    .column = "skeleton",
	};
	struct errbuf err;
	int rv;

	o.work = workload_defaults;
	o.predict = predict_defaults;
	rv = parse_options(argc, argv, &o);
	if (rv)
		return rv - 1;
	if (o.swf) {
		/* The trace is what it is, once. */
		o.nodes[0] = o.n_nodes == 1 ? o.nodes[0] : 0;
		o.n_nodes = o.n_loads = 1;
	} else if (!o.n_nodes) {
		o.n_nodes = 2;
	}
	if (run_all(&o, &err) < 0) {
		fprintf(stderr, "backfill: %s\n", err.text);
		return 1;
	}
	return 0;
}
