/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Model files: words separated by one blank or line end, specified in precedent-model(5). A reader takes only what a
 * writer writes: it writes what it has read, and compares. Numbers are hexadecimal, so that every bit is kept.
 */
#ifndef PRECEDENT_MODEL_INDUCE_FILE_H
#define PRECEDENT_MODEL_INDUCE_FILE_H

#include "common/buf.h"
#include "model/induce/model.h"

#define MODEL_FILE_MAX (16u << 20) /* bytes */

/* Text of a model, to be freed with buf_free. */
int model_format(const struct model *m, struct buf *out, struct errbuf *err);
/* A model that was checked; NULL with the reason and the line. */
struct model *model_parse(const char *text, size_t len, struct errbuf *err);

/* Written beside, synced and renamed. */
int model_save(const struct model *m, const char *path, struct errbuf *err);
/* A regular file, not through a link at the end of the path. */
struct model *model_load(const char *path, struct errbuf *err);

/* Hash of the text: says whether something was made for this model. */
int model_key(const struct model *m, uint64_t *key, struct errbuf *err);

#endif
