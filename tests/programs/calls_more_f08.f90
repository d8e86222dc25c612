! SPDX-License-Identifier: GPL-2.0-or-later
!
! calls_more_f08: the calls of calls_more.c, through the mpi_f08 module.
program calls_more_f08
  use, intrinsic :: iso_c_binding, only: c_ptr
  use mpi_f08
  implicit none
  type(MPI_Comm) :: w, c
  type(MPI_Win) :: win, two_win
  type(MPI_File) :: f
  type(MPI_Info) :: info
  type(MPI_Group) :: all, other
  type(MPI_Request) :: r(4)
  type(MPI_Datatype) :: t(6), types(2)
  type(MPI_Status) :: st
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
    type(c_ptr) :: place
    call MPI_Buffer_detach(place, bytes_attached, ierr)
  end subroutine detach

  subroutine odd
  end subroutine odd
end program calls_more_f08
