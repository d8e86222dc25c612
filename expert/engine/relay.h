/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of an engine in two halves, each of which has a thread (plan_split.c says which rule is where): the first looks
 * at events and finds those that belong together, the second makes composite ones of them and does what follows from these.
 * The events themselves are handed over, all of a cycle at once; the second half goes on as if they had been its own, so
 * that it finds the same in the same order, fails the same way, and counts the same. Their memory comes back when it has let
 * them go.
 */
#ifndef PRECEDENT_EXPERT_RELAY_H
#define PRECEDENT_EXPERT_RELAY_H

#include "expert/engine/engine.h"

struct relay;

/* e, to which no event has come, is the second half from now on. NULL: it stays what it is, since its rules cannot be
 * divided or there can be no thread. */
struct relay *relay_create(struct engine *e);
/* To which events come. */
struct engine *relay_first(struct relay *r);
/* All that the first half has made was looked at; e reports of both. -1 with the reason, where the second half has failed.
 * NULL is legal: 0. */
int relay_close(struct relay *r, struct errbuf *err);

#endif
