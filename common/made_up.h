/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that a program made up: temporary names, hashes of contents, UUIDs. Workflow tools write them into each script
 * that they generate, so that no two scripts are the same text.
 */
#ifndef PRECEDENT_COMMON_MADE_UP_H
#define PRECEDENT_COMMON_MADE_UP_H

#include <stddef.h>

#define MADE_UP_MARK "\001~" /* no longer than any made-up name */

/*
 * Copies text to out, with MADE_UP_MARK for each made-up name in a path, behind a slash:
 *
 * - names of Python's tempfile, Snakemake and mktemp: "tmpx8_w2k1q", "tmp.oaacgy3n", "tmp.Yc3bOp0kPz";
 *
 * - Cromwell's variables, without a slash: "out88e3f5a2=", "$err88e3f5a2";
 *
 * - UUIDs;
 *
 * - hashes: MADE_UP_HASH or more lower-case hex digits. The first two digits may be a folder of their own, as with
 *   Nextflow and git.
 *
 * Temporary names, variables and hashes have a letter: digits alone may be a date or a number.
 *
 * In a text with a made-up name, the order of a long option's quoted values does not count either: the values are
 * sorted. Python writes a set in another order each time. A value with a digit ends the set: numbers have an order.
 *
 * A folder with such a name may have other contents in each job. A fingerprint covers only the files there that the job
 * names.
 *
 * Returns the length. Returns 0 if the text has no made-up name, or half of `room` bytes or more; out is then undefined.
 */
size_t made_up_hide(const char *text, size_t len, char *out, size_t room);

/*
 * Find the next number, or word that may be made up, from *at on. Such words are:
 *
 * - UUIDs;
 *
 * - words of letters and digits that start with a digit;
 *
 * - words of MADE_UP_WORD letters and digits or more, with a digit.
 *
 * Many such words are not made up, so the result is for weak evidence alone. Returns the length, with the place in *at;
 * 0: there is none.
 */
size_t made_up_word(const char *text, size_t len, size_t *at);

#define MADE_UP_WORD 7 /* git abbreviates hashes to 7 digits; names of programs with digits are mostly shorter */

#define MADE_UP_HASH 24 /* 64-bit seeds have 16 digits, MD5 has 32, Nextflow's names have 30 behind their folder */

#endif
