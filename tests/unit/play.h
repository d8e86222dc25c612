/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays calls into the tracer's recorder, in this process and without MPI: event i of a program is known, so that
 * a trace can be compared with what was played.
 */
#ifndef PRECEDENT_TESTS_PLAY_H
#define PRECEDENT_TESTS_PLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "spank/tracer/record.h"
#include "trace/read/reader.h"

enum play_program {
	PLAY_LOOP,   /* six messages and a barrier, again and again */
	PLAY_GROWING, /* the same, but every 50th message has a tag of its own */
	PLAY_POLLS,  /* the same, with unsuccessful tests before every receive */
	PLAY_CHAOS   /* nothing repeats: every message has a tag of its own */
};

struct play {
	enum play_program program;
	uint64_t i; /* the next event */
};

/* When not NULL: called before the spill file can be salvaged, to put more into it. */
extern void (*play_opened)(struct spill *s);

/* local: directory for the spill file or NULL; 0: defaults. 0, or -1 with the reason. */
int play_begin(struct play *p, enum play_program program, const char *local, const char *id, uint32_t rank,
	       uint32_t n_ranks, uint64_t memory, uint64_t structure, struct errbuf *err);
/* The next event; false when the recorder has stopped. */
bool play_one(struct play *p);
/* Is event i of the program the call of that symbol? */
bool play_is(enum play_program program, uint64_t i, const struct trace_defs *d, uint32_t symbol);
/* End as MPI_Finalize does and write a trace of this one rank. */
int play_end(struct play *p, const char *path, struct errbuf *err);

#endif
