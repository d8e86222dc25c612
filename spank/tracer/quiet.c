/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protection from signals: see quiet.h. The kernel sends both signals to the writing thread, so blocking them
 * there is sufficient. */
#include "spank/tracer/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static const int ours[] = {SIGXFSZ, SIGPIPE};
#define N_OURS (sizeof(ours) / sizeof(*ours))

void quiet_begin(struct quiet *q)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N_OURS; i++)
		sigaddset(&set, ours[i]);
	pthread_sigmask(SIG_BLOCK, &set, &q->mask);
	sigpending(&q->pending);
}

void quiet_end(const struct quiet *q)
{
	const struct timespec now = {0};
	int err = errno;

	for (size_t i = 0; i < N_OURS; i++) {
		sigset_t one, pending;

		if (sigismember(&q->pending, ours[i]) || sigpending(&pending) || !sigismember(&pending, ours[i]))
			continue;
		sigemptyset(&one);
		sigaddset(&one, ours[i]);
		sigtimedwait(&one, NULL, &now);
	}
	pthread_sigmask(SIG_SETMASK, &q->mask, NULL);
	errno = err;
}
