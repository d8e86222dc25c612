/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libprecedent_model_load.a: what precedent_model.h brings to C programs, as functions to link with, for Fortran and others
 * that cannot include it. */
#define PRECEDENT_MODEL_API extern
#include "model/api/precedent_model.h"
#include "model/api/precedent_model_load.h"
