/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log of long-running programs: see log.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "common/clean.h"
#include "common/log.h"

/* Set by log_open before any thread starts; read by all. */
static const char *log_ident = "precedent";
static enum log_target log_where = LOG_TARGET_STDERR;
static enum log_level log_max = LOG_LEVEL_INFO;

static const struct {
	const char *name;
	int priority;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3 /* LOG_ERR */},
    [LOG_LEVEL_WARN] = {"warning", 4 /* LOG_WARNING */},
    [LOG_LEVEL_INFO] = {"info", 6 /* LOG_INFO */},
    [LOG_LEVEL_DEBUG] = {"debug", 7 /* LOG_DEBUG */},
};

void log_open(const char *ident, enum log_target target, enum log_level max)
{
	log_ident = ident;
	log_where = target;
	log_max = max;
	if (target == LOG_TARGET_SYSLOG)
		openlog(ident, LOG_PID, LOG_DAEMON);
}

void log_set_level(enum log_level max)
{
	log_max = max;
}

void log_close(void)
{
	if (log_where == LOG_TARGET_SYSLOG)
		closelog();
	log_where = LOG_TARGET_STDERR;
}

static void write_stderr(enum log_level level, const char *text)
{
	char stamp[32] = "";
	char line[2200];
	struct timespec ts;
	struct tm tm;
	int n;

	if (log_where == LOG_TARGET_STDERR_PLAIN) {
		n = snprintf(line, sizeof(line), "<%d>%s\n", levels[level].priority, text);
	} else {
		clock_gettime(CLOCK_REALTIME, &ts);
		localtime_r(&ts.tv_sec, &tm);
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
		n = snprintf(line, sizeof(line), "%s.%03ld %s: %s: %s\n", stamp, ts.tv_nsec / 1000000,
			     log_ident, levels[level].name, text);
	}
	if (n > 0 && (size_t)n >= sizeof(line))
		n = sizeof(line) - 1;
	/*
	 * One write per line, so that lines of several threads do not mix. A failure cannot be reported.
	 */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (level > log_max)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_line(text);
	if (log_where == LOG_TARGET_SYSLOG)
		syslog(levels[level].priority, "%s", text);
	else
		write_stderr(level, text);
}

bool log_gate_pass(struct log_gate *gate, const char *text, time_t now, long every_s)
{
	bool same = !strncmp(gate->last, text, sizeof(gate->last) - 1);

	if (same && gate->last[0] && (!every_s || now - gate->said < every_s))
		return false;
	snprintf(gate->last, sizeof(gate->last), "%s", text);
	gate->said = now;
	return true;
}

void log_gate_clear(struct log_gate *gate)
{
	*gate = (struct log_gate){0};
}
