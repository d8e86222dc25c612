! SPDX-License-Identifier: GPL-2.0-or-later
!
! calls_f08: the calls of calls.c, through the mpi_f08 module.
program calls_f08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: w, c(10)
  type(MPI_Request) :: q(4)
  type(MPI_Message) :: m
  type(MPI_Group) :: all, some
  type(MPI_Datatype) :: t(5), types(2)
  integer :: rank, size, peer, total, i, n, index, indices(4), ierr
  integer, asynchronous :: inp(64), out(64)
  integer :: one(2) = [1, 2], two(2) = [2, 2], at(2) = [0, 4], disp(2) = [0, 16]
  integer(MPI_ADDRESS_KIND) :: bytes(2) = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], lb, extent
  logical :: flag

  include 'calls_body.inc'
end program calls_f08
