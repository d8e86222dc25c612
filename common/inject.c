/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Environment values and spool directories of traced jobs: see inject.h. */
#include "common/inject.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

#define SCRIPT_SCAN_MAX (1024 * 1024)

struct text {
	char *out;
	size_t len, cap;
	bool full;
};

static void text_add(struct text *t, const char *s, size_t n)
{
	if (t->full || n >= t->cap - t->len) {
		t->full = true;
		return;
	}
	memcpy(t->out + t->len, s, n);
	t->len += n;
	t->out[t->len] = '\0';
}

static void text_add_str(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

/* ld.so separates entries by blanks and colons. */
static void add_preload(struct text *t, const char *user, size_t user_len, const char *lib)
{
	size_t lib_len = strlen(lib);
	const char *p = user, *end = user + user_len;
	text_add(t, lib, lib_len);
	while (p < end) {
		size_t n = 0;
		while (p + n < end && p[n] != ':' && p[n] != ' ')
			n++;
		if (n && !(n == lib_len && memcmp(p, lib, n) == 0)) {
			text_add(t, ":", 1);
			text_add(t, p, n);
		}
		p += n + (p + n < end);
	}
}

int inject_preload(const char *user, const char *lib, char *out, size_t cap)
{
	struct text t = {.out = out, .cap = cap};
	if (!user)
		user = "";
	add_preload(&t, user, strlen(user), lib);
	return t.full ? -1 : 0;
}

/* A number up to `after`. */
static bool read_number(const char **text, char after, int64_t *n)
{
	char *end;
	if (!*text || !isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*n = strtoll(*text, &end, 10);
	if (errno || *end != after)
		return false;
	*text = end + 1;
	return true;
}

int inject_end_time(const char *limits, const char *start, const char *end, char *out, size_t cap)
{
	int64_t asked_min, set_min, from, to;
	int n;
	if (!read_number(&limits, ':', &asked_min) || !read_number(&limits, '\0', &set_min) || !read_number(&start, '\0', &from) ||
	    !read_number(&end, '\0', &to) || asked_min > UINT32_MAX || set_min > asked_min || from > UINT32_MAX ||
	    to != from + 60 * set_min)
		return -1;
	n = snprintf(out, cap, "%lld", (long long)(from + 60 * asked_min));
	return n > 0 && (size_t)n < cap ? 0 : -1;
}

static bool entry_is(const char *entry, size_t len, const char *name)
{
	size_t n = strlen(name);
	return len >= n && memcmp(entry, name, n) == 0 && (len == n || entry[n] == '=');
}

static bool is_ours(const char *entry, size_t len)
{
	return entry_is(entry, len, "PRECEDENT_TRACE_DIR") || entry_is(entry, len, "PRECEDENT_TRACE_LOCAL");
}

int inject_env_list(const char *list, const char *preload, const char *lib, const char *dir, const char *local, char *out,
		    size_t cap)
{
	struct text t = {.out = out, .cap = cap};
	const char *user = preload ? preload : "";
	size_t user_len = strlen(user);
	if (!cap)
		return -1;
	out[0] = '\0';
	for (const char *p = list ? list : ""; *p;) {
		size_t n = strcspn(p, ";");
		if (entry_is(p, n, "LD_PRELOAD")) {
			if (n > sizeof("LD_PRELOAD=") - 1) {
				user = p + sizeof("LD_PRELOAD=") - 1;
				user_len = n - (sizeof("LD_PRELOAD=") - 1);
			}
		} else if (n && !is_ours(p, n)) {
			text_add(&t, p, n);
			text_add(&t, ";", 1);
		}
		p += n + (p[n] == ';');
	}
	text_add_str(&t, "LD_PRELOAD=");
	add_preload(&t, user, user_len, lib);
	text_add_str(&t, ";PRECEDENT_TRACE_DIR=");
	text_add_str(&t, dir);
	if (local) {
		text_add_str(&t, ";PRECEDENT_TRACE_LOCAL=");
		text_add_str(&t, local);
	}
	return t.full || memchr(user, ';', user_len) ? -1 : 0;
}

/* Is this entry of LD_PRELOAD the tracer, in any directory? */
static bool is_tracer(const char *name, size_t len)
{
	const size_t n = sizeof(INJECT_LIBRARY_NAME) - 1;
	return len >= n && memcmp(name + len - n, INJECT_LIBRARY_NAME, n) == 0 && (len == n || name[len - n - 1] == '/');
}

static void add_stripped_preload(struct text *t, const char *p, size_t len)
{
	const char *end = p + len;
	bool first = true;
	while (p < end) {
		size_t n = 0;
		while (p + n < end && p[n] != ':' && p[n] != ' ')
			n++;
		if (n && !is_tracer(p, n)) {
			if (!first)
				text_add(t, ":", 1);
			text_add(t, p, n);
			first = false;
		}
		p += n + (p + n < end);
	}
}

int inject_preload_strip(const char *value, char *out, size_t cap)
{
	struct text t = {.out = out, .cap = cap};
	if (!cap)
		return -1;
	out[0] = '\0';
	add_stripped_preload(&t, value, strlen(value));
	return t.full ? -1 : 0;
}

int inject_env_list_strip(const char *list, char *out, size_t cap)
{
	const size_t name_len = sizeof("LD_PRELOAD=") - 1;
	struct text t = {.out = out, .cap = cap};
	if (!cap)
		return -1;
	out[0] = '\0';
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ";"), before = t.len;
		if (n && !is_ours(p, n)) {
			if (before)
				text_add(&t, ";", 1);
			if (entry_is(p, n, "LD_PRELOAD") && n > name_len) {
				size_t at = t.len;
				text_add(&t, p, name_len);
				add_stripped_preload(&t, p + name_len, n - name_len);
				if (!t.full && t.len == at + name_len) { /* there was no other entry */
					t.len = before;
					out[before] = '\0';
				}
			} else {
				text_add(&t, p, n);
			}
		}
		p += n + (p[n] == ';');
	}
	return t.full ? -1 : 0;
}

static int beside(const char *lib, const char *name, char *out, size_t cap)
{
	const char *slash = strrchr(lib, '/');
	int n = snprintf(out, cap, "%.*s%s", slash ? (int)(slash + 1 - lib) : 0, lib, name);
	return n > 0 && (size_t)n < cap ? 0 : -1;
}

int inject_agent(const char *lib, const char *dir, const char *local, char *out, size_t cap)
{
	const char *const words[] = {lib, dir, local ? local : "-"};
	struct text t = {.out = out, .cap = cap};
	if (beside(lib, INJECT_AGENT_NAME, out, cap) < 0)
		return -1;
	t.len = strlen(out);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strpbrk(words[i], " =\"\t\n"))
			return -1;
		text_add(&t, " ", 1);
		text_add_str(&t, words[i]);
	}
	return t.full ? -1 : 0;
}

bool inject_is_agent(const char *value)
{
	const size_t n = sizeof(INJECT_AGENT_NAME) - 1, len = strcspn(value, " ");
	return len >= n && memcmp(value + len - n, INJECT_AGENT_NAME, n) == 0 && (len == n || value[len - n - 1] == '/');
}

bool inject_is_launch_daemon(const char *argv0)
{
	/* Hydra's proxies are not in the list: they pass on their own environment, so they are preloaded like
	 * tasks. */
	static const char *const DAEMONS[] = {"orted", "prted"};
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL, *name = slash ? slash + 1 : argv0;
	for (size_t i = 0; name && i < sizeof(DAEMONS) / sizeof(DAEMONS[0]); i++)
		if (strcmp(name, DAEMONS[i]) == 0)
			return true;
	return false;
}

/* Is the name at `at` only read: $NAME or ${NAME}, without a default that is assigned? */
static bool is_expanded(const char *line, const char *at, const char *after)
{
	if (at > line && at[-1] == '$')
		return true;
	return at > line + 1 && at[-1] == '{' && at[-2] == '$' && *after != '=' && !(after[0] == ':' && after[1] == '=');
}

/* Is the name at `at` in a simple command that only prints it? Its output must not become a command or a file. */
static bool is_printed(const char *line, const char *at, const char *after, const char *end)
{
	static const char *const PRINTERS[] = {"echo", "printf", "printenv", "grep"};
	const char *head = at, *tail = after;
	size_t len;
	while (head > line && !strchr(";|&()`", head[-1]))
		head--;
	while (head < at && (*head == ' ' || *head == '\t'))
		head++;
	while (tail < end && !strchr(";|&()`", *tail))
		tail++;
	len = strcspn(head, " \t");
	for (size_t i = 0; i < sizeof(PRINTERS) / sizeof(PRINTERS[0]); i++) {
		if (strlen(PRINTERS[i]) != len || memcmp(head, PRINTERS[i], len))
			continue;
		/* printenv and grep add no assignment that was not there before */
		return !memchr(line, '>', (size_t)(end - line)) && (tail == end || *tail == ';' || *tail == '&' || (*tail == '|' && i >= 2));
	}
	return false;
}

/* Does a line of a script set this variable? In doubt yes. A NUL stands at `end`. */
static bool line_sets(const char *line, const char *end, const char *name)
{
	const char *at = line + strspn(line, " \t"), *after;
	if (*at == '#')
		return false;
	for (at = line; (at = strstr(at, name)) != NULL; at = after) {
		after = at + strlen(name);
		if (!is_expanded(line, at, after) && !is_printed(line, at, after, end))
			return true;
	}
	return false;
}

/* text: NUL-terminated; its lines are cut. */
static bool text_sets_objects(char *text, size_t len)
{
	for (char *line = text, *end; line < text + len; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text + len - line));
		if (!end)
			end = text + len;
		*end = '\0';
		if (line_sets(line, end, "LD_PRELOAD") || line_sets(line, end, "mca_base_env_list") || line_sets(line, end, "exec_agent"))
			return true;
	}
	return false;
}

bool inject_script_objects(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	char *text = malloc(SCRIPT_SCAN_MAX + 1);
	size_t len = 0;
	ssize_t n;
	bool found = false;
	if (fd >= 0 && text) {
		while (len < SCRIPT_SCAN_MAX && (n = read(fd, text + len, SCRIPT_SCAN_MAX - len)) != 0) {
			if (n < 0 && errno != EINTR)
				break;
			len += n > 0 ? (size_t)n : 0;
		}
		text[len] = '\0';
		found = text_sets_objects(text, len);
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return found;
}

static int check_file(const char *lib, struct errbuf *err)
{
	struct stat st;
	if (stat(lib, &st) != 0)
		return err_set(err, "tracer %s: %s", lib, strerror(errno));
	if (!S_ISREG(st.st_mode) || access(lib, R_OK) != 0)
		return err_set(err, "tracer %s: not a readable file", lib);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & S_IWOTH))
		return err_set(err, "tracer %s: belongs to uid %u or anybody may write it", lib, (unsigned)st.st_uid);
	return 0;
}

int inject_tracer_path(const char *lib, size_t i, char *out, size_t cap)
{
	static const char *const NAMES[INJECT_TRACERS] = INJECT_TRACER_NAMES;
	return beside(lib, NAMES[i], out, cap);
}

int inject_check_library(const char *lib, struct errbuf *err)
{
	char path[PATH_MAX];
	if (!lib || lib[0] != '/' || strpbrk(lib, " :;\t\n"))
		return err_set(err, "tracer %s: not an absolute name free of blanks, ':' and ';'", lib ? lib : "(none)");
	if (check_file(lib, err) != 0)
		return -1;
	for (size_t i = 0; i < INJECT_TRACERS; i++)
		if (inject_tracer_path(lib, i, path, sizeof(path)) == 0 && access(path, F_OK) == 0 &&
		    check_file(path, err) != 0)
			return -1;
	if (beside(lib, INJECT_AGENT_NAME, path, sizeof(path)) < 0 || check_file(path, err) != 0)
		return -1;
	return access(path, X_OK) == 0 ? 0 : err_set(err, "tracer %s: cannot be executed", path);
}

const char *inject_squash_hint(void)
{
	const bool denied = errno == EACCES || errno == EPERM || errno == EROFS;
	return denied && geteuid() == 0 ? "; root must be able to write there (read-only, root_squash?)" : "";
}

static int open_spool(const char *spool, struct stat *st, struct errbuf *err)
{
	int fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, "spool %s: %s", spool, strerror(errno));
	if (fstat(fd, st) != 0 || (st->st_uid != 0 && st->st_uid != geteuid()) || (st->st_mode & (S_IWGRP | S_IWOTH))) {
		close(fd);
		return err_set(err, "spool %s: must belong to root and be writable by its owner alone", spool);
	}
	return fd;
}

int inject_spool_user(const char *spool, uid_t uid, struct errbuf *err)
{
	const mode_t mode = S_ISGID | 0770; /* for the group, as which precedentd cleans */
	char name[16];
	struct stat top, st;
	int rc = -1, fd = -1, spool_fd = open_spool(spool, &top, err);
	if (spool_fd < 0)
		return -1;
	snprintf(name, sizeof(name), "%u", (unsigned)uid);
	/* With root_squash, root can neither make nor open it, but may find that it is there. */
	if (fd_stat_here(spool_fd, name, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
	    st.st_gid == top.st_gid && (st.st_mode & 07777) == mode) {
		rc = 0;
		goto done;
	}
	if (mkdirat(spool_fd, name, 0700) != 0 && errno != EEXIST) {
		err_set(err, "spool %s/%s: %s%s", spool, name, strerror(errno), inject_squash_hint());
		goto done;
	}
	fd = fd_open_here(spool_fd, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fstat(fd, &st) != 0) {
		err_set(err, "spool %s/%s: %s", spool, name, strerror(errno));
		goto done;
	}
	/* The directory may be new, made by this node or by another node that has not changed the owner yet. */
	if (st.st_uid != uid && st.st_uid != geteuid()) {
		err_set(err, "spool %s/%s: belongs to uid %u; remove it", spool, name, (unsigned)st.st_uid);
		goto done;
	}
	if ((st.st_uid != uid || st.st_gid != top.st_gid) && fchown(fd, uid, top.st_gid) != 0) {
		err_set(err, "spool %s/%s: chown: %s", spool, name, strerror(errno));
		goto done;
	}
	if ((st.st_uid != uid || st.st_gid != top.st_gid || (st.st_mode & 07777) != mode) && fchmod(fd, mode) != 0) {
		err_set(err, "spool %s/%s: chmod: %s", spool, name, strerror(errno));
		goto done;
	}
	rc = 0;
done:
	if (fd >= 0)
		close(fd);
	close(spool_fd);
	return rc;
}

int inject_spool_job(const char *spool, uid_t uid, uint32_t job_id, char *dir, size_t cap, struct errbuf *err)
{
	char user[PATH_MAX], name[16];
	struct stat st;
	int rc = -1, user_fd = -1, fd = -1;
	int n = snprintf(user, sizeof(user), "%s/%u", spool, (unsigned)uid);
	int m = snprintf(dir, cap, "%s/%u/%u", spool, (unsigned)uid, job_id);
	if (n < 0 || (size_t)n >= sizeof(user) || m < 0 || (size_t)m >= cap || strpbrk(dir, ";\n"))
		return err_set(err, "spool %s: name too long or with a ';'", spool);
	snprintf(name, sizeof(name), "%u", job_id);
	user_fd = open(user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (user_fd < 0 || fstat(user_fd, &st) != 0) {
		err_set(err, "spool %s: %s", user, strerror(errno));
		goto done;
	}
	if (st.st_uid != uid) {
		err_set(err, "spool %s: belongs to uid %u", user, (unsigned)st.st_uid);
		goto done;
	}
	/* The set-group-id bit comes from the parent. A chmod by a user outside the group would clear it. The
	 * group of SlurmUser may write, so that precedentd can remove the files of runs that died. */
	mode_t mask = umask(0007);
	int made = mkdirat(user_fd, name, 0770);
	int why = errno;
	umask(mask);
	if (made != 0 && why != EEXIST) {
		err_set(err, "spool %s: %s", dir, strerror(why));
		goto done;
	}
	fd = openat(user_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != uid) {
		err_set(err, "spool %s: not a directory of uid %u", dir, (unsigned)uid);
		goto done;
	}
	rc = 0;
done:
	if (fd >= 0)
		close(fd);
	if (user_fd >= 0)
		close(user_fd);
	return rc;
}

void inject_spool_note(const char *dir, const char *reason)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" INJECT_NOTE_NAME, dir);
	int fd = n > 0 && (size_t)n < sizeof(path) ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640) : -1;
	if (fd < 0)
		return;
	dprintf(fd, "%s\n", reason);
	close(fd);
}
