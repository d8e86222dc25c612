/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent doctor: configuration and tools of this host, and the findings of all files as text or JSON. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/admin/doctor.h"
#include "cli/ui/mpi_tools.h"
#include "cli/ui/node_class.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/arch/arch.h"
#include "common/clean.h"
#include "common/duration.h"
#include "common/inject.h"
#include "common/sandbox.h"
#include "predictor/limits/raise.h"

void finding_add(struct doctor *d, enum verdict v, const char *check, const char *fmt, ...)
{
	static const char *const name[] = {"ok", "warn", "FAIL"};
	char text[2048], *remedy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	remedy = strstr(text, TO_DO);
	if (remedy) {
		*remedy = '\0';
		remedy = clean_line(remedy + strlen(TO_DO));
	}
	clean_line(text);
	if (v > d->worst)
		d->worst = v;
	if (d->json)
		json_array_append_new(d->list, json_pack("{s:s, s:s, s:s, s:s}", "check", check, "verdict", name[v], "found", text, "remedy",
							 remedy ? remedy : ""));
	else
		printf("%-4s  %-14s %s%s%s\n", name[v], check, text, remedy ? ": " : "", remedy ? remedy : "");
}

/* ---- what runs on this node ---- */

/* The loader, and a tracer for each MPI library beside it. */
static void check_tracer(struct doctor *d)
{
	static const char *const mpis[INJECT_TRACERS] = INJECT_TRACER_MPIS;
	struct errbuf err;
	char *lib = cli_installed(INJECT_LIBRARY_NAME, &err), real[PATH_MAX], path[PATH_MAX];
	int n = 0;

	if (!lib || !realpath(lib, real)) {
		finding_add(d, FAIL, "tracer", "%s" TO_DO "install Precedent as a whole: make install", lib ? strerror(errno) : err.text);
		free(lib);
		return;
	}
	finding_add(d, OK, "tracer", "%s", lib);
	for (size_t i = 0; i < INJECT_TRACERS; i++)
		if (inject_tracer_path(real, i, path, sizeof(path)) == 0 && access(path, R_OK) == 0) {
			finding_add(d, OK, "tracer", "for %s: %s", mpis[i], path);
			n++;
		} else {
			finding_add(d, WARN, "tracer", "none for %s: its programs are not traced" TO_DO "build Precedent where that "
				    "library's mpicc is installed", mpis[i]);
		}
	if (!n)
		finding_add(d, FAIL, "tracer", "no MPI library has a tracer beside %s: nothing is traced" TO_DO "build Precedent where mpicc is", real);
	free(lib);
}

/* What runs skeletons where there is no compiler; is there any? */
static bool check_interpreter(struct doctor *d)
{
	static const char *const mpis[INJECT_TRACERS] = INJECT_TRACER_MPIS;
	bool any = false;

	for (int family = 0; family < INJECT_TRACERS; family++) {
		struct errbuf err;
		char *path = cli_installed(mpi_replay((enum mpi_family)family), &err);

		if (path)
			finding_add(d, OK, "interpreter", "for %s: %s", mpis[family], path);
		any |= path != NULL;
		free(path);
	}
	if (!any)
		finding_add(d, WARN, "interpreter", "%s is not installed: nodes without a compiler cannot run skeletons" TO_DO "install Precedent as a whole: make install",
		     mpi_replay(MPI_OPENMPI));
	return any;
}

static void check_mpicc(struct doctor *d, bool interpreted)
{
	static const char *const mpis[INJECT_TRACERS] = INJECT_TRACER_MPIS;
	char path[4096];
	int family;

	if (!mpi_in_path("mpicc", path, sizeof(path)) && interpreted) {
		finding_add(d, WARN, "mpicc", "not in PATH: skeletons are interpreted on this node, not compiled" TO_DO
			    "install the MPI library's development package for better probes");
		return;
	}
	if (!mpi_in_path("mpicc", path, sizeof(path))) {
		finding_add(d, FAIL, "mpicc", "not in PATH: skeletons cannot be compiled on this node" TO_DO "install the MPI "
			    "library's development package");
		return;
	}
	family = mpi_family_of_compiler(path);
	finding_add(d, OK, "mpicc", "%s, for %s", path, family >= 0 ? mpis[family] : "another MPI library");
	if (mpi_in_path("mpicc.mpich", path, sizeof(path)) && family != MPI_MPICH)
		finding_add(d, OK, "mpicc", "%s, for %s", path, mpis[MPI_MPICH]);
}

static void check_tools(struct doctor *d)
{
	struct node_class nc;
	struct errbuf err;
	char path[4096], *lib;

	check_tracer(d);
	lib = cli_installed("libprecedent_skel.a", &err);
	if (lib)
		finding_add(d, OK, "runtime", "%s", lib);
	else
		finding_add(d, FAIL, "runtime", "%s" TO_DO "install Precedent as a whole: make install", err.text);
	free(lib);
	check_mpicc(d, check_interpreter(d));
	if (mpi_in_path("mpirun", path, sizeof(path)))
		finding_add(d, OK, "mpirun", "%s", path);
	else
		finding_add(d, WARN, "mpirun", "not in PATH: only jobs started with srun can be probed from this node" TO_DO "put mpirun into PATH");
	if (!ARCH_SAMPLES)
		finding_add(d, WARN, "samples", ARCH_NO_SAMPLES ": skeletons compute with the default mix of kernels" TO_DO
			    "keep Mode = observe until precedent accuracy shows small errors");
	if (node_class_here(&nc, &err) == 0)
		finding_add(d, OK, "node_class", "%s %s", nc.hex, nc.text);
	else
		finding_add(d, WARN, "node_class", "%s" TO_DO "mount /proc and /sys", err.text);
}

/* ---- configuration and directories ---- */

/* A limit that is raised as soon as the job starts says nothing to the scheduler. */
static void check_limits(struct doctor *d)
{
	uint32_t least = limit_raise_least_min(d->conf.poll_interval_s);
	char text[DURATION_TEXT_MAX];

	if (conf_limits(&d->conf) && d->conf.limit_guard == GUARD_RAISE && d->conf.min_limit_min < least)
		finding_add(d, WARN, "limits", "MinLimit is %u min, and limits are raised %.0f s before they end: the shortest are raised when the job "
					"starts" TO_DO "set MinLimit=%s", d->conf.min_limit_min,
		     limit_raise_threshold_s(d->conf.poll_interval_s, d->conf.min_limit_min), duration_format_minutes(text, sizeof(text), least));
}

/* A name that is misspelt admits nobody. */
static void check_only(struct doctor *d)
{
	char text[256];

	for (size_t i = 0; i < d->conf.n_only; i++) {
		const struct conf_only *o = &d->conf.only[i];

		if (o->kind == ONLY_USER && !getpwnam(o->name) && o->name[strspn(o->name, "0123456789")])
			return finding_add(d, FAIL, "only", "Only names user:%s, and there is no such user" TO_DO "correct Only in %s", o->name,
					   d->conf.file);
	}
	only_text(&d->conf, text, sizeof(text));
	if (*text)
		finding_add(d, OK, "only", "looks at jobs of %s and at no others", text);
}

static void check_conf(struct doctor *d)
{
	struct errbuf err;

	if (conf_load(NULL, &d->conf, &err) < 0) {
		finding_add(d, FAIL, "configuration", "%s" TO_DO "correct it; precedent conf --check reads it again", err.text);
		return;
	}
	d->have_conf = true;
	snprintf(d->tracer, sizeof(d->tracer), "%s/lib/precedent/" INJECT_LIBRARY_NAME, d->conf.install_dir);
	if (!d->conf.file)
		finding_add(d, WARN, "configuration", "%s does not exist: defaults" TO_DO "copy share/precedent/precedent.conf there", conf_path(NULL));
	else if (!d->conf.n_candidates)
		finding_add(d, OK, "configuration", "%s, mode %s, no Candidates: a job is probed where it was traced, other partitions are told "
			    "from past runs", d->conf.file, mode_name(d->conf.mode));
	else
		finding_add(d, OK, "configuration", "%s, mode %s, %zu candidates", d->conf.file, mode_name(d->conf.mode),
		     d->conf.n_candidates);
	check_only(d);
	check_limits(d);
}

/* Where probes may run programs themselves: could they on this node? */
static void check_sandbox(struct doctor *d)
{
	bool on = d->conf.partial == PARTIAL_ON;
	struct errbuf err;

	for (size_t i = 0; i < d->conf.n_partials; i++)
		on |= d->conf.partials[i].partial == PARTIAL_ON;
	if (!on)
		return;
	if (sandbox_check(&err) < 0)
		finding_add(d, WARN, "sandbox", "%s: PartialExecution has no effect on this node, skeletons predict alone" TO_DO "allow user namespaces, or set PartialExecution = off", err.text);
	else
		finding_add(d, OK, "sandbox", "programs can be run in part on this node");
}

/* Returns 0, or 1 if standard output cannot be written to. */
static int print_json(struct doctor *d)
{
	static const char *const name[] = {"ok", "warn", "FAIL"};
	json_t *root = json_pack("{s:i, s:s, s:o}", "precedent", 1, "verdict", name[d->worst], "findings", d->list);

	if (!root || json_dumpf(root, stdout, JSON_INDENT(2)) < 0)
		return cli_fail("cannot write the JSON");
	putchar('\n');
	json_decref(root);
	return 0;
}

static int doctor_verb(int argc, char **argv)
{
	struct doctor d = {0};
	int rc = 0;

	if (!options_read(&verb_doctor, argc, argv, &d, &rc))
		return rc;
	d.list = json_array();
	check_conf(&d);
	check_tools(&d);
	if (d.have_conf) {
		check_sandbox(&d);
		doctor_slurm_read(&d);
		doctor_check_slurm(&d);
		doctor_check_nodes(&d);
		doctor_check_files(&d);
	}
	if (d.json)
		rc = print_json(&d);
	else
		json_decref(d.list);
	conf_free(&d.conf);
	free(d.slurm);
	return rc ? rc : d.worst == FAIL;
}

static const struct verb_option options[] = {
	{"json", 0, NULL, OPT_FLAG(struct doctor, json), .help = "the same for machines: checks by name, and what to do"},
	{0},
};

const struct verb verb_doctor = {
	"doctor", "", "what is installed where, and what is wrong with it",
	.forms = {"[--json]"},
	.text = "Says what is installed where, and what is wrong with it. Changes nothing. Exit status 0 when nothing failed, 1 otherwise "
		"(warnings do not count). Run it on the controller, on a login node and on a compute node, there as root.",
	.examples = {"", "--json"},
	.options = options, .run = doctor_verb,
};
