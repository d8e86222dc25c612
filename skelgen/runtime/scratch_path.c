/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that are removed whatever happens: see scratch_path.h. */
#include "skelgen/runtime/scratch_path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "skelgen/runtime/scratch_name.h"

#define LIST_BYTES 32768

static struct {
	const char *dir;
	char *volatile *path; /* NULL: no such file */
	int n;
	pthread_t maker; /* the thread that makes and removes them */
} state;

static const int caught[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU};

/* ---- what ends the process ---- */

/* Is it the name of a file that MPI made beside that file? The name of another scratch file goes on with digits. */
static int is_beside(const char *name, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	size_t n = strlen(base);

	return strncmp(name, base, n) == 0 && name[n] != '\0' && !isdigit((unsigned char)name[n]);
}

/* Open MPI tries whether files can be locked with one of its own, for a moment while a file is opened. */
static void beside_remove(void)
{
	static char list[LIST_BYTES] __attribute__((aligned(8)));
	int fd = open(state.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n;

	while (fd >= 0 && (n = getdents64(fd, list, sizeof list)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(list + at);

			for (int k = 0; k < state.n; k++)
				if (state.path[k] != NULL && is_beside(e->d_name, state.path[k]))
					unlinkat(fd, e->d_name, 0);
			at += e->d_reclen;
		}
	}
	if (fd >= 0)
		close(fd);
}

void scratch_paths_remove(void)
{
	int any = 0;

	for (int k = 0; state.path != NULL && k < state.n; k++) {
		if (state.path[k] == NULL)
			continue;
		unlink(state.path[k]);
		any = 1;
	}
	if (any)
		beside_remove();
}

/*
 * Runs in the thread that makes the files: another thread, such as MPI's own, would miss a file that is being made. mpirun
 * kills all ranks as soon as one rank has ended by the signal. So this rank gives the others time to remove their files, and
 * looks for new ones in between: ranks go on until the signal reaches them.
 */
static void on_signal(int number)
{
	static const struct timespec others = {.tv_nsec = 150000000};

	if (!pthread_equal(pthread_self(), state.maker)) {
		pthread_kill(state.maker, number);
		return;
	}
	scratch_paths_remove();
	nanosleep(&others, NULL);
	scratch_paths_remove();
	nanosleep(&others, NULL);
	signal(number, SIG_DFL);
	raise(number);
}

static void signals_catch(void)
{
	struct sigaction old, new = {.sa_handler = on_signal};

	state.maker = pthread_self();
	sigemptyset(&new.sa_mask);
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
		if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(caught[i], &new, NULL);
}

/* ---- names ---- */

int scratch_paths_begin(const char *dir, int n)
{
	char **path = calloc((size_t)n, sizeof *path);

	if (path == NULL)
		return ENOMEM;
	state.dir = dir;
	state.n = n;
	state.path = path;
	atexit(scratch_paths_remove);
	signals_catch();
	return 0;
}

void scratch_path_forget(int k)
{
	char *p = state.path[k];

	if (p == NULL)
		return;
	unlink(p);
	state.path[k] = NULL;
	free(p);
}

void scratch_paths_end(void)
{
	char *volatile *path = state.path;
	int n = state.n;

	scratch_paths_remove();
	state.path = NULL; /* what a signal sees */
	state.n = 0;
	for (int k = 0; path != NULL && k < n; k++)
		free(path[k]);
	free((void *)path);
}

static char *name_new(unsigned number)
{
	struct timespec now;
	char host[64] = "", path[SCRATCH_PATH_BYTES];

	gethostname(host, sizeof host - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	if (snprintf(path, sizeof path, "%s/" SKEL_SCRATCH_PREFIX "%s.%d.%llx.%u", state.dir, host, (int)getpid(),
		     (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec, number) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return strdup(path);
}

int scratch_path_make(int k, char path[SCRATCH_PATH_BYTES], unsigned number, int64_t bytes)
{
	char *name = name_new(number);
	int fd, error = 0;

	path[0] = '\0';
	if (name == NULL)
		return errno;
	strcpy(path, name);
	state.path[k] = name;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) { /* what has that name is not ours */
		error = errno;
		state.path[k] = NULL;
		free(name);
		return error;
	}
	if (ftruncate(fd, bytes) != 0)
		error = errno;
	if (close(fd) != 0 && error == 0)
		error = errno;
	if (error != 0)
		scratch_path_forget(k);
	return error;
}
