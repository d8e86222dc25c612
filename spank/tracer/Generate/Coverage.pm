# SPDX-License-Identifier: GPL-2.0-or-later
#
# The manual page of recorded and counted functions by chapter, from the rules.
package Generate::Coverage;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(coverage_text);

my %REASON = (
	query => 'asks for a value and does not communicate',
	object => 'makes, changes or frees an object that no recorded call needs',
	attribute => 'handles attributes, names or hints',
	convert => 'converts handles, addresses or statuses',
	callback => 'registers or calls functions of the program',
	data => 'moves data within the process',
	tools => 'belongs to the interface for tools',
	environment => 'begins or asks about the environment outside of MPI_Init and MPI_Finalize',
	sentinel => 'is a predefined callback',
);

sub recorded {
	my ($r) = @_;
	my @p = map { $_->{name} . ($_->{dir} eq 'out' ? '\\(->' : '') } @{$r->{params}};
	my $what = @p ? join(', ', @p) : '\\-';
	$what .= '; only when it found or completed something, else counted' if $r->{polls};
	$what .= '; before it is passed on' if $r->{first};
	return (lc $r->{class}, $what);
}

sub rows {
	my ($text, @row) = ('', @_);
	for my $r (@row) {
		my ($class, $what) = $r->{counted} ? ('counted', $r->{counted}) : recorded($r);
		$text .= "$r->{name}\t$class\tT{\n.na\n$what\nT}\n";
	}
	return ".TS\nl l lx.\n$text.TE\n";
}

sub coverage_text {
	my @row = @_;
	my $n = grep { !$_->{counted} } @row;
	my $counted = @row - $n;
	my $t = <<"END";
'\\" t
.\\" SPDX-License-Identifier: GPL-2.0-or-later
.\\" Generated from conf/trace.rules by spank/tracer/generate --coverage: change that instead.
.TH PRECEDENT-COVERAGE 7 2026-11-28 "Precedent 0.1.0" "Precedent"
.SH NAME
precedent-coverage \\- which MPI calls Precedent's tracer records
.SH DESCRIPTION
Find a function in the tables below.
The second column is the class of the event if the calls of the function are recorded, or the word counted.
The third column depends on the second one:
.TP
recorded
The parameters that the trace keeps.
\\(-> stands behind a parameter that is known only when the call has returned.
.TP
counted
The reason why the trace has only the number of calls.
.PP
For instance, calls of MPI_Recv are recorded with the class recv:
.PP
.nf
    MPI_Recv   recv   comm, src, tag, count, type, asrc\\(->, atag\\(->
.fi
.PP
The tables have $n functions that are recorded, and $counted that are counted by name:
.IP \\(bu 3
every function of MPI-3.1;
.IP \\(bu 3
functions of MPI-1 and MPI-2 that libraries still have;
.IP \\(bu 3
functions of MPI-4 that a library has.
.PP
Programs in C and in Fortran (mpif.h, use mpi, use mpi_f08) are covered.
A function of the library that is not listed is counted too.
.PP
A large-count form of MPI-4 (MPI_X_c) is treated like MPI_X.
A large-count form that makes a datatype or an operation is counted.
.SS Sessions, statuses and buffers
.TP
Sessions
A trace begins in MPI_Init and ends in MPI_Finalize.
A program that uses sessions alone is not traced.
A program that also calls MPI_Init is traced.
For a communicator of MPI_Comm_create_from_group, a skeleton calls MPI_Comm_create_group.
A program has no skeleton if it communicates on a communicator that was made before MPI_Init.
The same holds for a communicator of MPI_Intercomm_create_from_groups.
.TP
Setters of statuses
Skeletons leave these calls out: messages do not depend on a status.
.TP
Buffers
A skeleton attaches buffers of its own for MPI_Bsend, MPI_Ibsend and MPI_Bsend_init.
The time in MPI_Buffer_flush and MPI_Buffer_iflush counts as computation.
.SS Reasons
The calls of a function are counted if the function
END
	my %used = map { $_->{counted} => 1 } grep { $_->{counted} } @row;
	$t .= ".TP\n.B $_\n$REASON{$_}\n" for sort keys %used;
	$t .= <<'END';
.SS Calls in a skeleton
The class says what a skeleton, see
.BR precedent (1),
does at a call:
.TP
.BR file ", " io
A delay as long as the call took.
The delay of a collective call begins when its ranks have met.
A skeleton with scratch files
.RB ( --scratch )
makes these calls.
.TP
.B dyn
A program that makes a communicator by such a call has no skeleton.
.TP
.B local
The skeleton makes local calls on requests.
The time of any other local call is part of the time between calls.
.TP
any other class
The skeleton repeats the call.
END
	my (@chapter, %in);
	for (@row) {
		push @chapter, $_->{chapter} if !$in{$_->{chapter}};
		push @{$in{$_->{chapter}}}, $_;
	}
	$t .= '.SH ' . uc($_) . "\n" . rows(@{$in{$_}}) for @chapter;
	$t .= <<'END';
.SH SEE ALSO
.BR precedent (1),
.BR precedent-trace (5),
.BR spank_precedent (8)
END
	return $t;
}

1;
