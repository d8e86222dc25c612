/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the decision about a submitted job (plugin/decide.c) with all that a user writes into a job descriptor. An input is a
 * list of fields, each a letter with a text, with the byte 0x1e between them. The configuration, store and partitions are fixed.
 * No limit may be above the user's own, no job may leave the partitions that exist, and no user may pose as the daemon.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/decide_internal.h"

#define NOW    1700000000
#define FIELDS 64
#define USER   1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum limit_guard guards[] = {GUARD_AUTO, GUARD_SOFT, GUARD_OVERTIME, GUARD_RAISE};
static const struct store_estimate estimates[] = {
    {.candidate = "fast", .e = {192, 185, 200, ESTIMATE_BLEND, 1}},
    {.candidate = "slow", .e = {460, 440, 480, ESTIMATE_BLEND, 1}},
};

static void fill(struct store_lookup *out)
{
	memset(out, 0, sizeof(*out));
	out->program.uid = USER;
	out->program.state = PROGRAM_READY;
	out->n_estimates = 2;
	memcpy(out->estimates, estimates, sizeof(estimates));
}

static bool is_known; /* the program has estimates of its own; else its kin has */

static int lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	(void)s;
	(void)err;
	if (!identity_key_valid(key))
		__builtin_trap();
	if (is_known)
		fill(out);
	return is_known;
}

static int family(struct store *s, const char *name, const char *kin, struct store_family *out, size_t max, struct errbuf *err)
{
	(void)s;
	(void)err;
	for (size_t i = 0; i < 2 && i < max; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		snprintf(out[i].family, sizeof(out[i].family), "%s", name);
		snprintf(out[i].kin, sizeof(out[i].kin), "%s", kin);
		strcpy(out[i].candidate, estimates[i].candidate);
		out[i].e = estimates[i].e;
		out[i].programs = 3;
		strcpy(out[i].ranges, "1-100");
	}
	return 2;
}

static int array_runs(struct store *s, const char *key, struct store_array_run *out, size_t max, bool *all, struct errbuf *err)
{
	(void)s;
	(void)key;
	(void)err;
	*all = true;
	for (size_t i = 0; i < 4 && i < max; i++)
		out[i] = (struct store_array_run){"fast", {(uint32_t)i, 100, false}};
	return max < 4 ? (int)max : 4;
}

static const struct decide_reads reads = {.lookup = lookup, .family = family, .array_runs = array_runs};

struct fields {
	struct decide_input in;
	char *args[FIELDS], *env[FIELDS];
	uint64_t numbers[16];
	unsigned n_numbers;
};

static void put_field(struct fields *f, char *text)
{
	switch (*text) {
	case 's': f->in.script = text + 1; break;
	case 'a': f->args[f->in.n_args++] = text + 1; break;
	case 'A': f->args[f->in.n_args++] = NULL; break; /* Slurm's protocol has them */
	case 'e': f->env[f->in.n_spank_env++] = text + 1; break;
	case 'E': f->env[f->in.n_spank_env++] = NULL; break;
	case 'w': f->in.work_dir = text + 1; break;
	case 'p': f->in.partition = text + 1; break;
	case 'f': f->in.features = text + 1; break;
	case 'c': f->in.admin_comment = text + 1; break;
	case 'i': f->in.array_inx = text + 1; break;
	case 'o': f->in.account = text + 1; break;
	case 'q': f->in.qos = text + 1; break;
	case 'n':
		if (f->n_numbers < 16)
			f->numbers[f->n_numbers++] = strtoull(text + 1, NULL, 0);
		break;
	}
}

static void put_numbers(struct fields *f)
{
	const uint64_t *n = f->numbers;

	f->in.uid = USER;
	f->in.time_limit_min = f->n_numbers > 0 ? (uint32_t)n[0] : DURATION_UNSET;
	f->in.time_min_min = f->n_numbers > 1 ? (uint32_t)n[1] : DURATION_UNSET;
	f->in.layout = (struct identity_layout){.nodes_min = (uint32_t)n[2], .nodes_max = (uint32_t)n[3], .tasks = (uint32_t)n[4],
						.tasks_per_node = (uint32_t)n[5], .cpus_per_task = (uint32_t)n[6], .cpus_min = (uint32_t)n[7]};
	f->in.warn_time_s = (uint16_t)n[8];
	f->in.memory = n[9];
	f->in.watches_limit = n[10] & 1;
	f->in.deadline = n[10] & 2;
	f->in.het = n[10] & 4;
	f->in.pinned = n[10] & 8;
	f->in.exclusive = n[10] & 16;
	f->in.more = n[10] & 32;
	f->in.later = n[10] & 64;
	f->in.test_only = n[10] & 128;
	f->in.array = f->in.array_inx != NULL;
	f->in.args = f->args;
	f->in.spank_env = f->env;
	f->in.now = NOW;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static void check(const struct fields *f, const struct decision *d)
{
	const uint32_t asked = f->in.time_limit_min;
	char text[COMMENT_TEXT_MAX];
	struct job_comment back;

	if (!is_text(d->message, sizeof(d->message)) || !is_text(d->partition, sizeof(d->partition)) ||
	    !is_text(d->features, sizeof(d->features)) || d->act == ACT_PROBE)
		__builtin_trap();
	if (d->wish.limit_min != DURATION_UNSET && (d->wish.limit_min < 1 || (asked != DURATION_UNSET && d->wish.limit_min >= asked)))
		__builtin_trap();
	if (d->set_partition && (d->mode != MODE_PLACE || f->in.pinned || (strcmp(d->partition, "fast") && strcmp(d->partition, "slow"))))
		__builtin_trap();
	if (d->act == ACT_NONE) {
		if (d->mode != MODE_OFF || d->trace || d->set_partition || d->set_features || d->message[0])
			__builtin_trap();
		return;
	}
	if (comment_format(&d->comment, text, sizeof(text)) <= 0 || comment_parse(text, &back) != 0 || back.act != d->act ||
	    strcmp(back.key, d->comment.key))
		__builtin_trap();
}

static void decide_all(const struct fields *f)
{
	static struct place_partition doors[] = {
	    {"fast", true, false, 1, 4, 4, "", "", "", "", "", true, 30, 1440, 60},
	    {"slow", true, false, 1, 4, 4, "users", "", "", "high", "", false, DURATION_UNSET, 600, 0}};
	static struct place_shape shape = {.nodes = 2, .tasks = 4, .memory = 1000};
	static struct place_wait waits[2];
	static struct decide_memo memo;
	static struct decide_load load;
	const struct places places = {.partitions = doors, .n_partitions = 2, .shapes = &shape, .n_shapes = 1, .waits = waits, .n_waits = 2};
	struct precedent_conf conf = {.margin = 0.15, .min_limit_min = 1, .heartbeat_timeout_s = 120, .n_candidates = 2,
				      .candidates = {{"fast", "fast", ""}, {"slow", "slow", ""}}};
	struct decide_source src = {.reads = &reads, .heartbeat = NOW - 5, .memo = &memo, .places = &places, .load = &load};
	static struct decide_room *room;
	struct decision d;
	struct errbuf err;

	room = room ? room : decide_room_create();
	src.room = room;
	shape.id = place_shape_id(&shape);
	for (int i = 0; i < 2; i++) {
		waits[i] = (struct place_wait){.shape = shape.id, .limit_min = 15, .asked = NOW - 10, .answer = PLACE_KNOWN, .wait_s = 10};
		strcpy(waits[i].candidate, estimates[i].candidate);
	}
	for (unsigned i = 0; i < 16; i++) {
		conf.mode = i & 1 ? MODE_PLACE : MODE_LIMIT;
		conf.limit_guard = guards[i >> 1 & 3];
		src.soft_works = i & 2;
		is_known = i & 8;
		memset(&d, 0x5a, sizeof(d));
		if (decide(&f->in, &conf, &src, &d, &err) < 0)
			__builtin_trap(); /* no read has failed */
		check(f, &d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fields f = {.n_numbers = 0};
	char *text = malloc(size + 1), *field, *rest = text;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (unsigned i = 0; i < FIELDS && (field = strsep(&rest, "\036")); i++)
		put_field(&f, field);
	put_numbers(&f);
	decide_all(&f);
	free(text);
	return 0;
}
