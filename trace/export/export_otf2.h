/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals that the files of the OTF2 exporter share: see export.h. Locations are ranks. Regions are functions; in an
 * imported trace, states. */
#ifndef PRECEDENT_TRACE_EXPORT_EXPORT_OTF2_H
#define PRECEDENT_TRACE_EXPORT_EXPORT_OTF2_H

#include <otf2/otf2.h>

#include "common/hash_table.h"
#include "trace/export/export_impl.h"
#include "trace/functions.h"

/* A communicator, once for all its ranks, with its number in OTF2. */
struct otf2_comm {
	bool inter, self;
	uint32_t ordinal;
	/* b: remote group of an intercommunicator. Members are borrowed from the trace. */
	struct trace_group a, b;
	uint32_t group;         /* number of its group; the remote group has the next number */
	uint64_t hash;
};

/* Ranks of MPI_COMM_WORLD that synchronise on a window. */
struct otf2_ranks {
	struct trace_group g;
	uint32_t number;
};

struct otf2_win {
	uint32_t comm, ordinal; /* comm: number in OTF2 */
};

struct otf2_strings {
	char **text;
	uint32_t n, cap;
};

struct otf2 {
	struct export x;
	OTF2_Archive *archive;
	struct otf2_comm *comm;
	uint32_t n_comm, cap_comm;
	struct hash_table known_comm;
	uint32_t n_group;      /* number of groups; group 0 holds the locations */
	struct otf2_ranks *ranks;
	uint32_t n_ranks, cap_ranks;
	struct otf2_win *win;
	uint32_t n_win, cap_win;
	struct otf2_lists *received; /* see export_otf2_writer.h */
	struct otf2_strings strings;
	struct {
		uint64_t hash;
		uint32_t string;
	} *site;               /* names of call sites, by their hash */
	uint32_t n_site, cap_site;
	uint16_t region[TRACE_FN_N]; /* region + 1 of each function, numbered by first use; 0: not used */
	uint16_t fn[TRACE_FN_N];     /* function of each region */
	uint16_t n_region;
	uint64_t *n_events;    /* events of each location */
	uint64_t end;          /* latest time that was written */
};

/* A rank's communicators as numbers in OTF2, malloced. Returns NULL if memory runs out. */
uint32_t *otf2_comms(struct otf2 *o, uint32_t rank, struct errbuf *err);
/* String number of a call site. Strings are written with the definitions. Returns OTF2_UNDEFINED_STRING if memory
 * runs out. */
uint32_t otf2_site(struct otf2 *o, const struct trace_defs *d, uint32_t sym);
/* Number of a window that ranks share. hint: likely position in the list. Returns UINT32_MAX if memory runs out. */
uint32_t otf2_window(struct otf2 *o, uint32_t hint, uint32_t comm, uint32_t ordinal);
/* A group of world ranks. Returns OTF2_UNDEFINED_GROUP if memory runs out. */
uint32_t otf2_group(struct otf2 *o, const uint32_t *rank, uint32_t n);
/* The region of a function. */
uint32_t otf2_region(struct otf2 *o, uint32_t fn);
int otf2_write_definitions(struct otf2 *o, struct errbuf *err);
void otf2_definitions_free(struct otf2 *o);

/* Write all events of a rank. */
int otf2_write_rank(struct otf2 *o, uint32_t rank, struct errbuf *err);

/* Write the spans and messages of an imported trace. */
int otf2_write_imported(struct otf2 *o, struct errbuf *err);

int otf2_check(OTF2_ErrorCode rc, const char *what, struct errbuf *err);

#define OTF2_SITE_ATTRIBUTE 0

#endif
