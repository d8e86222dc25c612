/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The indexes of a job array, as its user asked for them: the plugin decides for all of them at once. */
#ifndef PRECEDENT_PREDICTOR_REPLAY_ARRAY_INDEXES_H
#define PRECEDENT_PREDICTOR_REPLAY_ARRAY_INDEXES_H

#include "predictor/replay/stream.h"

struct array_indexes {
	char *text; /* owned; as sbatch --array takes them: "0-3,7" */
	size_t room;
	uint32_t *task; /* owned */
	size_t task_room;
};

/*
 * Sets text to the indexes of the job's array that the stream has from the same submission. Indexes that never
 * ran are not in the accounting. Returns 0, or -1 if memory runs out.
 */
int array_indexes_of(struct array_indexes *a, const struct stream *s, size_t job);
void array_indexes_free(struct array_indexes *a); /* of a zeroed one is legal */

#endif
