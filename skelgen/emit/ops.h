/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * skel.ops: the emitted source for machines without a compiler. It is compiled from the very text of skel.c, whose
 * statements are a small part of C, so that what is interpreted cannot differ from what would be compiled.
 */
#ifndef PRECEDENT_SKELGEN_EMIT_OPS_H
#define PRECEDENT_SKELGEN_EMIT_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"

/* The file of the NUL-terminated source and of the words of skel.c.data, malloced. -1 with the line and what is wrong
 * when the source holds what skelgen/replay does not know. */
int skel_ops_compile(const char *source, const uint64_t *data, size_t n_data, uint64_t **words, size_t *n_words,
		     struct errbuf *err);

#endif
