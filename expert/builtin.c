/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structures that every rule base has: see builtin.h. */
#include "expert/builtin.h"

#define COLLECTIVE \
	"param comm, instance, size, root type int " \
	"param is_root, is_blocking type boolean " \
	"param bytes type int " \
	"param wait_start_time, wait_finish_time type time "

#define EPOCH "param window, origin, target, epoch, peers type int;"

const char builtin_types[] =
    "defstruct event function_call \"any call\" param before type time;"

    "defstruct event function_call_send_operation \"a message sets out\" "
    "param source, dest, tag, comm, bytes type int "
    "param is_blocking type boolean "
    "param wait_start_time, wait_finish_time type time;"

    "defstruct event function_call_receive_operation \"a receive is posted\" "
    "param source, dest, tag, comm, bytes, given_source, given_tag type int "
    "param is_blocking type boolean "
    "param wait_start_time, wait_finish_time type time "
    "param wait_event, wait_count type int;"

    "defstruct event function_call_barrier_operation \"part in a barrier\" " COLLECTIVE ";"
    "defstruct event function_call_many_to_one_operation \"part in a reduce or gather\" " COLLECTIVE ";"
    "defstruct event function_call_one_to_many_operation \"part in a broadcast or scatter\" " COLLECTIVE ";"
    "defstruct event function_call_many_to_many_operation \"part in an exchange of all with all\" " COLLECTIVE ";"
    "defstruct event function_call_scan_operation \"part in a scan\" " COLLECTIVE ";"
    "defstruct event function_call_window_creation \"part in the creation of a window\" " COLLECTIVE "param window type int;"

    "defstruct event function_call_lock_operation \"a lock of a window is asked for\" "
    "param window, target type int param is_exclusive type boolean;"
    "defstruct event function_call_unlock_operation \"a lock of a window is given back\" "
    "param window, target type int;"
    "defstruct event function_call_post_operation \"an exposure epoch starts, for one origin\" " EPOCH
    "defstruct event function_call_start_operation \"an access epoch starts, to one target\" " EPOCH
    "defstruct event function_call_complete_operation \"an access epoch ends, to one target\" " EPOCH
    "defstruct event function_call_wait_operation \"an exposure epoch ends, for one origin\" " EPOCH

    "defstruct observation problem \"what declare problem finds\" "
    "param name, description, advice type string "
    "param duration type time "
    "param id, kind type string optional;";
