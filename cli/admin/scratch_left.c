/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for files by their names: see scratch_left.h. */
#include "cli/admin/scratch_left.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

unsigned scratch_left(const char *dir, long seconds, double *bytes)
{
	DIR *list = opendir(dir);
	const struct dirent *e;
	struct stat st;
	unsigned n = 0;

	*bytes = 0;
	while (list != NULL && (e = readdir(list)) != NULL) {
		if (strncmp(e->d_name, SKEL_SCRATCH_PREFIX, strlen(SKEL_SCRATCH_PREFIX)) != 0 ||
		    fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
		    time(NULL) - st.st_mtime <= seconds)
			continue;
		n++;
		*bytes += 512.0 * (double)st.st_blocks;
	}
	if (list != NULL)
		closedir(list);
	return n;
}
