/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models as C in a shared object. The C code does the same operations in the same order as the interpreter, so that
 * both give the same results bit for bit. The shared object is code. It is for processes of the user who made it, in a
 * directory that nobody else can write to. A daemon must never load it. Four functions, as in Pekunov (cited in
 * model.h): place (bytes of state), initialise, call, de-initialise.
 */
#ifndef PRECEDENT_MODEL_INDUCE_COMPILE_H
#define PRECEDENT_MODEL_INDUCE_COMPILE_H

#include <stdio.h>

#include "model/induce/interpret.h"

#define MODEL_PROGRAM_ABI 2

/* The C source; -1 when the stream fails. */
int model_emit_c(const struct model *m, FILE *out, struct errbuf *err);
/* The header for programs that run compiled models, the same for every model. */
int model_emit_header(FILE *out);

/* DIR/model.c, DIR/model.h and DIR/model.so, made by the compiler `cc` (NULL: "cc"), written beside and renamed. DIR is made
 * if it is not there; its parent has to be. */
int model_compile(const struct model *m, const char *dir, const char *cc, struct errbuf *err);

/* DIR/model.so alone, without the model's file: names and runs. */
enum model_names { MODEL_NAME_INPUT, MODEL_NAME_POINT, MODEL_NAME_VAR };
struct model_object {
	void *handle;
	const char *(*name)(uint32_t what, uint32_t i);
	int (*run)(const double *input, uint64_t seed, int (*pass)(void *arg, uint32_t point, double time_s, const double *var),
		   void *arg, double *time_s); /* enum model_stop, or MODEL_MEMORY */
};
int model_object_open(struct model_object *o, const char *dir, struct errbuf *err);
void model_object_close(struct model_object *o);

struct model_program;
/* DIR/model.so, which must have been made for this model, and belong to this user alone. NULL with the reason. */
struct model_program *model_program_load(const struct model *m, const char *dir, struct errbuf *err);
void model_program_unload(struct model_program *p);
/* As model_interpret. Several threads may call it. */
int model_program_run(const struct model_program *p, const double *input, uint64_t seed, const struct model_limits *limits,
		      const struct model_sink *sink, struct model_result *out, struct errbuf *err);

#endif
