/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The small server behind `precedent view --serve`: one trace, read-only, for the browser of the user who started it.
 * It listens on 127.0.0.1 alone. Every path begins with a random token, which only the printed address has. A request
 * with a foreign Host is refused, as a protection against DNS rebinding. The server answers only GET, and only for
 * known paths.
 */
#ifndef PRECEDENT_CLI_VIEW_SERVE_H
#define PRECEDENT_CLI_VIEW_SERVE_H

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/view/view.h"

/* Serves page (and v's data) until a signal ends it: then 0. port 0: any free one. The address is printed on stdout. */
int view_serve(struct view *v, const struct buf *page, uint16_t port, struct errbuf *err);

#endif
