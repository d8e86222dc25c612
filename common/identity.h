/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is this job? The exact key says "the same job again"; the family key says "the same program with other
 * numbers". Both are 128-bit XXH3 over length-prefixed fields, written as 32 lower-case hex digits, and hold
 * the user id: nobody's predictions depend on what another user did. The index of a job array is part of
 * neither (predictor/estimate/array.h). The script is normalised only to be hashed: the shebang stays; #SBATCH lines, comments, blank
 * lines and trailing blanks go, except inside here-documents and strings that span lines. Time is linear in
 * the script and bounded: a script above IDENTITY_NORMALISE_MAX, or one that is not for a POSIX-like shell,
 * is hashed as it is (less its #SBATCH head).
 */
#ifndef PRECEDENT_COMMON_IDENTITY_H
#define PRECEDENT_COMMON_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDENTITY_KEY_LEN	 32
#define IDENTITY_VARS_MAX	 64
#define IDENTITY_OWN_VARS	 4 /* of the vars, those that are no numbers of script and arguments */
#define IDENTITY_NORMALISE_MAX	 (64 * 1024)
#define IDENTITY_FINGERPRINT_VAR "PRECEDENT_FINGERPRINT"

/* As submitted; 0 where the user said nothing. */
struct identity_layout {
	uint32_t nodes_min, nodes_max;
	uint32_t tasks;
	uint32_t tasks_per_node;
	uint32_t cpus_per_task;
	uint32_t cpus_min;
};

struct identity_input {
	uint32_t uid;
	const char *script; /* NUL-terminated */
	char *const *args;  /* of the script, without its name */
	size_t n_args;
	const char *fingerprint; /* as in common/fingerprint.h, or NULL; anything malformed counts as NULL */
	const char *work_dir;	 /* joins the key when there is no fingerprint */
	struct identity_layout layout;
};

struct identity {
	char key[IDENTITY_KEY_LEN + 1];
	char family[IDENTITY_KEY_LEN + 1];
	/* The same program and input files, of any layout: its members differ in nothing but that, numbers in script and
	 * arguments, and bulk data files. */
	char kin[IDENTITY_KEY_LEN + 1];
	/*
	 * What tells them apart, the first IDENTITY_VARS_MAX: how many ranks, nodes and CPUs per rank were asked for (what was
	 * not said is one of each, a rank per node), the bytes in bulk data files, then the numbers taken out of arguments and
	 * script, in order.
	 */
	unsigned n_vars;
	double vars[IDENTITY_VARS_MAX];
};

void identity_compute(const struct identity_input *in, struct identity *out);
/*
 * The same, for one that computes many: with its room in memory that is touched again and again instead of on the stack, and with
 * what the last scripts came to. A burst of submissions is mostly one script with other arguments, whose lines are then not looked at
 * again. Not locked. NULL is legal: no room.
 */
struct identity_room;
struct identity_room *identity_room_create(void); /* NULL: out of memory */
void identity_room_destroy(struct identity_room *room); /* NULL is legal */
void identity_compute_within(struct identity_room *room, const struct identity_input *in, struct identity *out);
/* These numbers as text, "4,1,1,0,1000,0.5,3"; "" when there are more than are kept, or too many for size. Two programs of a kin
 * have as many. */
void identity_vars_format(const struct identity *id, char *out, size_t size);
/* 32 lower-case hex digits and nothing else? */
bool identity_key_valid(const char *key);
/* Of the form in common/fingerprint.h? */
bool identity_fingerprint_valid(const char *fingerprint);

#endif
