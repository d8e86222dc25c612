/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log and the poll period of the daemon's environment: see daemon_env.h. */
#include <stdarg.h>
#include <stdio.h>

#include "predictor/cluster/daemon_env.h"

uint32_t daemon_period_s(const struct daemon_env *env)
{
	return env->period_s ? env->period_s : env->conf->poll_interval_s;
}

void daemon_say(const struct daemon_env *env, enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!env->say)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	env->say(level, line);
}
