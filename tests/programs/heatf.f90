! SPDX-License-Identifier: GPL-2.0-or-later
!
! heatf: explicit 2-D heat equation on an n x n grid, split over a Cartesian grid of ranks (mpi_f08).
!
! Each step exchanges a column (contiguous) and a row (vector type) of halo with four neighbours by Irecv and
! Isend; every EVERY steps the change is summed over all ranks.
! Usage: heatf [N=512] [STEPS=400] [EVERY=10]. Rank 0 prints one line with a checksum.
program heatf
  use mpi_f08
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  real(dp), allocatable :: now(:, :), next(:, :)
  type(MPI_Comm) :: cart
  type(MPI_Datatype) :: row
  integer :: n, steps, every, rank, ranks, s, dims(2), coords(2), ni, nj, i0, j0
  integer :: north, south, west, east
  real(dp) :: local, change, total

  n = argument(1, 512)
  steps = argument(2, 400)
  every = argument(3, 10)
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., cart)
  call MPI_Comm_rank(cart, rank)
  call MPI_Cart_coords(cart, rank, 2, coords)
  call MPI_Cart_shift(cart, 0, 1, north, south)
  call MPI_Cart_shift(cart, 1, 1, west, east)
  if (n < 3 .or. n < maxval(dims) .or. steps < 0 .or. every < 1) then
     if (rank == 0) write (0, '(a)') 'heatf: usage: heatf [N >= ranks] [STEPS] [EVERY]'
     call MPI_Abort(MPI_COMM_WORLD, 2)
  end if
  i0 = n * coords(1) / dims(1)
  ni = n * (coords(1) + 1) / dims(1) - i0
  j0 = n * coords(2) / dims(2)
  nj = n * (coords(2) + 1) / dims(2) - j0
  allocate (now(0:ni + 1, 0:nj + 1), next(0:ni + 1, 0:nj + 1))
  call start()
  call MPI_Type_vector(nj, 1, ni + 2, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_commit(row)

  change = 0
  do s = 1, steps
     call exchange()
     local = step()
     if (mod(s, every) == 0) &
          call MPI_Allreduce(local, change, 1, MPI_DOUBLE_PRECISION, MPI_SUM, cart)
  end do
  local = sum(now(1:ni, 1:nj))
  call MPI_Reduce(local, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, cart)
  if (rank == 0) write (*, '(a,i0,a,i0,a,i0,a,es16.9,a,es16.9)') &
       'heatf: n ', n, ' steps ', steps, ' ranks ', ranks, ' change ', change, ' checksum ', total
  call MPI_Type_free(row)
  call MPI_Comm_free(cart)
  call MPI_Finalize()

contains

  integer function argument(i, otherwise)
    integer, intent(in) :: i, otherwise
    character(32) :: text
    integer :: status
    argument = otherwise
    if (command_argument_count() < i) return
    call get_command_argument(i, text)
    read (text, *, iostat=status) argument
    if (status /= 0) argument = -1
  end function argument

  subroutine start()
    integer :: i, j
    real(dp) :: x, y
    now = 0
    do j = 1, nj
       do i = 1, ni
          x = real(j0 + j - 1, dp) / n - 0.5_dp
          y = real(i0 + i - 1, dp) / n - 0.5_dp
          now(i, j) = 50 * exp(-20 * (x * x + y * y))
          if (j0 + j == 1) now(i, j) = 100
       end do
    end do
    next = now
  end subroutine start

  subroutine exchange()
    type(MPI_Request) :: req(8)
    call MPI_Irecv(now(1, 0), ni, MPI_DOUBLE_PRECISION, west, 1, cart, req(1))
    call MPI_Irecv(now(1, nj + 1), ni, MPI_DOUBLE_PRECISION, east, 2, cart, req(2))
    call MPI_Irecv(now(0, 1), 1, row, north, 3, cart, req(3))
    call MPI_Irecv(now(ni + 1, 1), 1, row, south, 4, cart, req(4))
    call MPI_Isend(now(1, nj), ni, MPI_DOUBLE_PRECISION, east, 1, cart, req(5))
    call MPI_Isend(now(1, 1), ni, MPI_DOUBLE_PRECISION, west, 2, cart, req(6))
    call MPI_Isend(now(ni, 1), 1, row, south, 3, cart, req(7))
    call MPI_Isend(now(1, 1), 1, row, north, 4, cart, req(8))
    call MPI_Waitall(8, req, MPI_STATUSES_IGNORE)
  end subroutine exchange

  ! One step over the inner points; the sum of squared changes.
  real(dp) function step()
    integer :: i, j
    step = 0
    do j = 1, nj
       if (j0 + j == 1 .or. j0 + j == n) cycle
       do i = 1, ni
          if (i0 + i == 1 .or. i0 + i == n) cycle
          next(i, j) = now(i, j) + 0.2_dp * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) &
               - 4 * now(i, j))
          step = step + (next(i, j) - now(i, j))**2
       end do
    end do
    now(1:ni, 1:nj) = next(1:ni, 1:nj)
  end function step
end program heatf
