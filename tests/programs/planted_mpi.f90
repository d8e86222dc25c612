! SPDX-License-Identifier: GPL-2.0-or-later
! Planted problems (see planted.h) in Fortran by the module mpi.
program planted_mpi
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: request
  integer :: window
  integer :: everyone, others
  include 'planted_forms.inc'
end program planted_mpi
