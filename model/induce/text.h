/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models for people: text, with every rule as it is applied, and a graph for dot. */
#ifndef PRECEDENT_MODEL_INDUCE_TEXT_H
#define PRECEDENT_MODEL_INDUCE_TEXT_H

#include <stdio.h>

#include "model/induce/model.h"

/* -1 when the stream fails. */
int model_print(const struct model *m, FILE *out);
/* Main arcs are drawn through, information arcs dashed; procedures are boxes. */
int model_print_dot(const struct model *m, FILE *out);

/* What doubt i of the node is about, in words, cut to the buffer. */
void model_doubt_text(const struct model *m, uint32_t graph, uint32_t node, uint32_t i, char *text, size_t size);

#endif
