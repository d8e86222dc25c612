! SPDX-License-Identifier: GPL-2.0-or-later
!
! A relaxation that predicts itself: five problems of growing size are solved and marked, then the time of another one, its
! number of sweeps, and whether it pays to go parallel are asked for before it is solved.
!
!   gfortran -o predict_loop precedent_model.f90 predict_loop.f90 $(pkg-config --libs precedent_model_load)
!
program predict_loop
  use, intrinsic :: iso_fortran_env, only: real64, int64
  use precedent_model
  implicit none
  type(precedent_session) :: session
  type(precedent_answer) :: answer
  character(len=256) :: why
  integer :: sweep_point, check_point, k, n
  real(real64) :: actual

  session = precedent_open(inputs=['n'], why=why)
  if (.not. session%is_open()) print '(2a)', 'no predictions: ', trim(why)
  sweep_point = precedent_point(session, 'sweep', ['residue'])
  check_point = precedent_point(session, 'check')

  do k = 1, 5
    call solve(30 + 7 * k * k, actual)
  end do
  if (precedent_wait(session, 60.0_real64)) print '(a)', 'a model was fitted'

  n = 150
  answer = precedent_time(session, [real(n, real64)])
  call solve(n, actual)
  if (answer%known) then
    print '(a,es9.2,a,es9.2,a,f5.2)', 'time: predicted ', answer%value, ' s, took ', actual, ' s, confidence ', answer%confidence
  else
    print '(2a)', 'time: not known: ', trim(answer%reason)
  end if
  answer = precedent_data(session, [real(n, real64)], 'residue', sweep_point, 3)
  if (answer%known) print '(a,f8.5)', 'residue after 3 sweeps: ', answer%value
  answer = precedent_state(session, [real(n, real64)], 4)
  if (answer%known) print '(2a)', 'row 4: ', trim(precedent_point_name(session, answer%point))
  answer = precedent_advise(session, [real(n, real64)], 4, 1.0_real64)
  if (answer%known) print '(a,l2)', 'parallel where it costs a second to start:', answer%parallel
  if (session%is_open()) print '(a)', trim(precedent_status(session))
  call precedent_close(session)

contains

  ! n sweeps over 100 n numbers; a check after every fourth.
  subroutine solve(n, seconds)
    integer, intent(in) :: n
    real(real64), intent(out) :: seconds
    real(real64), allocatable :: u(:)
    real(real64) :: residue
    integer(int64) :: begin, now, rate
    integer :: sweep
    allocate(u(n * 100))
    u = 1
    residue = 1
    call system_clock(begin, rate)
    call precedent_begin(session, [real(n, real64)])
    do sweep = 1, n
      u = 0.5_real64 * u + sqrt(u)
      residue = 0.75_real64 * residue
      call precedent_mark(session, sweep_point, [residue])
      if (mod(sweep, 4) == 0) call precedent_mark(session, check_point)
    end do
    call precedent_end(session)
    call system_clock(now)
    seconds = real(now - begin, real64) / real(rate, real64)
    if (u(1) < 0) print *, u(1)
  end subroutine solve
end program predict_loop
