/* SPDX-License-Identifier: GPL-2.0-or-later */
int place_this_thread(void);
int place_this_thread(void) { return -1; }
