# SPDX-License-Identifier: GPL-2.0-or-later
#
# The functions of an MPI library, as its mpi.h declares them.
package Generate::Header;
use strict;
use warnings;
use Exporter 'import';
use Generate::Rules qw(split_list);
our @EXPORT_OK = qw(find_header read_header);

# The mpi.h of a compiler wrapper; undef if there is none.
sub find_header {
	my ($mpicc) = @_;
	my $dirs = `$mpicc --showme:incdirs 2>/dev/null` || '';
	$dirs = join ' ', `$mpicc -show 2>/dev/null` =~ /-I\s*(\S+)/g if $dirs !~ /\S/ || $dirs =~ /error/;
	for (split(' ', $dirs), '/usr/include') {
		return "$_/mpi.h" if -e "$_/mpi.h";
	}
	return;
}

# mpi.h and the files beside it that mpi.h includes (MPICH declares most functions in mpi_proto.h).
sub read_text {
	my ($file, $seen) = @_;
	return '' if $seen->{$file}++;
	open my $f, '<', $file or die "$file: $!\n";
	my $dir = $file =~ s{/[^/]*$}{}r;
	my $t = do { local $/; <$f> };
	my $rest = '';
	while ($t =~ /^\s*#\s*include\s+["<]([\w.]+)[">]/mg) {
		$rest .= read_text("$dir/$1", $seen) if -e "$dir/$1" && $1 ne 'mpicxx.h';
	}
	return $t . $rest;
}

# Returns {mpich => true for MPICH and descendants, ompi => major version of Open MPI or 0, fn => {name => {ret, variadic, params => [[type, suffix],
# ...]}}}
sub read_header {
	my ($file) = @_;
	my $t = read_text($file, {});
	my %h = (mpich => $t =~ /^\s*#\s*define\s+MPICH_VERSION\b/m ? 1 : 0,
		ompi => $t =~ /^\s*#\s*define\s+OMPI_MAJOR_VERSION\s+(\d+)/m ? $1 : 0);
	$t =~ s{/\*.*?\*/}{ }gs;
	$t =~ s{//[^\n]*}{}g;
	$t =~ s{\\\n}{ }g;
	$t =~ s{^\s*#.*$}{}mg;
	for (split /[;{}]/, $t) {
		s/\s+/ /g;
		next if /\btypedef\b/;
		next unless /((?:const )?\w+(?: ?\*)?) ?\b(MPI_\w+) ?\(([^()]*(?:\([^()]*\)[^()]*)*)\)/;
		my ($ret, $name, $params) = ($1, $2, $3);
		next if $ret eq 'return' || $name !~ /^MPI_(?:[A-Z][a-z]|T_[a-z])/;
		$params = '' if $params =~ /^\s*void\s*$/;
		my @p;
		my $variadic = $params =~ s/,\s*\.\.\.\s*$//;
		for my $p (split_list($params)) {
			my ($suffix) = $p =~ /((?:\s*\[[^\]]*\])*)$/;
			my $head = substr $p, 0, length($p) - length $suffix;
			$head =~ s/\b\w+\s*$// if $head =~ /[\w*]\s*[ *]\w+\s*$/;
			$head =~ s/\s+$//;
			push @p, [$head, $suffix =~ s/\s+//gr];
		}
		$h{fn}{$name} //= {ret => $ret, params => \@p, variadic => $variadic};
	}
	return \%h;
}

1;
