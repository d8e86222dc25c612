/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See site_text.h. */
#include "skelgen/tree/site_text.h"

#include <stdio.h>
#include <string.h>

#include "common/clean.h"

static skel_site_namer *namer; /* set while there is one thread */
static void *namer_arg;

void skel_site_name_by(skel_site_namer *name, void *arg)
{
	namer = name;
	namer_arg = arg;
}

const char *skel_site_text(const struct trace_defs *d, const struct trace_site *site, char *buf, size_t size)
{
	const char *path = d->module[site->module[0]].path, *slash = path ? strrchr(path, '/') : NULL;

	if (namer)
		return namer(namer_arg, d, site, buf, size);
	snprintf(buf, size, "%s+0x%llx", slash ? slash + 1 : path ? path : "?", (unsigned long long)site->offset[0]);
	return clean_line(buf);
}
