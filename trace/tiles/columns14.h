/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text trace of paper 002: a line per record, 14 whole numbers: time, processor, command, its 4 parameters, event, its
 * 4 parameters, number of subproblems, record flag. The paper leaves the codes and parameters to the author of the
 * balancing algorithm; what is assumed here is in precedent.1 (import) and can be told otherwise:
 *  - a command says what its processor does from this time on: the tables below;
 *  - a send's parameters are receiver, tag and amount; an arrival's are sender and tag;
 *  - records are in order of time, processors in any order; of several at one time the last command holds;
 *  - a processor waits before its first record, and goes on until the last time of the file.
 */
#ifndef PRECEDENT_TRACE_COLUMNS14_H
#define PRECEDENT_TRACE_COLUMNS14_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/tiles/tiles_write.h"

#define COLUMNS14_CODES     256
#define COLUMNS14_MARKS_MAX (1ull << 40)
#define COLUMNS14_CELLS_MAX (1ull << 40) /* processors x marks: more is a mistake in column 1 or 2 */

/* What a command code stands for: enum trace_state, or one of these. */
#define COLUMNS14_GOES_ON 4
#define COLUMNS14_UNKNOWN 0xff

struct columns14_codes {
	uint8_t command[COLUMNS14_CODES];
	bool arrival[COLUMNS14_CODES]; /* event codes that say that a message has come */
};
/* Commands 0 to 3 are the states, 4 goes on with what it did; event 1 is an arrival. */
void columns14_codes_default(struct columns14_codes *c);

/* Half of an exchange. */
struct columns14_message {
	uint64_t t, amount;
	uint32_t rank, peer;
	int32_t tag;
	bool arrival; /* at rank, from peer; else sent by rank to peer */
};

struct columns14_batch {
	struct tile_change *change;
	struct columns14_message *message;
	uint32_t n_change, n_message;
};
int columns14_batch_init(struct columns14_batch *b); /* -1: no memory */
void columns14_batch_free(struct columns14_batch *b);

/* What was read so far. */
struct columns14_tally {
	uint64_t records, first, last; /* first and last time */
	uint32_t n_ranks;              /* greatest processor named + 1 */
	uint64_t record_updates, subproblems_max;
};

struct columns14;

/* NULL with the reason. codes is borrowed. */
struct columns14 *columns14_open(const char *path, const struct columns14_codes *codes, struct errbuf *err);
void columns14_close(struct columns14 *c);
/* The next records: 1, 0 at the end, -1 with "FILE:LINE: what is wrong, and what to do". */
int columns14_next(struct columns14 *c, struct columns14_batch *b, struct errbuf *err);
void columns14_rewind(struct columns14 *c);
const struct columns14_tally *columns14_tally(const struct columns14 *c);
uint64_t columns14_size(const struct columns14 *c); /* bytes */
uint64_t columns14_done(const struct columns14 *c);
/* Time of the last line, from the end of the file alone; -1 when that cannot be told. */
int columns14_last_time(struct columns14 *c, uint64_t *t);

/* ---- import ---- */

struct columns14_options {
	struct columns14_codes codes;
	double mark_ns;       /* what a mark is worth; 0: 10^6 */
	uint64_t tile_bytes;  /* 0: TILES_BYTES */
	uint64_t cells_max;   /* 0: COLUMNS14_CELLS_MAX */
	void (*progress)(uint64_t done, uint64_t total); /* may be NULL */
};

struct columns14_report {
	struct columns14_tally tally;
	uint64_t messages, unsent, unreceived; /* matched; arrivals without a send; sends without an arrival */
};

/* Read `path`, write the trace `out`: in memory are two strips of tiles, whatever the size of the file. report may be
 * NULL. -1 with the reason, `out` untouched. */
int columns14_import(const char *path, const char *out, const struct columns14_options *o,
		     struct columns14_report *report, struct errbuf *err);

#endif
