/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libprecedent_model_load.a: the inline functions of precedent_model.h as functions to link with. For Fortran and other
 * languages that cannot include the header. */
#define PRECEDENT_MODEL_API extern
#include "model/api/precedent_model.h"
#include "model/api/precedent_model_load.h"
