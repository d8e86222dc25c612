/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays calls into the tracer's recorder, in this process and without MPI. Event i of a program is known, so a
 * trace can be compared with the played events.
 */
#ifndef PRECEDENT_TESTS_PLAY_H
#define PRECEDENT_TESTS_PLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "spank/tracer/record.h"
#include "trace/read/reader.h"

enum play_program {
	PLAY_LOOP,   /* six messages and a barrier, repeated */
	PLAY_GROWING, /* the same, but every 50th message has a tag of its own */
	PLAY_POLLS,  /* the same, with unsuccessful tests before every receive */
	PLAY_CHAOS,  /* nothing repeats: every message has a tag of its own */
	PLAY_MIXED   /* the calls of PLAY_LOOP in an order that does not repeat */
};

struct play {
	enum play_program program;
	uint64_t i; /* index of the next event */
};

/* If not NULL: called before the spill file can be salvaged, to add data to the file. */
extern void (*play_opened)(struct spill *s);

/* local: directory of the spill file, or NULL. 0: defaults. Returns 0, or -1 on error (err says why). */
int play_begin(struct play *p, enum play_program program, const char *local, const char *id, uint32_t rank,
	       uint32_t n_ranks, uint64_t memory, uint64_t structure, struct errbuf *err);
/* Play the next event. Returns false if the recorder has stopped. */
bool play_one(struct play *p);
/* Is event i of the program a call of this symbol? */
bool play_is(enum play_program program, uint64_t i, const struct trace_defs *d, uint32_t symbol);
/* End like MPI_Finalize, and write a trace of this rank. */
int play_end(struct play *p, const char *path, struct errbuf *err);

#endif
