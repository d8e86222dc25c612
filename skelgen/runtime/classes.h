/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes of computation. The mix of a compute block is the share of its time that goes to each class. The runtime has one
 * kernel per class, limited by the same part of the processor or of the memory.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_CLASSES_H
#define PRECEDENT_SKELGEN_RUNTIME_CLASSES_H

/* CLASS(NAME, name) */
#define SKEL_CLASSES(CLASS)                                                                                            \
	CLASS(INTEGER, integer)     /* integers, many instructions at once; look-ups in the first-level cache */       \
	CLASS(INTEGER_CHAIN, integer_chain) /* the same, each instruction waiting for the one before */                \
	CLASS(BRANCH, branch)       /* branches that depend on data and cannot be foretold */                          \
	CLASS(SCALAR, scalar)       /* scalar floating point, additions and multiplications, many at once */           \
	CLASS(SCALAR_SHORT, scalar_short) /* the same in short loops: a load, a store and a branch for two of them */   \
	CLASS(SCALAR_CHAIN, scalar_chain) /* the same, each waiting for the one before */                              \
	CLASS(VECTOR, vector)       /* packed floating point on data in the first-level cache */                       \
	CLASS(DIVIDE, divide)       /* divisions and square roots */                                                   \
	CLASS(LIBM, libm)           /* exponential, logarithm, sine and their like */                                  \
	CLASS(STREAM_L2, stream_l2) /* in order through data that the second-level cache holds */                      \
	CLASS(STREAM_L3, stream_l3) /* the same, last-level cache */                                                   \
	CLASS(STREAM_MEM, stream_mem) /* the same, in memory */                                                        \
	CLASS(RANDOM_L2, random_l2) /* dependent accesses without order, second-level cache */                         \
	CLASS(RANDOM_L3, random_l3) /* the same, last-level cache */                                                   \
	CLASS(RANDOM_MEM, random_mem) /* the same, in memory */                                                        \
	CLASS(STRIDE_MEM, stride_mem) /* in strides of several cache lines, in memory */                               \
	CLASS(FILL_L2, fill_l2)     /* long pieces set to one byte by the C library, second-level cache */             \
	CLASS(FILL_L3, fill_l3)     /* the same, last-level cache */                                                   \
	CLASS(FILL_MEM, fill_mem)   /* the same, in memory */                                                          \
	CLASS(COPY_L2, copy_l2)     /* long pieces copied by the C library, second-level cache */                      \
	CLASS(COPY_L3, copy_l3)     /* the same, last-level cache */                                                   \
	CLASS(COPY_MEM, copy_mem)   /* the same, in memory */

#define SKEL_CLASS_ENUM(NAME, name) CLASS_##NAME,
enum skel_class { SKEL_CLASSES(SKEL_CLASS_ENUM) CLASS_N };
#undef SKEL_CLASS_ENUM

#endif
