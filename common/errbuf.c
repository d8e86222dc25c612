/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error text in a buffer of the caller: see errbuf.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/clean.h"
#include "common/errbuf.h"

int err_set(struct errbuf *errp, const char *fmt, ...)
{
	int saved = errno;

	if (errp) {
		va_list ap;

		va_start(ap, fmt);
		vsnprintf(errp->text, sizeof(errp->text), fmt, ap);
		va_end(ap);
		clean_line(errp->text);
	}
	errno = saved;
	return -1;
}

int err_prefix(struct errbuf *errp, const char *fmt, ...)
{
	int saved = errno;

	if (errp) {
		struct errbuf old = *errp;
		va_list ap;
		int n;

		va_start(ap, fmt);
		n = vsnprintf(errp->text, sizeof(errp->text), fmt, ap);
		va_end(ap);
		if (n >= 0 && (size_t)n < sizeof(errp->text))
			snprintf(errp->text + n, sizeof(errp->text) - (size_t)n, ": %.400s", old.text);
		clean_line(errp->text);
	}
	errno = saved;
	return -1;
}
