/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The settings of slurm.conf that both sides of the query protocol need: SlurmUser, SlurmctldHost, and the socket of munged
 * (AuthInfo=socket=...). Reading the file saves a round trip to slurmctld. Include lines are not followed.
 */
#ifndef PRECEDENT_PREDICTOR_CLUSTER_SLURM_CONF_H
#define PRECEDENT_PREDICTOR_CLUSTER_SLURM_CONF_H

#include <sys/types.h>

#include "common/conf.h"

struct slurm_conf {
	char slurm_user[64];	/* default "root", as in Slurm; "slurm" when there is no slurm.conf */
	char munge_socket[256]; /* "" = munge's own default */
	uid_t slurm_uid;	/* -1: that account does not exist here */
	char ctld_host[256];	/* address, or else name, of the first SlurmctldHost; "localhost" when it is not known */
};

/* $SLURM_CONF, else a file in the usual places; NULL: there is none. */
const char *slurm_conf_path(void);
/* From that file. Always fills *site. */
void slurm_conf_load(struct slurm_conf *site);
/* The same from one file (NULL: none); for tests. */
void slurm_conf_load_file(const char *path, struct slurm_conf *site);
/* Where commands find precedentd: ListenHost, else SlurmctldHost. Borrowed from either. */
const char *slurm_conf_daemon_host(const struct slurm_conf *site, const struct precedent_conf *conf);

#endif
