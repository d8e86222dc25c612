/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages, installed files, progress and formatting for the verbs: see util.h. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/ui/term.h"
#include "cli/ui/util.h"
#include "common/clean.h"
#include "common/fd.h"

#define MESSAGE_MAX 4096

int cli_fail(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "precedent: %s\n", clean_line(text));
	return 1;
}

int cli_usage(const char *verb, const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "precedent %s: %s; try 'precedent %s --help'\n", verb, clean_line(text), verb);
	return 2;
}

const char *cli_shown(const char *text)
{
	static char buf[4][PATH_MAX];
	static unsigned next;

	next = (next + 1) % 4;
	return clean_copy(buf[next], sizeof(buf[next]), text);
}

int cli_number(const char *text, long least, long most, long *out)
{
	char *end;

	errno = 0;
	*out = strtol(text, &end, 10);
	return *end || end == text || errno || *out < least || *out > most ? -1 : 0;
}

/* Directory of the running program; -1 when /proc does not say. */
static int program_dir(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	char *slash;

	if (n < 0)
		return -1;
	out[n] = '\0';
	slash = strrchr(out, '/');
	if (!slash)
		return -1;
	*slash = '\0';
	return 0;
}

static char *first_readable(const char *const dir[], const char *const below[], int n, const char *name,
			    struct errbuf *err)
{
	char *path = NULL;

	for (int i = 0; i < n; i++) {
		if (!dir[i])
			continue;
		if (asprintf(&path, "%s%s%s", dir[i], below[i], name) < 0)
			break;
		if (access(path, R_OK) == 0)
			return path;
		free(path);
		path = NULL;
	}
	err_set(err, "%s is not installed (looked beside the program, in ../lib/precedent or ../share/precedent, and in "
		"$PRECEDENT_LIBDIR): run 'make install' again", name);
	return NULL;
}

char *cli_installed(const char *name, struct errbuf *err)
{
	char dir[PATH_MAX];
	bool known = program_dir(dir, sizeof(dir)) == 0;
	const char *const where[] = {getenv("PRECEDENT_LIBDIR"), known ? dir : NULL, known ? dir : NULL};
	const char *const below[] = {"/", "/", "/../lib/precedent/"};

	return first_readable(where, below, 3, name, err);
}

char *cli_shared(const char *name, struct errbuf *err)
{
	char dir[PATH_MAX];
	bool known = program_dir(dir, sizeof(dir)) == 0;
	const char *const where[] = {getenv("PRECEDENT_LIBDIR"), known ? dir : NULL, known ? dir : NULL};
	const char *const below[] = {"/", "/../share/precedent/", "/../conf/"};

	return first_readable(where, below, 3, name, err);
}

/* Message catalogues: LANGUAGE/LC_MESSAGES/precedent.mo below it. */
char *cli_locale_dir(void)
{
	static const char probe[] = "ru/LC_MESSAGES/precedent.mo";
	struct errbuf err;
	char dir[PATH_MAX];
	bool known = program_dir(dir, sizeof(dir)) == 0;
	const char *const where[] = {getenv("PRECEDENT_LIBDIR"), known ? dir : NULL, known ? dir : NULL};
	const char *const below[] = {"/locale/", "/locale/", "/../share/locale/"};
	char *path = first_readable(where, below, 3, probe, &err);

	if (path)
		path[strlen(path) - strlen(probe) - 1] = '\0';
	return path;
}

/* The header of the skeletons' runtime: installed, or copied into the build directory. */
char *cli_include_dir(struct errbuf *err)
{
	static const char probe[] = "skelgen/runtime/skel.h";
	char dir[PATH_MAX];
	bool known = program_dir(dir, sizeof(dir)) == 0;
	const char *const where[] = {getenv("PRECEDENT_LIBDIR"), known ? dir : NULL, known ? dir : NULL};
	const char *const below[] = {"/include/", "/include/", "/../lib/precedent/include/"};
	char *path = first_readable(where, below, 3, probe, err);

	if (path)
		path[strlen(path) - strlen(probe) - 1] = '\0';
	return path;
}

void cli_progress(const char *what, double done, double total)
{
	static double last;
	char bar[128];
	double t = cli_now(), share = total > 0 ? done / total : 1;

	if (!isatty(STDERR_FILENO))
		return;
	if (share < 1 && t - last < 0.1)
		return;
	last = t;
	if (share >= 1)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\r\033[K%-28s %s %3.0f %%", what, cli_bar(bar, sizeof(bar), share, 30), share * 100);
}

const char *cli_thousands(char *buf, size_t size, uint64_t v)
{
	char digits[32];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	size_t k = 0;

	for (int i = 0; i < n && k + 2 < size; i++) {
		if (i && (n - i) % 3 == 0)
			buf[k++] = ',';
		buf[k++] = digits[i];
	}
	buf[k] = '\0';
	return buf;
}

const char *cli_bytes(char *buf, size_t size, double v)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	int u = 0;

	while (v >= 1024 && u < 4) {
		v /= 1024;
		u++;
	}
	snprintf(buf, size, v < 10 && u ? "%.1f %s" : "%.0f %s", v, unit[u]);
	return buf;
}

const char *cli_seconds(char *buf, size_t size, double s)
{
	if (s >= 1 - 0.5e-6 || s == 0) /* what would be rounded to 1000.000 ms */
		snprintf(buf, size, "%.3f s", s);
	else if (s >= 1e-3 - 0.5e-8)
		snprintf(buf, size, "%.3f ms", s * 1e3);
	else
		snprintf(buf, size, "%.2f us", s * 1e6);
	return buf;
}

const char *cli_bar(char *buf, size_t size, double share, int width)
{
	static const char *const blocks[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
	static const char *const ascii[] = {" ", " ", " ", " ", "#", "#", "#", "#", "#"};
	const char *const *part = term_is_utf8() ? blocks : ascii;
	int eighths = (int)(share * width * 8 + 0.5);
	size_t k = 0;

	for (int i = 0; i < width && k + 4 < size; i++, eighths -= 8) {
		const char *c = part[eighths > 8 ? 8 : eighths > 0 ? eighths : 0];

		k += (size_t)snprintf(buf + k, size - k, "%s", c);
	}
	buf[k] = '\0';
	return buf;
}

double cli_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

char *cli_output_name(const char *trace, const char *suffix)
{
	const char *base = basename(trace);
	size_t n = strlen(base);
	char *name;

	if (n > 7 && !strcmp(base + n - 7, ".ptrace"))
		n -= 7;
	return asprintf(&name, "%.*s%s", (int)n, base, suffix) < 0 ? NULL : name;
}

int cli_write_file(const char *path, const void *data, size_t len)
{
	char *tmp = NULL;
	mode_t mask = umask(0);
	int fd, rc;

	umask(mask);
	if (!strcmp(path, "-"))
		return fd_write_all(STDOUT_FILENO, data, len) < 0
			       ? cli_fail("standard output cannot be written: %s", strerror(errno)) : 0;
	if (asprintf(&tmp, "%s.XXXXXX", path) < 0)
		return cli_fail("no memory");
	fd = mkstemp(tmp);
	if (fd < 0) {
		rc = cli_fail("%s cannot be written: %s", path, strerror(errno));
	} else if (fd_write_all(fd, data, len) < 0 || fchmod(fd, 0666 & ~mask) < 0 || rename(tmp, path) < 0) {
		rc = cli_fail("%s cannot be written: %s", path, strerror(errno));
		unlink(tmp);
	} else {
		rc = 0;
	}
	if (fd >= 0)
		close(fd);
	free(tmp);
	return rc;
}
