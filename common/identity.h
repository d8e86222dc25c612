/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The identity of a job. The exact key identifies repetitions of the same job. The family key identifies jobs with
 * the same program and other numbers. Both are 128-bit XXH3 hashes over length-prefixed fields, written as 32
 * lower-case hex digits. Both include the user id, so predictions never depend on other users' jobs. The index of a
 * job array counts in neither key (predictor/estimate/array.h).
 *
 * Scripts are normalised before hashing: #SBATCH lines, comments, blank lines and trailing blanks are removed. The
 * shebang, here-documents and strings that span lines are kept. Time is linear in the script and bounded. A script
 * above IDENTITY_NORMALISE_MAX, or for another shell, is hashed unchanged but for its #SBATCH head. Arguments above
 * IDENTITY_NORMALISE_MAX in total are hashed unchanged from the one that exceeds it. Names that a workflow tool made
 * up are left out (common/made_up.h): from the exact key only if there is a fingerprint.
 */
#ifndef PRECEDENT_COMMON_IDENTITY_H
#define PRECEDENT_COMMON_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define IDENTITY_KEY_LEN	 32
#define IDENTITY_VARS_MAX	 64
#define IDENTITY_OWN_VARS	 4 /* number of vars that do not come from script and arguments */
#define IDENTITY_NORMALISE_MAX	 (64 * 1024)
#define IDENTITY_FINGERPRINT_VAR "PRECEDENT_FINGERPRINT"

/* As submitted; 0: not given. */
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
	char *const *args;  /* arguments of the script, without its name */
	size_t n_args;
	const char *fingerprint; /* as in common/fingerprint.h, or NULL; malformed ones are ignored */
	const char *work_dir;	 /* counts if there is no fingerprint */
	struct identity_layout layout;
};

struct identity {
	char key[IDENTITY_KEY_LEN + 1];
	char family[IDENTITY_KEY_LEN + 1];
	/* A kin: jobs with the same program and input files. They may differ in layout, in numbers in script and
	 * arguments, and in bulk data files. */
	char kin[IDENTITY_KEY_LEN + 1];
	/*
	 * The numbers by which members of the kin differ; the first IDENTITY_VARS_MAX are stored. First come ranks,
	 * nodes and CPUs per rank as requested (defaults: one, and one rank per node) and the bytes of bulk data
	 * files. Then come the numbers from arguments and script, in order.
	 */
	unsigned n_vars;
	double vars[IDENTITY_VARS_MAX];
	/*
	 * Hashes of user, script and arguments alone. Names that a program made up (common/made_up.h) do not count.
	 * Files, directory and layout do not count either, so both hashes can be computed from accounting.
	 *
	 * text: the stored numbers count. Runs with the same text are the same script with the same numbers.
	 *
	 * pattern: neither numbers nor words that may be made up count. Runs with the same pattern are the same script
	 * with other numbers or names.
	 */
	uint64_t text, pattern;
};

void identity_compute(const struct identity_input *in, struct identity *out);
/*
 * Working memory for many calls. It replaces memory on the stack and remembers the last scripts. Submissions in a
 * burst mostly share a script, which is then normalised only once. Not locked. NULL is allowed.
 */
struct identity_room;
struct identity_room *identity_room_create(void); /* NULL if memory runs out */
void identity_room_destroy(struct identity_room *room); /* NULL is legal */
void identity_compute_within(struct identity_room *room, const struct identity_input *in, struct identity *out);
/* Write the vars as text, "4,1,1,0,1000,0.5,3". Writes "" if there are more than IDENTITY_VARS_MAX, or if they do
 * not fit. All members of a kin have the same number of vars. */
void identity_vars_format(const struct identity *id, char *out, size_t size);
/* Is the key 32 lower-case hex digits? */
bool identity_key_valid(const char *key);
/* Hashes differ in the first digit as a rule. */
static inline bool identity_key_same(const char *a, const char *b)
{
	return *a == *b && !strcmp(a, b);
}
/* Has the text the form of common/fingerprint.h? */
bool identity_fingerprint_valid(const char *fingerprint);

#endif
