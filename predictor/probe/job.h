/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the probes: rows and submission. See probes.h. */
#ifndef PRECEDENT_PREDICTOR_PROBE_JOB_H
#define PRECEDENT_PREDICTOR_PROBE_JOB_H

#include "predictor/probe/probes.h"
#include "predictor/store/probes.h"
#include "predictor/store/programs.h"

/* Submit the row's next try; row->jobid is the job. */
int probe_submit(const struct daemon_env *env, const struct store_program *p, const struct cluster_layout *layout,
		 struct store_probe *row, struct errbuf *errp);

#define PROBE_JOB_NAME "precedent-probe"

/* May the probe on this candidate run the program itself? Licences: only with the licences of the traced job. */
enum conf_partial probe_partial(const struct daemon_env *env, const struct store_program *p, const char *candidate,
				const struct cluster_layout *layout);
/* What the probe asks for: the generic resources of the traced job, and its licences if the probe runs the program. */
const char *probe_want(const struct cluster_layout *layout, enum conf_partial partial, enum cluster_want want);

/* What of a probe job was changed after its submission. false: nothing. The record of a changed job is not believed. */
bool probe_changed(const struct store_program *p, const struct store_probe *row, const struct cluster_job *job,
		   struct errbuf *what);
/* The same of what it asks for. */
bool probe_wants_changed(const struct cluster_layout *layout, enum conf_partial partial, const struct cluster_job *job,
			 struct errbuf *what);

/* Has the job run longer than it was to? Slurm alone would have ended it. */
bool probe_overran(const struct cluster_job *job);

/* The user gets no probes until PROBES_BAR_S from now. */
int probe_user_bar(const struct daemon_env *env, uint32_t uid, int64_t now, struct errbuf *errp);
/* Until when the user gets none; 0: gets them. */
int probe_user_barred(const struct daemon_env *env, uint32_t uid, int64_t now, int64_t *until, struct errbuf *errp);

/* On how many candidates the program is probed. */
unsigned probes_candidates(const struct daemon_env *env, const struct store_program *p);

/* Write the row, changed now. */
int probe_row_put(const struct daemon_env *env, struct store_probe *row, int64_t now, struct errbuf *errp);

/* The program's estimates again, after a probe was made again. */
int probe_refresh(const struct daemon_env *env, struct store_program *p, int64_t now, struct errbuf *errp);

/*
 * Cancels jobs of ours in the queue that no row knows. Their cost so far is accounted.
 */
int probe_orphans(const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now, struct errbuf *errp);

/* Have programs probed again whose candidates' node class has gone, or of whose candidates nothing was heard for long. */
int probe_renew(const struct daemon_env *env, int64_t now, struct errbuf *errp);

#endif
