! SPDX-License-Identifier: GPL-2.0-or-later
!
! calls_more_mod: the calls of calls_more.c, through the mpi module.
program calls_more_mod
  use, intrinsic :: iso_c_binding, only: c_ptr
  use mpi
  implicit none
  integer :: w, c, win, two_win, f, info, all, other, r(4), t(6), types(2), st(MPI_STATUS_SIZE)
  type(c_ptr) :: ptr
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

  subroutine odd
  end subroutine odd
end program calls_more_mod
