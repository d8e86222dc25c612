/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rule base, its engine, and its findings as lines of text, for tests of rules. */
#ifndef PRECEDENT_TESTS_UNIT_RULES_RIG_H
#define PRECEDENT_TESTS_UNIT_RULES_RIG_H

#include "expert/engine/engine.h"

struct rig {
	struct rules *rules;
	struct plan *plan;
	struct engine *engine;
	char *log;       /* "TYPE name=value ...\n" for each finding */
	size_t len;
	bool quiet;      /* findings are counted only */
	uint64_t sum;    /* sum of their duration or impact_time */
	uint64_t found;
	struct errbuf err;
};

/* rules: text of rules, or '@' and a file. Fails the test if there is an error in them. */
void rig_open(struct rig *g, const char *rules, const struct engine_options *o);
void rig_close(struct rig *g);
/* Add an event of `rank` at [start, start + duration). Parameters are pairs of name and value, NULL at the end. */
int rig_event(struct rig *g, const char *type, uint32_t rank, uint64_t start, uint64_t duration, ...);
/* Add events of common kinds. */
void rig_send(struct rig *g, uint32_t rank, uint64_t start, uint64_t duration, int dest, int tag, int comm);
void rig_recv(struct rig *g, uint32_t rank, uint64_t start, uint64_t duration, int source, int tag, int comm);
/* Add the part of `rank` in the k-th collective of this type, in communicator 0 with `size` members. */
void rig_collective(struct rig *g, const char *type, uint32_t rank, uint64_t start, uint64_t finish, int instance, int size,
		    int root);
/* Returns the log so far, and starts a new one. */
const char *rig_log(struct rig *g);

#endif
