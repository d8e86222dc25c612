/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The form of a finding's text: the fault, TO_DO, the remedy. Without TO_DO there is no fault. */
#ifndef PRECEDENT_CLI_ADMIN_FINDING_H
#define PRECEDENT_CLI_ADMIN_FINDING_H

#define TO_DO "\n"

#endif
