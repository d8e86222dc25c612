/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between which candidates a job's place was chosen, as JSON: from struct job_comment's at. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_WEIGHED_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_WEIGHED_H

#include <jansson.h>

/*
 * [{"candidate": name, "taken": bool, "wait_s": n or null, "seconds": n, "ends_s": n or null, "why": word}...], the one that
 * the job went to first. "why" is "" where nothing was in the way. What is malformed is left out.
 */
json_t *answer_weighed(const char *at);

#endif
