/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log of a daemon, to stderr with time stamps or to the system log. Only programs log; libraries fill an errbuf. A
 * message is one line: newlines become blanks.
 */
#ifndef PRECEDENT_COMMON_LOG_H
#define PRECEDENT_COMMON_LOG_H

#include <stdbool.h>
#include <time.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

enum log_target {
	LOG_TARGET_STDERR,	 /* with a time stamp */
	LOG_TARGET_STDERR_PLAIN, /* with systemd's <N> priority and without a time stamp, for services */
	LOG_TARGET_SYSLOG,
};

/* ident is borrowed. Before the first call the log goes to stderr, with LOG_LEVEL_INFO. */
void log_open(const char *ident, enum log_target target, enum log_level max);
void log_set_level(enum log_level max);
void log_close(void);

void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_msg(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_msg(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_msg(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_LEVEL_DEBUG, __VA_ARGS__)

/*
 * Suppresses repeated messages. log_gate_open returns true if `text` differs from the last message of this gate, or
 * if that message is older than every_s (0: never repeated). Not locked: one gate per thread, or under the caller's
 * lock.
 */
struct log_gate {
	char last[160];
	time_t said;
};
bool log_gate_pass(struct log_gate *gate, const char *text, time_t now, long every_s);
void log_gate_clear(struct log_gate *gate); /* the fault is over: the next message passes */

#endif
