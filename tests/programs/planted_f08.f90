! SPDX-License-Identifier: GPL-2.0-or-later
! Planted problems (see planted.h) in Fortran by the module mpi_f08.
program planted_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Request) :: request
  type(MPI_Win) :: window
  type(MPI_Group) :: everyone, others
  include 'planted_forms.inc'
end program planted_f08
