/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of the run: see facts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "spank/tracer/facts.h"
#include "spank/tracer/mpilib.h"
#include "trace/format/words.h"

#define COMMAND_MAX 4096 /* longer command lines are not stored */

void facts_put(struct buf *b, const char *key, const char *value)
{
	size_t n = value ? strlen(value) : 0;

	if (!n)
		return;
	buf_put(b, key, strlen(key));
	buf_put(b, "=", 1);
	for (size_t i = 0; i < n; i++)
		buf_put_u8(b, (uint8_t)(value[i] == '\n' || value[i] == '\r' ? ' ' : value[i]));
	buf_put(b, "\n", 1);
}

static void put_words(struct buf *b, const char *key, const char *words, size_t n)
{
	struct buf text = {0};

	words_put(&text, words, n);
	buf_put_u8(&text, '\0');
	if (n && !text.failed)
		facts_put(b, key, (const char *)text.data);
	buf_free(&text);
}

/* Environment variables that influence a program's speed or that a batch script sets. */
static void put_environment(struct buf *b)
{
	static const char *const prefix[] = {"OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "LD_LIBRARY_PATH="};
	struct buf words = {0};

	for (char **e = environ; e && *e && words.len < COMMAND_MAX; e++)
		for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
			if (!strncmp(*e, prefix[i], strlen(prefix[i])))
				buf_put(&words, *e, strlen(*e) + 1);
	if (!words.failed && words.len < COMMAND_MAX)
		put_words(b, "environment", (const char *)words.data, words.len);
	buf_free(&words);
}

/* Read the command line: words, each with a NUL, at most COMMAND_MAX bytes. Returns the length; 0: not known. */
static size_t read_command(char args[COMMAND_MAX + 1])
{
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t len;

	if (!f)
		return 0;
	len = fread(args, 1, COMMAND_MAX, f);
	fclose(f);
	args[len] = '\0';
	return len;
}

void facts_put_command(struct buf *b)
{
	static char text[COMMAND_MAX + 1]; /* static, since the stack may be small */
	size_t len = read_command(text);
	ssize_t n;

	if (!len || len == COMMAND_MAX || text[len - 1])
		return;
	put_words(b, "command", text, len);
	if (getcwd(text, sizeof(text)))
		put_words(b, "directory", text, strlen(text) + 1);
	n = readlink("/proc/self/fd/0", text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (text[0] == '/')
		put_words(b, "input", text, strlen(text) + 1);
	put_environment(b);
	if (getenv("PRECEDENT_PARTIAL"))
		facts_put(b, "partial", getenv("PRECEDENT_PARTIAL"));
}

static void put_program_facts(struct buf *b, const struct run *r)
{
	static char args[COMMAND_MAX + 1];
	size_t len = read_command(args), first = strlen(args) + 1;

	facts_put(b, "program", r->program);
	if (first >= len)
		return;
	for (size_t i = first; i + 1 < len; i++)
		if (!args[i])
			args[i] = ' ';
	facts_put(b, "arguments", args + first);
}

void facts_put_job(struct buf *b, const struct run *r)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", date[40];
	const char *space = getenv("PMIX_NAMESPACE");
	time_t start_s = (time_t)(r->start_real_ns / 1000000000ull);
	struct tm tm;
	int len = 0;

	put_program_facts(b, r);
	facts_put(b, "job", getenv("SLURM_JOB_ID"));
	facts_put(b, "step", getenv("SLURM_STEP_ID"));
	facts_put(b, "launcher", space && strncmp(space, "slurm.", 6) ? "mpirun" :
				 space || getenv("SLURM_STEP_ID")     ? "srun" :
									"none");
	if (mpi.Get_library_version(text, &len) == MPI_SUCCESS) {
		text[strcspn(text, ",\n")] = '\0';
		facts_put(b, "mpi", text);
	}
	snprintf(text, sizeof(text), "%d", r->world_size);
	facts_put(b, "ranks", text);
	if (gmtime_r(&start_s, &tm) && strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm))
		facts_put(b, "date", date);
	facts_put(b, "run", r->id);
	if (r->spawned)
		facts_put(b, "spawned", "yes");
}
