/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What similar runs told when a job was submitted, as JSON: from struct job_comment's similar. */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_SIMILAR_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_SIMILAR_H

#include <jansson.h>

/* {"source": word, "seconds": n, "lo_s": n, "hi_s": n}; NULL if the text is malformed or "". */
json_t *answer_similar(const char *similar);

#endif
