/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which names the store cannot hold, as a file: see index_file.h. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/fd.h"
#include "predictor/store/index_file.h"

#define MAGIC	    "PRECIDX2"
#define BITS	    480 /* of a block */
#define SUM_AT	    60
#define HASHES	    6
#define NAMES_BLOCK 30 /* 16 bits for a name: one look in 500 in vain */
#define BEAT_AT	    64
#define CHANGES_AT  80
#define SAMPLE	    64 /* blocks */
#define BOOT_ID	    "/proc/sys/kernel/random/boot_id"

struct index_file {
	int fd;
	uint64_t id, blocks;
	/* Of a reader: the blocks as they were at that generation; NULL: not kept. */
	unsigned char *copy;
	uint64_t copied_at;
	bool copied; /* all of them */
	bool fresh;  /* no look has found another generation since index_file_remember */
	bool counts; /* at the last look */
};

struct index_build {
	uint64_t blocks;
	unsigned char *data;
};

/* ---- blocks ---- */

static void store64(unsigned char *at, uint64_t v)
{
	v = htole64(v);
	memcpy(at, &v, sizeof(v));
}

static uint64_t load64(const unsigned char *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return le64toh(v);
}

static uint32_t block_sum(const unsigned char *block, uint64_t id, uint64_t number)
{
	return htole32((uint32_t)XXH3_64bits_withSeed(block, SUM_AT, id + number));
}

static void block_seal(unsigned char *block, uint64_t id, uint64_t number)
{
	uint32_t sum = block_sum(block, id, number);

	memcpy(block + SUM_AT, &sum, sizeof(sum));
}

static bool block_sound(const unsigned char *block, uint64_t id, uint64_t number)
{
	uint32_t sum = block_sum(block, id, number);

	return !memcmp(block + SUM_AT, &sum, sizeof(sum));
}

/* Where a name is: the block, and HASHES bits in it. */
struct place {
	uint64_t block;
	uint16_t bit[HASHES];
};

static struct place place_of(unsigned kind, const char *name, size_t len, uint64_t blocks)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(name, len, kind);
	struct place p = {.block = h.high64 % blocks};
	uint64_t x = h.low64;

	/* Ten bits each of 64: scaled to the bits of a block. */
	for (int i = 0; i < HASHES; i++, x >>= 10)
		p.bit[i] = (uint16_t)((x & 1023) * BITS >> 10);
	return p;
}

static bool block_has(const unsigned char *block, const struct place *p)
{
	for (int i = 0; i < HASHES; i++)
		if (!(block[p->bit[i] / 8] >> p->bit[i] % 8 & 1))
			return false;
	return true;
}

static void block_put(unsigned char *block, const struct place *p)
{
	for (int i = 0; i < HASHES; i++)
		block[p->bit[i] / 8] |= (unsigned char)(1u << p->bit[i] % 8);
}

/* ---- the machine ---- */

/* 0: not known. */
static uint64_t boot_hash(void)
{
	char text[64];
	int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 0 ? XXH3_64bits(text, (size_t)n) | 1 : 0;
}

static int fail(const char *path, struct errbuf *err)
{
	return err_set(err, "%s: %s", path, strerror(errno));
}

/* ---- building ---- */

struct index_build *index_build_create(size_t names)
{
	struct index_build *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->blocks = names / NAMES_BLOCK + 1;
	b->data = b->blocks <= INDEX_BLOCKS_MAX ? calloc(b->blocks, INDEX_BLOCK) : NULL;
	if (!b->data) {
		free(b);
		return NULL;
	}
	return b;
}

void index_build_destroy(struct index_build *b)
{
	if (!b)
		return;
	free(b->data);
	free(b);
}

void index_build_add(struct index_build *b, unsigned kind, const char *name, size_t len)
{
	struct place p = place_of(kind, name, len, b->blocks);

	block_put(b->data + p.block * INDEX_BLOCK, &p);
}

/* ---- numbers that change, each with its sum: half written it is none ---- */

static void number_seal(unsigned char out[16], uint64_t id, uint64_t number)
{
	store64(out, number);
	store64(out + 8, XXH3_64bits_withSeed(out, 8, id));
}

static bool number_read(const struct index_file *f, off_t at, uint64_t *number)
{
	unsigned char b[16];

	if (pread(f->fd, b, sizeof(b), at) != sizeof(b) || load64(b + 8) != XXH3_64bits_withSeed(b, 8, f->id))
		return false;
	*number = load64(b);
	return true;
}

static int number_write(const struct index_file *f, off_t at, uint64_t number)
{
	unsigned char b[16];

	number_seal(b, f->id, number);
	return pwrite(f->fd, b, sizeof(b), at) == sizeof(b) ? 0 : -1;
}

/* ---- building, the file ---- */

static int build_write(struct index_build *b, int fd, uint64_t id, uint64_t boot, int64_t beat)
{
	unsigned char header[INDEX_HEADER] = MAGIC;

	store64(header + 8, id);
	store64(header + 16, b->blocks);
	store64(header + 24, boot);
	store64(header + 56, XXH3_64bits(header, 56));
	number_seal(header + BEAT_AT, id, (uint64_t)beat);
	number_seal(header + CHANGES_AT, id, id);
	for (uint64_t i = 0; i < b->blocks; i++)
		block_seal(b->data + i * INDEX_BLOCK, id, i);
	return fd_write_all(fd, header, sizeof(header)) < 0 || fd_write_all(fd, b->data, b->blocks * INDEX_BLOCK) < 0 ? -1 : 0;
}

int index_build_publish(struct index_build *b, const char *path, int64_t beat, mode_t mode, uid_t uid, gid_t gid, uint64_t *id,
			struct errbuf *err)
{
	uint64_t boot = boot_hash();
	char tmp[4096];
	int fd, n = snprintf(tmp, sizeof(tmp), "%s.tmp", path);

	if (n < 0 || (size_t)n >= sizeof(tmp))
		return err_set(err, "%s: the name is too long", path);
	if (!boot || getrandom(id, sizeof(*id), 0) != sizeof(*id))
		return err_set(err, "%s: neither /proc nor random numbers are to be had", path);
	unlink(tmp); /* of one that was killed; the store's write lock keeps others away */
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(tmp, err);
	/* Only root may give it away, and only root needs to. */
	if (build_write(b, fd, *id, boot, beat) < 0 || (geteuid() == 0 && fchown(fd, uid, gid) < 0) || fchmod(fd, mode) < 0 ||
	    rename(tmp, path) < 0) {
		fail(tmp, err);
		unlink(tmp);
		close(fd);
		return -1;
	}
	close(fd);
	return 0;
}

/* ---- the file ---- */

static int header_read(struct index_file *f, const char *path, off_t size, struct errbuf *err)
{
	unsigned char h[INDEX_HEADER];

	if (pread(f->fd, h, sizeof(h), 0) != sizeof(h) || memcmp(h, MAGIC, 8) || load64(h + 56) != XXH3_64bits(h, 56))
		return err_set(err, "%s: is not an index of the store", path);
	f->id = load64(h + 8);
	f->blocks = load64(h + 16);
	if (!f->blocks || f->blocks > INDEX_BLOCKS_MAX || size != (off_t)(INDEX_HEADER + f->blocks * INDEX_BLOCK))
		return err_set(err, "%s: is not as long as it says", path);
	if (load64(h + 24) != boot_hash())
		return err_set(err, "%s: is older than the machine's last start", path);
	return 0;
}

int index_file_open(const char *path, uid_t owner, bool add, struct index_file **out, struct errbuf *err)
{
	struct index_file *f = calloc(1, sizeof(*f));
	struct stat st;

	*out = NULL;
	if (!f)
		return err_set(err, "%s: out of memory", path);
	/* Whoever put a FIFO there does not make us wait. */
	f->fd = open(path, (add ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st) < 0) {
		fail(path, err);
		goto fail;
	}
	if (!S_ISREG(st.st_mode) || (st.st_uid != owner && st.st_uid != 0) || st.st_mode & 022) {
		err_set(err, "%s: is not a file that only the store's owner may write", path);
		goto fail;
	}
	if (header_read(f, path, st.st_size, err) < 0)
		goto fail;
	*out = f;
	return 0;
fail:
	index_file_close(f);
	return -1;
}

void index_file_close(struct index_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f->copy);
	free(f);
}

uint64_t index_file_id(const struct index_file *f)
{
	return f->id;
}

static off_t offset_of(uint64_t block)
{
	return (off_t)(INDEX_HEADER + block * INDEX_BLOCK);
}

/* ---- looks ---- */

void index_file_remember(struct index_file *f)
{
	size_t size = f->blocks * INDEX_BLOCK;
	uint64_t generation;

	f->counts = false;
	/* Before the blocks: they have all that was there at that generation, or more. */
	f->fresh = size <= INDEX_MEMORY_MAX && number_read(f, CHANGES_AT, &generation);
	if (!f->fresh || (f->copied && f->copied_at == generation))
		return;
	if (!f->copy)
		f->copy = malloc(size);
	f->fresh = f->copied = f->copy && pread(f->fd, f->copy, size, offset_of(0)) == (ssize_t)size;
	f->copied_at = generation;
}

void index_file_look(struct index_file *f)
{
	uint64_t generation;

	/* Once it is old it stays so until it is made anew. */
	f->counts = f->fresh = f->fresh && number_read(f, CHANGES_AT, &generation) && generation == f->copied_at;
}

bool index_file_may_hold(const struct index_file *f, unsigned kind, const char *name, size_t len)
{
	struct place p = place_of(kind, name, len, f->blocks);
	unsigned char read[INDEX_BLOCK];
	const unsigned char *block = f->counts ? f->copy + p.block * INDEX_BLOCK : read;

	/* Read while it is written it may be half new: then its sum is wrong. */
	if (!f->counts && pread(f->fd, read, sizeof(read), offset_of(p.block)) != sizeof(read))
		return true;
	return block_has(block, &p) || !block_sound(block, f->id, p.block);
}

static int block_write(struct index_file *f, unsigned char *block, uint64_t number)
{
	block_seal(block, f->id, number);
	return pwrite(f->fd, block, INDEX_BLOCK, offset_of(number)) == INDEX_BLOCK ? 0 : -1;
}

/*
 * Invalidates all copies. The new generation is a hash of the old one and of the added name. So a file that was put back to an
 * older state never reaches a generation that it had with other names.
 */
static int change(const struct index_file *f, const void *added, size_t len)
{
	uint64_t generation = 0;

	number_read(f, CHANGES_AT, &generation); /* a damaged one has no copy that counts */
	return number_write(f, CHANGES_AT, XXH3_64bits_withSeed(added, len, generation + 1));
}

int index_file_add(struct index_file *f, unsigned kind, const char *name, size_t len)
{
	struct place p = place_of(kind, name, len, f->blocks);
	unsigned char block[INDEX_BLOCK];
	int rv = -1;

	if (pread(f->fd, block, sizeof(block), offset_of(p.block)) == sizeof(block)) {
		bool sound = block_sound(block, f->id, p.block);

		if (sound && block_has(block, &p))
			return 0;
		if (!sound)
			memset(block, 0xff, SUM_AT);
		block_put(block, &p);
		rv = block_write(f, block, p.block);
	}
	/* In any case: where the block could not be written the name is in no copy either. */
	return change(f, name, len) < 0 ? -1 : rv;
}

int index_file_fill(struct index_file *f)
{
	unsigned char block[INDEX_BLOCK];
	int rv = 0;

	memset(block, 0xff, sizeof(block));
	for (uint64_t i = 0; i < f->blocks && rv == 0; i++)
		rv = block_write(f, block, i);
	return change(f, "", 0) < 0 ? -1 : rv;
}

int index_file_beat_set(struct index_file *f, int64_t beat)
{
	return number_write(f, BEAT_AT, (uint64_t)beat);
}

bool index_file_beat(const struct index_file *f, int64_t *beat)
{
	uint64_t number;

	if (!number_read(f, BEAT_AT, &number))
		return false;
	*beat = (int64_t)number;
	return true;
}

double index_file_fullness(const struct index_file *f)
{
	unsigned char blocks[SAMPLE][INDEX_BLOCK];
	ssize_t n = pread(f->fd, blocks, sizeof(blocks), offset_of(0));
	unsigned set = 0, read = n > 0 ? (unsigned)n / INDEX_BLOCK : 0;

	if (!read || (read < SAMPLE && read < f->blocks))
		return 1;
	for (unsigned i = 0; i < read; i++) {
		bool sound = block_sound(blocks[i], f->id, i);

		set += sound ? 0 : BITS;
		for (unsigned j = 0; sound && j < SUM_AT; j++)
			set += (unsigned)__builtin_popcount(blocks[i][j]);
	}
	return (double)set / (read * BITS);
}
