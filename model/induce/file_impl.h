/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of the model file that its writer and its reader share. */
#ifndef PRECEDENT_MODEL_INDUCE_FILE_IMPL_H
#define PRECEDENT_MODEL_INDUCE_FILE_IMPL_H

#include "model/induce/file.h"

#define MODEL_FILE_MAGIC "precedent-model 1"

extern const char *const model_feature_word[MODEL_FEATURE_OPS], *const model_atom_word[MODEL_ATOM_KINDS], *const model_choice_word[2],
    *const model_rest_word[MODEL_RESTS], *const model_input_word[MODEL_INPUT_KINDS];

#endif
