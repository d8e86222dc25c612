/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batch scripts of imported jobs, where the accounting keeps them (AccountingStoreFlags=job_script). A run with its
 * script joins the groups of the same script (predictor/store/groups.h).
 *
 * The accounting does not have the environment, nor the files as they were. So an imported run never has a key of
 * Precedent. It tells how long the same script took, and counts as no run of the same job.
 *
 * sacct prints scripts one behind another, and a script may have lines that look like the head of another script.
 * Therefore each question is for jobs of one user: a forged head can only mislead about its author's own jobs.
 */
#ifndef PRECEDENT_PREDICTOR_HISTORY_SCRIPTS_H
#define PRECEDENT_PREDICTOR_HISTORY_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "predictor/history/sacct.h"
#include "predictor/store/store.h"

#define SCRIPTS_KEPT	65536 /* the newest jobs of an import: some 20 MiB */
#define SCRIPTS_AT_ONCE 64    /* jobs of a question, which takes 0.1 s with one job as with 64 */
#define SCRIPTS_ANSWER_MAX (64u << 20) /* 64 scripts of 1 MiB; a longer answer was not read to its end */
#define SCRIPTS_ID_MAX	24    /* "67108863_4294967294" and NUL */

struct scripts;
struct scripts *scripts_create(void); /* NULL if memory runs out */
void scripts_destroy(struct scripts *s); /* NULL is legal */
/* Note a job that was added to the store and has no groups of its script. The newest SCRIPTS_KEPT jobs stay. */
int scripts_note(struct scripts *s, const struct sacct_job *job, uint32_t uid, struct errbuf *err);

struct scripts_run {
	struct store *store;
	/* What `sacct --batch-script --jobs IDS` prints. Returns a text that the caller frees, with its length; NULL with the
	 * reason. */
	char *(*ask)(void *arg, const char *ids, size_t *len, struct errbuf *err);
	bool (*go_on)(void *arg, uint64_t asked, uint64_t of); /* called before each question; false: time is up */
	void *arg;
};

struct scripts_report {
	uint64_t wanted; /* jobs to ask for: of each user's command the newest LADDER_RUNS, which is what a group keeps */
	uint64_t asked;
	uint64_t found; /* jobs whose script is known now */
	bool none;	/* the accounting keeps no scripts: the newest jobs have none, and the others were not asked for */
};

/* Ask for the scripts, newest jobs first, and add the runs to their groups, oldest first. Runs whose script was found are no longer
 * unscripted (predictor/store/unscripted.h). Returns 0, or -1 with the reason; *report then tells what was asked. */
int scripts_add(struct scripts *s, const struct scripts_run *run, struct scripts_report *report, struct errbuf *err);

/*
 * The scripts in an answer of sacct. text: len bytes and one more, which are changed. Calls `script` for each of the n
 * ids that has a script, which ends in a NUL. An id whose head comes twice is left out: one of the two is forged. The
 * last script of an answer above SCRIPTS_ANSWER_MAX bytes is left out too, since its end is missing.
 */
void scripts_split(char *text, size_t len, char (*ids)[SCRIPTS_ID_MAX], size_t n,
		   void (*script)(void *arg, size_t id, const char *text, size_t len), void *arg);

#endif
