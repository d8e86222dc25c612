/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays: a pointer and a capacity in the caller's own structure.
 *
 *	if (ARRAY_ROOM(list->item, list->cap, list->n + 1) != 0)
 *		return -1;
 *	list->item[list->n++] = item;
 */
#ifndef PRECEDENT_COMMON_ARRAY_H
#define PRECEDENT_COMMON_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The capacity that follows `cap` where `want` elements of `size` bytes are needed: at least double, so that n
 * additions cost O(n). Returns 0 if the array would have more than `most` elements or more bytes than memory. */
static inline size_t array_next_cap(size_t cap, size_t want, size_t size, size_t most)
{
	size_t next = cap > most / 2 ? most : 2 * cap;

	next = next < 16 ? 16 : next;
	next = next < want ? want : next;
	next = next > most ? most : next;
	return next < want || next > PTRDIFF_MAX / size ? 0 : next;
}

/* Make room for `want` elements in `array`, which has room for `cap`: an integer of any type. Doubles as it grows.
 * Returns 0 on success, -1 if memory runs out or `cap` cannot hold the number; then the array is as before. */
#define ARRAY_ROOM(array, cap, want)                                                                                      \
	({                                                                                                                \
		const size_t array_want = (want);                                                                         \
		int array_rc = 0;                                                                                         \
		if (array_want > (size_t)(cap)) {                                                                         \
			/* Half of the type's range fits signed and unsigned types alike. */                              \
			const size_t array_most = SIZE_MAX >> (8 * (sizeof(size_t) - sizeof(cap)) + 1);                   \
			const size_t array_cap = array_next_cap((size_t)(cap), array_want, sizeof *(array), array_most);  \
			__typeof__(array) array_new = array_cap ? realloc((array), array_cap * sizeof *(array)) : NULL;   \
			if (array_new) {                                                                                  \
				(array) = array_new;                                                                      \
				(cap) = (__typeof__(cap))array_cap;                                                       \
			} else {                                                                                          \
				array_rc = -1;                                                                            \
			}                                                                                                 \
		}                                                                                                         \
		array_rc;                                                                                                 \
	})

/* The same, and the new elements are zeroed. */
#define ARRAY_ROOM_ZEROED(array, cap, want)                                                                               \
	({                                                                                                                \
		const size_t array_old = (size_t)(cap);                                                                   \
		int array_zeroed_rc = ARRAY_ROOM(array, cap, want);                                                       \
		if (array_zeroed_rc == 0 && (size_t)(cap) > array_old)                                                    \
			memset((array) + array_old, 0, ((size_t)(cap)-array_old) * sizeof *(array));                      \
		array_zeroed_rc;                                                                                          \
	})

#endif
