! SPDX-License-Identifier: GPL-2.0-or-later
!
! calls_more_h: the calls of calls_more.c, through mpif.h.
program calls_more_h
  implicit none
  include 'mpif.h'
  integer :: w, c, win, two_win, f, info, all, other, r(4), t(6), types(2), st(MPI_STATUS_SIZE)
  integer(MPI_ADDRESS_KIND) :: ptr
  integer :: rank, peer, total, i, k, n, unit, ierr
  integer, asynchronous :: inp(64), out(64), base(16), room(1024)
  integer :: two(2) = [2, 2], places(2) = [0, 2], bytes(2) = [0, 8]
  integer(MPI_ADDRESS_KIND) :: size, zero(1) = [0_MPI_ADDRESS_KIND]
  integer(MPI_ADDRESS_KIND) :: far(2) = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND]
  character(len=200) :: name
  logical :: flag

  include 'calls_more_body.inc'

  subroutine detach(bytes_attached)
    integer, intent(out) :: bytes_attached
    call MPI_Buffer_detach(room, bytes_attached, ierr)
  end subroutine detach

  ! Removed in MPI-3, but in the libraries; and a request of the program's own.
  subroutine odd
    external :: query, release, cancel
    integer(MPI_ADDRESS_KIND) :: nothing = 0
    if (command_argument_count() < 2) return
    call MPI_Type_hvector(2, 1, 16, MPI_INTEGER, t(1), ierr)
    call MPI_Type_hindexed(2, [1, 2], [0, 8], MPI_INTEGER, t(2), ierr)
    call MPI_Type_struct(2, [1, 2], [0, 8], types, t(3), ierr)
    do i = 1, 3
       call MPI_Type_free(t(i), ierr)
    end do
    call MPI_Grequest_start(query, release, cancel, nothing, r(1), ierr)
    call MPI_Grequest_complete(r(1), ierr)
    call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)
  end subroutine odd
end program calls_more_h

subroutine query(extra, status, ierr)
  implicit none
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: extra
  integer :: status(MPI_STATUS_SIZE), ierr
  call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierr)
  call MPI_Status_set_cancelled(status, .false., ierr)
end subroutine query

subroutine release(extra, ierr)
  implicit none
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: extra
  integer :: ierr
  ierr = MPI_SUCCESS
end subroutine release

subroutine cancel(extra, complete, ierr)
  implicit none
  include 'mpif.h'
  integer(MPI_ADDRESS_KIND) :: extra
  logical :: complete
  integer :: ierr
  ierr = MPI_SUCCESS
end subroutine cancel
