/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the jobs of an accounting into the store, as runs that precedentd has seen. A run that the store has stays as
 * it is, so the same file twice adds nothing. Writes in short transactions: precedentd goes on writing in between.
 */
#ifndef PRECEDENT_PREDICTOR_HISTORY_IMPORT_H
#define PRECEDENT_PREDICTOR_HISTORY_IMPORT_H

#include "common/conf.h"
#include "predictor/history/sacct.h"
#include "predictor/history/scripts.h"
#include "predictor/store/store.h"

#define IMPORT_BAD_TOLD 20 /* bad lines that are told one by one; the others are counted */

struct import_run {
	struct store *store;
	const struct precedent_conf *conf; /* its candidates */
	/* Returns 1 with the user's uid, 0 if there is no such user. */
	int (*user)(void *arg, const char *name, uint32_t *uid);
	void (*bad)(void *arg, const char *text);      /* a line that was left out */
	void (*progress)(void *arg, uint64_t records); /* after each transaction; NULL: none */
	void *arg;
	struct scripts *scripts; /* takes added jobs, and jobs of an import that was killed, if their groups do not
				  * know their script; NULL: none does */
};

struct import_report {
	uint64_t jobs;	   /* jobs of the input that have run and ended */
	uint64_t added;	   /* of these, jobs that the store did not have */
	uint64_t with_key; /* of those added, jobs that Precedent had seen: their comment has a key */
	uint64_t probes;   /* probe jobs of Precedent, left out */
	uint64_t left_out; /* steps, and jobs that have not run or not ended */
	uint64_t unknown;  /* jobs of users that this machine does not know, left out */
	uint64_t bad;	   /* lines that could not be read */
};

/* name: of the input, for messages. Returns 0, or -1 with the reason; then *report tells what is in the store
 * already. */
int history_import(const struct import_run *run, FILE *in, const char *name, struct import_report *report,
		   struct errbuf *err);

#endif
