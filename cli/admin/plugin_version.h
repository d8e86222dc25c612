/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The version of Slurm that a plugin was built for. It is read from the file: loading the plugin would need the
 * functions of slurmctld, and would run its code.
 */
#ifndef PRECEDENT_CLI_PLUGIN_VERSION_H
#define PRECEDENT_CLI_PLUGIN_VERSION_H

#include <stdint.h>

/* The plugin's plugin_version (SLURM_VERSION_NUM: major << 16 | minor << 8 | micro), or -1. */
int plugin_version_read(const char *path, uint32_t *version);

#endif
