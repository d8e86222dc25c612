/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call sites in messages and in printed trees: "heat+0x1234", or the text of a function that the program sets. */
#ifndef PRECEDENT_SKELGEN_SITE_TEXT_H
#define PRECEDENT_SKELGEN_SITE_TEXT_H

#include <stddef.h>

#include "trace/format/defs.h"

typedef const char *skel_site_namer(void *arg, const struct trace_defs *d, const struct trace_site *site, char *buf, size_t size);

/* From now on the site's text is name(arg, ...); NULL: module and offset. Called before other threads are started. */
void skel_site_name_by(skel_site_namer *name, void *arg);
/* Writes the text of a site with frames; returns buf. */
const char *skel_site_text(const struct trace_defs *d, const struct trace_site *site, char *buf, size_t size);

#endif
