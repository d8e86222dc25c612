/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of probes. The store keeps their text (spool/result.h); this is where text becomes struct result again, and the only
 * place outside spool/ that parses one. Conventions as in store.h.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_RECORDS_H
#define PRECEDENT_PREDICTOR_STORE_RECORDS_H

#include "predictor/spool/result.h"
#include "predictor/store/probes.h"

/* Writes the row with its record. */
int store_record_put(struct store *s, const struct store_probe *row, const struct result *record, struct errbuf *err);
/* Returns 1 if there is a record, 0 if there is none or it cannot be read any more. */
int store_record_get(struct store *s, const char *key, const char *candidate, struct result *out, struct errbuf *err);
/* The record's text: 1 found, 0 none. *text is to be freed by the caller. */
int store_record_text(struct store *s, const char *key, const char *candidate, char **text, struct errbuf *err);

/*
 * The record of a program's source candidate, on the node class that was traced: skeleton ratios refer to this record also after
 * the candidate was probed again. The first record that is kept stays until the program is forgotten.
 */
int store_base_keep(struct store *s, const char *key, const char *candidate, struct errbuf *err);
/* As store_record_get. */
int store_base_get(struct store *s, const char *key, struct result *out, struct errbuf *err);

#endif
