/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Past errors of skeletons and of partial execution, each alone, for programs of a family that were probed both ways on a
 * candidate and have run there since. The predictions are computed again from the stored records, so nothing more is stored.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_PAST_ERRORS_H
#define PRECEDENT_PREDICTOR_LEARN_PAST_ERRORS_H

#include "predictor/estimate/estimate.h"
#include "predictor/store/programs.h"

#define PAST_ERRORS_PROGRAMS 32 /* of a family, the latest ones */

/* p's family, p among it, on that candidate. -1 when the store cannot be read. */
int past_errors_gather(struct store *s, const struct store_program *p, const char *candidate, struct estimate_errors *out,
		       struct errbuf *err);

#endif
