/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent replay: a stream of past jobs, simulated once for each way to plan, and the figures of it. */
#ifndef PRECEDENT_CLI_REPLAY_REPLAY_H
#define PRECEDENT_CLI_REPLAY_REPLAY_H

#include "cli/replay/planner.h"
#include "predictor/replay/measure.h"

struct replay_conf {
	const struct precedent_conf *conf; /* Margin, MinLimit, candidates; the guard and the mode are in force */
	struct sim_conf sim;		   /* but for nodes and never_late */
	const char *file;		   /* for people */
	void (*progress)(double done, double total); /* of jobs; NULL: none */
};

/* A way to plan. */
struct replay_row {
	struct measured m;
	struct sim_totals totals;
	double set_h; /* unit hours that were planned at first: size times limit */
	size_t limited; /* jobs with a limit below their request */
};

/* Jobs with an estimate from one source. Judged are those that ended by themselves: of others the whole time is not known. */
struct replay_source {
	size_t jobs, judged, inside;
	double error;  /* median of |estimate - run time| / run time */
	double width;  /* median of upper bound / lower bound */
};

struct replay {
	size_t counted; /* jobs; the first ones are simulated and not counted (MEASURE_WARM_UP) */
	struct replay_row row[PLAN_WAYS];
	struct replay_source source[SOURCES]; /* as Precedent tells them: of PLAN_PRECEDENT */
	struct replay_source all;
	double requested_h, used_h; /* unit hours of the counted jobs */
	double seconds;		    /* what all of it took */
};

const char *plan_name(enum plan_by by);	    /* for machines: request, last-two, similar, precedent, perfect */
const char *plan_title(enum plan_by by);    /* for people */
const char *source_name(enum plan_source source); /* runs, model, similar-command, ..., none */
const char *source_title(enum plan_source source);

int replay_simulate(const struct replay_conf *conf, const struct stream *stream, struct replay *out, struct errbuf *err);

void replay_print(const struct replay_conf *conf, const struct stream *stream, const struct replay *r);
/* Return the exit code. */
int replay_print_json(const struct replay_conf *conf, const struct stream *stream, const struct replay *r);
int replay_page_write(const struct replay_conf *conf, const struct stream *stream, const struct replay *r, const char *path);

/* Change of a figure against requests: 0.8 for 1.8 times. NAN where there is nothing to compare with. */
double replay_change(double value, double request);

#endif
