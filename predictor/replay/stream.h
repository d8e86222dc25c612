/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A site's past jobs as they were submitted, from the accounting or from a log in Standard Workload Format. All of it is
 * users' data.
 *
 * Jobs are counted in processors if the file tells them for each job, else in nodes. A job without a requested time has the
 * longest request of the file. If the file has no request, it has the longest run time, rounded up to an hour.
 */
#ifndef PRECEDENT_PREDICTOR_REPLAY_STREAM_H
#define PRECEDENT_PREDICTOR_REPLAY_STREAM_H

#include <stdio.h>

#include "predictor/replay/sim.h"
#include "predictor/replay/swf.h"

/* Of a job, beside struct sim_job. Texts are never NULL and belong to the stream; equal texts are one pointer. */
struct stream_job {
	uint32_t jobid, array_job, array_task; /* array_job 0: not of an array */
	uint32_t uid;			       /* a number of the stream's own if the file has no numbers */
	uint32_t nodes;			       /* as asked for; the unit of struct sim_job may be another one */
	bool requested;			       /* the file tells a requested time */
	const char *partition, *name, *account, *work_dir;
	const char *command; /* the command line of the submission; "": not known */
	const char *program; /* stands for the script: equal for equal programs with equal inputs; "": not known */
	const char *state;   /* how it ended, in Slurm's words: nothing that is known before */
};

struct stream {
	struct sim_job *jobs; /* owned; by submission, the first at 0 */
	struct stream_job *about;
	size_t n;
	uint32_t nodes; /* of the machine, in the unit of the jobs */
	bool processors; /* the unit */
	int64_t first_s; /* seconds since the epoch of the first submission */
	double load;	 /* offered: processor time of the jobs, as a share of the machine's between the first submission and the last */
	uint32_t default_min; /* the request of jobs without one */
	size_t n_requested, too_large, left_out, bad; /* jobs with a request; records left out, by why */
	char **text; /* owned */
	uint32_t n_text, text_room;
};

/* nodes: of the machine; 0: as the header says. */
int stream_from_swf(const struct swf *swf, uint32_t nodes, struct stream *out, struct errbuf *err);
/* name: of the file, for messages. bad: called for each damaged line, may be NULL. nodes 0: as many as were in use at once. */
int stream_from_sacct(FILE *in, const char *name, uint32_t nodes, swf_bad *bad, void *arg, struct stream *out,
		      struct errbuf *err);
/* Brings the jobs closer together, or further apart, so that the offered load is this one. Hours of the day are not kept. */
void stream_load_set(struct stream *s, double load);
void stream_free(struct stream *s); /* of a zeroed one is legal */

#endif
