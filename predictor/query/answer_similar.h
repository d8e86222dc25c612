/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What similar runs told when a job was submitted, as JSON: from struct job_comment's similar. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_SIMILAR_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_SIMILAR_H

#include <jansson.h>

/* {"source": word, "seconds": n, "lo_s": n, "hi_s": n}; NULL if there is none or the text is malformed. */
json_t *answer_similar(const char *similar);
/* Adds to a run "same_launches": the job that launched the same (0: no job was traced), and "fresh": jobs with new keys. */
void answer_similar_parts(json_t *run, const char *similar);

#endif
