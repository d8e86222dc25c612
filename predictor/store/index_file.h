/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that tells of a name "not in the store" or "ask the store": a Bloom filter in blocks of 64 bytes, so that a look-up
 * reads one block (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters", 2007). Names are only ever
 * added. The file is read with pread and never mapped, because truncating a mapped file would end its readers by SIGBUS. A
 * reader may keep a copy, which is valid while the file's generation is unchanged.
 *
 * Integers are little-endian.
 *
 *   0    8  "PRECIDX2"
 *   8    8  id: a random number; the store names the id of its file (index.c)
 *   16   8  number of blocks, 1 to INDEX_BLOCKS_MAX
 *   24   8  hash of the machine's boot: nothing here is synced, so a file is void after a crash of the machine
 *   32  24  0
 *   56   8  XXH3 of the 56 bytes before
 *   64   8  beat: the last heartbeat in the store by a Precedent that knows this file
 *   72   8  XXH3 of these 8 bytes, seed: id
 *   80   8  generation: changes with the blocks; a hash of the generation before and of the added name
 *   88   8  XXH3 of these 8 bytes, seed: id
 *   96  32  0
 *   128 64  each block: 60 bytes of bits and 4 bytes of XXH3 of these, seed: id + number of the block
 *
 * The file has exactly that length. Any other content counts as "ask the store".
 */
#ifndef PRECEDENT_PREDICTOR_STORE_INDEX_FILE_H
#define PRECEDENT_PREDICTOR_STORE_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/errbuf.h"

#define INDEX_BLOCK	 64
#define INDEX_HEADER	 128
#define INDEX_BLOCKS_MAX (1u << 26)
#define INDEX_MEMORY_MAX (8u << 20) /* bytes of blocks that a reader keeps: two million programs have room in them */
#define INDEX_FILL_MAX	 0.4 /* share of bits set; above it one look in 150 or more is in vain */

/* ---- in memory, to be published as a whole ---- */

struct index_build;
/* Room for so many names. NULL: out of memory, or too many. */
struct index_build *index_build_create(size_t names);
void index_build_destroy(struct index_build *b); /* NULL is legal */
void index_build_add(struct index_build *b, unsigned kind, const char *name, size_t len);
/* Write it as `path` (beside and renamed; mode and owner as given, the owner where we may). *id: of the new file. */
int index_build_publish(struct index_build *b, const char *path, int64_t beat, mode_t mode, uid_t uid, gid_t gid, uint64_t *id,
			struct errbuf *err);

/* ---- the file ---- */

struct index_file;
/*
 * Open for reading, or for adding. Refuses what is no regular file of `owner` or root that nobody else may write, is of another
 * boot, or is not whole.
 */
int index_file_open(const char *path, uid_t owner, bool add, struct index_file **out, struct errbuf *err);
void index_file_close(struct index_file *f); /* NULL is legal */
uint64_t index_file_id(const struct index_file *f);
/* For a reader, now and then: have a copy of the blocks as they are. Reads them only when they have changed since the last one. */
void index_file_remember(struct index_file *f);
/* Begins a group of look-ups: the copy answers them if it is still valid. They see every name that was added before this call.
 * At most one system call. */
void index_file_look(struct index_file *f);
/* False: the name was not added before the last index_file_look. At most one system call. An unreadable block counts as full. */
bool index_file_may_hold(const struct index_file *f, unsigned kind, const char *name, size_t len);
/* One writer at a time: the store's write lock. A damaged block is made to hold everything. -1: it may lack the name now; who kept a
 * copy is made to look at the file where that can be done. */
int index_file_add(struct index_file *f, unsigned kind, const char *name, size_t len);
/* From now on it holds everything. */
int index_file_fill(struct index_file *f);
int index_file_beat_set(struct index_file *f, int64_t beat);
/* False: there is none that can be read. */
bool index_file_beat(const struct index_file *f, int64_t *beat);
/* Share of bits that are set, by its first blocks, of damaged ones all; 1 where it cannot be read. */
double index_file_fullness(const struct index_file *f);

#endif
