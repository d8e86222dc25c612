/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structures that every rule base has: see builtin.h. */
#include "expert/lang/builtin.h"

#define COLLECTIVE \
	"param comm, instance, size, root type int " \
	"param is_root, is_blocking type boolean " \
	"param bytes type int " \
	"param wait_start_time, wait_finish_time type time "

/* Where it waits: the call that wait_start_time is of. */
#define DONE "param wait_function type string param wait_site type int"

#define EPOCH "param window, origin, target, epoch, peers type int;"

const char builtin_types[] =
    /* Every parameter that conf/trace.rules names (tests/unit/expert/events/test_rules_params.c compares). */
    "defstruct event function_call \"any call\" param before type time "
    "param bytes, rbytes, "
    "asrc, asrcs, assertion, atag, atags, code, color, comm, commute, count, counts, degrees, destinations, dims, disp, "
    "done, dst, edges, file, flag, group, high, index, inplace, key, leader, level, low, maxprocs, message, newcomm, "
    "newfile, newwin, offset, parent, partition, partitions, peer, periods, rcount, rcounts, remote, reorder, req, "
    "reqs, required, result_count, root, rtag, rtypes, size, sources, split_type, src, tag, target, types, values, whence, "
    "win type int "
    "param type, newtype, rtype, etype, filetype, result_type, op, function type string;"

    "defstruct event function_call_send_operation \"a message sets out\" "
    "param source, dest, tag, comm, bytes type int "
    "param is_blocking type boolean "
    "param wait_start_time, wait_finish_time type time "
    "param is_synchronous, is_distant type boolean "
    "param outside_start_time, outside_finish_time type time "
    "param wait_event, wait_count type int param lacks_processor type boolean " DONE ";"

    "defstruct event function_call_receive_operation \"a receive is posted\" "
    "param source, dest, tag, comm, bytes, given_source, given_tag type int "
    "param is_blocking type boolean "
    "param wait_start_time, wait_finish_time type time "
    "param wait_event, wait_count, number type int "
    "param outside_start_time, outside_finish_time type time " DONE ";"

    "defstruct event function_call_barrier_operation \"part in a barrier\" " COLLECTIVE DONE ";"
    "defstruct event function_call_many_to_one_operation \"part in a reduce or gather\" " COLLECTIVE DONE ";"
    "defstruct event function_call_one_to_many_operation \"part in a broadcast or scatter\" " COLLECTIVE DONE ";"
    "defstruct event function_call_many_to_many_operation \"part in an exchange of all with all\" " COLLECTIVE DONE ";"
    "defstruct event function_call_scan_operation \"part in a scan\" " COLLECTIVE DONE ";"
    "defstruct event function_call_window_creation \"part in the creation of a window\" " COLLECTIVE "param window type int " DONE ";"

    "defstruct event function_call_fence_operation \"part in a fence of a window\" " COLLECTIVE "param window type int " DONE ";"
    "defstruct event function_call_neighbour_operation \"part in an exchange with neighbours, for one of those data comes from\" "
    "param source, dest, comm, instance, peers type int param is_blocking type boolean "
    "param wait_start_time, wait_finish_time type time " DONE ";"
    "defstruct event function_call_neighbour_data \"... and for one of those data goes to\" "
    "param source, dest, comm, instance type int;"
    "defstruct event function_call_file_collective \"part in a call about a file that all of its ranks make\" " COLLECTIVE
    "param file type int param is_write type boolean " DONE ";"
    "defstruct event function_call_file_operation \"a rank's own access to a file\" "
    "param file, bytes type int param is_write type boolean;"

    "defstruct event function_call_lock_operation \"a lock of a window is asked for\" "
    "param window, target type int param is_exclusive type boolean;"
    "defstruct event function_call_unlock_operation \"a lock of a window is given back\" "
    "param window, target type int "
    "param flush_start_time, flush_finish_time type time;"
    "defstruct event function_call_post_operation \"an exposure epoch starts, for one origin\" " EPOCH
    "defstruct event function_call_start_operation \"an access epoch starts, to one target\" " EPOCH
    "defstruct event function_call_complete_operation \"an access epoch ends, to one target\" " EPOCH
    "defstruct event function_call_wait_operation \"an exposure epoch ends, for one origin\" " EPOCH

    "defstruct event message_burst \"messages of a rank to another one, with nothing received or waited for in between\" "
    "param source, dest, count, bytes, largest type int param time type time;"
    "defstruct event iteration \"a pass of a rank through its main loop\" "
    "param number, count, size type int param begin_time, computed, total, later type time;"
    "defstruct event rank_begin \"the first call of a rank\" "
    "param size type int param host type string param ranks_on_host, hosts type int;"
    "defstruct event rank_end \"the last call of a rank\" "
    "param size type int param host type string param ranks_on_host, hosts, iterations type int "
    "param computed, in_files, time type time param calls, polls type int "
    "param polling, before_init, in_init, cpu_time, delayed type time "
    "param is_sampled type boolean "
    "param processors, processor_set, ranks_on_set type int param throttled type time "
    "param processors_of_host type int param network type string param after_finalize type time "
    "param is_server type boolean;"

    "defstruct event rank_stop \"why a rank did not reach MPI_Finalize\" "
    "param reason type string param ranks, waits_for type int param time type time "
    "param wait_start_time, wait_finish_time type time;"

    "defstruct observation problem \"what declare problem finds\" "
    "param name, description, advice type string "
    "param duration type time "
    "param id, kind, remedy type string optional "
    "param waiting, awaited type int optional;";
