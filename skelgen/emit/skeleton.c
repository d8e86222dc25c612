/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a skeleton: composed in memory, written beside their names, renamed together at the end. */
#include "skelgen/emit/skeleton.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skelgen/emit/call.h"
#include "skelgen/emit/ops.h"
#include "skelgen/emit/tree.h"

#define N_FILES 5

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
		 (unsigned long long)e->times->events, e->plan->full_s, e->plan->predicted_s);
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

static void put_program(struct emit *e, double confidence, uint64_t data_hash, struct text *out)
{
	const char *program = skel_defs(e->tree, 0)->proc.program;
	uint32_t n_comm = 2, n_win = 0, n_file = 0;

	for (uint32_t r = 0; r < e->tree->n_ranks; r++) {
		const struct trace_defs *d = skel_defs(e->tree, r);

		n_comm = d->n_comm > n_comm ? d->n_comm : n_comm;
		n_win = d->n_win > n_win ? d->n_win : n_win;
		n_file = d->n_file > n_file ? d->n_file : n_file;
	}
	text_put(out, "static const struct skel_program program = {\n\t.name = \"");
	text_put_clean(out, program != NULL ? program : "?");
	text_put(out, "\",\n\t.n_ranks = %u,\n\t.n_loops = %u,\n\t.n_requests = %lld,\n", e->tree->n_ranks, e->n_loop,
		 (long long)e->max_slot + 1);
	text_put(out, "\t.n_comms = %u,\n\t.n_types = %u,\n", n_comm, e->tree->globals->n_type);
	if (n_win > 0)
		text_put(out, "\t.n_wins = %u,\n\t.rma_bytes = %lld,\n", n_win, (long long)e->rma_bytes);
	if (n_file > 0)
		text_put(out, "\t.n_files = %u,\n", n_file);
	text_put(out, "\t.data = skel_data_begin,\n\t.data_end = skel_data_end,\n\t.data_hash = 0x%016llx,\n",
		 (unsigned long long)data_hash);
	text_put(out, "\t.traced_s = %.9f,\n\t.confidence = %.4f,\n\t.events = %llu,\n\t.bsend_bytes = %lld,\n};\n\n",
		 e->plan->full_s, confidence, (unsigned long long)e->times->events, (long long)e->bsend_bytes);
}

static void put_main(struct emit *e, struct text *out)
{
	unsigned level = skel_defs(e->tree, 0)->proc.thread_level;
	static const char *const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
					    "MPI_THREAD_MULTIPLE"};

	text_put(out, "int main(int argc, char **argv)\n{\n");
	if (level > 0 && level < 4)
		text_put(out, "\tint level;\n\n");
	text_put(out, "\tskel_start();\n");
	if (level > 0 && level < 4)
		text_put(out, "\tMPI_Init_thread(&argc, &argv, %s, &level);\n", names[level]);
	else
		text_put(out, "\tMPI_Init(&argc, &argv);\n");
	text_put(out, "\tskel_begin(argc, argv, &program);\n");
	text_put(out, "\trun(skel_rank, skel_size);\n\tskel_end();\n\tMPI_Finalize();\n\treturn skel_status();\n}\n");
}

static void put_source(struct emit *e, double confidence, uint64_t data_hash, struct text *out)
{
	struct text types = {.len = 0};

	emit_types(e, &types);
	put_head(e, out);
	put_program(e, confidence, data_hash, out);
	if (e->decl.len > 0)
		text_put(out, "%s\n", text_get(&e->decl));
	text_put(out, "static void run(int rank, int size)\n{\n\t(void)rank;\n\t(void)size;\n");
	if (types.len > 0)
		text_put(out, "%s\n", text_get(&types));
	text_put(out, "%s}\n\n", text_get(&e->body));
	put_main(e, out);
	out->failed |= types.failed;
	text_free(&types);
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

static int compose(struct emit *e, const char *dir, double *confidence, struct errbuf *err)
{
	struct text source = {.len = 0}, makefile = {.len = 0}, report = {.len = 0};
	uint64_t *data = NULL, *ops = NULL;
	size_t words = 0, n_ops = 0;
	int rv = -1;

	if (emit_tree(e) != 0 || (data = emit_data_finish(e->data, &words)) == NULL)
		goto no_memory;
	*confidence = emit_confidence(e);
	put_source(e, *confidence, data[7], &source);
	put_makefile(e, &makefile);
	emit_report(e, *confidence, &report);
	if (source.failed || makefile.failed || report.failed || e->no_memory)
		goto no_memory;
	if (skel_ops_compile(text_get(&source), data, words, &ops, &n_ops, err) != 0)
		goto done;
	struct out_file files[N_FILES] = {
		{.name = "skel.c.data", .data = data, .size = words * sizeof *data},
		{.name = "skel.ops", .data = ops, .size = n_ops * sizeof *ops},
		{.name = "Makefile", .data = makefile.data, .size = makefile.len},
		{.name = "report.txt", .data = report.data, .size = report.len},
		{.name = "skel.c", .data = source.data, .size = source.len},
	};

	rv = files_write(files, dir, err);
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

int skel_emit_c(const struct skel_planned *in, const char *dir, const struct skel_emit_options *options, struct errbuf *err)
{
	const struct skel_tree *tree = in->tree;
	struct emit e = {.tree = tree, .times = in->times, .plan = in->plan, .profile = in->profile, .buffered = in->buffered,
			 .opt = options, .max_slot = -1};
	double confidence = 0;
	int rv = -1;

	e.data = emit_data_create(tree->n_ranks);
	e.type_used = calloc(tree->globals->n_type + 1u, sizeof *e.type_used);
	if (e.data == NULL || e.type_used == NULL) {
		err_set(err, "no memory to write the skeleton of %u ranks", tree->n_ranks);
		goto done;
	}
	emit_data_mixes(e.data, e.profile);
	rv = compose(&e, dir, &confidence, err);
	if (rv == 0 && options->report != NULL)
		*options->report = (struct skel_emit_report){tree->n_leaf, confidence};
done:
	emit_data_destroy(e.data);
	free(e.type_used);
	free(e.named);
	free(e.wait_kind);
	text_free(&e.decl);
	text_free(&e.body);
	text_free(&e.notes);
	return rv;
}
