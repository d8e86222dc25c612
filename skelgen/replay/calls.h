/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions and constants that a skeleton's statements may use, with the kinds of the parameters. Generated sources
 * use nothing else. In skel.ops, functions and constants are numbered by their places in these lists. Append only, or
 * raise OPS_VERSION.
 *
 * Kinds:
 *     v nothing, i int, l 64-bit integer, d double, p buffer
 *     I const int[], J int[], A const MPI_Aint[], Y const MPI_Datatype[]
 *     t datatype, m communicator, o operation, w window, g group, f info, q request, s status
 *     pointers: T to a datatype, C communicator, W window, Q request, M message
 */
#ifndef PRECEDENT_SKELGEN_REPLAY_CALLS_H
#define PRECEDENT_SKELGEN_REPLAY_CALLS_H

/* CALL(function, kinds of parameters): the result is ignored. VALUE(function, kind of the result, kinds of parameters).
 * CALL4: as CALL, from MPI-4 on. */
#define SKEL_CALLS(CALL, VALUE, CALL4)                                                                                 \
	/* the runtime */                                                                                              \
	CALL(skel_compute, i, d)                                                                                       \
	CALL(skel_gap, i)                                                                                              \
	CALL(skel_delay, d)                                                                                            \
	CALL(skel_delay_by_rank, i)                                                                                    \
	CALL(skel_share, d, d)                                                                                         \
	CALL(skel_meet, m)                                                                                             \
	CALL(skel_pieces, i, i, i, d)                                                                                  \
	CALL(skel_late, i)                                                                                             \
	CALL(skel_piece, l)                                                                                            \
	CALL(skel_loop, i, l, l)                                                                                       \
	CALL(skel_loop_first, i, l, l)                                                                                 \
	CALL(skel_loop_some, i, l, l)                                                                                  \
	CALL(skel_loop_part, i, l, l, l)                                                                               \
	VALUE(skel_turns, l, i)                                                                                        \
	VALUE(skel_progress, l, l, l)                                                                                  \
	VALUE(skel_happens, i, i)                                                                                      \
	VALUE(skel_every, i, l, l, l)                                                                                  \
	VALUE(skel_between, i, l, l)                                                                                   \
	CALL(skel_wait, i, I)                                                                                          \
	CALL(skel_start_all, i, I)                                                                                     \
	CALL(skel_comm_split, m, i, i, i)                                                                              \
	CALL(skel_comm_group, m, i, I, i, i)                                                                           \
	CALL(skel_grequest_start, Q)                                                                                   \
	CALL(skel_parrived, Q, i)                                                                                      \
	CALL(skel_win_create, i, l, i, m)                                                                              \
	CALL(skel_win_allocate, i, l, i, m)                                                                            \
	CALL(skel_win_shared, i, l, i, m)                                                                              \
	CALL(skel_win_dynamic, i, m)                                                                                   \
	CALL(skel_win_attach, i, l)                                                                                    \
	CALL(skel_win_detach, i)                                                                                       \
	VALUE(skel_file_open, i, i, m)                                                                                 \
	VALUE(skel_file_sync, i, i)                                                                                    \
	VALUE(skel_file_close, i, i)                                                                                   \
	VALUE(skel_file_size, i, i, i, l)                                                                              \
	VALUE(skel_file_view, i, i, l, t, t)                                                                           \
	VALUE(skel_file_atomicity, i, i, i)                                                                            \
	VALUE(skel_file_seek, i, i, l, i)                                                                              \
	VALUE(skel_file_seek_shared, i, i, l, i)                                                                       \
	VALUE(skel_file_access, i, i, i, l, l, t)                                                                      \
	VALUE(skel_file_end, i, i)                                                                                     \
	VALUE(skel_file_start, i, i, i, l, l, t, Q)                                                                    \
	VALUE(skel_file_wait, i, i, I)                                                                                 \
	CALL(skel_file_meet, i)                                                                                        \
	CALL(skel_files_unknown, i)                                                                                    \
	VALUE(skel_array, I, i)                                                                                        \
	VALUE(skel_length, i, i)                                                                                       \
	VALUE(skel_displs, I, I, i)                                                                                    \
	VALUE(skel_displs_bytes, I, I, Y, i)                                                                           \
	VALUE(skel_displs_aint, A, I, Y, i)                                                                            \
	VALUE(skel_types, Y, I, i)                                                                                     \
	VALUE(skel_grid, i, i, i, i)                                                                                   \
	VALUE(skel_torus, i, i, i, i)                                                                                  \
	VALUE(skel_peer, i, l)                                                                                         \
	VALUE(skel_root, i, l)                                                                                         \
	VALUE(skel_tag, i, l)                                                                                          \
	VALUE(skel_buf, p, i, l, t)                                                                                    \
	VALUE(skel_buf_v, p, i, I, i, t)                                                                               \
	VALUE(skel_buf_w, p, i, I, Y, i)                                                                               \
	VALUE(skel_neighbours, i, m)                                                                                   \
	VALUE(skel_op, o, i)                                                                                           \
	VALUE(skel_disp, l, i, i, l, l, t)                                                                             \
	VALUE(skel_rma, p, i, l, t)                                                                                    \
	VALUE(skel_group, g, i, I, i)                                                                                  \
	VALUE(skel_assert, i, i)                                                                                       \
	VALUE(skel_lock, i, i)                                                                                         \
	/* messages */                                                                                                 \
	CALL(MPI_Send, p, i, t, i, i, m)                                                                               \
	CALL(MPI_Bsend, p, i, t, i, i, m)                                                                              \
	CALL(MPI_Ssend, p, i, t, i, i, m)                                                                              \
	CALL(MPI_Recv, p, i, t, i, i, m, s)                                                                            \
	CALL(MPI_Sendrecv, p, i, t, i, i, p, i, t, i, i, m, s)                                                         \
	CALL(MPI_Sendrecv_replace, p, i, t, i, i, i, i, m, s)                                                          \
	CALL(MPI_Isend, p, i, t, i, i, m, Q)                                                                           \
	CALL(MPI_Ibsend, p, i, t, i, i, m, Q)                                                                          \
	CALL(MPI_Issend, p, i, t, i, i, m, Q)                                                                          \
	CALL(MPI_Irecv, p, i, t, i, i, m, Q)                                                                           \
	CALL(MPI_Send_init, p, i, t, i, i, m, Q)                                                                       \
	CALL(MPI_Bsend_init, p, i, t, i, i, m, Q)                                                                      \
	CALL(MPI_Ssend_init, p, i, t, i, i, m, Q)                                                                      \
	CALL(MPI_Recv_init, p, i, t, i, i, m, Q)                                                                       \
	CALL(MPI_Cancel, Q)                                                                                            \
	CALL(MPI_Request_free, Q)                                                                                      \
	CALL(MPI_Wait, Q, s)                                                                                           \
	CALL(MPI_Waitall, i, Q, s)                                                                                     \
	CALL(MPI_Start, Q)                                                                                             \
	CALL(MPI_Startall, i, Q)                                                                                       \
	CALL(MPI_Probe, i, i, m, s)                                                                                    \
	CALL(MPI_Mprobe, i, i, m, M, s)                                                                                \
	CALL(MPI_Mrecv, p, i, t, M, s)                                                                                 \
	CALL(MPI_Imrecv, p, i, t, M, Q)                                                                                \
	/* collectives */                                                                                              \
	CALL(MPI_Barrier, m)                                                                                           \
	CALL(MPI_Bcast, p, i, t, i, m)                                                                                 \
	CALL(MPI_Gather, p, i, t, p, i, t, i, m)                                                                       \
	CALL(MPI_Gatherv, p, i, t, p, I, I, t, i, m)                                                                   \
	CALL(MPI_Scatter, p, i, t, p, i, t, i, m)                                                                      \
	CALL(MPI_Scatterv, p, I, I, t, p, i, t, i, m)                                                                  \
	CALL(MPI_Allgather, p, i, t, p, i, t, m)                                                                       \
	CALL(MPI_Allgatherv, p, i, t, p, I, I, t, m)                                                                   \
	CALL(MPI_Alltoall, p, i, t, p, i, t, m)                                                                        \
	CALL(MPI_Alltoallv, p, I, I, t, p, I, I, t, m)                                                                 \
	CALL(MPI_Alltoallw, p, I, I, Y, p, I, I, Y, m)                                                                 \
	CALL(MPI_Reduce, p, p, i, t, o, i, m)                                                                          \
	CALL(MPI_Allreduce, p, p, i, t, o, m)                                                                          \
	CALL(MPI_Reduce_scatter, p, p, I, t, o, m)                                                                     \
	CALL(MPI_Reduce_scatter_block, p, p, i, t, o, m)                                                               \
	CALL(MPI_Scan, p, p, i, t, o, m)                                                                               \
	CALL(MPI_Exscan, p, p, i, t, o, m)                                                                             \
	CALL(MPI_Neighbor_allgather, p, i, t, p, i, t, m)                                                              \
	CALL(MPI_Neighbor_allgatherv, p, i, t, p, I, I, t, m)                                                          \
	CALL(MPI_Neighbor_alltoall, p, i, t, p, i, t, m)                                                               \
	CALL(MPI_Neighbor_alltoallv, p, I, I, t, p, I, I, t, m)                                                        \
	CALL(MPI_Neighbor_alltoallw, p, I, A, Y, p, I, A, Y, m)                                                        \
	CALL(MPI_Ibarrier, m, Q)                                                                                       \
	CALL(MPI_Ibcast, p, i, t, i, m, Q)                                                                             \
	CALL(MPI_Igather, p, i, t, p, i, t, i, m, Q)                                                                   \
	CALL(MPI_Igatherv, p, i, t, p, I, I, t, i, m, Q)                                                               \
	CALL(MPI_Iscatter, p, i, t, p, i, t, i, m, Q)                                                                  \
	CALL(MPI_Iscatterv, p, I, I, t, p, i, t, i, m, Q)                                                              \
	CALL(MPI_Iallgather, p, i, t, p, i, t, m, Q)                                                                   \
	CALL(MPI_Iallgatherv, p, i, t, p, I, I, t, m, Q)                                                               \
	CALL(MPI_Ialltoall, p, i, t, p, i, t, m, Q)                                                                    \
	CALL(MPI_Ialltoallv, p, I, I, t, p, I, I, t, m, Q)                                                             \
	CALL(MPI_Ialltoallw, p, I, I, Y, p, I, I, Y, m, Q)                                                             \
	CALL(MPI_Ireduce, p, p, i, t, o, i, m, Q)                                                                      \
	CALL(MPI_Iallreduce, p, p, i, t, o, m, Q)                                                                      \
	CALL(MPI_Ireduce_scatter, p, p, I, t, o, m, Q)                                                                 \
	CALL(MPI_Ireduce_scatter_block, p, p, i, t, o, m, Q)                                                           \
	CALL(MPI_Iscan, p, p, i, t, o, m, Q)                                                                           \
	CALL(MPI_Iexscan, p, p, i, t, o, m, Q)                                                                         \
	CALL(MPI_Ineighbor_allgather, p, i, t, p, i, t, m, Q)                                                          \
	CALL(MPI_Ineighbor_allgatherv, p, i, t, p, I, I, t, m, Q)                                                      \
	CALL(MPI_Ineighbor_alltoall, p, i, t, p, i, t, m, Q)                                                           \
	CALL(MPI_Ineighbor_alltoallv, p, I, I, t, p, I, I, t, m, Q)                                                    \
	CALL(MPI_Ineighbor_alltoallw, p, I, A, Y, p, I, A, Y, m, Q)                                                    \
	/* MPI-4 */                                                                                                    \
	CALL4(MPI_Isendrecv, p, i, t, i, i, p, i, t, i, i, m, Q)                                                       \
	CALL4(MPI_Isendrecv_replace, p, i, t, i, i, i, i, m, Q)                                                        \
	CALL4(MPI_Psend_init, p, i, l, t, i, i, m, f, Q)                                                               \
	CALL4(MPI_Precv_init, p, i, l, t, i, i, m, f, Q)                                                               \
	CALL4(MPI_Pready, i, q)                                                                                        \
	CALL4(MPI_Pready_range, i, i, q)                                                                               \
	CALL4(MPI_Pready_list, i, J, q)                                                                                \
	CALL4(MPI_Barrier_init, m, f, Q)                                                                               \
	CALL4(MPI_Bcast_init, p, i, t, i, m, f, Q)                                                                     \
	CALL4(MPI_Gather_init, p, i, t, p, i, t, i, m, f, Q)                                                           \
	CALL4(MPI_Gatherv_init, p, i, t, p, I, I, t, i, m, f, Q)                                                       \
	CALL4(MPI_Scatter_init, p, i, t, p, i, t, i, m, f, Q)                                                          \
	CALL4(MPI_Scatterv_init, p, I, I, t, p, i, t, i, m, f, Q)                                                      \
	CALL4(MPI_Allgather_init, p, i, t, p, i, t, m, f, Q)                                                           \
	CALL4(MPI_Allgatherv_init, p, i, t, p, I, I, t, m, f, Q)                                                       \
	CALL4(MPI_Alltoall_init, p, i, t, p, i, t, m, f, Q)                                                            \
	CALL4(MPI_Alltoallv_init, p, I, I, t, p, I, I, t, m, f, Q)                                                     \
	CALL4(MPI_Alltoallw_init, p, I, I, Y, p, I, I, Y, m, f, Q)                                                     \
	CALL4(MPI_Reduce_init, p, p, i, t, o, i, m, f, Q)                                                              \
	CALL4(MPI_Allreduce_init, p, p, i, t, o, m, f, Q)                                                              \
	CALL4(MPI_Reduce_scatter_init, p, p, I, t, o, m, f, Q)                                                         \
	CALL4(MPI_Reduce_scatter_block_init, p, p, i, t, o, m, f, Q)                                                   \
	CALL4(MPI_Scan_init, p, p, i, t, o, m, f, Q)                                                                   \
	CALL4(MPI_Exscan_init, p, p, i, t, o, m, f, Q)                                                                 \
	CALL4(MPI_Neighbor_allgather_init, p, i, t, p, i, t, m, f, Q)                                                  \
	CALL4(MPI_Neighbor_allgatherv_init, p, i, t, p, I, I, t, m, f, Q)                                              \
	CALL4(MPI_Neighbor_alltoall_init, p, i, t, p, i, t, m, f, Q)                                                   \
	CALL4(MPI_Neighbor_alltoallv_init, p, I, I, t, p, I, I, t, m, f, Q)                                            \
	CALL4(MPI_Neighbor_alltoallw_init, p, I, A, Y, p, I, A, Y, m, f, Q)                                            \
	/* others */                                                                                                   \
	CALL(MPI_Grequest_complete, q)                                                                                 \
	CALL(MPI_Pcontrol, i)                                                                                          \
	CALL(MPI_Comm_free, C)                                                                                         \
	CALL(MPI_Comm_disconnect, C)                                                                                   \
	CALL(MPI_Comm_dup, m, C)                                                                                       \
	CALL(MPI_Comm_idup, m, C, Q)                                                                                   \
	CALL(MPI_Cart_create, m, i, I, I, i, C)                                                                        \
	CALL(MPI_Graph_create, m, i, I, I, i, C)                                                                       \
	CALL(MPI_Dist_graph_create, m, i, I, I, I, I, f, i, C)                                                         \
	CALL(MPI_Dist_graph_create_adjacent, m, i, I, I, i, I, I, f, i, C)                                             \
	CALL(MPI_Intercomm_create, m, i, m, i, i, C)                                                                   \
	CALL(MPI_Intercomm_merge, m, i, C)                                                                             \
	CALL(MPI_Type_commit, T)                                                                                       \
	CALL(MPI_Type_dup, t, T)                                                                                       \
	CALL(MPI_Type_contiguous, i, t, T)                                                                             \
	CALL(MPI_Type_vector, i, i, i, t, T)                                                                           \
	CALL(MPI_Type_create_hvector, i, i, l, t, T)                                                                   \
	CALL(MPI_Type_indexed, i, I, I, t, T)                                                                          \
	CALL(MPI_Type_create_hindexed, i, I, A, t, T)                                                                  \
	CALL(MPI_Type_create_indexed_block, i, i, I, t, T)                                                             \
	CALL(MPI_Type_create_hindexed_block, i, i, A, t, T)                                                            \
	CALL(MPI_Type_create_struct, i, I, A, Y, T)                                                                    \
	CALL(MPI_Type_create_resized, t, l, l, T)                                                                      \
	CALL(MPI_Type_create_subarray, i, I, I, I, i, t, T)                                                            \
	CALL(MPI_Type_create_darray, i, i, i, I, I, I, I, i, t, T)                                                     \
	/* one-sided */                                                                                                \
	CALL(MPI_Put, p, i, t, i, l, i, t, w)                                                                          \
	CALL(MPI_Get, p, i, t, i, l, i, t, w)                                                                          \
	CALL(MPI_Accumulate, p, i, t, i, l, i, t, o, w)                                                                \
	CALL(MPI_Get_accumulate, p, i, t, p, i, t, i, l, i, t, o, w)                                                   \
	CALL(MPI_Rput, p, i, t, i, l, i, t, w, Q)                                                                      \
	CALL(MPI_Rget, p, i, t, i, l, i, t, w, Q)                                                                      \
	CALL(MPI_Raccumulate, p, i, t, i, l, i, t, o, w, Q)                                                            \
	CALL(MPI_Rget_accumulate, p, i, t, p, i, t, i, l, i, t, o, w, Q)                                               \
	CALL(MPI_Fetch_and_op, p, p, t, i, l, o, w)                                                                    \
	CALL(MPI_Compare_and_swap, p, p, p, t, i, l, w)                                                                \
	CALL(MPI_Win_fence, i, w)                                                                                      \
	CALL(MPI_Win_post, g, i, w)                                                                                    \
	CALL(MPI_Win_start, g, i, w)                                                                                   \
	CALL(MPI_Win_complete, w)                                                                                      \
	CALL(MPI_Win_wait, w)                                                                                          \
	CALL(MPI_Win_lock, i, i, i, w)                                                                                 \
	CALL(MPI_Win_unlock, i, w)                                                                                     \
	CALL(MPI_Win_lock_all, i, w)                                                                                   \
	CALL(MPI_Win_unlock_all, w)                                                                                    \
	CALL(MPI_Win_flush, i, w)                                                                                      \
	CALL(MPI_Win_flush_all, w)                                                                                     \
	CALL(MPI_Win_flush_local, i, w)                                                                                \
	CALL(MPI_Win_flush_local_all, w)                                                                               \
	CALL(MPI_Win_sync, w)                                                                                          \
	CALL(MPI_Win_free, W)                                                                                      \
	CALL(skel_left_out, d)                                                                                        \
	VALUE(skel_buf_part, p, i, l, t, l)

/* TYPE(name): datatypes that MPI names. */
#define SKEL_DATATYPES(TYPE)                                                                                           \
	TYPE(MPI_CHAR) TYPE(MPI_SHORT) TYPE(MPI_INT) TYPE(MPI_LONG) TYPE(MPI_LONG_LONG) TYPE(MPI_LONG_LONG_INT)        \
	TYPE(MPI_SIGNED_CHAR) TYPE(MPI_UNSIGNED_CHAR) TYPE(MPI_UNSIGNED_SHORT) TYPE(MPI_UNSIGNED)                      \
	TYPE(MPI_UNSIGNED_LONG) TYPE(MPI_UNSIGNED_LONG_LONG) TYPE(MPI_FLOAT) TYPE(MPI_DOUBLE) TYPE(MPI_LONG_DOUBLE)    \
	TYPE(MPI_WCHAR) TYPE(MPI_C_BOOL) TYPE(MPI_INT8_T) TYPE(MPI_INT16_T) TYPE(MPI_INT32_T) TYPE(MPI_INT64_T)        \
	TYPE(MPI_UINT8_T) TYPE(MPI_UINT16_T) TYPE(MPI_UINT32_T) TYPE(MPI_UINT64_T) TYPE(MPI_C_COMPLEX)                 \
	TYPE(MPI_C_FLOAT_COMPLEX) TYPE(MPI_C_DOUBLE_COMPLEX) TYPE(MPI_C_LONG_DOUBLE_COMPLEX) TYPE(MPI_BYTE)            \
	TYPE(MPI_PACKED) TYPE(MPI_AINT) TYPE(MPI_OFFSET) TYPE(MPI_COUNT) TYPE(MPI_FLOAT_INT) TYPE(MPI_DOUBLE_INT)      \
	TYPE(MPI_LONG_INT) TYPE(MPI_2INT) TYPE(MPI_SHORT_INT) TYPE(MPI_LONG_DOUBLE_INT) TYPE(MPI_INTEGER)              \
	TYPE(MPI_REAL) TYPE(MPI_DOUBLE_PRECISION) TYPE(MPI_COMPLEX) TYPE(MPI_DOUBLE_COMPLEX) TYPE(MPI_LOGICAL)         \
	TYPE(MPI_CHARACTER) TYPE(MPI_2INTEGER) TYPE(MPI_2REAL) TYPE(MPI_2DOUBLE_PRECISION) TYPE(MPI_INTEGER1)          \
	TYPE(MPI_INTEGER2) TYPE(MPI_INTEGER4) TYPE(MPI_INTEGER8) TYPE(MPI_REAL4) TYPE(MPI_REAL8) TYPE(MPI_CXX_BOOL)    \
	TYPE(MPI_CXX_FLOAT_COMPLEX) TYPE(MPI_CXX_DOUBLE_COMPLEX) TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX)

/* OP(name): operations that MPI names. */
#define SKEL_OPS(OP)                                                                                                   \
	OP(MPI_MAX) OP(MPI_MIN) OP(MPI_SUM) OP(MPI_PROD) OP(MPI_LAND) OP(MPI_BAND) OP(MPI_LOR) OP(MPI_BOR)             \
	OP(MPI_LXOR) OP(MPI_BXOR) OP(MPI_MINLOC) OP(MPI_MAXLOC) OP(MPI_REPLACE) OP(MPI_NO_OP)

/* NAMED(name, kind): other constants, as far as they are not the datatypes and operations above. n: no pointer at all. */
#define SKEL_NAMED(NAMED)                                                                                              \
	NAMED(NULL, n)                                                                                                 \
	NAMED(SKEL_ALL, l)                                                                                             \
	NAMED(skel_unweighted, I)                                                                                      \
	NAMED(MPI_COMM_WORLD, m)                                                                                       \
	NAMED(MPI_COMM_SELF, m)                                                                                        \
	NAMED(MPI_OP_NULL, o)                                                                                          \
	NAMED(MPI_INFO_NULL, f)                                                                                        \
	NAMED(MPI_STATUS_IGNORE, s)                                                                                    \
	NAMED(MPI_STATUSES_IGNORE, s)                                                                                  \
	NAMED(MPI_IN_PLACE, p)                                                                                         \
	NAMED(MPI_PROC_NULL, i)                                                                                        \
	NAMED(MPI_ANY_SOURCE, i)                                                                                       \
	NAMED(MPI_ANY_TAG, i)                                                                                          \
	NAMED(MPI_ROOT, i)                                                                                             \
	NAMED(MPI_UNDEFINED, i)                                                                                        \
	NAMED(MPI_MODE_NOCHECK, i)                                                                                     \
	NAMED(MPI_MODE_NOSTORE, i)                                                                                     \
	NAMED(MPI_MODE_NOPUT, i)                                                                                       \
	NAMED(MPI_MODE_NOPRECEDE, i)                                                                                   \
	NAMED(MPI_MODE_NOSUCCEED, i)                                                                                   \
	NAMED(MPI_LOCK_EXCLUSIVE, i)                                                                                   \
	NAMED(MPI_LOCK_SHARED, i)                                                                                      \
	NAMED(SKEL_IO_WRITE, i)                                                                                        \
	NAMED(SKEL_IO_AT, i)                                                                                           \
	NAMED(SKEL_IO_ALL, i)                                                                                          \
	NAMED(SKEL_IO_SHARED, i)                                                                                       \
	NAMED(SKEL_IO_ORDERED, i)                                                                                      \
	NAMED(SKEL_IO_BEGIN, i)

#endif
