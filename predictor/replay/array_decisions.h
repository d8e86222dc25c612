/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was decided of the job arrays of one second. The tasks of several arrays may alternate in a stream: raw job ids, by which
 * the accounting sorts, are given when tasks start. A zeroed structure is empty.
 */
#ifndef PRECEDENT_PREDICTOR_REPLAY_ARRAY_DECISIONS_H
#define PRECEDENT_PREDICTOR_REPLAY_ARRAY_DECISIONS_H

#include "common/comment.h"
#include "common/hash_table.h"
#include "predictor/replay/stream.h"

struct array_decision {
	size_t job; /* the task that was decided */
	uint32_t wish_min;
	struct job_comment comment;
};

struct array_decisions {
	struct array_decision *list; /* owned */
	uint32_t n, room;
	struct hash_table of_array;
};

/*
 * The decision of the same submission: the same array, second, request and number of nodes. NULL: none is kept. It is valid until
 * the next call of array_decisions_add.
 */
const struct array_decision *array_decisions_find(const struct array_decisions *d, const struct stream *s, size_t job);
/* Forgets all other seconds: jobs come in the order of their submission. Returns 0, or -1 if memory runs out. */
int array_decisions_add(struct array_decisions *d, const struct stream *s, const struct array_decision *of);
void array_decisions_free(struct array_decisions *d);

#endif
