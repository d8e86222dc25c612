/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See array_indexes.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/array.h"
#include "predictor/replay/array_indexes.h"

#define RANGE_MAX sizeof("4294967295-4294967295,")

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* All jobs of one submission have one time, and jobs are in the order of these times. */
static int tasks_gather(struct array_indexes *a, const struct stream *s, size_t job, size_t *n)
{
	size_t i = job;

	*n = 0;
	while (i && s->jobs[i - 1].submit_s == s->jobs[job].submit_s)
		i--;
	for (; i < s->n && s->jobs[i].submit_s == s->jobs[job].submit_s; i++) {
		if (s->about[i].array_job != s->about[job].array_job)
			continue;
		if (ARRAY_ROOM(a->task, a->task_room, *n + 1) < 0)
			return -1;
		a->task[(*n)++] = s->about[i].array_task;
	}
	qsort(a->task, *n, sizeof(*a->task), ascending);
	return 0;
}

int array_indexes_of(struct array_indexes *a, const struct stream *s, size_t job)
{
	size_t n, len = 0, last;

	if (tasks_gather(a, s, job, &n) < 0)
		return -1;
	for (size_t first = 0; first < n; first = last + 1) {
		for (last = first; last + 1 < n && a->task[last + 1] - a->task[last] <= 1; last++)
			;
		if (ARRAY_ROOM(a->text, a->room, len + RANGE_MAX) < 0)
			return -1;
		len += (size_t)snprintf(a->text + len, a->room - len, "%s%" PRIu32, first ? "," : "", a->task[first]);
		if (a->task[last] != a->task[first])
			len += (size_t)snprintf(a->text + len, a->room - len, "-%" PRIu32, a->task[last]);
	}
	return 0;
}

void array_indexes_free(struct array_indexes *a)
{
	free(a->text);
	free(a->task);
	*a = (struct array_indexes){0};
}
