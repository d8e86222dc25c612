/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What estimates were made of, as rows: see evidence.h. A trigger of the schema drops them with their estimate. */
#include "predictor/estimate/combine.h"
#include "predictor/store/evidence.h"
#include "predictor/store/internal.h"

/* With key and candidate bound; NULL with err filled. */
static sqlite3_stmt *statement_of(struct store *s, enum store_query q, const char *key, const char *candidate, struct errbuf *err)
{
	sqlite3_stmt *st = store_stmt(s, q, err);

	if (!st)
		return NULL;
	if (store_bind_key(st, 1, key) < 0) {
		store_bad_key(s, key, err);
		return NULL;
	}
	store_bind_text(st, 2, candidate);
	return st;
}

int store_evidence_put(struct store *s, const char *key, const char *candidate, const struct combine_part *part, unsigned n,
		       struct errbuf *err)
{
	sqlite3_stmt *st = statement_of(s, Q_EVIDENCE_CLEAR, key, candidate, err);

	if (!st || store_run_stmt(s, st, "cannot drop what an estimate was made of", err) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		st = statement_of(s, Q_EVIDENCE_ADD, key, candidate, err);
		if (!st)
			return -1;
		sqlite3_bind_int(st, 3, (int)part[i].e.kind);
		sqlite3_bind_double(st, 4, part[i].e.mean_s);
		sqlite3_bind_double(st, 5, part[i].e.lo_s);
		sqlite3_bind_double(st, 6, part[i].e.hi_s);
		sqlite3_bind_int64(st, 7, part[i].e.n);
		sqlite3_bind_double(st, 8, part[i].weight);
		sqlite3_bind_double(st, 9, part[i].error);
		sqlite3_bind_int64(st, 10, part[i].programs);
		if (store_run_stmt(s, st, "cannot write what an estimate was made of", err) < 0)
			return -1;
	}
	return 0;
}

int store_evidence_get(struct store *s, const char *key, const char *candidate, struct combine_part *out, unsigned max,
		       struct errbuf *err)
{
	sqlite3_stmt *st = statement_of(s, Q_EVIDENCE_GET, key, candidate, err);
	unsigned n = 0;
	int rv = 0;

	if (!st)
		return -1;
	while (n < max && (rv = store_step(s, st, "cannot read what an estimate was made of", err)) == 1) {
		struct combine_part *p = &out[n++];

		p->e = (struct estimate){sqlite3_column_double(st, 1), sqlite3_column_double(st, 2), sqlite3_column_double(st, 3),
					 (enum estimate_kind)sqlite3_column_int(st, 0), (unsigned)sqlite3_column_int64(st, 4)};
		p->weight = sqlite3_column_double(st, 5);
		p->error = sqlite3_column_double(st, 6);
		p->programs = (unsigned)sqlite3_column_int64(st, 7);
	}
	sqlite3_reset(st);
	return rv < 0 ? -1 : (int)n;
}
