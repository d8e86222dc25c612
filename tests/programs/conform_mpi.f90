! SPDX-License-Identifier: GPL-2.0-or-later
! conform_mpi: conform_body.inc through the mpi module.
include 'conform_count.inc'
include 'conform_op.inc'

program conform_mpi
  use mpi
  use conform_count
  implicit none
  include 'conform_body.inc'
end program
