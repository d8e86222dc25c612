/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compile a generated skeleton and run it: see skeleton.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/skeleton/skeleton.h"
#include "cli/ui/mpi_tools.h"
#include "cli/ui/util.h"

/* What the skeleton's Makefile says: the compiler wrapper ($MPICC wins) and whether it is MPICH's. */
static void read_makefile(const char *dir, char *mpicc, size_t size, enum mpi_family *family)
{
	const char *own = getenv("MPICC");
	char path[4200], line[4096];
	FILE *f;

	snprintf(mpicc, size, "mpicc");
	*family = MPI_OPENMPI;
	snprintf(path, sizeof(path), "%s/Makefile", dir);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "MPICC ?= ", 9))
			snprintf(mpicc, size, "%.*s", (int)strcspn(line + 9, " \n"), line + 9);
		if (strstr(line, mpi_runtime(MPI_MPICH)))
			*family = MPI_MPICH;
	}
	if (f)
		fclose(f);
	if (own && *own) {
		snprintf(mpicc, size, "%s", own);
		*family = mpi_family_of_compiler(own);
	}
}

int skeleton_compile(const char *dir, const char *log, struct errbuf *err)
{
	char *lib = NULL, *include = NULL, *inc = NULL, *src = NULL, *out = NULL, mpicc[4096];
	enum mpi_family family;
	int rc, rv = -1;

	read_makefile(dir, mpicc, sizeof(mpicc), &family);
	lib = cli_installed(mpi_runtime(family), err);

	if (!lib || !(include = cli_include_dir(err)))
		goto done;
	if (asprintf(&inc, "-I%s", include) < 0 || asprintf(&src, "%s/skel.c", dir) < 0 ||
	    asprintf(&out, "%s/skel", dir) < 0) {
		err_set(err, "no memory");
		goto done;
	}
	char *const argv[] = {mpicc, "-std=gnu11", "-O2", inc, "-o", out, src, lib, "-lm", "-lpthread", NULL};

	rc = cli_run(argv, NULL, log, 600, err);
	if (rc < 0) {
		err_prefix(err, "the skeleton cannot be compiled here");
		goto done;
	}
	rv = rc ? err_set(err, "%s failed on %s/skel.c (exit %d)%s%s", mpicc, dir, rc, log ? ": see " : "", log ? log : "") : 0;
done:
	free(lib);
	free(include);
	free(inc);
	free(src);
	free(out);
	return rv;
}

int skeleton_prepare(const char *dir, const char *log, char *why, size_t size, struct errbuf *err)
{
	enum mpi_family family;
	char mpicc[4096], *replay;
	struct errbuf compiler;

	why[0] = '\0';
	if (skeleton_compile(dir, log, &compiler) == 0)
		return 0;
	read_makefile(dir, mpicc, sizeof(mpicc), &family);
	replay = cli_installed(mpi_replay(family), err);
	if (!replay)
		return err_set(err, "%s; and it cannot be interpreted: %s is not installed", compiler.text, mpi_replay(family));
	free(replay);
	snprintf(why, size, "%s", compiler.text);
	return 0;
}

/* "key value" and "kernel NAME value" lines; other keys are not ours to use. */
static int read_result(const char *path, struct skeleton_result *out, struct errbuf *err)
{
	FILE *f = fopen(path, "re");
	char line[512];
	bool have = false;

	if (!f)
		return err_set(err, "the skeleton left no result (%s: %s)", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		char name[32];
		double v;

		if (sscanf(line, "skel_s %lf", &v) == 1) {
			out->skel_s = v;
			have = true;
		} else if (sscanf(line, "lo_s %lf", &v) == 1) {
			out->lo_s = v;
		} else if (sscanf(line, "hi_s %lf", &v) == 1) {
			out->hi_s = v;
		} else if (sscanf(line, "computed_s %lf", &v) == 1) {
			out->computed_s = v;
		} else if (sscanf(line, "ran_s %lf", &v) == 1) {
			out->ran_s = v;
		} else if (sscanf(line, "init_s %lf", &v) == 1) {
			out->init_s = v;
		} else if (sscanf(line, "wall_s %lf", &v) == 1) {
			out->wall_s = v;
		} else if (sscanf(line, "noise %lf", &v) == 1) {
			out->noise = v;
		} else if (sscanf(line, "lacked_calibrating %lf", &v) == 1) {
			out->lacked_calibrating = v;
		} else if (sscanf(line, "lacked %lf %lf", &out->lacked, &out->together) == 2) {
			continue;
		} else if (sscanf(line, "kernel %31s %lf", name, &v) == 2 && out->n_kernel < SKELETON_KERNELS) {
			snprintf(out->kernel[out->n_kernel].name, sizeof(out->kernel[0].name), "%s", name);
			out->kernel[out->n_kernel++].ns_per_unit = v;
		}
	}
	fclose(f);
	return have ? 0 : err_set(err, "%s: the skeleton's result is incomplete", path);
}

/* The arguments of a run in argv, which begins with `n` of the launcher's. */
static void arguments(char **argv, size_t n, char *replay, char *skel, char *const rest[])
{
	if (replay)
		argv[n++] = replay;
	argv[n++] = skel;
	for (; *rest; rest++)
		argv[n++] = *rest;
	argv[n] = NULL;
}

static int launch(const struct skeleton_launch *how, const char *dir, const char *result, struct errbuf *err)
{
	static const char *const env[] = {"OMPI_ALLOW_RUN_AS_ROOT", "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1",
					  "OMP_NUM_THREADS", "1", NULL};
	const char *mode = how->calibrate ? "--calibrate" : "--calibration";
	const char *scratch = how->scratch && *how->scratch ? how->scratch : NULL;
	char n[16], mpicc[4096], start[4128], skel[4128], cal[4128], *replay = NULL, *argv[16], *rest[8];
	bool srun = !strcmp(how->launcher, "srun");
	enum mpi_family family;
	size_t k = 0, m = 0;
	int rc;

	snprintf(skel, sizeof(skel), "%s/%s", dir, how->interpret ? "skel.ops" : "skel");
	snprintf(cal, sizeof(cal), "%s/calibration", dir);
	rest[m++] = (char *)mode;
	rest[m++] = cal;
	rest[m++] = "--result";
	rest[m++] = (char *)result;
	if (scratch) {
		rest[m++] = "--scratch";
		rest[m++] = (char *)scratch;
	}
	rest[m] = NULL;
	read_makefile(dir, mpicc, sizeof(mpicc), &family);
	mpi_launcher_without(mpicc, family, start, sizeof(start));
	if (how->interpret && !(replay = cli_installed(mpi_replay(family), err)))
		return -1;
	snprintf(n, sizeof(n), "%u", how->n_ranks);
	argv[k++] = srun ? "srun" : start;
	k += mpi_launch_options(family, srun, n, argv + k);
	arguments(argv, k, replay, skel, rest);
	rc = cli_run(argv, geteuid() == 0 ? env : env + 4, how->log, how->limit_s, err);
	free(replay);
	return rc;
}

int skeleton_run(const char *dir, const struct skeleton_launch *how, struct skeleton_result *out, struct errbuf *err)
{
	char result[4160];
	double begin = cli_now();
	int rc;

	*out = (struct skeleton_result){.together = 1};
	snprintf(result, sizeof(result), "%s/result.%ld", dir, (long)getpid());
	unlink(result);
	rc = launch(how, dir, result, err);
	out->launched_s = cli_now() - begin;
	if (rc < 0)
		return -1;
	if (rc)
		return err_set(err, "the skeleton failed (%s exit %d)%s%s", how->launcher, rc, how->log ? ": see " : "",
			       how->log ? how->log : "");
	rc = read_result(result, out, err);
	unlink(result);
	return rc;
}
