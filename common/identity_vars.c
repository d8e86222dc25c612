/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vars of an identity as text: see identity.h. */
#include <stdio.h>

#include "common/identity.h"

/* Write v as "%.9g". Most values are whole or have few decimals, and the fast path serves them in every
 * submission. */
static int format_var(char *out, size_t size, double v)
{
	char digits[12];
	unsigned n = 0, left = 0, decimals = 0;
	double scale = 1;

	if (!(v >= 0 && v < 1e9) || (v == 0 && __builtin_signbit(v)))
		return snprintf(out, size, "%.9g", v);
	/* If the double nearest to left / scale is v, these digits are exact. At most nine digits. */
	while (left = (unsigned)(v * scale + 0.5), (double)left / scale != v) {
		scale *= 10;
		if (++decimals > 6 || v * scale >= 1e9 - 1 || v < 1e-3)
			return snprintf(out, size, "%.9g", v);
	}
	for (unsigned i = 0; left || i <= decimals; i++, left /= 10) {
		if (i && i == decimals)
			digits[n++] = '.';
		digits[n++] = (char)('0' + left % 10);
	}
	for (unsigned i = 0; i < n && i + 1 < size; i++)
		out[i] = digits[n - 1 - i];
	if (size)
		out[n < size ? n : size - 1] = '\0';
	return (int)n;
}

void identity_vars_format(const struct identity *id, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < id->n_vars; i++) {
		int n;

		if (i && len + 1 < size)
			out[len++] = ',';
		n = format_var(out + len, size - len, id->vars[i]);
		if (n < 0 || (size_t)n >= size - len || id->n_vars == IDENTITY_VARS_MAX) {
			out[0] = '\0';
			return;
		}
		len += (size_t)n;
	}
}
