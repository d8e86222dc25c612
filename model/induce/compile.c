/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiling, loading and running models as shared objects: see compile.h. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/induce/compile.h"
#include "model/induce/file.h"

/* Exit status of a child whose program could not be started: posix_spawn(3) may tell it so, and does under qemu-user. */
#define NOT_STARTED 127

extern char **environ;

struct model_program {
	const struct model *m; /* borrowed */
	void *handle;
	uint64_t (*place)(void);
	void (*initialise)(void *place, const double *input, uint64_t seed, uint64_t max_steps, uint64_t max_events);
	uint32_t (*call)(void *place, int (*event)(void *, uint32_t, double, const double *), void *arg);
	void (*deinitialise)(void *place, double *time, double *var, uint64_t *passages, uint64_t count[4]);
};

static int run_compiler(const char *cc, const char *source, const char *object, struct errbuf *err)
{
	char *const argv[] = {(char *)cc,  (char *)"-std=gnu11", (char *)"-O2",   (char *)"-ffp-contract=off", (char *)"-fno-math-errno",
			      (char *)"-fPIC", (char *)"-shared", (char *)"-fvisibility=hidden", (char *)"-w", (char *)"-o", (char *)object,
			      (char *)"-x", (char *)"c", (char *)source, (char *)"-lm", NULL};
	pid_t pid;
	int status, rc = posix_spawnp(&pid, cc, NULL, NULL, argv, environ);

	if (rc)
		return err_set(err, "%s: %s; a C compiler is needed to compile models", cc, strerror(rc));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, "%s: %s", cc, strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
		return err_set(err, "%s cannot be started; a C compiler is needed to compile models", cc);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(err, "%s could not compile %s", cc, source);
	return 0;
}

/* The source of the model; the header if m is NULL. */
static int source_write(const struct model *m, const char *path, struct errbuf *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), rc;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f) {
		err_set(err, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	rc = m ? model_emit_c(m, f, err) : model_emit_header(f);
	if (fclose(f) && rc == 0)
		rc = err_set(err, "%s: %s", path, strerror(errno));
	return rc;
}

enum { FILE_C, FILE_H, FILE_SO, FILES };

static int write_files(const struct model *m, char *const *fresh, char *const *path, const char *cc, struct errbuf *err)
{
	for (int i = 0; i < FILES; i++)
		unlink(fresh[i]);
	if (source_write(m, fresh[FILE_C], err) < 0 || source_write(NULL, fresh[FILE_H], err) < 0 ||
	    run_compiler(cc ? cc : "cc", fresh[FILE_C], fresh[FILE_SO], err) < 0)
		return -1;
	if (chmod(fresh[FILE_SO], 0700) < 0)
		return err_set(err, "%s: %s", path[FILE_SO], strerror(errno));
	for (int i = 0; i < FILES; i++)
		if (rename(fresh[i], path[i]) < 0)
			return err_set(err, "%s: %s", path[i], strerror(errno));
	return 0;
}

int model_compile(const struct model *m, const char *dir, const char *cc, struct errbuf *err)
{
	static const char *const suffix[] = {"c", "h", "so"};
	char *path[FILES] = {NULL}, *fresh[FILES] = {NULL};
	int rc = 0;

	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return err_set(err, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < FILES && rc == 0; i++)
		if (asprintf(&path[i], "%s/model.%s", dir, suffix[i]) < 0 ||
		    asprintf(&fresh[i], "%s/.model.%s.%ld", dir, suffix[i], (long)getpid()) < 0)
			rc = err_set(err, "no memory to compile a model");
	if (rc == 0)
		rc = write_files(m, fresh, path, cc, err);
	for (int i = 0; i < FILES; i++) {
		if (rc < 0 && fresh[i])
			unlink(fresh[i]);
		free(path[i]);
		free(fresh[i]);
	}
	return rc;
}

static int object_check(const char *path, struct errbuf *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_set(err, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, "%s is no regular file that this user alone can write", path);
	return 0;
}

static int symbols_take(struct model_program *p, const char *path, struct errbuf *err)
{
	uint32_t (*abi)(void);
	uint64_t (*key)(void), wanted;

	*(void **)&abi = dlsym(p->handle, "precedent_model_abi");
	*(void **)&key = dlsym(p->handle, "precedent_model_key");
	*(void **)&p->place = dlsym(p->handle, "precedent_model_place");
	*(void **)&p->initialise = dlsym(p->handle, "precedent_model_initialise");
	*(void **)&p->call = dlsym(p->handle, "precedent_model_call");
	*(void **)&p->deinitialise = dlsym(p->handle, "precedent_model_deinitialise");
	if (!abi || !key || !p->place || !p->initialise || !p->call || !p->deinitialise || abi() != MODEL_PROGRAM_ABI)
		return err_set(err, "%s is no compiled model of this version", path);
	if (model_key(p->m, &wanted, err) < 0)
		return -1;
	if (key() != wanted)
		return err_set(err, "%s was compiled from another model", path);
	return 0;
}

struct model_program *model_program_load(const struct model *m, const char *dir, struct errbuf *err)
{
	struct model_program *p = calloc(1, sizeof(*p));
	char *path = realpath(dir, NULL), *object = NULL;
	int rc = -1;

	if (!p || !path || asprintf(&object, "%s/model.so", path) < 0) {
		object = NULL;
		err_set(err, "%s: %s", dir, strerror(errno));
		goto out;
	}
	p->m = m;
	if (object_check(object, err) < 0)
		goto out;
	p->handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	if (!p->handle) {
		err_set(err, "%s: %.300s", object, dlerror());
		goto out;
	}
	rc = symbols_take(p, object, err);
out:
	free(path);
	free(object);
	if (rc == 0)
		return p;
	model_program_unload(p);
	return NULL;
}

void model_program_unload(struct model_program *p)
{
	if (p && p->handle)
		dlclose(p->handle);
	free(p);
}

int model_program_run(const struct model_program *p, const double *input, uint64_t seed, const struct model_limits *limits,
		      const struct model_sink *sink, struct model_result *out, struct errbuf *err)
{
	uint64_t steps = limits && limits->steps ? limits->steps : MODEL_STEPS_DEFAULT, count[4];
	uint64_t events = limits && limits->events ? limits->events : UINT64_MAX;
	void *place;

	if (model_inputs_check(p->m, input, err) < 0)
		return -1;
	place = malloc(p->place());
	if (!place)
		return err_set(err, "no memory to run a model");
	p->initialise(place, input, seed, steps < MODEL_MAX_STEPS ? steps : MODEL_MAX_STEPS, events);
	out->stop = p->call(place, sink ? sink->event : NULL, sink ? sink->arg : NULL);
	p->deinitialise(place, &out->time_s, out->var, out->passages, count);
	free(place);
	out->steps = count[0];
	out->events = count[1];
	out->graph = (uint32_t)count[2];
	out->node = (uint32_t)count[3];
	return model_stop_error(p->m, out, err);
}

/* ---- the object alone ---- */

int model_object_open(struct model_object *o, const char *dir, struct errbuf *err)
{
	char *path = realpath(dir, NULL), *object = NULL;
	uint32_t (*abi)(void);
	int rc = -1;

	*o = (struct model_object){0};
	if (!path || asprintf(&object, "%s/model.so", path) < 0) {
		object = NULL;
		err_set(err, "%s: %s", dir, strerror(errno));
		goto out;
	}
	if (object_check(object, err) < 0)
		goto out;
	o->handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	if (!o->handle) {
		err_set(err, "%s: %.300s", object, dlerror());
		goto out;
	}
	*(void **)&abi = dlsym(o->handle, "precedent_model_abi");
	*(void **)&o->name = dlsym(o->handle, "precedent_model_name");
	*(void **)&o->run = dlsym(o->handle, "precedent_model_run");
	if (!abi || !o->name || !o->run || abi() != MODEL_PROGRAM_ABI)
		err_set(err, "%s is no compiled model of this version; make it anew by 'precedent model compile'", object);
	else
		rc = 0;
out:
	free(path);
	free(object);
	if (rc < 0)
		model_object_close(o);
	return rc;
}

void model_object_close(struct model_object *o)
{
	if (o->handle)
		dlclose(o->handle);
	*o = (struct model_object){0};
}
