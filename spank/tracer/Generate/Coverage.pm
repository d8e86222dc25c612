# SPDX-License-Identifier: GPL-2.0-or-later
#
# The manual page of what the tracer records and what it counts, by chapter, from the rules.
package Generate::Coverage;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(coverage_text);

my %REASON = (
	query => 'asks, and talks to nobody',
	object => 'makes, changes or frees an object that no recorded call needs',
	attribute => 'attributes, names and hints',
	convert => 'converts handles, addresses or statuses',
	callback => 'registers or calls functions of the program',
	data => 'moves data within the process',
	tools => 'the interface for tools',
	environment => 'begins or asks about the environment outside of MPI_Init and MPI_Finalize',
	sentinel => 'a predefined callback',
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
.TH PRECEDENT-COVERAGE 7 2026-11-21 "Precedent 0.1.0" "Precedent"
.SH NAME
precedent-coverage \\- which MPI calls Precedent's tracer records
.SH DESCRIPTION
Every function of MPI-3.1, of MPI-2 and MPI-1 as far as libraries still have them, and of MPI-4 where a library has
it, in C and from Fortran (mpif.h, use mpi, use mpi_f08): $n functions are recorded, $counted are counted by name.
The tables give for each the class of its event and the parameters that are kept, with \\(-> behind what is known only when the
call has returned; or the reason why it is only counted.
A function that a library has and that is not listed is counted too.
A large-count form of MPI-4 (MPI_X_c) is recorded or counted as MPI_X is; those that make a datatype or an operation are counted.
.PP
Counted, because the function
END
	my %used = map { $_->{counted} => 1 } grep { $_->{counted} } @row;
	$t .= ".TP\n.B $_\n$REASON{$_}\n" for sort keys %used;
	$t .= <<'END';
.PP
In a skeleton (see
.BR precedent (1)),
by class: calls of file and io are delays as long as they took, after the meeting of a collective one; a program with calls of dyn that
make a communicator has no skeleton; local calls cost what was recorded between the others, except those on requests; calls of all other
classes are repeated.
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
