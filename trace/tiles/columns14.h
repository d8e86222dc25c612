/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text trace of Orlov (2017, cited in tiles.h). A line is a record of 14 whole numbers: time, processor,
 * command, its 4 parameters, event, its 4 parameters, number of subproblems, record flag. The paper does not define
 * codes and parameters. The following defaults are described in precedent.1 (import) and can be changed:
 * - a command sets the state of its processor from this time on (tables below);
 * - a send's parameters are receiver, tag and amount; an arrival's are sender and tag;
 * - records are ordered by time; of several commands at one time the last one counts;
 * - a processor waits before its first record, and keeps its last state to the end of the file.
 */
#ifndef PRECEDENT_TRACE_COLUMNS14_H
#define PRECEDENT_TRACE_COLUMNS14_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/tiles/tiles_write.h"

#define COLUMNS14_CODES     256
#define COLUMNS14_MARKS_MAX (1ull << 40)
/* processors x marks; a larger product means an error in column 1 or 2 */
#define COLUMNS14_CELLS_MAX (1ull << 40)

/* Meaning of a command code: enum trace_state, or one of these. */
#define COLUMNS14_GOES_ON 4
#define COLUMNS14_UNKNOWN 0xff

struct columns14_codes {
	uint8_t command[COLUMNS14_CODES];
	bool arrival[COLUMNS14_CODES]; /* event codes that mean the arrival of a message */
};
/* Commands 0 to 3 are the states; command 4 keeps the state. Event 1 is an arrival. */
void columns14_codes_default(struct columns14_codes *c);

/* A send or an arrival. */
struct columns14_message {
	uint64_t t, amount;
	uint32_t rank, peer;
	int32_t tag;
	bool arrival; /* true: arrived at rank from peer; false: sent by rank to peer */
};

struct columns14_batch {
	struct tile_change *change;
	struct columns14_message *message;
	uint32_t n_change, n_message;
};
int columns14_batch_init(struct columns14_batch *b); /* 0, or -1 if memory runs out */
void columns14_batch_free(struct columns14_batch *b);

/* Totals of the records read so far. */
struct columns14_tally {
	uint64_t records, first, last; /* first and last time */
	uint32_t n_ranks;              /* greatest processor number + 1 */
	uint64_t record_updates, subproblems_max;
};

struct columns14;

/* codes is borrowed. Returns NULL on error (err says why). */
struct columns14 *columns14_open(const char *path, const struct columns14_codes *codes, struct errbuf *err);
void columns14_close(struct columns14 *c);
/* Read the next records. Returns 1, 0 at the end, -1 on error (err: "FILE:LINE: what is wrong, and what to do"). */
int columns14_next(struct columns14 *c, struct columns14_batch *b, struct errbuf *err);
void columns14_rewind(struct columns14 *c);
const struct columns14_tally *columns14_tally(const struct columns14 *c);
uint64_t columns14_size(const struct columns14 *c); /* bytes */
uint64_t columns14_done(const struct columns14 *c);
/* Time of the last line, read from the end of the file only. Returns 0 on success, -1 if it cannot be found. */
int columns14_last_time(struct columns14 *c, uint64_t *t);

/* ---- import ---- */

struct columns14_options {
	struct columns14_codes codes;
	double mark_ns;       /* ns per mark; 0: 10^6 */
	uint64_t tile_bytes;  /* 0: TILES_BYTES */
	uint64_t cells_max;   /* 0: COLUMNS14_CELLS_MAX */
	void (*progress)(uint64_t done, uint64_t total); /* may be NULL */
};

struct columns14_report {
	struct columns14_tally tally;
	uint64_t messages, unsent, unreceived; /* matched; arrivals without a send; sends without an arrival */
};

/* Read the text `path` and write the trace `out`. Memory holds two strips of tiles, independent of the file's
 * size. report may be NULL. Returns 0 on success; -1 on error (err says why), with `out` unchanged. */
int columns14_import(const char *path, const char *out, const struct columns14_options *o,
		     struct columns14_report *report, struct errbuf *err);

#endif
