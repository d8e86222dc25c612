/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrappers as C text: see own_wrap.h. A wrapper stands before the function in the order of the dynamic linker, tells the
 * tracer (spank/tracer/own.h), and calls the function. Without a tracer it only calls the function.
 */
#include "cli/trace/own_wrap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/util.h"
#include "common/temp_dir.h"

/* struct call is struct own_call of spank/tracer/own.h. */
static const char head[] =
    "#define _GNU_SOURCE\n"
    "#include <dlfcn.h>\n"
    "#include <link.h>\n"
    "#include <stdbool.h>\n"
    "#include <stddef.h>\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "\n"
    "struct call {\n"
    "\tuint32_t version, is_return;\n"
    "\tconst char *name;\n"
    "\tuintptr_t ra, cfa;\n"
    "\tuint64_t n;\n"
    "\tconst int64_t *value;\n"
    "};\n"
    "\n"
    "int MPI_Pcontrol(const int level, ...) __attribute__((weak));\n"
    "\n"
    "static __thread int busy; /* the tracer runs */\n"
    "\n"
    "static void tell(uint32_t is_return, const char *name, uint64_t n, const int64_t *value, uintptr_t ra, uintptr_t cfa)\n"
    "{\n"
    "\tstruct call c = {1, is_return, name, ra, cfa, n, value};\n"
    "\n"
    "\tif (busy || !MPI_Pcontrol)\n"
    "\t\treturn;\n"
    "\tbusy = 1;\n"
    "\tMPI_Pcontrol(0x50524543, &c);\n"
    "\tbusy = 0;\n"
    "}\n"
    "\n"
    "/* A library that was opened with RTLD_LOCAL is in no order: look into each one. */\n"
    "static void *find(const char *name)\n"
    "{\n"
    "\tvoid *f = dlsym(RTLD_NEXT, name);\n"
    "\tDl_info own, of;\n"
    "\n"
    "\tdladdr((void *)find, &own);\n"
    "\tfor (struct link_map *m = _r_debug.r_map; m && !f; m = m->l_next) {\n"
    "\t\tvoid *h = m->l_name && *m->l_name ? dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;\n"
    "\n"
    "\t\tf = h ? dlsym(h, name) : NULL;\n"
    "\t\tif (f && (!dladdr(f, &of) || of.dli_fbase == own.dli_fbase))\n"
    "\t\t\tf = NULL;\n"
    "\t\tif (h)\n"
    "\t\t\tdlclose(h);\n"
    "\t}\n"
    "\tif (!f) {\n"
    "\t\tfprintf(stderr, \"precedent: no library has the function %s\\n\", name);\n"
    "\t\tabort();\n"
    "\t}\n"
    "\treturn f;\n"
    "}\n";

static void put_values(FILE *f, const struct own_rule *r, bool is_out)
{
	uint32_t n = 0;

	fprintf(f, "\tconst int64_t %s[] = {0", is_out ? "after" : "before");
	for (uint32_t i = 0; i < r->n_value; i++) {
		const struct own_value *v = &r->value[i];
		const char *name = v->param < r->n_param ? r->param_name[v->param] : "precedent_result";

		if (v->is_out != is_out)
			continue;
		n++;
		if (v->is_pointed)
			fprintf(f, ", %s ? (int64_t)*%s : 0", name, name);
		else
			fprintf(f, ", (int64_t)%s", name);
	}
	fprintf(f, "}; tell(%d, text, %u, %s + 1, ra, cfa);", is_out, n, is_out ? "after" : "before");
}

static void put_declaration(FILE *f, const struct own_rule *r, const char *prefix)
{
	fprintf(f, "%s %s%s(", r->returns, prefix, r->name);
	for (uint32_t i = 0; i < r->n_param; i++)
		fprintf(f, "%s%s", i ? ", " : "", r->param[i]);
	fprintf(f, "%s)", r->n_param ? "" : "void");
}

/* The wrapper is one line. It has the number of the rule's line, so that the compiler's errors name that line. If `linked`, the
 * linker calls __wrap_NAME for NAME, and NAME for __real_NAME. */
static void put_wrapper(FILE *f, const struct own_rule *r, bool linked)
{
	bool returns = strcmp(r->returns, "void") != 0;
	char text[4096];

	if (linked) {
		put_declaration(f, r, "__real_");
		fprintf(f, "; ");
	}
	put_declaration(f, r, linked ? "__wrap_" : "");
	fprintf(f, " { static __typeof__(&%s%s) precedent_real; static const char text[] = \"%s\"; "
		"const uintptr_t ra = (uintptr_t)__builtin_return_address(0), cfa = (uintptr_t)__builtin_dwarf_cfa(); "
		"if (!precedent_real) precedent_real = ", linked ? "__real_" : "", r->name, own_rule_text(r, text, sizeof(text)));
	fprintf(f, linked ? "__real_%s;" : "(__typeof__(precedent_real))find(\"%s\");", r->name);
	put_values(f, r, false);
	fprintf(f, " ");
	if (returns)
		fprintf(f, "%s precedent_result = ", r->returns);
	fprintf(f, "precedent_real(");
	for (uint32_t i = 0; i < r->n_param; i++)
		fprintf(f, "%s%s", i ? ", " : "", r->param_name[i]);
	fprintf(f, ");");
	put_values(f, r, true);
	fprintf(f, "%s }\n", returns ? " return precedent_result;" : "");
}

static int write_text(const struct own_rules *r, const char *path, bool linked, struct errbuf *err)
{
	FILE *f = fopen(path, "wxe");
	int rv = 0;

	if (!f)
		return err_set(err, "%s: cannot be written: %s", path, strerror(errno));
	fputs(head, f);
	for (uint32_t i = 0; i < r->n; i++) {
		fprintf(f, "\n# %u \"", r->rule[i].line);
		for (const char *c = r->file; *c; c++)
			if (*c != '"' && *c != '\\' && *c != '\n')
				fputc(*c, f);
		fprintf(f, "\"\n");
		put_wrapper(f, &r->rule[i], linked);
	}
	if (ferror(f))
		rv = err_set(err, "%s: cannot be written", path);
	if (fclose(f) && rv == 0)
		rv = err_set(err, "%s: cannot be written: %s", path, strerror(errno));
	return rv;
}

/* The compiler's first line with an error. */
static int first_error(const char *compiler, const char *log, struct errbuf *err)
{
	FILE *f = fopen(log, "re");
	char line[400] = "";
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "error") != NULL;
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return found ? err_set(err, "%s", cli_shown(line)) : err_set(err, "the wrappers of the rules: %s fails", compiler);
}

/* linked: an object file, else a library. The text and the compiler's words stay in dir. */
static int compile(const struct own_rules *r, const char *dir, const char *out, bool linked, struct errbuf *err)
{
	const char *compiler = getenv("CC") && *getenv("CC") ? getenv("CC") : "cc";
	char text[PATH_MAX], log[PATH_MAX];
	int rc;

	if (snprintf(text, sizeof(text), "%s/own.c", dir) >= (int)sizeof(text) ||
	    snprintf(log, sizeof(log), "%s/own.log", dir) >= (int)sizeof(log))
		return err_set(err, "%s: the path is too long", dir);
	if (write_text(r, text, linked, err) < 0)
		return -1;
	/* The stack is walked by frame pointers first. Exceptions of C++ pass through. */
	char *const argv[] = {(char *)compiler, "-std=gnu11", "-O2", "-fPIC", "-fno-omit-frame-pointer", "-fexceptions", "-w",
			      linked ? "-c" : "-shared", "-o", (char *)out, text, linked ? NULL : "-ldl", NULL};

	rc = cli_run(argv, (const char *const[]){"LC_ALL", "C", NULL}, log, 60, err);
	if (rc < 0)
		return err_prefix(err, "rules need a C compiler ($CC, or cc)");
	return rc ? first_error(compiler, log, err) : 0;
}

int own_wrap_build(const struct own_rules *r, const char *dir, struct errbuf *err)
{
	char library[PATH_MAX];

	if (snprintf(library, sizeof(library), "%s/" OWN_WRAP_LIBRARY, dir) >= (int)sizeof(library))
		return err_set(err, "%s: the path is too long", dir);
	return compile(r, dir, library, false, err);
}

int own_wrap_object(const struct own_rules *r, const char *object, struct errbuf *err)
{
	char *dir = cli_temp_dir(err);
	int rv = dir ? compile(r, dir, object, true, err) : -1;

	temp_dir_remove(dir);
	free(dir);
	return rv;
}

static bool has_op(const struct trace *t, const char *name)
{
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;

		for (uint32_t i = 0; i < d->n_op; i++)
			if (d->op[i].name && !strcmp(d->op[i].name, name))
				return true;
	}
	return false;
}

const struct own_rule *own_wrap_unused(const struct own_rules *r, const struct trace *t)
{
	char text[4096];

	for (uint32_t i = 0; i < r->n; i++)
		if (!has_op(t, own_rule_text(&r->rule[i], text, sizeof(text))))
			return &r->rule[i];
	return NULL;
}
