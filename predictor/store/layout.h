/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of a traced job, by its program's key, until the program's probes are done. Conventions as in store.h. */
#ifndef PRECEDENT_PREDICTOR_STORE_LAYOUT_H
#define PRECEDENT_PREDICTOR_STORE_LAYOUT_H

#include "predictor/cluster/cluster.h"
#include "predictor/store/store.h"

int store_layout_put(struct store *s, const char *key, const struct cluster_layout *layout, struct errbuf *errp);
/* 1 found, 0 none. */
int store_layout_get(struct store *s, const char *key, struct cluster_layout *layout, struct errbuf *errp);
int store_layout_drop(struct store *s, const char *key, struct errbuf *errp);

#endif
