! SPDX-License-Identifier: GPL-2.0-or-later
! conform_mpif: conform_body.inc through mpif.h.
include 'conform_count.inc'
include 'conform_op.inc'

program conform_mpif
  use conform_count
  implicit none
  include 'mpif.h'
  include 'conform_body.inc'
end program
