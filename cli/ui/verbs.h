/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs of the command line. Their functions return the exit code: 0 done, 1 failed, 2 wrong usage; `precedent trace`
 * returns what the traced command returned. argv[0] is the verb.
 */
#ifndef PRECEDENT_CLI_VERBS_H
#define PRECEDENT_CLI_VERBS_H

#include "cli/ui/options.h"

/* on traces, without Slurm */
extern const struct verb verb_trace;
extern const struct verb verb_info;
extern const struct verb verb_import;
extern const struct verb verb_view;
extern const struct verb verb_skeleton;
extern const struct verb verb_verify;
extern const struct verb verb_predict;
extern const struct verb verb_export;
extern const struct verb verb_advise;
extern const struct verb verb_model;

/* inside a probe job; when a traced step has ended */
extern const struct verb verb_probe;
extern const struct verb verb_collect;
extern const struct verb verb_confine;

/* on jobs, asked of precedentd */
extern const struct verb verb_jobs;
extern const struct verb verb_queue;
extern const struct verb verb_show;
extern const struct verb verb_explain;
extern const struct verb verb_accuracy;
extern const struct verb verb_retrace;
extern const struct verb verb_forget;

/* on past jobs, without Slurm */
extern const struct verb verb_replay;

/* on the installation */
extern const struct verb verb_doctor;
extern const struct verb verb_conf;

#endif
