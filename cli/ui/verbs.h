/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs of the command line. Each takes its own arguments (argv[0] is the verb) and returns the exit code:
 * 0 done, 1 failed, 2 wrong usage. `precedent trace` returns what the traced command returned.
 */
#ifndef PRECEDENT_CLI_VERBS_H
#define PRECEDENT_CLI_VERBS_H

/* on traces, without Slurm */
int verb_trace(int argc, char **argv);
int verb_info(int argc, char **argv);
int verb_import(int argc, char **argv);
int verb_view(int argc, char **argv);
int verb_skeleton(int argc, char **argv);
int verb_verify(int argc, char **argv);
int verb_predict(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_advise(int argc, char **argv);
int verb_model(int argc, char **argv);

/* inside a probe job; when a traced step has ended */
int verb_probe(int argc, char **argv);
int verb_collect(int argc, char **argv);
int verb_confine(int argc, char **argv);

/* on jobs, asked of precedentd */
int verb_jobs(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_accuracy(int argc, char **argv);
int verb_retrace(int argc, char **argv);
int verb_forget(int argc, char **argv);

/* on the installation */
int verb_doctor(int argc, char **argv);
int verb_conf(int argc, char **argv);

#endif
