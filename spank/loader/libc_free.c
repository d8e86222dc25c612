/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings and memory functions without a C library: see libc_free.h. */
#include "spank/loader/libc_free.h"

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);

void *memcpy(void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		/* volatile: keeps the compiler from calling memcpy */
		((volatile char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	if ((uintptr_t)to <= (uintptr_t)from)
		return memcpy(to, from, n);
	while (n--)
		((volatile char *)to)[n] = ((const char *)from)[n];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((volatile char *)to)[i] = (char)c;
	return to;
}

size_t free_length(const char *s)
{
	size_t n = 0;

	while (((const volatile char *)s)[n])
		n++;
	return n;
}

bool free_equal(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

bool free_begins(const char *s, const char *begin)
{
	while (*begin && *s == *begin) {
		s++;
		begin++;
	}
	return !*begin;
}

bool free_ends(const char *s, const char *end)
{
	size_t n = free_length(s), m = free_length(end);

	return n >= m && free_equal(s + n - m, end);
}

const char *free_find(const char *s, const char *what)
{
	for (; *s; s++)
		if (free_begins(s, what))
			return s;
	return NULL;
}

const char *free_base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

bool free_join(char *out, size_t size, const char *a, size_t len, const char *b)
{
	size_t n = free_length(b);

	if (len + n >= size)
		return false;
	memcpy(out, a, len);
	memcpy(out + len, b, n + 1);
	return true;
}

void free_say(const char *a, const char *b, const char *c)
{
	const char *text[] = {a, b, c};

	for (int i = 0; i < 3; i++)
		arch_syscall(SYS_write, 2, (long)text[i], (long)free_length(text[i]), 0);
}
