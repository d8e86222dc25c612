/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that users chose (names of jobs, of partitions) as JSON. Control characters and whatever is not UTF-8 become question
 * marks: answers are printed on terminals, also on root's.
 */
#ifndef PRECEDENT_PREDICTOR_QUERY_ANSWER_TEXT_H
#define PRECEDENT_PREDICTOR_QUERY_ANSWER_TEXT_H

#include <jansson.h>

json_t *answer_text(const char *s);

#endif
