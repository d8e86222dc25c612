/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a skeleton: composed in memory, written beside their names, renamed together at the end. */
#include "skelgen/emit/skeleton.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skelgen/emit/lower_call.h"
#include "skelgen/emit/print_c.h"
#include "skelgen/emit/lower_tree.h"

#define N_FILES 5
#define GAPS_LEAST (SKEL_DATA_MAX / 8) /* bytes for gaps if values of calls need nearly all: ranks still differ */

struct out_file {
	const char *name;
	const void *data;
	size_t size;
	char *path, *beside;
};

/* ---- composition ---- */

static void put_head(struct emit *e, struct text *out)
{
	const char *program = skel_defs(e->tree, 0)->proc.program;

	text_put(out, "/*\n * Performance skeleton of ");
	text_put_clean(out, program != NULL ? program : "?");
	text_put(out, " on %u ranks", e->tree->n_ranks);
	if (e->opt->trace_name != NULL) {
		text_put(out, ", from ");
		text_put_clean(out, e->opt->trace_name);
	}
	text_put(out,
		 ".\n");
	if (trace_predicted(e->tree->trace)) {
		text_put(out, " * The run was never made: it is predicted by ");
		text_put_clean(out, trace_predicted(e->tree->trace));
		text_put(out, ".\n");
	}
	text_put(out,
		 " * It stands for %llu calls and %.3f s, and runs for about %.3f s. Made by precedent; see report.txt.\n"
		 " * Values that are not in the source are in skel.c.data.\n */\n"
		 "#include \"skelgen/runtime/skel.h\"\n\n",
		 (unsigned long long)e->events, e->plan->full_s, e->plan->predicted_s);
	if (e->mpi4 != NULL)
		text_put(out, "#if MPI_VERSION < 4\n"
			      "#error \"the program calls %s, which this MPI library does not have\"\n#endif\n\n",
			 e->mpi4);
	if (e->io_leaves > 0)
		text_put(out, "/* Files are neither read nor written: calls on them take as long as they took in the trace, %.3f s\n"
			      " * (mean over ranks), for storage is taken to be the same on every partition. With --scratch DIR they\n"
			      " * are made, on files in DIR. */\n\n",
			 e->io_ns * 1e-9);
	text_put(out, "__asm__(\".pushsection .rodata\\n\"\n"
		      "\t\".balign 8\\n\"\n"
		      "\t\"skel_data_begin: .incbin \\\"\" __FILE__ \".data\\\"\\n\"\n"
		      "\t\"skel_data_end: .byte 0\\n\"\n"
		      "\t\".popsection\\n\");\n"
		      "extern const uint64_t skel_data_begin[], skel_data_end[];\n\n");
}

static void fields_set(const struct emit *e, double confidence, struct program *p)
{
	unsigned level = skel_defs(e->tree, 0)->proc.thread_level;
	uint64_t *field = p->field;

	field[OPS_F_n_ranks] = e->tree->n_ranks;
	field[OPS_F_n_loops] = e->n_loop;
	field[OPS_F_n_requests] = (uint64_t)(e->max_slot + 1);
	field[OPS_F_n_comms] = 2;
	field[OPS_F_n_types] = e->tree->globals->n_type;
	for (uint32_t r = 0; r < e->tree->n_ranks; r++) {
		const struct trace_defs *d = skel_defs(e->tree, r);

		field[OPS_F_n_comms] = d->n_comm > field[OPS_F_n_comms] ? d->n_comm : field[OPS_F_n_comms];
		field[OPS_F_n_wins] = d->n_win > field[OPS_F_n_wins] ? d->n_win : field[OPS_F_n_wins];
		field[OPS_F_n_files] = d->n_file > field[OPS_F_n_files] ? d->n_file : field[OPS_F_n_files];
	}
	field[OPS_F_bsend_bytes] = (uint64_t)e->bsend_bytes;
	field[OPS_F_rma_bytes] = field[OPS_F_n_wins] > 0 ? (uint64_t)e->rma_bytes : 0;
	field[OPS_F_thread_level] = level < 4 ? level : 0;
	program_real(p, OPS_F_traced_s, code_rounded(e->plan->full_s, 9));
	program_real(p, OPS_F_confidence, code_rounded(confidence, 4));
	program_real(p, OPS_F_events, (double)e->events);
	program_real(p, OPS_F_rounds_s, e->pieces != NULL ? code_rounded(e->pieces->rounds_s, 3) : 0);
}

/* The whole as operations, and C printed from them; p holds the fields and the values. -1 with the reason in err. */
static int put_program(struct emit *e, struct program *p, uint64_t **ops, size_t *n_ops, struct text *source,
		       struct errbuf *err)
{
	const char *name = skel_defs(e->tree, 0)->proc.program;
	struct text clean = {.len = 0};
	struct ops_file file;
	int rv;

	text_put_clean(&clean, name != NULL ? name : "?");
	p->name = text_get(&clean);
	p->n_named = (uint32_t)e->array.entry.n;
	lower_types(e, &p->code);
	if (p->code.n > 0)
		code_comment(&p->code, "%s", "");
	code_append(&p->code, &e->body);
	p->array = e->array;
	rv = program_file(p, ops, &file, err);
	if (rv == 0) {
		*n_ops = file.n_word;
		put_head(e, source);
		print_c(&file, p, source);
		ops_file_free(&file);
	}
	code_free(&p->code);
	text_free(&clean);
	return rv;
}

static void put_makefile(struct emit *e, struct text *out)
{
	const char *runtime = e->opt->runtime != NULL ? e->opt->runtime : "libprecedent_skel.a";

	text_put(out, "# Builds the skeleton. PRECEDENT_INCLUDE holds skelgen/runtime/skel.h, PRECEDENT_LIB %s.\n", runtime);
	text_put(out, "MPICC ?= %s\nCFLAGS ?= -O2 -g\nPRECEDENT_INCLUDE ?= %s\nPRECEDENT_LIB ?= %s\n\n",
		 e->opt->mpicc != NULL ? e->opt->mpicc : "mpicc", e->opt->include_dir != NULL ? e->opt->include_dir : ".", e->opt->lib_dir != NULL ? e->opt->lib_dir : ".");
	text_put(out, "skel: skel.c skel.c.data $(PRECEDENT_LIB)/%s\n"
		      "\t$(MPICC) -std=gnu11 -Wall -Wextra $(CFLAGS) -I$(PRECEDENT_INCLUDE) -o $@ skel.c "
		      "$(PRECEDENT_LIB)/%s -lm -lpthread\n\n"
		      "clean:\n\trm -f skel\n\n.PHONY: clean\n", runtime, runtime);
}

/* ---- files ---- */

static int file_write(struct out_file *f, struct errbuf *err)
{
	FILE *s = fopen(f->beside, "wbe");
	bool bad;

	if (s == NULL)
		return err_set(err, "cannot write %s: %s", f->beside, strerror(errno));
	bad = f->size > 0 && fwrite(f->data, 1, f->size, s) != f->size;
	bad |= fflush(s) != 0 || fsync(fileno(s)) != 0;
	if (fclose(s) != 0 || bad)
		return err_set(err, "cannot write %s: %s", f->beside, strerror(errno));
	return 0;
}

static int files_name(struct out_file *f, const char *dir, struct errbuf *err)
{
	for (int i = 0; i < N_FILES; i++)
		if (asprintf(&f[i].path, "%s/%s", dir, f[i].name) < 0 ||
		    asprintf(&f[i].beside, "%s/.%s.%ld", dir, f[i].name, (long)getpid()) < 0) {
			f[i].beside = NULL;
			return err_set(err, "no memory for the names of the files in %s", dir);
		}
	return 0;
}

/* A rename fails on a directory: find out before the first one. */
static int targets_free(const struct out_file *f, struct errbuf *err)
{
	struct stat st;

	for (int i = 0; i < N_FILES; i++)
		if (lstat(f[i].path, &st) == 0 && S_ISDIR(st.st_mode))
			return err_set(err, "cannot write %s: it is a directory", f[i].path);
	return 0;
}

static int files_write(struct out_file *f, const char *dir, struct errbuf *err)
{
	int written = 0, rv = -1;

	if (mkdir(dir, 0777) != 0 && errno != EEXIST)
		return err_set(err, "cannot make %s: %s", dir, strerror(errno));
	if (files_name(f, dir, err) != 0)
		goto done;
	for (; written < N_FILES; written++)
		if (file_write(&f[written], err) != 0) {
			unlink(f[written].beside);
			goto done;
		}
	if (targets_free(f, err) != 0)
		goto done;
	for (int i = 0; i < N_FILES; i++)
		if (rename(f[i].beside, f[i].path) != 0) {
			err_set(err, "cannot write %s: %s", f[i].path, strerror(errno));
			goto done;
		}
	rv = 0;
done:
	for (int i = 0; i < N_FILES; i++) {
		if (rv != 0 && i < written)
			unlink(f[i].beside);
		free(f[i].path);
		free(f[i].beside);
	}
	return rv;
}

static uint32_t lines_count(const struct text *t)
{
	uint32_t n = 0;

	for (const char *c = text_get(t); (c = strchr(c, '\n')) != NULL; c++)
		n++;
	return n;
}

/* If the data are too long: fewer bytes for gaps the next time. Returns false if the gaps can have no fewer. */
static bool gaps_shrink(struct emit *e, uint64_t bytes)
{
	uint64_t gaps = emit_data_gap_bytes(e->data), over = bytes > SKEL_DATA_MAX ? bytes - SKEL_DATA_MAX : 0;

	if (over == 0 || e->gap_bytes <= GAPS_LEAST || gaps <= GAPS_LEAST)
		return false;
	gaps = gaps < e->gap_bytes ? gaps : e->gap_bytes;
	e->gap_bytes = gaps > GAPS_LEAST + over ? gaps - over : GAPS_LEAST;
	return true;
}

/* dir: NULL to write nothing. Returns 0, or -1 with the reason. Returns 1 with fewer gap_bytes if the data are too
 * long. */
static int compose(struct emit *e, const char *dir, struct skel_emit_report *out, struct errbuf *err)
{
	struct text source = {.len = 0}, makefile = {.len = 0}, report = {.len = 0};
	struct program p = {.n_data = 0};
	uint64_t *data = NULL, *ops = NULL;
	size_t words = 0, n_ops = 0;
	int rv = -1;

	if (lower_tree(e) != 0 || (data = emit_data_finish(e->data, &words)) == NULL)
		goto no_memory;
	if (gaps_shrink(e, words * sizeof *data)) {
		rv = 1;
		goto done;
	}
	*out = (struct skel_emit_report){.calls = e->tree->n_leaf, .confidence = emit_confidence(e)};
	p.data = data;
	p.n_data = words;
	fields_set(e, out->confidence, &p);
	if (put_program(e, &p, &ops, &n_ops, &source, err) != 0)
		goto done;
	put_makefile(e, &makefile);
	emit_report(e, out->confidence, &report);
	if (source.failed || makefile.failed || report.failed || e->no_memory)
		goto no_memory;
	struct out_file files[N_FILES] = {
		{.name = "skel.c.data", .data = data, .size = words * sizeof *data},
		{.name = "skel.ops", .data = ops, .size = n_ops * sizeof *ops},
		{.name = "Makefile", .data = makefile.data, .size = makefile.len},
		{.name = "report.txt", .data = report.data, .size = report.len},
		{.name = "skel.c", .data = source.data, .size = source.len},
	};

	out->lines = lines_count(&source);
	out->data_bytes = words * sizeof *data;
	rv = dir != NULL ? files_write(files, dir, err) : 0;
	goto done;
no_memory:
	err_set(err, "no memory to write the skeleton of %u ranks", e->tree->n_ranks);
done:
	free(data);
	free(ops);
	text_free(&source);
	text_free(&makefile);
	text_free(&report);
	return rv;
}

static int emit_once(const struct skel_planned *in, const char *dir, const struct skel_emit_options *options,
		     uint64_t *gap_bytes, struct skel_emit_report *out, struct errbuf *err)
{
	const struct skel_tree *tree = in->tree;
	struct emit e = {.tree = tree, .times = in->times, .plan = in->plan, .profile = in->profile, .buffered = in->buffered,
			 .pieces = in->pieces, .events = in->events, .opt = options, .max_slot = -1,
			 .gap_bytes = *gap_bytes};
	int rv = -1;

	e.data = emit_data_create(tree->n_ranks);
	e.type_used = calloc(tree->globals->n_type + 1u, sizeof *e.type_used);
	if (e.data == NULL || e.type_used == NULL) {
		err_set(err, "no memory to write the skeleton of %u ranks", tree->n_ranks);
		goto done;
	}
	emit_data_mixes(e.data, e.profile);
	rv = compose(&e, dir, out, err);
	*gap_bytes = e.gap_bytes;
done:
	emit_data_destroy(e.data);
	free(e.type_used);
	free(e.named);
	free(e.wait_kind);
	free(e.recorded);
	free(e.share);
	free(e.follows);
	code_free(&e.array.entry);
	code_free(&e.array.value);
	code_free(&e.body);
	text_free(&e.notes);
	return rv;
}

static int emit(const struct skel_planned *in, const char *dir, const struct skel_emit_options *options,
		struct skel_emit_report *out, struct errbuf *err)
{
	uint64_t gap_bytes = SKEL_DATA_MAX;
	int rv;

	do
		rv = emit_once(in, dir, options, &gap_bytes, out, err);
	while (rv == 1);
	return rv;
}

int skel_emit_c(const struct skel_planned *in, const char *dir, const struct skel_emit_options *options, struct errbuf *err)
{
	struct skel_emit_report report;

	if (emit(in, dir, options, &report, err) != 0)
		return -1;
	if (options->report != NULL)
		*options->report = report;
	return 0;
}

int skel_emit_measure(const struct skel_planned *in, struct skel_emit_report *out, struct errbuf *err)
{
	static const struct skel_emit_options none;

	return emit(in, NULL, &none, out, err);
}
