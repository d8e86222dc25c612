! SPDX-License-Identifier: GPL-2.0-or-later
!
! Module precedent_model: libprecedent_model for Fortran 2003 and later; see libprecedent_model(3). Compile this file with
! the program, as module files belong to one compiler, and link with `pkg-config --libs precedent_model_load` (the library
! is looked for when a session is opened, and the program runs without it) or `pkg-config --libs precedent_model`.
! A session that could not be opened may be used all the same: every procedure does nothing then.
!
module precedent_model
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter :: line = 256

  type, public :: precedent_session
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: is_open
  end type precedent_session

  ! As struct precedent_model_answer; reason is blank where known is true.
  type, public :: precedent_answer
    logical :: known = .false., parallel = .false., outside = .false.
    integer :: point = 0, runs = 0, fit = 0
    real(c_double) :: value = 0, confidence = 0, error = 0
    character(len=line) :: reason = ' '
  end type precedent_answer

  type, bind(c) :: c_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: path = c_null_ptr, inputs = c_null_ptr
    integer(c_int32_t) :: n_inputs = 0, ring_bytes = 0
    integer(c_int64_t) :: rows_max = 0, steps_max = 0
    integer(c_int32_t) :: runs_min = 0, normal_priority = 0
  end type c_options

  type, bind(c) :: c_answer
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: known = 0, point = 0, parallel = 0, runs = 0
    real(c_double) :: value = 0, confidence = 0, error = 0
    integer(c_int32_t) :: outside = 0, fit = 0
    character(kind=c_char) :: reason(line) = c_null_char
  end type c_answer

  type, bind(c) :: c_status
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: state = 0, core = 0, loaded = 0, fits = 0, points = 0, threads = 0
    integer(c_int64_t) :: runs = 0, unusable = 0, dropped = 0, outside = 0
    real(c_double) :: fit_s = 0
    character(kind=c_char) :: text(line) = c_null_char
  end type c_status

  interface
    function c_open(options, why, why_size) bind(c, name='precedent_model_open')
      import
      type(c_options), intent(in) :: options
      character(kind=c_char), intent(out) :: why(*)
      integer(c_size_t), value :: why_size
      type(c_ptr) :: c_open
    end function c_open
    subroutine c_close(m) bind(c, name='precedent_model_close')
      import
      type(c_ptr), value :: m
    end subroutine c_close
    function c_point(m, name, vars, n) bind(c, name='precedent_model_point')
      import
      type(c_ptr), value :: m
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(in) :: vars(*)
      integer(c_int32_t), value :: n
      integer(c_int32_t) :: c_point
    end function c_point
    function c_point_name(m, point, name, size) bind(c, name='precedent_model_point_name')
      import
      type(c_ptr), value :: m
      integer(c_int32_t), value :: point
      character(kind=c_char), intent(out) :: name(*)
      integer(c_size_t), value :: size
      integer(c_int) :: c_point_name
    end function c_point_name
    subroutine c_begin(m, inputs, n) bind(c, name='precedent_model_begin')
      import
      type(c_ptr), value :: m
      real(c_double), intent(in) :: inputs(*)
      integer(c_int32_t), value :: n
    end subroutine c_begin
    subroutine c_end(m) bind(c, name='precedent_model_end')
      import
      type(c_ptr), value :: m
    end subroutine c_end
    subroutine c_mark(m, point, values, n) bind(c, name='precedent_model_mark')
      import
      type(c_ptr), value :: m
      integer(c_int32_t), value :: point, n
      real(c_double), intent(in) :: values(*)
    end subroutine c_mark
    subroutine c_mark_ints(m, point, values, n) bind(c, name='precedent_model_mark_ints')
      import
      type(c_ptr), value :: m
      integer(c_int32_t), value :: point, n
      integer(c_int64_t), intent(in) :: values(*)
    end subroutine c_mark_ints
    function c_time(m, inputs, n, a) bind(c, name='precedent_model_time')
      import
      type(c_ptr), value :: m
      real(c_double), intent(in) :: inputs(*)
      integer(c_int32_t), value :: n
      type(c_answer), intent(inout) :: a
      integer(c_int) :: c_time
    end function c_time
    function c_time_at(m, inputs, n, point, passage, a) bind(c, name='precedent_model_time_at')
      import
      type(c_ptr), value :: m
      real(c_double), intent(in) :: inputs(*)
      integer(c_int32_t), value :: n, point
      integer(c_int64_t), value :: passage
      type(c_answer), intent(inout) :: a
      integer(c_int) :: c_time_at
    end function c_time_at
    function c_data(m, inputs, n, var, point, passage, a) bind(c, name='precedent_model_data')
      import
      type(c_ptr), value :: m
      real(c_double), intent(in) :: inputs(*)
      integer(c_int32_t), value :: n, point
      character(kind=c_char), intent(in) :: var(*)
      integer(c_int64_t), value :: passage
      type(c_answer), intent(inout) :: a
      integer(c_int) :: c_data
    end function c_data
    function c_next(m, a) bind(c, name='precedent_model_next')
      import
      type(c_ptr), value :: m
      type(c_answer), intent(inout) :: a
      integer(c_int) :: c_next
    end function c_next
    function c_state(m, inputs, n, row, a) bind(c, name='precedent_model_state')
      import
      type(c_ptr), value :: m
      real(c_double), intent(in) :: inputs(*)
      integer(c_int32_t), value :: n
      integer(c_int64_t), value :: row
      type(c_answer), intent(inout) :: a
      integer(c_int) :: c_state
    end function c_state
    function c_advise(m, inputs, n, n_workers, overhead_s, a) bind(c, name='precedent_model_advise')
      import
      type(c_ptr), value :: m
      real(c_double), intent(in) :: inputs(*)
      integer(c_int32_t), value :: n, n_workers
      real(c_double), value :: overhead_s
      type(c_answer), intent(inout) :: a
      integer(c_int) :: c_advise
    end function c_advise
    function c_wait(m, seconds) bind(c, name='precedent_model_wait')
      import
      type(c_ptr), value :: m
      real(c_double), value :: seconds
      integer(c_int) :: c_wait
    end function c_wait
    function c_save(m, path, why, why_size) bind(c, name='precedent_model_save')
      import
      type(c_ptr), value :: m, path
      character(kind=c_char), intent(out) :: why(*)
      integer(c_size_t), value :: why_size
      integer(c_int) :: c_save
    end function c_save
    subroutine c_status_get(m, status) bind(c, name='precedent_model_status')
      import
      type(c_ptr), value :: m
      type(c_status), intent(inout) :: status
    end subroutine c_status_get
  end interface

  interface precedent_mark
    module procedure mark_none, mark_values, mark_ints
  end interface precedent_mark

  integer, parameter, public :: precedent_end_point = 0

  public :: precedent_open, precedent_close, precedent_point, precedent_point_name, precedent_begin, precedent_end, &
            precedent_mark, precedent_time, precedent_time_at, precedent_data, precedent_next, precedent_state, &
            precedent_advise, precedent_wait, precedent_save, precedent_status

contains

  logical function is_open(this)
    class(precedent_session), intent(in) :: this
    is_open = c_associated(this%handle)
  end function is_open

  function from_c(text) result(out)
    character(kind=c_char), intent(in) :: text(:)
    character(len=line) :: out
    integer :: i
    out = ' '
    do i = 1, min(size(text), line)
      if (text(i) == c_null_char) exit
      out(i:i) = text(i)
    end do
  end function from_c

  ! Names one after the other, each with a NUL, and where each begins. Blanks at the end do not count.
  subroutine to_c(names, text, at)
    character(len=*), intent(in) :: names(:)
    character(kind=c_char), allocatable, target, intent(out) :: text(:)
    type(c_ptr), allocatable, target, intent(out) :: at(:)
    integer :: i, k, step
    step = len(names) + 1
    allocate(text(max(1, step * size(names))), at(max(1, size(names))))
    text = c_null_char
    at = c_null_ptr
    do i = 1, size(names)
      do k = 1, len_trim(names(i))
        text((i - 1) * step + k) = names(i)(k:k)
      end do
      at(i) = c_loc(text((i - 1) * step + 1))
    end do
  end subroutine to_c

  ! A session; why (blank where all is well) says why there is none.
  function precedent_open(inputs, path, why) result(session)
    character(len=*), intent(in), optional :: inputs(:), path
    character(len=*), intent(out), optional :: why
    type(precedent_session) :: session
    character(kind=c_char), allocatable, target :: names(:)
    type(c_ptr), allocatable, target :: at(:)
    character(kind=c_char), allocatable, target :: file(:)
    character(kind=c_char) :: text(line)
    type(c_options) :: options
    integer :: i
    options%size = c_sizeof(options)
    if (present(inputs)) then
      call to_c(inputs, names, at)
      options%inputs = c_loc(at)
      options%n_inputs = size(inputs)
    end if
    if (present(path)) then
      allocate(file(len_trim(path) + 1))
      do i = 1, len_trim(path)
        file(i) = path(i:i)
      end do
      file(len_trim(path) + 1) = c_null_char
      options%path = c_loc(file)
    end if
    text = c_null_char
    session%handle = c_open(options, text, int(line, c_size_t))
    if (present(why)) why = from_c(text)
  end function precedent_open

  subroutine precedent_close(session)
    type(precedent_session), intent(inout) :: session
    call c_close(session%handle)
    session%handle = c_null_ptr
  end subroutine precedent_close

  ! Number of a control point, with the names of the variables that its marks carry.
  integer function precedent_point(session, name, vars)
    type(precedent_session), intent(in) :: session
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: vars(:)
    character(kind=c_char), allocatable, target :: names(:)
    type(c_ptr), allocatable, target :: at(:)
    type(c_ptr) :: none(1)
    if (present(vars)) then
      call to_c(vars, names, at)
      precedent_point = c_point(session%handle, trim(name) // c_null_char, at, size(vars))
    else
      none = c_null_ptr
      precedent_point = c_point(session%handle, trim(name) // c_null_char, none, 0)
    end if
  end function precedent_point

  function precedent_point_name(session, point) result(name)
    type(precedent_session), intent(in) :: session
    integer, intent(in) :: point
    character(len=line) :: name
    character(kind=c_char) :: text(line)
    integer(c_int) :: rc
    text = c_null_char
    rc = c_point_name(session%handle, int(point, c_int32_t), text, int(line, c_size_t))
    name = from_c(text)
    if (rc /= 0) name = ' '
  end function precedent_point_name

  subroutine precedent_begin(session, inputs)
    type(precedent_session), intent(in) :: session
    real(c_double), intent(in) :: inputs(:)
    call c_begin(session%handle, inputs, size(inputs))
  end subroutine precedent_begin

  subroutine precedent_end(session)
    type(precedent_session), intent(in) :: session
    call c_end(session%handle)
  end subroutine precedent_end

  subroutine mark_none(session, point)
    type(precedent_session), intent(in) :: session
    integer, intent(in) :: point
    real(c_double) :: none(1)
    none = 0
    call c_mark(session%handle, int(point, c_int32_t), none, 0)
  end subroutine mark_none

  subroutine mark_values(session, point, values)
    type(precedent_session), intent(in) :: session
    integer, intent(in) :: point
    real(c_double), intent(in) :: values(:)
    call c_mark(session%handle, int(point, c_int32_t), values, size(values))
  end subroutine mark_values

  subroutine mark_ints(session, point, values)
    type(precedent_session), intent(in) :: session
    integer, intent(in) :: point
    integer, intent(in) :: values(:)
    call c_mark_ints(session%handle, int(point, c_int32_t), int(values, c_int64_t), size(values))
  end subroutine mark_ints

  type(c_answer) function asked()
    asked%size = c_sizeof(asked)
  end function asked

  function answer_of(c) result(a)
    type(c_answer), intent(in) :: c
    type(precedent_answer) :: a
    a%known = c%known == 1
    a%parallel = c%parallel == 1
    a%outside = c%outside == 1
    a%point = c%point
    a%runs = c%runs
    a%fit = c%fit
    a%value = c%value
    a%confidence = c%confidence
    a%error = c%error
    a%reason = from_c(c%reason)
  end function answer_of

  function precedent_time(session, inputs) result(a)
    type(precedent_session), intent(in) :: session
    real(c_double), intent(in) :: inputs(:)
    type(precedent_answer) :: a
    type(c_answer) :: c
    integer(c_int) :: rc
    c = asked()
    rc = c_time(session%handle, inputs, size(inputs), c)
    a = answer_of(c)
  end function precedent_time

  function precedent_time_at(session, inputs, point, passage) result(a)
    type(precedent_session), intent(in) :: session
    real(c_double), intent(in) :: inputs(:)
    integer, intent(in) :: point, passage
    type(precedent_answer) :: a
    type(c_answer) :: c
    integer(c_int) :: rc
    c = asked()
    rc = c_time_at(session%handle, inputs, size(inputs), int(point, c_int32_t), int(passage, c_int64_t), c)
    a = answer_of(c)
  end function precedent_time_at

  function precedent_data(session, inputs, var, point, passage) result(a)
    type(precedent_session), intent(in) :: session
    real(c_double), intent(in) :: inputs(:)
    character(len=*), intent(in) :: var
    integer, intent(in) :: point, passage
    type(precedent_answer) :: a
    type(c_answer) :: c
    integer(c_int) :: rc
    c = asked()
    rc = c_data(session%handle, inputs, size(inputs), trim(var) // c_null_char, int(point, c_int32_t), int(passage, c_int64_t), c)
    a = answer_of(c)
  end function precedent_data

  function precedent_next(session) result(a)
    type(precedent_session), intent(in) :: session
    type(precedent_answer) :: a
    type(c_answer) :: c
    integer(c_int) :: rc
    c = asked()
    rc = c_next(session%handle, c)
    a = answer_of(c)
  end function precedent_next

  ! Rows count from 0.
  function precedent_state(session, inputs, row) result(a)
    type(precedent_session), intent(in) :: session
    real(c_double), intent(in) :: inputs(:)
    integer, intent(in) :: row
    type(precedent_answer) :: a
    type(c_answer) :: c
    integer(c_int) :: rc
    c = asked()
    rc = c_state(session%handle, inputs, size(inputs), int(row, c_int64_t), c)
    a = answer_of(c)
  end function precedent_state

  function precedent_advise(session, inputs, n_workers, overhead_s) result(a)
    type(precedent_session), intent(in) :: session
    real(c_double), intent(in) :: inputs(:), overhead_s
    integer, intent(in) :: n_workers
    type(precedent_answer) :: a
    type(c_answer) :: c
    integer(c_int) :: rc
    c = asked()
    rc = c_advise(session%handle, inputs, size(inputs), int(n_workers, c_int32_t), overhead_s, c)
    a = answer_of(c)
  end function precedent_advise

  logical function precedent_wait(session, seconds)
    type(precedent_session), intent(in) :: session
    real(c_double), intent(in) :: seconds
    precedent_wait = c_wait(session%handle, seconds) == 1
  end function precedent_wait

  ! To the path of precedent_open, or another one; why is blank where the file was written.
  subroutine precedent_save(session, path, why)
    type(precedent_session), intent(in) :: session
    character(len=*), intent(in), optional :: path
    character(len=*), intent(out), optional :: why
    character(kind=c_char), allocatable, target :: file(:)
    character(kind=c_char) :: text(line)
    type(c_ptr) :: at
    integer(c_int) :: rc
    integer :: i
    at = c_null_ptr
    if (present(path)) then
      allocate(file(len_trim(path) + 1))
      do i = 1, len_trim(path)
        file(i) = path(i:i)
      end do
      file(len_trim(path) + 1) = c_null_char
      at = c_loc(file)
    end if
    text = c_null_char
    rc = c_save(session%handle, at, text, int(line, c_size_t))
    if (present(why)) why = from_c(text)
  end subroutine precedent_save

  ! All that is to be said of the session, in a line.
  function precedent_status(session) result(text)
    type(precedent_session), intent(in) :: session
    character(len=line) :: text
    type(c_status) :: s
    s%size = c_sizeof(s)
    call c_status_get(session%handle, s)
    text = from_c(s%text)
  end function precedent_status

end module precedent_model
