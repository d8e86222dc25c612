/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent predict: build the skeleton of a trace, run it on this machine, print how long the whole program takes
 * here. Given a command instead, trace it first and put the prediction beside what really happened. No Slurm needed.
 */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/skeleton/lacked.h"
#include "cli/skeleton/partial.h"
#include "cli/skeleton/skeleton.h"
#include "cli/trace/trace_run.h"
#include "cli/ui/command_end.h"
#include "cli/ui/json_out.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/clean_json.h"
#include "common/duration.h"
#include "common/temp_dir.h"
#include "predictor/estimate/estimate.h"
#include "cli/skeleton/calibration.h"
#include "trace/read/reader.h"

struct args {
	double seconds;
	bool json, keep, partial;
	const char *calibration, *scratch;
};

/* The whole program, by all that was run for it. */
struct prediction {
	const struct skeleton_facts *facts;
	const struct skeleton_result *skeleton; /* NULL: the program itself alone */
	struct partial_estimate partial;
	bool have_partial, here;
	struct estimate both;
	struct errbuf why; /* there is no partial execution, though asked for */
	const char *unskeleton; /* why there is no skeleton */
};

static void weigh(struct prediction *p)
{
	const struct skeleton_result *r = p->skeleton;
	const struct partial_estimate *e = &p->partial;
	struct estimate a, b = {e->whole_s, e->lo_s, e->hi_s, ESTIMATE_PARTIAL, 0};
	double half;

	if (!r) {
		p->both = b;
		return;
	}
	half = fmax(estimate_noise_rel(r->noise), ESTIMATE_MIN_REL) * r->skel_s; /* from run to run */
	a = (struct estimate){r->skel_s, fmax(0, r->skel_s - hypot(half, r->skel_s - r->lo_s)),
			      r->skel_s + hypot(half, r->hi_s - r->skel_s), ESTIMATE_SKELETON, 0};
	if (p->here) { /* the next run may lack processors like the traced one, or not */
		a.mean_s += p->facts->squeezed_s;
		a.hi_s += p->facts->squeezed_s + p->facts->unrepeated_s;
	}
	if (p->have_partial)
		estimate_weigh(&a, &b, &p->both);
	else
		p->both = a;
	half = p->facts->differs * p->both.mean_s; /* both ran once */
	p->both.lo_s = fmin(p->both.lo_s, p->both.mean_s - half);
	p->both.hi_s = fmax(p->both.hi_s, p->both.mean_s + half);
}

static int print_json(const struct prediction *p, const struct args *o)
{
	const struct skeleton_facts *f = p->facts;
	json_t *j = json_pack("{s:f, s:f, s:f, s:f, s:i, s:I, s:b}", "predicted_s", p->both.mean_s, "lo_s", p->both.lo_s, "hi_s",
			      p->both.hi_s, "traced_s", f->mpi_s, "ranks", (int)f->n_ranks, "events", (json_int_t)f->events,
			      "same_machine", (int)p->here);

	if (p->skeleton) {
		json_object_update_new(j, json_pack("{s:f, s:f, s:f, s:I}", "delayed_s", f->delayed_s, "skeleton_s",
						    p->skeleton->ran_s, "reproduced", f->confidence, "length",
						    (json_int_t)f->length));
		json_object_set_new(j, "lacked", json_pack("{s:f, s:f, s:f}", "traced", f->mpi_s > 0 ? f->others_s / f->mpi_s : 0,
							   "calibrating", p->skeleton->lacked_calibrating, "running", p->skeleton->lacked));
		json_object_set_new(j, "threads_in_mpi", json_real(1 + f->overlap));
		json_object_set_new(j, "runs_differ", json_real(f->differs));
		json_object_set_new(j, "squeezed_s", json_real(p->here ? f->squeezed_s : 0));
	} else
		json_object_set_new(j, "unskeleton", json_string(p->unskeleton));
	if (f->interpreted[0])
		json_object_set_new(j, "interpreted", clean_json(f->interpreted));
	if (p->have_partial)
		json_object_set_new(j, "partial", json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "predicted_s",
							    p->partial.whole_s, "lo_s", p->partial.lo_s, "hi_s",
							    p->partial.hi_s, "ran_s", p->partial.ran_s, "startup_s",
							    p->partial.startup_s, "ratio", p->partial.ratio, "computed_s",
							    p->partial.computed_s, "lacked", p->partial.lacked));
	else if (o->partial)
		json_object_set_new(j, "partial", json_pack("{s:s}", "refused", p->why.text));
	if (o->partial && p->skeleton)
		json_object_set_new(j, "skeleton_predicted_s", json_real(p->skeleton->skel_s));
	return cli_print_json(j);
}

static int print(const struct prediction *all, const struct args *o)
{
	const struct skeleton_facts *f = all->facts;
	const struct skeleton_result *r = all->skeleton;
	const struct estimate *e = &all->both;
	char p[32], lo[32], hi[32], a[32], n[32], ran[32], lacked[160];
	double error = f->mpi_s > 0 ? (e->mean_s / f->mpi_s - 1) * 100 : 0;

	if (o->json)
		return print_json(all, o);
	if (e->mean_s >= 60)
		printf("predicted  %s (%s-%s)\n", duration_format(p, sizeof(p), e->mean_s),
		       duration_format(lo, sizeof(lo), e->lo_s), duration_format(hi, sizeof(hi), e->hi_s));
	else
		printf("predicted  %s (%s-%s)\n", cli_seconds(p, sizeof(p), e->mean_s), cli_seconds(lo, sizeof(lo), e->lo_s),
		       cli_seconds(hi, sizeof(hi), e->hi_s));
	if (all->here)
		printf("traced     %s: the prediction is %+.1f %% off\n", cli_seconds(a, sizeof(a), f->mpi_s), error);
	else
		printf("traced     %s, on the machine of the calibration\n", cli_seconds(a, sizeof(a), f->mpi_s));
	if (skeleton_was_delayed(f))
		printf("           (other programs had a rank's processor for %s of it; they delay the prediction as "
		       "much as they do now%s)\n", cli_seconds(a, sizeof(a), f->delayed_s),
		       all->here && r && f->unrepeated_s > 0 ? ", the interval is wider" : "");
	if (all->here && r && f->squeezed_s > 0)
		printf("           (ranks took a processor from each other, though there are enough: %s are added, the "
		       "interval is wider)\n", cli_seconds(a, sizeof(a), f->squeezed_s));
	if (!r)
		printf("skeleton   none: %s\n", all->unskeleton);
	else
		printf("skeleton   ran %s, %s calls of %u ranks in %llu lines, reproduces %.0f %% of the run\n",
		       cli_seconds(ran, sizeof(ran), r->ran_s), cli_thousands(n, sizeof(n), f->events), f->n_ranks,
		       (unsigned long long)f->length, f->confidence * 100);
	if (r && skeleton_lacked(f, r, lacked, sizeof(lacked))[0])
		printf("           (a rank lacked its processors for %s: the interval is wider)\n", lacked);
	if (r && f->overlap > 0)
		printf("           (%.3g threads of a rank are in MPI at once, the skeleton is one: the interval is wider)\n", 1 + f->overlap);
	if (o->partial && r)
		printf("           by itself: %s\n", cli_seconds(a, sizeof(a), r->skel_s));
	if (all->have_partial)
		printf("program    ran %s in a sandbox, %.3f times as long as in the trace\n           by itself: %s\n",
		       cli_seconds(ran, sizeof(ran), all->partial.ran_s), all->partial.ratio,
		       cli_seconds(a, sizeof(a), all->partial.whole_s));
	if (all->have_partial && all->partial.lacked > 0)
		printf("           (others had %.0f %% of its processors: the interval is wider)\n", 100 * all->partial.lacked);
	puts("from MPI_Init to MPI_Finalize; starting the program comes on top");
	return 0;
}

/* What is to be predicted. */
struct task {
	const char *dir, *trace; /* dir: ours, for this prediction */
	char *const *cmd;        /* NULL: as the trace says */
	const struct args *o;
};

/* The program itself, beside the skeleton or instead of one. */
static void predict_partial(const struct task *t, struct partial_traced *traced, struct prediction *p)
{
	char apart[4096], log[4096];
	struct partial_wish wish = {.seconds = t->o->seconds, .command = t->cmd, .dir = apart, .log = log, .limit_s = 60};

	snprintf(apart, sizeof(apart), "%s/partial", t->dir);
	snprintf(log, sizeof(log), "%s/partial.log", t->dir);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "running the program itself, about %.0f s of its main loop\n", t->o->seconds);
	if (mkdir(apart, 0700) < 0)
		err_set(&p->why, "%s cannot be made", apart);
	else
		p->have_partial = partial_predict(t->trace, &wish, &p->partial, traced, &p->why) == 0;
	if (p->have_partial)
		partial_widen(&p->partial, traced->n_ranks);
	if (!p->have_partial && p->skeleton && !t->o->json)
		fprintf(stderr, "precedent: %s\n", p->why.text);
}

/* No skeleton predicts: the program itself does, or nothing. */
static int predict_unskeleton(const struct task *t, const struct errbuf *unskeleton)
{
	struct partial_traced traced = {0};
	struct skeleton_facts facts = {0};
	struct prediction all = {.facts = &facts, .unskeleton = skeleton_reason(t->trace, unskeleton), .here = !t->o->calibration};
	struct errbuf both;

	predict_partial(t, &traced, &all);
	if (!all.have_partial)
		return cli_fail("nothing to predict: %s", partial_reasons(unskeleton->text, &all.why, &both));
	facts.mpi_s = traced.mpi_s;
	facts.events = traced.events;
	facts.n_ranks = traced.n_ranks;
	weigh(&all);
	return print(&all, t->o);
}

static int run_skeleton(const char *skel, const struct args *o, struct skeleton_facts *facts, struct skeleton_result *res,
			struct errbuf *err)
{
	char log[4200];
	struct skeleton_launch how = {.launcher = "mpirun", .n_ranks = facts->n_ranks, .calibrate = !o->calibration,
				      .interpret = facts->interpreted[0] != '\0', .scratch = o->scratch, .log = o->keep ? log : NULL,
				      .limit_s = 300 + 50 * o->seconds};

	snprintf(log, sizeof(log), "%s/log", skel);
	if (facts->interpreted[0])
		fprintf(stderr, "precedent: the skeleton is interpreted: %s\n", cli_shown(facts->interpreted));
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "running the skeleton, about %.0f s\n", facts->planned_s);
	if (skeleton_run(skel, &how, res, err) < 0)
		return -1;
	skeleton_widen(facts, res);
	return 0;
}

static int predict_in(const struct task *t)
{
	struct skeleton_wish wish = {.seconds = t->o->seconds};
	struct skeleton_facts facts;
	struct skeleton_result res;
	struct partial_traced traced = {0};
	struct prediction all = {.facts = &facts, .skeleton = &res, .here = !t->o->calibration};
	struct errbuf err;
	char skel[4096], cal[4200];
	int rc;

	rc = skeleton_device(t->trace, &err);
	if (rc)
		return rc < 0 ? cli_fail("%s", err.text) : predict_unskeleton(t, &err);
	snprintf(skel, sizeof(skel), "%s/skel", t->dir);
	snprintf(cal, sizeof(cal), "%s/calibration", skel);
	if (skeleton_generate(t->trace, skel, &wish, &facts, &err) < 0)
		return predict_unskeleton(t, &err);
	if (t->o->calibration && skel_calibration_copy(t->o->calibration, cal, facts.n_ranks, &err) < 0)
		return cli_fail("%s", err.text);
	if (skeleton_prepare(skel, NULL, facts.interpreted, sizeof(facts.interpreted), &err) < 0 ||
	    run_skeleton(skel, t->o, &facts, &res, &err) < 0)
		/* the user's calibration or directory may be what is wrong */
		return t->o->calibration || t->o->scratch ? cli_fail("%s", err.text) : predict_unskeleton(t, &err);
	if (t->o->partial)
		predict_partial(t, &traced, &all);
	weigh(&all);
	return print(&all, t->o);
}

static int trace_command(char *const cmd[], const char *file)
{
	struct errbuf said, err;
	char ended[512];
	struct trace *t;
	int rc = trace_run(cmd, file, NULL, NULL, &said);
	enum command_left left;
	int ended_by = cli_outlived();

	cli_outlive(false);
	if (ended_by)
		raise(ended_by);
	if (rc < 0)
		return cli_fail("%s", said.text);
	t = trace_open(file, &err);
	left = command_left(t);
	trace_close(t);
	if (rc == 0 && left == LEFT_WHOLE)
		return 0;
	if (left == LEFT_NOTHING && said.text[0])
		return cli_fail("nothing to predict: %s", said.text);
	command_how_ended(cmd, rc, left, ended, sizeof(ended));
	return cli_fail("nothing to predict: %s%s", ended,
			left == LEFT_WHOLE ? "; if its run counts, use 'precedent trace' and 'precedent predict TRACE'" : "");
}

static int predict(const char *trace, char *const cmd[], const struct args *o)
{
	struct errbuf err;
	char *dir = cli_temp_dir(&err), file[4096];
	int rc = 0;

	if (!dir)
		return cli_fail("%s", err.text);
	if (o->keep)
		temp_dir_keep(dir);
	if (!trace) {
		snprintf(file, sizeof(file), "%s/run.ptrace", dir);
		trace = file;
		rc = trace_command(cmd, file);
	}
	if (!rc)
		rc = predict_in(&(struct task){dir, trace, cmd, o});
	if (o->keep)
		fprintf(stderr, "precedent: kept in %s\n", cli_shown(dir));
	else
		temp_dir_remove(dir);
	free(dir);
	return rc;
}

/* Splits off the command after "--". Returns the beginning of the command, and shortens argc to the arguments before
 * "--". */
static char **split_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++)
		if (!strcmp(argv[i], "--")) {
			*argc = i;
			argv[i] = NULL;
			return argv + i + 1;
		}
	return NULL;
}

static int predict_verb(int argc, char **argv)
{
	char **cmd = split_command(&argc, argv), **trace;
	struct args a = {.seconds = 5};
	int rc;

	trace = options_read(&verb_predict, argc, argv, &a, &rc);
	if (!trace)
		return rc;
	if (cmd ? *trace || !*cmd : !*trace || trace[1])
		return cli_usage("predict", "name one trace, or a command after --");
	if (a.json)
		cli_keep_stdout();
	return predict(*trace, cmd, &a);
}

static const struct verb_option options[] = {
	{"seconds", 0, "S", OPT_REAL(struct args, seconds, OPT_ABOVE_0, 1e6), .wants = "wants a number of seconds",
	 .help = "run time of the skeleton (default 5)"},
	{"calibration", 0, "FILE", OPT_TEXT(struct args, calibration),
	 .help = "the traced machine's, written by an earlier skeleton run there; without it this machine is taken to be the traced one"},
	{"scratch", 0, "DIR", OPT_TEXT(struct args, scratch),
	 .help = "make the calls on files (MPI-IO) on files of its own in DIR; without it they are delays as long as in the trace"},
	{"partial", 0, NULL, OPT_FLAG(struct args, partial),
	 .help = "also run the program itself, in a sandbox, until enough of its main loop is done; the prediction is then made of both"},
	{"keep", 0, NULL, OPT_FLAG(struct args, keep), .help = "keep the skeleton's directory and say where it is"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "for machines"},
	{0},
};

const struct verb verb_predict = {
	"predict", "TRACE | -- CMD...", "run the skeleton here and say how long the job takes",
	.forms = {"TRACE [options]", "[options] -- CMD..."},
	.text = "Runs the skeleton of TRACE here and prints how long the whole program takes on this machine. With CMD (usually mpirun "
		"-n N PROGRAM): runs and traces it first, and compares.",
	.examples = {"app.ptrace", "-- mpirun -n 4 ./app input.dat"},
	.options = options, .operand = "trace", .run = predict_verb,
};
