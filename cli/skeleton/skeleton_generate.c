/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a trace file to a skeleton's directory: see skeleton.h. The work is skelgen's; here are order and messages. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli/skeleton/skeleton.h"
#include "cli/ui/mpi_tools.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "skelgen/pipeline.h"
#include "skelgen/tree/site_text.h"
#include "trace/format/device.h"
#include "trace/functions.h"

static int make_dir(const char *dir, struct errbuf *err)
{
	if (mkdir(dir, 0770) < 0 && errno != EEXIST)
		return err_set(err, "%s: cannot create: %s", dir, strerror(errno));
	return 0;
}

static int hash_file(const char *dir, const char *name, char hex[17], struct errbuf *err)
{
	char path[4200];
	struct stat st;
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0) {
		if (fd >= 0)
			close(fd);
		return err_set(err, "%s: was not written", path);
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return err_set(err, "%s: %s", path, strerror(errno));
	snprintf(hex, 17, "%016llx", (unsigned long long)XXH3_64bits(p, (size_t)st.st_size));
	munmap(p, (size_t)st.st_size);
	return 0;
}

int skeleton_hash(const char *dir, bool interpreted, char hex[17], struct errbuf *err)
{
	return hash_file(dir, interpreted ? "skel.ops" : "skel", hex, err);
}

bool skeleton_was_delayed(const struct skeleton_facts *f)
{
	return f->delayed_s > SKEL_DELAYED_LEAST * f->mpi_s;
}

int skeleton_trace_check(const struct trace *t, struct errbuf *err)
{
	if (trace_is_imported(t))
		return err_set(err, "it was imported: it has the states of processors, and no MPI calls that a skeleton could repeat");
	if (!trace_is_partial(t))
		return 0;
	return err_set(err, "the trace is partial (the run did not end in MPI_Finalize, or the file is damaged%s%s): no "
			    "skeleton can be built from it", trace_n_damage(t) ? ": " : "",
		       trace_n_damage(t) ? trace_damage(t, 0) : "");
}

/* Does the call make a communicator with processes that the run did not begin with? */
static bool adds_processes(uint16_t fn)
{
	for (uint32_t i = 0; trace_fn[fn].cls == TC_DYN && i < trace_fn[fn].n_param; i++)
		if (trace_fn[fn].param[i].kind == TK_NEWCOMM)
			return true;
	return false;
}

static int refuse_processes(const struct trace_defs *d, uint32_t sym, struct errbuf *err)
{
	const struct trace_sig *sig = &d->sigs.sig[sym];
	struct symbolizer *s = symbolizer_create();
	char site[256] = "?";

	if (sig->site < d->n_site)
		symbolizer_site(s, d, &d->site[sig->site], site, sizeof(site));
	symbolizer_destroy(s);
	return err_set(err, "%s at %s: programs that start processes while they run cannot be predicted by a skeleton",
		       trace_fn[sig->fn].name, site);
}

static int refuse_devices(const struct trace *t, struct errbuf *err)
{
	char names[128];
	uint32_t ranks;
	uint64_t devices = trace_devices(t, &ranks);

	if (!devices)
		return 0;
	return err_set(err, "%u of %u ranks use %s, whose work no skeleton repeats: past runs and partial execution predict such a program",
		       ranks, trace_n_ranks(t), trace_device_names(devices, names, sizeof(names)));
}

int skeleton_device(const char *trace, struct errbuf *why)
{
	struct trace *t = trace_open(trace, why);
	int rv = t ? refuse_devices(t, why) : -1;

	rv = t && rv ? 1 : rv;
	trace_close(t);
	return rv;
}

/* Refuses runs that no skeleton can repeat, before the build. */
static int repeatable(const struct trace *t, struct errbuf *err)
{
	if (trace_job_get(t, "spawned"))
		return err_set(err, "its processes were started by another program (MPI_Comm_spawn): trace that program's run instead");
	if (refuse_devices(t, err) < 0)
		return -1;
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;

		for (uint32_t i = 0; i < d->sigs.n; i++)
			if (adds_processes(d->sigs.sig[i].fn))
				return refuse_processes(d, i, err);
	}
	return 0;
}

static const char *site_name(void *arg, const struct trace_defs *d, const struct trace_site *site, char *buf, size_t size)
{
	return symbolizer_site(arg, d, site, buf, size);
}

static struct symbolizer *names;

void skeleton_name_sites(bool on)
{
	if (on)
		names = symbolizer_create();
	skel_site_name_by(on ? site_name : NULL, names);
	if (!on)
		symbolizer_destroy(names);
}

/* The Makefile names the places of the runtime, where it is installed. */
static int write_skeleton(struct skel_stages *p, const char *dir, struct skel_emit_options *opt, struct errbuf *err)
{
	struct errbuf unused;
	enum mpi_family family = mpi_family_of_library(trace_job_get(p->tree.trace, "mpi"));
	char *include = cli_include_dir(&unused), *lib = cli_installed(mpi_runtime(family), &unused);
	int rv;

	opt->mpicc = mpi_compiler(family);
	opt->runtime = mpi_runtime(family);
	if (!opt->mpicc || !lib) /* said when it is compiled */
		opt->mpicc = family == MPI_MPICH ? "mpicc.mpich" : "mpicc";
	if (lib)
		*strrchr(lib, '/') = '\0';
	opt->include_dir = include;
	opt->lib_dir = lib;
	opt->site = site_name;
	opt->site_arg = names;
	rv = skel_write(p, dir, opt, err);
	free(include);
	free(lib);
	return rv;
}

/* Two ranks that wait for each other on one processor lengthen the run by the delays of both. The scheduler may put
 * them there when a program begins. A skeleton calibrates for a second first. Each rank has its own processor then. */
static double squeezed(const struct run_totals *run, const struct skel_plan *plan, uint32_t n_ranks)
{
	double ns = fmin(n_ranks * run->waited_ns, 2 * run->waited_most_ns);

	return plan->crowd == 1 && ns > SKEL_DELAYED_LEAST * run->wall_ns ? ns * 1e-9 : 0;
}

static int generate(const struct trace *t, struct skel_stages *p, const char *dir, const struct skeleton_wish *wish,
		    struct skeleton_facts *f, struct errbuf *err)
{
	const struct skel_budget budget = {.seconds = wish->seconds, .scale = wish->scale};
	const char *launcher = trace_job_get(t, "launcher");
	struct skel_emit_report report = {0};
	struct skel_emit_options opt = {.report = &report};

	if (skeleton_trace_check(t, err) < 0 || repeatable(t, err) < 0 || skel_understand(t, &budget, p, err) < 0)
		return -1;
	if (wish->tree)
		skel_tree_print(&p->tree, wish->tree);
	if (make_dir(dir, err) < 0 || write_skeleton(p, dir, &opt, err) < 0 || hash_file(dir, "skel.c", f->hash, err) < 0)
		return -1;
	f->n_ranks = p->tree.n_ranks;
	f->events = p->run.events;
	f->length = skel_tree_length(&p->tree);
	f->mpi_s = p->run.wall_ns * 1e-9;
	f->computed_s = (p->run.gap_ns + p->run.delayed_ns) * 1e-9; /* a part of mpi_s, as the clock went */
	f->delayed_s = p->run.delayed_most_ns * 1e-9;
	f->others_s = p->plan.crowd == 1 && skeleton_was_delayed(f) ? f->delayed_s : 0;
	/* Parts of computations are shorter than the turns in which ranks share a processor. */
	f->unrepeated_s = skel_plan_shares_gaps(&p->plan) && skeleton_was_delayed(f) ? f->delayed_s : f->others_s;
	f->squeezed_s = squeezed(&p->run, &p->plan, f->n_ranks);
	f->overlap = p->run.overlap;
	f->differs = p->run.differs;
	f->planned_s = p->plan.predicted_s;
	f->kinds = p->pieces.n_kind;
	f->whole_s = fmin(p->plan.whole_s, f->planned_s);
	f->confidence = report.confidence;
	f->buffered = p->buffered.n;
	snprintf(f->unsampled, sizeof(f->unsampled), "%s", trace_unsampled(t) ? trace_unsampled(t) : "");
	snprintf(f->launcher, sizeof(f->launcher), "%s", launcher && !strcmp(launcher, "srun") ? "srun" : "mpirun");
	return 0;
}

int skeleton_generate(const char *trace, const char *dir, const struct skeleton_wish *wish,
		      struct skeleton_facts *facts, struct errbuf *err)
{
	struct trace *t = trace_open(trace, err);
	struct skel_stages p = {0};
	int rv;

	*facts = (struct skeleton_facts){0};
	if (!t)
		return -1;
	skeleton_name_sites(true);
	rv = generate(t, &p, dir, wish, facts, err);
	skeleton_name_sites(false);
	if (rv < 0)
		err_prefix(err, "%s", trace);
	skel_stages_free(&p);
	trace_close(t);
	return rv;
}

const char *skeleton_reason(const char *trace, const struct errbuf *err)
{
	size_t n = strlen(trace);

	return !strncmp(err->text, trace, n) && !strncmp(err->text + n, ": ", 2) ? err->text + n + 2 : err->text;
}
