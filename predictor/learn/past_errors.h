/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How wrong each kind of probe was so far: for the programs of a family that were probed both ways on a candidate and have
 * run there since, what skeleton and partial execution say, each alone, is compared with how long the runs took. The
 * predictions are made afresh from the records that the store keeps, so that nothing more is kept of them.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_PAST_ERRORS_H
#define PRECEDENT_PREDICTOR_LEARN_PAST_ERRORS_H

#include "predictor/estimate/estimate.h"
#include "predictor/store/store.h"

#define PAST_ERRORS_PROGRAMS 32 /* of a family, the latest ones */

/* p's family, p among it, on that candidate. -1 when the store cannot be read. */
int past_errors_gather(struct store *s, const struct store_program *p, const char *candidate, struct estimate_errors *out,
		       struct errbuf *err);

#endif
