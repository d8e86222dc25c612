/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one submission costs inside slurmctld: the whole of decide() (normalise and hash the script, look the
 * key up, limit, message) over a store of 10^6 programs with an estimate on two candidates each.
 *
 *   bench_lookup [PROGRAMS [SUBMISSIONS]]    NO_INDEX=1 in the environment: without the index beside the store
 *
 * Once in mode limit, as a job that names its partition, once in mode place, as one that names none, with as many
 * answers of the scheduler in memory as precedentd keeps, once in mode limit with a model over inputs of eight shapes on both
 * candidates, which predicts the unknown ones, and once where others that are alike predict these: their family's rows are known.
 *
 * Half the submissions are known programs, half are not, in random order. A writer commits a heartbeat every
 * 10 000 submissions, which is a hundred times what precedentd does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/launches.h"
#include "plugin/decide.h"
#include "predictor/store/places.h"
#include "predictor/store/keep.h"

#define UID	  1000
#define GROUPS_FILLED 100000
#define NOW	  1700000000
#define BEAT	  10000
#define ROWS_A_TX 20000

static void die(const struct errbuf *err)
{
	fprintf(stderr, "bench_lookup: %s\n", err->text);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* A script of usual length, with everything in it that has to be looked at. */
static const char script[] =
    "#!/bin/bash -l\n"
    "#SBATCH --job-name=melt\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=16\n#SBATCH -t 02:00:00\n"
    "#SBATCH --output=melt-%j.out\n\n"
    "# load what we need\nmodule purge\nmodule load gcc/12.2 openmpi/4.1.4 lammps/2023\n"
    "set -euo pipefail\nexport OMP_NUM_THREADS=1   # no threads\n"
    "cd \"$SLURM_SUBMIT_DIR\"\n"
    "cat > in.melt <<EOF\nunits lj\natom_style atomic\nlattice fcc 0.8442\n"
    "region box block 0 20 0 20 0 20\ncreate_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\n"
    "# comment that belongs to the input\nrun 1000\nEOF\n"
    "srun --mpi=pmix lmp -in in.melt -var steps 1000 -log none\n"
    "echo \"done: $(date)\"   \n";

static void submission(struct decide_input *in, char *arg, char *spank_env[2], char **args, uint64_t n)
{
	sprintf(arg, "case-%llu", (unsigned long long)n);
	args[0] = arg;
	*in = (struct decide_input){
	    .uid = UID,
	    .script = script,
	    .args = args,
	    .n_args = 1,
	    .spank_env = spank_env,
	    .n_spank_env = 2,
	    .work_dir = "/home/user/project",
	    .name = "melt",
	    .command = "sbatch job.sh",
	    .partition = "fast",
	    .layout = {.nodes_min = 2, .nodes_max = 2, .tasks = 32, .tasks_per_node = 16, .cpus_per_task = 1},
	    .time_limit_min = 120,
	    .time_min_min = DURATION_UNSET,
	    .now = NOW,
	};
}

static void key_of(const struct decide_input *in, const char *fingerprint, struct identity *id)
{
	struct identity_input i = {.uid = in->uid,
				   .script = in->script,
				   .args = in->args,
				   .n_args = in->n_args,
				   .fingerprint = fingerprint,
				   .work_dir = in->work_dir,
				   .layout = in->layout};

	identity_compute(&i, id);
}

struct keys {
	char key[IDENTITY_KEY_LEN + 1], family[IDENTITY_KEY_LEN + 1];
};

static void put_program(struct store *s, const struct keys *id, uint64_t n, int64_t shape, struct errbuf *err)
{
	struct store_program p = {.uid = UID,
				  .state = PROGRAM_READY,
				  .source_job = (uint32_t)n,
				  .source_elapsed_s = 190,
				  .n_traces = 1,
				  .mpi_s = 188,
				  .nodes = 2,
				  .tasks = 32,
				  .created = NOW,
				  .updated = NOW,
				  .shape = shape};
	struct store_estimate e = {.e = {190, 185, 200, ESTIMATE_BLEND, 3}, .updated = NOW};

	memcpy(p.key, id->key, sizeof(p.key));
	memcpy(p.family, id->family, sizeof(p.family));
	snprintf(p.name, sizeof(p.name), "melt");
	snprintf(p.source_candidate, sizeof(p.source_candidate), "fast");
	snprintf(e.candidate, sizeof(e.candidate), "fast");
	snprintf(e.node_class, sizeof(e.node_class), "0123456789abcdef");
	if (store_program_put(s, &p, err) < 0 || store_estimate_put(s, p.key, &e, err) < 0)
		die(err);
	snprintf(e.candidate, sizeof(e.candidate), "slow");
	e.e.mean_s *= 2;
	e.e.lo_s *= 2;
	e.e.hi_s *= 2;
	if (store_estimate_put(s, p.key, &e, err) < 0)
		die(err);
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct keys *)a)->key, ((const struct keys *)b)->key);
}

/* In the order of the keys: what grows over years in any order would take a minute here. */
static void fill(struct store *s, uint64_t programs, char *spank_env[2], const char *fingerprint, int64_t shape)
{
	struct keys *keys = calloc(programs, sizeof(*keys));
	struct errbuf err = {"out of memory"};
	struct decide_input in;
	struct identity id;
	char arg[64], *args[1];

	if (!keys)
		die(&err);
	for (uint64_t n = 0; n < programs; n++) {
		submission(&in, arg, spank_env, args, n);
		key_of(&in, fingerprint, &id);
		memcpy(keys[n].key, id.key, sizeof(id.key));
		memcpy(keys[n].family, id.family, sizeof(id.family));
	}
	qsort(keys, programs, sizeof(*keys), compare_keys);
	for (uint64_t n = 0; n < programs; n++) {
		if (n % ROWS_A_TX == 0 && store_begin(s, &err) < 0)
			die(&err);
		put_program(s, &keys[n], n, shape, &err);
		if ((n % ROWS_A_TX == ROWS_A_TX - 1 || n == programs - 1) && store_commit(s, &err) < 0)
			die(&err);
	}
	free(keys);
}

/* What precedentd keeps, at its most: fast is full for a day, slow starts jobs at once. */
static void fill_places(struct store *s, struct place_shape *shape, struct places *places, struct errbuf *err)
{
	struct place_partition doors[64];
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 64; i++) {
		doors[i] = (struct place_partition){"", true, i > 1, 1, 1000, 1000, "staff,users", "a,b,c", "", "", "", i == 0, 60,
						    1440, 0};
		snprintf(doors[i].name, sizeof(doors[i].name), i == 0 ? "fast" : i == 1 ? "slow" : "part%d", i);
		if (i < 2)
			doors[i].allow_accounts = "";
	}
	if (store_begin(s, err) < 0 || store_places_put(s, doors, 64, err) < 0)
		die(err);
	for (int i = 0; i < PLACES_WAITS_MAX / 2; i++) {
		*shape = (struct place_shape){.nodes = 2, .tasks = 160u - (unsigned)i, .memory = 1000, .used = NOW};
		shape->id = place_shape_id(shape);
		if (store_shape_put(s, shape, err) < 0)
			die(err);
		for (int c = 0; c < 2; c++) {
			struct place_wait w = {.shape = shape->id, .limit_min = 15, .used = NOW, .asked = NOW - 200,
					       .answer = PLACE_KNOWN, .wait_s = c ? 0 : 86400};

			snprintf(w.candidate, sizeof(w.candidate), c ? "slow" : "fast");
			if (store_wait_want(s, &w, err) < 0 || store_wait_put(s, &w, err) < 0)
				die(err);
		}
	}
	if (store_commit(s, err) < 0)
		die(err);
	for (int i = 0; i < 10; i++) {
		uint64_t t0 = now_ns();

		if (store_places_load(s, PLACES_WAITS_MAX, places, err) < 0)
			die(err);
		if (now_ns() - t0 < best)
			best = now_ns() - t0;
	}
	printf("places: %zu partitions, %zu shapes, %zu waits, read in %.0f us\n", places->n_partitions, places->n_shapes,
	       places->n_waits, (double)best / 1e3);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print(const char *what, uint64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(*ns), compare);
	printf("%-18s n %-8zu p50 %7.2f us   p99 %7.2f us   p99.9 %7.2f us   max %8.2f us\n", what, n,
	       (double)ns[n / 2] / 1e3, (double)ns[n * 99 / 100] / 1e3, (double)ns[n * 999 / 1000] / 1e3,
	       (double)ns[n - 1] / 1e3);
}

struct times {
	uint64_t *known, *unknown;
	size_t n_known, n_unknown;
};

static void measure(struct store *reader, struct store *writer, uint64_t programs, uint64_t submissions,
		    char *spank_env[2], char *spank_unknown[2], const struct places *places, bool predicted, struct times *t)
{
	static struct decide_load load;
	static struct decide_memo memo;
	static struct place_partition fast = {.name = "fast", .is_default = true, .default_min = 60, .max_min = 1440};
	static const struct places one = {.n_partitions = 1, .partitions = &fast};
	struct decide_source src = {.reads = &decide_reads_store,
				    .store = reader,
				    .room = decide_room_create(),
				    .heartbeat = NOW, /* the plugin reads it once a second */
				    .memo = &memo,
				    .places = places ? places : &one,
				    .load = &load};
	struct precedent_conf conf = {.mode = places ? MODE_PLACE : MODE_LIMIT,
				      .n_candidates = 2,
				      .limit_guard = GUARD_RAISE,
				      .margin = 0.15,
				      .min_limit_min = 1,
				      .heartbeat_timeout_s = 120};
	struct errbuf err = {""};
	uint64_t x = 88172645463325252ULL;

	if (!src.room || store_index_check(reader, &err) < 0)
		die(&err);
	conf.candidates[0] = (struct conf_candidate){"fast", "fast", ""};
	conf.candidates[1] = (struct conf_candidate){"slow", "slow", ""};
	for (uint64_t i = 0; i < submissions; i++) {
		bool known = random_next(&x) & 1;
		struct decide_input in;
		struct decision out;
		char arg[64], *args[1];
		uint64_t t0, ns;

		if (i % BEAT == 0 && store_heartbeat_set(writer, NOW + (int64_t)i, &err) < 0)
			die(&err);
		submission(&in, arg, known ? spank_env : spank_unknown, args, known ? random_next(&x) % programs : programs + i);
		if (places)
			in.partition = NULL;
		t0 = now_ns();
		if (decide(&in, &conf, &src, &out, &err) < 0)
			die(&err);
		ns = now_ns() - t0;
		if ((known || predicted) != (out.act == ACT_PREDICT) || (known || predicted) != (out.wish.limit_min != DURATION_UNSET) ||
		     (known && places) != out.set_partition) {
			fprintf(stderr, "bench_lookup: wrong answer: %s\n", out.message);
			exit(1);
		}
		if (known)
			t->known[t->n_known++] = ns;
		else
			t->unknown[t->n_unknown++] = ns;
	}
	decide_room_destroy(src.room);
}

/* A law over the numbers of the submissions, as a fit of eight shapes leaves it. */
static void fill_models(struct store *writer, char *spank_env[2])
{
	struct store_model m = {.runs = 40, .points = 20, .scale = 1, .updated = NOW};
	struct decide_input in;
	struct identity id;
	struct errbuf err = {""};
	char arg[64], *args[1];
	struct scaling_model model = {.runs = 40, .points = 20};

	submission(&in, arg, spank_env, args, 1);
	key_of(&in, strchr(spank_env[0], '=') + 1, &id);
	model.n_vars = id.n_vars;
	for (unsigned i = 0; i < id.n_vars; i++) {
		model.lo[i] = id.vars[i];
		model.hi[i] = i == IDENTITY_OWN_VARS ? 1e9 : id.vars[i];
	}
	for (model.n_shapes = 0; model.n_shapes < SCALING_SHAPES_MAX; model.n_shapes++) {
		struct scaling_shape *s = &model.s[model.n_shapes];

		*s = (struct scaling_shape){.weight = 1.0 / SCALING_SHAPES_MAX, .error = 0.01234, .n = 3, .t = {{.c = 3.141593}}};
		s->t[1] = (struct scaling_term){1.234567e-9, 2, {{IDENTITY_OWN_VARS, 1, 1}, {0, -1, 0}}};
		s->t[2] = (struct scaling_term){2.345678e-6, 1, {{IDENTITY_OWN_VARS, 0.5, 0}}};
	}
	memcpy(m.kin, id.kin, sizeof(m.kin));
	scaling_format(&model, m.law, sizeof(m.law));
	for (int i = 0; i < 2; i++) {
		strcpy(m.candidate, i ? "slow" : "fast");
		if (!m.law[0] || store_model_put(writer, &m, &err) < 0)
			die(&err);
	}
}

/* Of 40 programs that took as long with numbers about these. */
static void fill_families(struct store *writer, char *spank_env[2])
{
	struct store_family f = {.e = {200, 190, 210, ESTIMATE_FAMILY, 40}, .programs = 40, .scale = 1, .updated = NOW};
	struct decide_input in;
	struct identity id;
	struct errbuf err = {""};
	char arg[64], *args[1];
	size_t len = 0;

	submission(&in, arg, spank_env, args, 1);
	key_of(&in, strchr(spank_env[0], '=') + 1, &id);
	for (unsigned i = 0; i < id.n_vars; i++)
		len += (size_t)snprintf(f.ranges + len, sizeof(f.ranges) - len, "%s%.9g:%.9g", i ? "," : "",
					i == IDENTITY_OWN_VARS ? 0 : id.vars[i], i == IDENTITY_OWN_VARS ? 1e9 : id.vars[i]);
	memcpy(f.family, id.family, sizeof(f.family));
	memcpy(f.kin, id.kin, sizeof(f.kin));
	for (int i = 0; i < 2; i++) {
		strcpy(f.candidate, i ? "slow" : "fast");
		if (len >= sizeof(f.ranges) || store_family_put(writer, &f, &err) < 0)
			die(&err);
	}
}

/* The submissions' groups of similar runs, among groups of other users. */
static void fill_groups(struct store *writer)
{
	struct decide_input in;
	struct errbuf err = {""};
	char arg[64], *args[1];

	submission(&in, arg, NULL, args, 1);
	if (store_begin(writer, &err) < 0)
		die(&err);
	for (uint32_t i = 0; i < GROUPS_FILLED; i++) {
		struct group_run run = {UID + i % (GROUPS_FILLED / 32), "COMPLETED", 500 + i % 100, NOW};
		struct group_job job = {.uid = run.uid, .nodes = 2, .limit_min = 120, .partition = "fast", .command = in.command,
					.name = in.name, .work_dir = in.work_dir, .account = in.account,
					.text = i + 1, .pattern = i / 4 + 1};
		struct group_ids ids;

		group_ids_of(&job, &ids);
		if (store_groups_add(writer, &ids, &run, &err) < 0)
			die(&err);
	}
	if (store_commit(writer, &err) < 0)
		die(&err);
}

/* Of the index beside the store. */
static long file_bytes(const char *store)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s" STORE_INDEX_SUFFIX, store);
	return stat(path, &st) < 0 ? 0 : (long)st.st_size;
}

static void bench(const char *dir, uint64_t programs, uint64_t submissions, bool with_index)
{
	static const char fingerprint[] = "v1:0123456789abcdef0123456789abcdef:3";
	static const char third[] = "v1:11111111111111111111111111111111:3"; /* one of which similar runs are known, and nothing else */
	static const char another[] = "v1:fedcba9876543210fedcba9876543210:3"; /* another program: its kin has no model */
	static char launches[] = LAUNCHES_VAR "=v1:00112233445566778899aabbccddeeff"; /* no program of the store launches this */
	char path[256], env[128], env_alike[128], env_similar[128];
	char *spank_env[2] = {env, launches}, *spank_alike[2] = {env_alike, launches}, *spank_similar[2] = {env_similar, launches};
	struct errbuf err = {""};
	struct times t = {calloc(submissions, 8), calloc(submissions, 8), 0, 0};
	struct store *writer, *reader;
	struct store_counts counts;
	struct places places = {0};
	struct place_shape shape;
	uint64_t t0, t1;

	snprintf(path, sizeof(path), "%s/precedent.db", dir);
	snprintf(env, sizeof(env), "%s=%s", IDENTITY_FINGERPRINT_VAR, fingerprint);
	snprintf(env_similar, sizeof(env_similar), "%s=%s", IDENTITY_FINGERPRINT_VAR, third);
	snprintf(env_alike, sizeof(env_alike), "%s=%s", IDENTITY_FINGERPRINT_VAR, another);
	if (!t.known || !t.unknown || store_open(path, STORE_WRITE, &writer, &err) < 0)
		die(&err);
	fill_places(writer, &shape, &places, &err);
	t0 = now_ns();
	fill(writer, programs, spank_env, fingerprint, shape.id);
	t1 = now_ns();
	if (with_index && store_index_renew(writer, &err) < 0)
		die(&err);
	if (with_index)
		printf("index: %.1f MB, built in %.2f s\n", (double)file_bytes(path) / 1e6, (double)(now_ns() - t1) / 1e9);
	if (store_open(path, STORE_READ, &reader, &err) < 0 || store_counts(reader, &counts, &err) < 0)
		die(&err);
	printf("store: %llu programs, %llu estimates, %.0f MB, written in %.1f s; script of %zu bytes\n",
	       (unsigned long long)counts.programs, (unsigned long long)counts.estimates,
	       (double)counts.file_bytes / 1e6, (double)(now_ns() - t0) / 1e9, sizeof(script) - 1);
	for (int mode = 0; mode < 5; mode++) {
		static const char *const names[5][2] = {{"limit, known", "limit, unknown"},
							{"place, known", "place, unknown"},
							{"limit, known", "limit, modelled"},
							{"limit, known", "limit, alike"},
							{"limit, known", "limit, similar"}};
		const struct places *p = mode == 1 ? &places : NULL;
		char **unknown = mode == 4 ? spank_similar : mode == 3 ? spank_alike : spank_env;

		if (mode == 2)
			fill_models(writer, spank_env);
		if (mode == 3)
			fill_families(writer, spank_alike);
		if (mode == 4)
			fill_groups(writer);
		t.n_known = t.n_unknown = 0;
		measure(reader, writer, programs, submissions / 10 + 1, spank_env, unknown, p, mode == 2 || mode == 3, &t);
		t.n_known = t.n_unknown = 0;
		measure(reader, writer, programs, submissions, spank_env, unknown, p, mode == 2 || mode == 3, &t);
		print(names[mode][0], t.known, t.n_known);
		print(names[mode][1], t.unknown, t.n_unknown);
	}
	places_free(&places);
	store_close(reader);
	store_close(writer);
	free(t.known);
	free(t.unknown);
}

static void clean(const char *dir)
{
	static const char *const names[] = {"precedent.db", "precedent.db-wal", "precedent.db-shm", "precedent.db-index"};
	char path[300];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

int main(int argc, char **argv)
{
	uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t submissions = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
	const char *base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char dir[200];

	snprintf(dir, sizeof(dir), "%s/precedent-bench.XXXXXX", base);
	if (!programs || submissions < 100 || !mkdtemp(dir)) {
		fprintf(stderr, "usage: bench_lookup [PROGRAMS [SUBMISSIONS]]\n");
		return 2;
	}
	bench(dir, programs, submissions, !getenv("NO_INDEX"));
	clean(dir);
	return 0;
}
