! SPDX-License-Identifier: GPL-2.0-or-later
! conform_mpi: the mpi module: ierror everywhere and MPI_SUCCESS, MPI_STATUS(ES)_IGNORE, MPI_IN_PLACE, MPI_BOTTOM, arrays of
! handles, a Fortran operation as a callback. Prints what tests/cli/35-conformance.t compares: see conform.h.
module conform_count
  implicit none
  character(len=40) :: names(64) = ''
  integer :: counts(64) = 0
contains
  subroutine did(name, n)
    character(len=*), intent(in) :: name
    integer, intent(in) :: n
    integer :: i
    do i = 1, 64
      if (names(i) == '') names(i) = name
      if (names(i) == name) then
        counts(i) = counts(i) + n
        return
      end if
    end do
  end subroutine
end module

subroutine add_them(invec, inoutvec, len, datatype)
  implicit none
  integer :: len, datatype, invec(len), inoutvec(len)
  inoutvec = invec + inoutvec
  if (datatype < 0) inoutvec = 0
end subroutine

program conform_mpi
  use mpi
  use conform_count
  implicit none
  integer :: rank, n, next, before, v, sums, got, i, ierr, blocks(1)
  integer(kind=MPI_ADDRESS_KIND) :: places(1)
  integer :: req(2)
  integer :: st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, 2)
  integer :: dup
  integer :: absolute
  integer :: op
  external :: add_them
  integer, asynchronous :: inbox, outbox
  integer, volatile :: hidden ! the compiler cannot see who writes to it
  logical :: flag

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  next = mod(rank + 1, n)
  before = mod(rank + n - 1, n)

  v = rank
  call MPI_Allreduce(MPI_IN_PLACE, v, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call did('MPI_Allreduce', 1)
  call check(v == n * (n - 1) / 2, 'in place')

  do i = 1, 5
    outbox = rank * 10 + i
    call MPI_Irecv(inbox, 1, MPI_INTEGER, before, i, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Isend(outbox, 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, req(2), ierr)
    if (i < 3) then
      call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)
    else
      call MPI_Waitall(2, req, sts, ierr)
      call check(sts(MPI_SOURCE, 1) == before .and. sts(MPI_TAG, 1) == i, 'statuses')
    end if
    call check(inbox == before * 10 + i, 'exchange')
  end do
  call did('MPI_Irecv', 5)
  call did('MPI_Isend', 5)
  call did('MPI_Waitall', 5)

  call MPI_Sendrecv(rank, 1, MPI_INTEGER, next, 8, got, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, &
                    MPI_COMM_WORLD, st, ierr)
  call did('MPI_Sendrecv', 1)
  call check(got == before .and. st(MPI_SOURCE) == before .and. st(MPI_TAG) == 8, 'wildcard')
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, MPI_PROC_NULL, 8, got, 1, MPI_INTEGER, MPI_PROC_NULL, 8, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call did('MPI_Sendrecv', 1)

  hidden = 40 + rank
  blocks = 1
  call MPI_Get_address(hidden, places(1), ierr)
  call MPI_Type_create_hindexed(1, blocks, places, MPI_INTEGER, absolute, ierr)
  call did('MPI_Type_create_hindexed', 1)
  call MPI_Type_commit(absolute, ierr)
  call did('MPI_Type_commit', 1)
  call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD, ierr)
  call did('MPI_Bcast', 1)
  call check(hidden == 40, 'bottom')
  call MPI_Type_free(absolute, ierr)
  call did('MPI_Type_free', 1)

  call MPI_Op_create(add_them, .true., op, ierr)
  call did('MPI_Op_create', 1)
  call MPI_Allreduce(rank, sums, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call did('MPI_Allreduce', 1)
  call check(sums == n * (n - 1) / 2, 'operation')
  call MPI_Op_free(op, ierr)
  call did('MPI_Op_free', 1)

  call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
  call did('MPI_Comm_dup', 1)
  call MPI_Irecv(inbox, 1, MPI_INTEGER, before, 3, dup, req(1), ierr)
  call did('MPI_Irecv', 1)
  call MPI_Send(rank, 1, MPI_INTEGER, next, 3, dup, ierr)
  call did('MPI_Send', 1)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(req(1), flag, MPI_STATUS_IGNORE, ierr)
  end do
  call did('MPI_Test', 1)
  call check(inbox == before, 'test loop')
  call MPI_Comm_free(dup, ierr)
  call did('MPI_Comm_free', 1)
  call check(dup == MPI_COMM_NULL .and. ierr == MPI_SUCCESS, 'null handle')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call did('MPI_Barrier', 1)

  do i = 1, 64
    if (names(i) /= '') write (*, '(a,i0,a,a,a,i0)') 'did ', rank, ' ', trim(names(i)), ' ', counts(i)
  end do
  flush (6)
  call MPI_Finalize(ierr)
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) write (*, '(a,i0,a,a)') 'wrong ', rank, ' ', what
  end subroutine
end program
