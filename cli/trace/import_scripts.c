/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See import_scripts.h. sacct is started without a shell. Its output is users' data. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/trace/import_scripts.h"
#include "cli/ui/util.h"
#include "common/array.h"

#define SILENT_MS  60000       /* slurmdbd is away or overloaded if nothing comes for a minute */
#define PIECE	   65536       /* a pipe holds so much */

extern char **environ;

/* Returns the pid and *fd to read from; -1: errno says why. */
static pid_t sacct_spawn(const char *ids, int *fd)
{
	char *argv[] = {(char[]){"sacct"}, (char[]){"--batch-script"}, (char[]){"--jobs"}, (char *)(uintptr_t)ids, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	rc = posix_spawnp(&pid, "sacct", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*fd = ends[0];
	if (rc == 0)
		return pid;
	close(ends[0]);
	errno = rc;
	return -1;
}

/* Reads to the end, or beyond SCRIPTS_ANSWER_MAX. Returns NULL with the reason. */
static char *answer_read(int fd, size_t *len, struct errbuf *err)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t room = 0, n = 0;
	char *text = NULL;

	for (;;) {
		ssize_t got;
		int ready;

		if (ARRAY_ROOM(text, room, n + PIECE + 1) < 0) {
			err_set(err, "no memory for scripts");
			break;
		}
		ready = poll(&wait, 1, SILENT_MS);
		got = ready > 0 ? read(fd, text + n, PIECE) : ready;
		if (got < 0 && errno == EINTR)
			continue;
		if (ready <= 0 || got < 0) {
			err_set(err, "sacct: %s", ready ? strerror(errno) : "prints no scripts for a minute");
			break;
		}
		n += (size_t)got;
		if (!got || n > SCRIPTS_ANSWER_MAX) {
			text[n] = '\0';
			*len = n;
			return text;
		}
	}
	free(text);
	return NULL;
}

static char *ask_sacct(void *arg, const char *ids, size_t *len, struct errbuf *err)
{
	int fd, status = 0;
	pid_t pid = sacct_spawn(ids, &fd);
	char *text;

	(void)arg;
	if (pid < 0) {
		err_set(err, "sacct: %s", strerror(errno));
		return NULL;
	}
	text = answer_read(fd, len, err);
	close(fd);
	if (!text || *len > SCRIPTS_ANSWER_MAX)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!text || *len > SCRIPTS_ANSWER_MAX || (WIFEXITED(status) && !WEXITSTATUS(status)))
		return text;
	free(text);
	err_set(err, "sacct has printed no scripts: its own message is above");
	return NULL;
}

struct asking {
	double end;
	bool quiet;
};

static bool go_on(void *arg, uint64_t asked, uint64_t of)
{
	const struct asking *a = arg;

	if (!a->quiet && of)
		cli_progress("reading scripts", (double)asked, (double)of);
	return cli_now() < a->end;
}

int import_scripts(struct scripts *s, struct store *store, double seconds, bool quiet, struct scripts_report *report,
		   struct errbuf *err)
{
	struct asking a = {cli_now() + seconds, quiet};
	const struct scripts_run run = {.store = store, .ask = ask_sacct, .go_on = go_on, .arg = &a};
	int rc = scripts_add(s, &run, report, err);

	if (!quiet && report->wanted)
		cli_progress("reading scripts", 1, 1);
	return rc;
}
