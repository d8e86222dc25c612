/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the data that slurmctld's plugin and the daemon read from a submission: the script (identity), the
 * fingerprint, the admin comment and the indexes of an array. The same input must give the same key. A parsed
 * comment must survive writing. An index reported as not run must be none of the indexes that have run.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/comment.h"
#include "common/identity.h"
#include "plugin/decide_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void comment(const char *text)
{
	char out[COMMENT_TEXT_MAX];
	struct job_comment c, back;

	if (comment_parse(text, &c) != 0 || comment_format(&c, out, sizeof(out)) < 0)
		return;
	if (comment_parse(out, &back) != 0 || strcmp(c.key, back.key) || c.act != back.act)
		__builtin_trap();
}

static void identity(char *text)
{
	char *args[] = {text};
	struct identity_input in = {.uid = 1, .script = text, .args = args, .n_args = 1, .fingerprint = text,
				    .work_dir = text};
	static struct identity_room *room;
	struct identity a, b, kept;

	if (!room)
		room = identity_room_create();
	identity_compute(&in, &a);
	identity_compute(&in, &b);
	for (int i = 0; i < 2; i++) { /* the second time from the memory of scripts */
		identity_compute_within(room, &in, &kept);
		if (strcmp(a.key, kept.key) || strcmp(a.family, kept.family) || strcmp(a.kin, kept.kin) ||
		    a.text != kept.text || a.pattern != kept.pattern || a.n_vars != kept.n_vars ||
		    memcmp(a.vars, kept.vars, a.n_vars * sizeof(a.vars[0])))
			__builtin_trap();
	}
	if (strcmp(a.key, b.key) || strcmp(a.family, b.family) || !identity_key_valid(a.key) || a.n_vars > IDENTITY_VARS_MAX)
		__builtin_trap();
}

static void indexes(const char *text)
{
	static const struct store_array_run runs[] = {{"a", {0, 1, false}}, {"a", {1, 1, false}}, {"b", {2, 1, false}},
						      {"a", {3, 1, true}},  {"b", {7, 1, false}}};
	uint32_t unseen = 0;

	if (decide_array_asked(text, runs, sizeof(runs) / sizeof(runs[0]), &unseen) != ASKED_UNSEEN)
		return;
	if (unseen <= 2 || unseen == 7)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	comment(text);
	identity(text);
	indexes(text);
	free(text);
	return 0;
}
