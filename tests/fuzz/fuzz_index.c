/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the index of the store. The input either changes a valid file or is itself the file. A change is a new
 * length (first byte) and overwritten bytes (3 bytes each: two of position, one value). An index that opens must
 * answer, and must hold all entries that are added. A copy of the index must do the same.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "predictor/store/index_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good)
{
	if (!good)
		abort();
}

static void file_make(const char *path, const uint8_t *data, size_t size)
{
	struct index_build *b = index_build_create(100);
	uint64_t id;
	int fd;

	must(b != NULL);
	index_build_add(b, 1, "a", 1);
	must(index_build_publish(b, path, 7, 0600, getuid(), getgid(), &id, NULL) == 0);
	index_build_destroy(b);
	fd = open(path, O_RDWR);
	must(fd >= 0);
	if (data[0] & 1) {
		must(pwrite(fd, data, size, 0) == (ssize_t)size);
	} else {
		for (size_t i = 1; i + 3 <= size; i += 3)
			must(pwrite(fd, data + i + 2, 1, (data[i] << 8 | data[i + 1]) % 1024) == 1);
	}
	if (data[0] & 2)
		must(ftruncate(fd, data[0] * 4) == 0);
	close(fd);
}

/* Open the index with a copy. */
static struct index_file *copying(const char *path)
{
	struct index_file *f;

	must(index_file_open(path, getuid(), false, &f, NULL) == 0);
	index_file_remember(f);
	index_file_look(f);
	return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	struct index_file *f, *reader;
	int64_t beat;

	if (!size)
		return 0;
	if (!path[0])
		snprintf(path, sizeof(path), "/tmp/precedent-fuzz-index.%d", (int)getpid());
	file_make(path, data, size);
	if (index_file_open(path, getuid(), true, &f, NULL) == 0) {
		double full = index_file_fullness(f);

		must(full >= 0 && full <= 1);
		reader = copying(path);
		for (size_t i = 0; i < size; i++) /* the same from the copy */
			must(index_file_may_hold(reader, data[i] % 3, (const char *)data, i) ==
			     index_file_may_hold(f, data[i] % 3, (const char *)data, i));
		for (size_t i = 0; i < size; i++) {
			int added = index_file_add(f, data[i] % 3, (const char *)data, i);

			must(added < 0 || index_file_may_hold(f, data[i] % 3, (const char *)data, i));
			index_file_look(reader);
			must(added < 0 || index_file_may_hold(reader, data[i] % 3, (const char *)data, i));
			if (i % 4 == 3)
				index_file_remember(reader);
		}
		if (index_file_beat_set(f, -5) == 0)
			must(index_file_beat(f, &beat) && beat == -5);
		index_file_remember(reader);
		if (index_file_fill(f) == 0) {
			index_file_look(reader);
			must(index_file_may_hold(f, 2, "c", 1) && index_file_may_hold(reader, 2, "c", 1));
		}
		index_file_close(reader);
		index_file_close(f);
	}
	unlink(path);
	return 0;
}
