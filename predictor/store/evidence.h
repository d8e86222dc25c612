/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The evidence of each estimate, by key and candidate. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_EVIDENCE_H
#define PRECEDENT_PREDICTOR_STORE_EVIDENCE_H

#include "predictor/store/store.h"

struct combine_part; /* predictor/estimate/combine.h */
/* Replaces the evidence of an estimate; it is dropped with the estimate. */
int store_evidence_put(struct store *s, const char *key, const char *candidate, const struct combine_part *part, unsigned n,
		       struct errbuf *err);
/* By kind. Returns how many, at most max; 0: not known. */
int store_evidence_get(struct store *s, const char *key, const char *candidate, struct combine_part *out, unsigned max,
		       struct errbuf *err);

#endif
