/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of precedent_model.h for programs that are not linked with the library. The function
 * precedent_model_open loads the library with dlopen, by one of two names: libprecedent_model.so.0, or the path in
 * PRECEDENT_MODEL_LIBRARY. The path is ignored in programs that run with the rights of another user. There is one table
 * of functions for the program, or for the shared object that this header is compiled into. A function that an older
 * library lacks does nothing. Included by precedent_model.h.
 */
#ifndef PRECEDENT_MODEL_LOAD_H
#define PRECEDENT_MODEL_LOAD_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct precedent_model_functions {
	precedent_model *(*open)(const struct precedent_model_options *, char *, size_t);
	void (*close)(precedent_model *);
	int32_t (*point)(precedent_model *, const char *, const char *const *, uint32_t);
	int (*point_name)(precedent_model *, int32_t, char *, size_t);
	void (*begin)(precedent_model *, const double *, uint32_t);
	void (*end)(precedent_model *);
	void (*mark)(precedent_model *, int32_t, const double *, uint32_t);
	void (*mark_ints)(precedent_model *, int32_t, const int64_t *, uint32_t);
	int (*time)(precedent_model *, const double *, uint32_t, struct precedent_model_answer *);
	int (*time_at)(precedent_model *, const double *, uint32_t, int32_t, uint64_t, struct precedent_model_answer *);
	int (*data)(precedent_model *, const double *, uint32_t, const char *, int32_t, uint64_t, struct precedent_model_answer *);
	int (*next)(precedent_model *, struct precedent_model_answer *);
	int (*state)(precedent_model *, const double *, uint32_t, uint64_t, struct precedent_model_answer *);
	int (*advise)(precedent_model *, const double *, uint32_t, uint32_t, double, struct precedent_model_answer *);
	int (*wait)(precedent_model *, double);
	int (*save)(precedent_model *, const char *, char *, size_t);
	void (*status)(precedent_model *, struct precedent_model_status *);
};

__attribute__((weak, visibility("hidden"))) struct precedent_model_functions precedent_model_functions;

static inline __attribute__((unused)) void precedent_model_say(char *to, size_t size, const char *text)
{
	size_t n = strlen(text);

	if (!to || !size)
		return;
	n = n < size ? n : size - 1;
	memcpy(to, text, n);
	to[n] = 0;
}

static inline __attribute__((unused)) int precedent_model_unknown(struct precedent_model_answer *a)
{
	size_t size = a ? a->size : 0;

	if (size < offsetof(struct precedent_model_answer, reason) + 1)
		return 0;
	if (size > sizeof(*a))
		size = sizeof(*a);
	memset((char *)a + sizeof(a->size), 0, size - sizeof(a->size));
	precedent_model_say(a->reason, size - offsetof(struct precedent_model_answer, reason), "there is no session");
	return 0;
}

/* Stored and read as single words: sessions may be opened by several threads at once, which all store the same. */
static inline __attribute__((unused)) int precedent_model_look(char *why, size_t why_size)
{
#ifdef PRECEDENT_MODEL_OFF
	precedent_model_say(why, why_size, "off: the program was compiled with PRECEDENT_MODEL_OFF");
	return -1;
#else
	const char *off = getenv("PRECEDENT_MODEL"), *path = getenv("PRECEDENT_MODEL_LIBRARY");
	void *library, *f;

	if (off && !strcmp(off, "off")) {
		precedent_model_say(why, why_size, "off: PRECEDENT_MODEL=off in the environment");
		return -1;
	}
	if (getauxval(AT_SECURE))
		path = NULL;
	library = dlopen(path && *path ? path : "libprecedent_model.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *text = dlerror();

		precedent_model_say(why, why_size, text ? text : "libprecedent_model.so.0 is not there");
		return -1;
	}
#define PRECEDENT_MODEL_FIND(name)                                                                  \
	f = dlsym(library, "precedent_model_" #name);                                               \
	__atomic_store_n((void **)(void *)&precedent_model_functions.name, f, __ATOMIC_RELEASE)
	PRECEDENT_MODEL_FIND(close);
	PRECEDENT_MODEL_FIND(point);
	PRECEDENT_MODEL_FIND(point_name);
	PRECEDENT_MODEL_FIND(begin);
	PRECEDENT_MODEL_FIND(end);
	PRECEDENT_MODEL_FIND(mark);
	PRECEDENT_MODEL_FIND(mark_ints);
	PRECEDENT_MODEL_FIND(time);
	PRECEDENT_MODEL_FIND(time_at);
	PRECEDENT_MODEL_FIND(data);
	PRECEDENT_MODEL_FIND(next);
	PRECEDENT_MODEL_FIND(state);
	PRECEDENT_MODEL_FIND(advise);
	PRECEDENT_MODEL_FIND(wait);
	PRECEDENT_MODEL_FIND(save);
	PRECEDENT_MODEL_FIND(status);
	PRECEDENT_MODEL_FIND(open);
#undef PRECEDENT_MODEL_FIND
	if (f)
		return 0;
	precedent_model_say(why, why_size, "the library has no precedent_model_open");
	return -1;
#endif
}

/* The library's function, or NULL where there is no session. */
#define PRECEDENT_MODEL_OF(m, name) ((m) ? __atomic_load_n(&precedent_model_functions.name, __ATOMIC_RELAXED) : NULL)
#define PRECEDENT_MODEL_CALL(m, name, ...)                         \
	do {                                                       \
		__typeof__(precedent_model_functions.name) f_ = PRECEDENT_MODEL_OF(m, name); \
		if (f_)                                            \
			f_(__VA_ARGS__);                           \
	} while (0)
#define PRECEDENT_MODEL_RETURN(m, name, otherwise, ...)            \
	do {                                                       \
		__typeof__(precedent_model_functions.name) f_ = PRECEDENT_MODEL_OF(m, name); \
		return f_ ? f_(__VA_ARGS__) : (otherwise);         \
	} while (0)

PRECEDENT_MODEL_API precedent_model *precedent_model_open(const struct precedent_model_options *options, char *why, size_t why_size)
{
	if (precedent_model_look(why, why_size) < 0)
		return NULL;
	return __atomic_load_n(&precedent_model_functions.open, __ATOMIC_ACQUIRE)(options, why, why_size);
}

PRECEDENT_MODEL_API void precedent_model_close(precedent_model *m)
{
	PRECEDENT_MODEL_CALL(m, close, m);
}

PRECEDENT_MODEL_API int32_t precedent_model_point(precedent_model *m, const char *name, const char *const *vars, uint32_t n_vars)
{
	PRECEDENT_MODEL_RETURN(m, point, -1, m, name, vars, n_vars);
}

PRECEDENT_MODEL_API int precedent_model_point_name(precedent_model *m, int32_t point, char *name, size_t size)
{
	PRECEDENT_MODEL_RETURN(m, point_name, -1, m, point, name, size);
}

PRECEDENT_MODEL_API void precedent_model_begin(precedent_model *m, const double *inputs, uint32_t n)
{
	PRECEDENT_MODEL_CALL(m, begin, m, inputs, n);
}

PRECEDENT_MODEL_API void precedent_model_end(precedent_model *m)
{
	PRECEDENT_MODEL_CALL(m, end, m);
}

PRECEDENT_MODEL_API void precedent_model_mark(precedent_model *m, int32_t point, const double *values, uint32_t n)
{
	PRECEDENT_MODEL_CALL(m, mark, m, point, values, n);
}

PRECEDENT_MODEL_API void precedent_model_mark_ints(precedent_model *m, int32_t point, const int64_t *values, uint32_t n)
{
	PRECEDENT_MODEL_CALL(m, mark_ints, m, point, values, n);
}

PRECEDENT_MODEL_API int precedent_model_time(precedent_model *m, const double *inputs, uint32_t n, struct precedent_model_answer *a)
{
	PRECEDENT_MODEL_RETURN(m, time, precedent_model_unknown(a), m, inputs, n, a);
}

PRECEDENT_MODEL_API int precedent_model_time_at(precedent_model *m, const double *inputs, uint32_t n, int32_t point, uint64_t passage,
						struct precedent_model_answer *a)
{
	PRECEDENT_MODEL_RETURN(m, time_at, precedent_model_unknown(a), m, inputs, n, point, passage, a);
}

PRECEDENT_MODEL_API int precedent_model_data(precedent_model *m, const double *inputs, uint32_t n, const char *var, int32_t point,
					     uint64_t passage, struct precedent_model_answer *a)
{
	PRECEDENT_MODEL_RETURN(m, data, precedent_model_unknown(a), m, inputs, n, var, point, passage, a);
}

PRECEDENT_MODEL_API int precedent_model_next(precedent_model *m, struct precedent_model_answer *a)
{
	PRECEDENT_MODEL_RETURN(m, next, precedent_model_unknown(a), m, a);
}

PRECEDENT_MODEL_API int precedent_model_state(precedent_model *m, const double *inputs, uint32_t n, uint64_t row,
					      struct precedent_model_answer *a)
{
	PRECEDENT_MODEL_RETURN(m, state, precedent_model_unknown(a), m, inputs, n, row, a);
}

PRECEDENT_MODEL_API int precedent_model_advise(precedent_model *m, const double *inputs, uint32_t n, uint32_t n_workers,
					       double overhead_s, struct precedent_model_answer *a)
{
	PRECEDENT_MODEL_RETURN(m, advise, precedent_model_unknown(a), m, inputs, n, n_workers, overhead_s, a);
}

PRECEDENT_MODEL_API int precedent_model_wait(precedent_model *m, double seconds)
{
	PRECEDENT_MODEL_RETURN(m, wait, 0, m, seconds);
}

PRECEDENT_MODEL_API int precedent_model_save(precedent_model *m, const char *path, char *why, size_t why_size)
{
	if (!m)
		precedent_model_say(why, why_size, "there is no session");
	PRECEDENT_MODEL_RETURN(m, save, -1, m, path, why, why_size);
}

PRECEDENT_MODEL_API void precedent_model_status(precedent_model *m, struct precedent_model_status *status)
{
	if (!m && status && status->size > offsetof(struct precedent_model_status, text)) {
		size_t size = status->size < sizeof(*status) ? status->size : sizeof(*status);

		memset((char *)status + sizeof(status->size), 0, size - sizeof(status->size));
		precedent_model_say(status->text, size - offsetof(struct precedent_model_status, text), "there is no session");
	}
	PRECEDENT_MODEL_CALL(m, status, m, status);
}

#undef PRECEDENT_MODEL_OF
#undef PRECEDENT_MODEL_CALL
#undef PRECEDENT_MODEL_RETURN

#ifdef __cplusplus
}
#endif

#endif
