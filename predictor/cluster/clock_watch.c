/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notices that a clock was set: see clock_watch.h. */
#include <math.h>

#include "predictor/cluster/clock_watch.h"

int64_t clock_watch_read(struct clock_watch *w, int64_t wall, double before, double after)
{
	struct clock_watch now = {true, (double)wall - after, (double)wall + 1 - before};
	double forward = w->known ? now.least - w->most : 0, back = w->known ? w->least - now.most : 0;
	double by = forward > CLOCK_WATCH_SLACK_S || back > CLOCK_WATCH_SLACK_S ? (now.least + now.most - w->least - w->most) / 2 : 0;

	*w = now;
	return llround(by);
}
