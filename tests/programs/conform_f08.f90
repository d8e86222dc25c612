! SPDX-License-Identifier: GPL-2.0-or-later
! conform_f08: the mpi_f08 module: optional ierror left out, MPI_STATUS(ES)_IGNORE, MPI_IN_PLACE, MPI_BOTTOM, arrays of
! handles, a Fortran operation as a callback. Prints what tests/cli/trace-conformance.t compares: see conform.h.
include 'conform_count.inc'

module conform_ops
  use mpi_f08
  implicit none
contains
  subroutine add_them(invec, inoutvec, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b
  end subroutine
end module

program conform_f08
  use mpi_f08
  use conform_count
  use conform_ops
  implicit none
  integer :: rank, n, next, before, v, sums, got, i, ierr, blocks(1)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  type(MPI_Request) :: req(2)
  type(MPI_Status) :: st, sts(2)
  type(MPI_Comm) :: dup
  type(MPI_Datatype) :: absolute
  type(MPI_Op) :: op
  integer, asynchronous :: inbox, outbox
  integer, volatile :: hidden ! the compiler cannot see who writes to it
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  next = mod(rank + 1, n)
  before = mod(rank + n - 1, n)

  v = rank
  call MPI_Allreduce(MPI_IN_PLACE, v, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call did('MPI_Allreduce', 1)
  call check(v == n * (n - 1) / 2, 'in place')

  do i = 1, 5
    outbox = rank * 10 + i
    call MPI_Irecv(inbox, 1, MPI_INTEGER, before, i, MPI_COMM_WORLD, req(1))
    call MPI_Isend(outbox, 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, req(2))
    if (i < 3) then
      call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
    else
      call MPI_Waitall(2, req, sts, ierr)
      call check(sts(1)%MPI_SOURCE == before .and. sts(1)%MPI_TAG == i, 'statuses')
    end if
    call check(inbox == before * 10 + i, 'exchange')
  end do
  call did('MPI_Irecv', 5)
  call did('MPI_Isend', 5)
  call did('MPI_Waitall', 5)

  call MPI_Sendrecv(rank, 1, MPI_INTEGER, next, 8, got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, st)
  call did('MPI_Sendrecv', 1)
  call check(got == before .and. st%MPI_SOURCE == before .and. st%MPI_TAG == 8, 'wildcard')
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, MPI_PROC_NULL, 8, got, 1, MPI_INTEGER, MPI_PROC_NULL, 8, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE)
  call did('MPI_Sendrecv', 1)

  hidden = 40 + rank
  blocks = 1
  call MPI_Get_address(hidden, places(1))
  call MPI_Type_create_hindexed(1, blocks, places, MPI_INTEGER, absolute)
  call did('MPI_Type_create_hindexed', 1)
  call MPI_Type_commit(absolute)
  call did('MPI_Type_commit', 1)
  call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD)
  call did('MPI_Bcast', 1)
  call check(hidden == 40, 'bottom')
  call MPI_Type_free(absolute)
  call did('MPI_Type_free', 1)

  call MPI_Op_create(add_them, .true., op)
  call did('MPI_Op_create', 1)
  call MPI_Allreduce(rank, sums, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call did('MPI_Allreduce', 1)
  call check(sums == n * (n - 1) / 2, 'operation')
  call MPI_Op_free(op)
  call did('MPI_Op_free', 1)

  call MPI_Comm_dup(MPI_COMM_WORLD, dup)
  call did('MPI_Comm_dup', 1)
  call MPI_Irecv(inbox, 1, MPI_INTEGER, before, 3, dup, req(1))
  call did('MPI_Irecv', 1)
  call MPI_Send(rank, 1, MPI_INTEGER, next, 3, dup)
  call did('MPI_Send', 1)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(req(1), flag, MPI_STATUS_IGNORE)
  end do
  call did('MPI_Test', 1)
  call check(inbox == before, 'test loop')
  call MPI_Comm_free(dup)
  call did('MPI_Comm_free', 1)
  call check(dup == MPI_COMM_NULL, 'null handle')
  call MPI_Barrier(MPI_COMM_WORLD)
  call did('MPI_Barrier', 1)

  do i = 1, 64
    if (names(i) /= '') write (*, '(a,i0,a,a,a,i0)') 'did ', rank, ' ', trim(names(i)), ' ', counts(i)
  end do
  flush (6)
  call MPI_Finalize()
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) write (*, '(a,i0,a,a)') 'wrong ', rank, ' ', what
  end subroutine
end program
