/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine in threads of its own: events are handed to it in batches, in their order, so that it finds what it finds
 * without them, in the same order. Where its rules can be divided (relay.h), those that look at what rules have made have
 * a thread, and those that look at events have another one or, with two threads in all, run in that of the caller. Between
 * pipe_create and pipe_close the engine belongs to its threads: `found` is called there. No event may come after it.
 */
#ifndef PRECEDENT_EXPERT_PIPE_H
#define PRECEDENT_EXPERT_PIPE_H

#include "expert/engine/engine.h"

struct pipe;

/* Threads that are worth it here, with that of the caller: 3 where this process may use several processors, else 1. On two
 * they share them as needed: how long it takes to read a trace is not known before. */
uint32_t pipe_threads(void);
/* NULL when there can be no thread: use the engine itself then. e, to which no event has come, must outlive it. */
struct pipe *pipe_create(struct engine *e);
/* As engine_event; -1 with the reason also for an earlier event. */
int pipe_event(struct pipe *p, uint32_t type, const struct engine_simple *s, const union rules_value *param, struct errbuf *err);
/* Waits until all events were looked at. -1 with the reason for any of them; NULL is legal: 0. */
int pipe_close(struct pipe *p, struct errbuf *err);

#endif
