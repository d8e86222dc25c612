/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent confine: see confine.h. Not for people. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/skeleton/confine.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/format/stop.h"
#include "trace/format/words.h"

extern char **environ;

struct confine {
	struct sandbox s;
	char servers[4096], join[256];
	char dir[SANDBOX_DIRS_MAX][PATH_MAX]; /* that are shared */
	unsigned n_dir;
	char **env, **words;
	char preload[2 * PATH_MAX + 16], stop[PATH_MAX + 32], trace[PATH_MAX + 32];
};

/* "...;tcp4://127.0.0.1:41783": the server of PMIx, to which its clients connect. */
static void add_server(struct confine *c, const char *value)
{
	const char *at = strstr(value, "://");
	size_t n = strlen(c->servers), len;

	if (!at)
		return;
	at += 3;
	len = strcspn(at, ";, ");
	if (len && n + len + 2 < sizeof(c->servers))
		snprintf(c->servers + n, sizeof(c->servers) - n, "%s%.*s", n ? " " : "", (int)len, at);
}

/* A directory of the launcher's for this run: rendezvous files and shared memory are there. */
static void add_shared(struct confine *c, const char *value)
{
	static const char *const common[] = {"/", "/tmp", "/var/tmp", "/dev/shm", "/home", "/root"};
	const char *home = getenv("HOME");
	struct stat st;

	if (value[0] != '/' || c->n_dir + 1 >= SANDBOX_DIRS_MAX || stat(value, &st) || !S_ISDIR(st.st_mode) ||
	    !realpath(value, c->dir[c->n_dir]) || (home && !strcmp(c->dir[c->n_dir], home)))
		return;
	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
		if (!strcmp(c->dir[c->n_dir], common[i]))
			return;
	for (unsigned i = 0; i < c->n_dir; i++)
		if (!strcmp(c->dir[i], c->dir[c->n_dir]))
			return;
	c->s.shared[c->n_dir] = c->dir[c->n_dir];
	c->n_dir++;
}

/* Where slurmstepd has Open MPI put its session: no variable says so, but it is named after the step. */
static void add_step(struct confine *c)
{
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	const char *const places[] = {"/tmp", getenv("TMPDIR"), getenv("SLURM_TMPDIR")};
	char pattern[PATH_MAX];
	glob_t found = {0};
	struct stat st;

	for (size_t i = 0; job && step && i < sizeof(places) / sizeof(*places); i++) {
		if (!places[i] || snprintf(pattern, sizeof(pattern), "%s/spmix_appdir_*%s.%s*", places[i], job, step) >= PATH_MAX ||
		    glob(pattern, GLOB_NOSORT, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			if (!lstat(found.gl_pathv[k], &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
				add_shared(c, found.gl_pathv[k]);
		globfree(&found);
	}
}

static bool is_launchers(const char *variable)
{
	return !strncmp(variable, "PMIX_", 5) || !strncmp(variable, "SLURM_PMIX", 10) ||
	       (!strncmp(variable, "OMPI_MCA_orte", 13) && strstr(variable, "session_dir"));
}

static void read_launcher(struct confine *c)
{
	const char *rank = getenv("SLURM_PROCID") && !getenv("OMPI_COMM_WORLD_RANK") ? getenv("SLURM_LOCALID") :
				   getenv("OMPI_COMM_WORLD_LOCAL_RANK") ? getenv("OMPI_COMM_WORLD_LOCAL_RANK") :
									  getenv("MPI_LOCALRANKID");
	char host[128] = "";

	for (char **e = environ; *e; e++) {
		const char *value = strchr(*e, '=');

		if (!value || !is_launchers(*e))
			continue;
		if (!strncmp(*e, "PMIX_SERVER_URI", 15))
			add_server(c, value + 1);
		else
			add_shared(c, value + 1);
	}
	add_step(c);
	gethostname(host, sizeof(host) - 1);
	snprintf(c->join, sizeof(c->join), "%s", host);
	c->s.join = c->join;
	c->s.first = !rank || !strcmp(rank, "0");
	c->s.servers = c->servers;
}

static int read_environment(struct confine *c, struct errbuf *err)
{
	const char *words = getenv(CONFINE_ENVIRONMENT), *preload = getenv(CONFINE_PRELOAD);
	size_t n = 0;

	c->s.dir = getenv(CONFINE_DIRECTORY);
	c->s.input = getenv(CONFINE_INPUT);
	c->s.limit_s = getenv(CONFINE_LIMIT) ? atof(getenv(CONFINE_LIMIT)) : 0;
	if (!c->s.dir || !preload || !(c->s.limit_s > 0))
		return err_set(err, "started by hand: this is what probes start");
	c->words = words ? words_parse(words) : NULL;
	while (c->words && c->words[n])
		n++;
	c->env = calloc(n + 4, sizeof(*c->env));
	if (!c->env)
		return err_set(err, "no memory");
	for (size_t i = 0; i < n; i++)
		c->env[i] = c->words[i];
	snprintf(c->preload, sizeof(c->preload), "LD_PRELOAD=%s", preload);
	snprintf(c->stop, sizeof(c->stop), "PRECEDENT_STOP_AT=%s", c->dir[0]);
	snprintf(c->trace, sizeof(c->trace), "PRECEDENT_TRACE_DIR=%s", c->dir[0]);
	c->env[n++] = c->preload;
	c->env[n++] = c->stop;
	c->env[n++] = c->trace;
	c->s.env = c->env;
	return 0;
}

/* Whoever is first says why there will be no marks. */
static void note_refusal(const char *dir, const struct errbuf *why)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/" STOP_REFUSED_NAME, dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd >= 0) {
		dprintf(fd, "%s\n", why->text);
		close(fd);
	}
}

static int confine_verb(int argc, char **argv)
{
	struct confine *c;
	struct errbuf err;
	int rc;

	if (argc < 5 || strcmp(argv[1], "--dir") || argv[2][0] != '/' || strcmp(argv[3], "--"))
		return cli_usage("confine", "not meant to be typed");
	c = calloc(1, sizeof(*c));
	if (!c)
		return cli_fail("no memory");
	c->s.network = true;
	add_shared(c, argv[2]);
	if (!c->n_dir)
		rc = err_set(&err, "%s: is not a directory", argv[2]);
	else
		rc = read_environment(c, &err);
	if (!rc) {
		read_launcher(c);
		partial_overlays(&c->s);
		rc = sandbox_run(&c->s, argv + 4, &err);
	}
	if (rc < 0) {
		if (c->n_dir)
			note_refusal(c->dir[0], &err);
		rc = cli_fail("%s", err.text);
	}
	free(c->env);
	free(c->words);
	free(c);
	return rc;
}

const struct verb verb_confine = {.name = "confine", .run = confine_verb};
