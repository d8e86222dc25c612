! SPDX-License-Identifier: GPL-2.0-or-later
!
! calls_h: the calls of calls.c, through mpif.h.
program calls_h
  implicit none
  include 'mpif.h'
  integer :: w, q(4), m, c(10), all, some, t(5), types(2)
  integer :: rank, size, peer, total, i, n, index, indices(4), ierr
  integer, asynchronous :: inp(64), out(64)
  integer :: one(2) = [1, 2], two(2) = [2, 2], at(2) = [0, 4], disp(2) = [0, 16]
  integer(MPI_ADDRESS_KIND) :: bytes(2) = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], lb, extent
  logical :: flag

  include 'calls_body.inc'
end program calls_h
