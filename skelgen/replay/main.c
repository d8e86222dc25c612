/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent-replay: runs skel.ops, the operations of a skeleton, where there is no compiler. It takes the skeleton's own
 * options and writes the same result. One is built for each MPI library.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skelgen/replay/replay.h"

static void help(void)
{
	puts("Usage: mpirun -n RANKS precedent-replay DIR/skel.ops [--synchronous] [OPTION OF THE SKELETON...]\n\n"
	     "Runs the skeleton that 'precedent skeleton' wrote to DIR, without compiling it.\n\n"
	     "  --synchronous       every standard send waits for its receive\n"
	     "  --calibrate FILE    measure this machine (the one that was traced) and keep the constants in FILE\n"
	     "  --calibration FILE  use the constants of the machine that was traced\n"
	     "  --result FILE       write the result there instead of printing it\n"
	     "  --empty-loop        computation is an empty loop, to compare with\n"
	     "  --scratch DIR       make calls on files, on files in DIR that are removed\n"
	     "  -h, --help          this text");
}

/* The whole file, malloced; NULL with the reason. */
static uint64_t *file_read(const char *path, uint64_t *n_word, const char **why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t *word = NULL;
	struct stat st;
	size_t at = 0;

	*why = NULL;
	if (fd < 0 || fstat(fd, &st) < 0)
		*why = strerror(errno);
	else if (!S_ISREG(st.st_mode) || st.st_size % 8 != 0 || st.st_size == 0 ||
		 (uint64_t)st.st_size > 8 * OPS_MAX_WORDS)
		*why = "it is not the operations of a skeleton";
	else if ((word = malloc((size_t)st.st_size)) == NULL)
		*why = "there is no memory for it";
	while (*why == NULL && at < (size_t)st.st_size) {
		ssize_t n = read(fd, (char *)word + at, (size_t)st.st_size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			*why = n < 0 ? strerror(errno) : "it is cut short";
		else
			at += (size_t)n;
	}
	*n_word = at / 8;
	if (fd >= 0)
		close(fd);
	if (*why != NULL) {
		free(word);
		return NULL;
	}
	return word;
}

static void program_fill(struct replay *r)
{
	struct skel_program *p = &r->program;
	const uint64_t *field = r->file.word + OPS_H_FIELDS;

#define FILL_INT(name)  p->name = (__typeof__(p->name))field[OPS_F_##name];
#define FILL_REAL(name) memcpy(&p->name, &field[OPS_F_##name], sizeof p->name);
	OPS_PROGRAM(FILL_INT, FILL_REAL)
	p->name = r->file.name;
	p->data = r->file.data;
	p->data_end = r->file.data + r->file.n_data;
	p->data_hash = r->file.n_data > 7 ? r->file.data[7] : 0;
}

/* Take the option that is ours out of the others. */
static int synchronous_take(int *argc, char **argv)
{
	int found = 0, to = 1;

	for (int i = 1; i < *argc; i++)
		if (strcmp(argv[i], "--synchronous") == 0)
			found = 1;
		else
			argv[to++] = argv[i];
	*argc = to;
	argv[to] = NULL;
	return found;
}

static int replay(struct replay *r, int argc, char **argv, const char *path, const char *why)
{
	static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
				     MPI_THREAD_MULTIPLE};
	uint64_t level = why == NULL ? r->file.word[OPS_H_FIELDS + OPS_F_thread_level] : 0;
	int synchronous = synchronous_take(&argc, argv), rank, size, provided;

	skel_start();
	if (level > 0)
		MPI_Init_thread(&argc, &argv, levels[level], &provided);
	else
		MPI_Init(&argc, &argv);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	if (why != NULL) {
		if (rank == 0)
			fprintf(stderr, "precedent-replay: %s: %s\n", path, why);
		MPI_Finalize();
		return 2;
	}
	replay_build(r, rank, size, synchronous);
	skel_begin(argc, argv, &r->program);
	do
		replay_run(r);
	while (skel_again());
	skel_end();
	MPI_Finalize();
	return skel_status();
}

int main(int argc, char **argv)
{
	struct replay r = {.n_node = 0};
	const char *path = argc > 1 ? argv[1] : "--help", *why;
	uint64_t *word, n_word;
	int rc;

	if (strcmp(path, "--help") == 0 || strcmp(path, "-h") == 0) {
		help();
		return argc > 1 ? 0 : 2;
	}
	word = file_read(path, &n_word, &why);
	if (word != NULL && ops_check(word, n_word, &r.file, &why) != 0) {
		free(word);
		word = NULL;
	}
	if (word != NULL)
		program_fill(&r);
	/* The skeleton's own arguments, without the file. */
	argv[1] = argv[0];
	rc = replay(&r, argc - 1, argv + 1, path, why);
	if (word != NULL)
		replay_free(&r);
	return rc;
}
