# SPDX-License-Identifier: GPL-2.0-or-later
#
# Reads the tracing rules of conf/trace.rules, which describes their language at its beginning.
package Generate::Rules;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(read_rules split_list kind_enum);

my %KIND = map { $_ => "TK_$_" }
	qw(COMM NEWCOMM DST SRC ASRC TAG ATAG COUNT TYPE NEWTYPE OP ROOT NEWREQ REQ INPLACE WIN NEWWIN FILE NEWFILE DISP
	   INT COUNTS TYPES REQS DONE ASRCS ATAGS INTS);
$KIND{$_} = 'TK_INT' for qw(BOOL SIZE LOCK ASSERT SPLIT);
$KIND{$_} = 'TK_INTS' for qw(BOOLS GROUP);
my %CLASS = map { $_ => 1 }
	qw(SEND RECV SENDRECV ISEND IRECV START WAIT PROBE COLL ICOLL COMM LOCAL INIT FINALIZE WIN RMA SYNC FILE IO DYN);
my %REASON = map { $_ => 1 } qw(query object attribute convert callback data tools environment sentinel);

sub kind_enum { return $KIND{$_[0]} }

# Split at commas outside of parentheses.
sub split_list {
	my ($text) = @_;
	my @part;
	my ($depth, $cur) = (0, '');
	for my $c (split //, $text) {
		$depth += ($c eq '(') - ($c eq ')');
		if ($c eq ',' && !$depth) { push @part, $cur; $cur = ''; next }
		$cur .= $c;
	}
	push @part, $cur;
	return grep { length } map { s/^\s+|\s+$//gr } @part;
}

sub parse_param {
	my ($text, $where) = @_;
	$text =~ /^(\w+)\s*=\s*([A-Z]+)\((.*)\)\s+(in|out)(?:\s+when\s+(.+))?$/s
		or die "$where: cannot read parameter '$text'\n";
	my %p = (name => $1, kind => $2, expr => [split_list($3)], dir => $4);
	my $when = $5;
	$KIND{$p{kind}} or die "$where: no kind $p{kind}\n";
	for (split /\s+and\s+/, $when // '') {
		/^(not\s+)?(root|leaf|joins|in_place)\((\w+)\)$/ or die "$where: no condition '$_'\n";
		push @{$p{when}}, {not => !!$1, what => $2, arg => $3};
	}
	return \%p;
}

sub parse_rule {
	my ($r, $attr, $params, $where) = @_;
	$CLASS{$r->{class}} or die "$where: no class $r->{class}\n";
	for (split ' ', $attr) {
		/^(polls|frees)\((\w+)\)$/ ? ($r->{$1} = $2) : /^(persistent|cancels|first|silent)$/ ? ($r->{$1} = 1) :
			die "$where: no attribute '$_'\n";
	}
	$r->{params} = [map { parse_param($_, $where) } split_list($params)];
	for my $p (@{$r->{params}}) {
		my $e = $p->{expr}[0] // '';
		die "$where: no argument '$e'\n" unless grep { $_ eq $e } @{$r->{args}}, 'all';
	}
}

# The text of a file with its included files. Included files lie beside the file and include no others.
sub read_text {
	my ($file, $from) = @_;
	open my $f, '<', $file or die $from ? "$from: cannot include $file: $!\n" : "$file: $!\n";
	return join '', map {
		my $name = /^include\s+(\S+)\s*$/ ? $1 : undef;
		die "$file: is included by $from, and includes $name: only one may\n" if $name && $from;
		$name ? read_text($file =~ s{[^/]*\z}{$name}r, $file) : $_;
	} <$f>;
}

# The rows in order: {name, chapter, args, class, params, ...}, or {name, chapter, counted => REASON}.
sub read_rules {
	my ($file) = @_;
	my $text = read_text($file) =~ s/^#\s+-{4}\s+(.*?)\s+-{4}\s*$/CHAPTER $1/mgr;
	$text =~ s/^\s*#.*\n//mg;
	my (@row, %seen);
	my $chapter = '';
	until ($text =~ /\G\s*\z/gc) {
		if ($text =~ /\G\s*CHAPTER (.*)\n/gc) {
			$chapter = $1;
			next;
		}
		my %r = (chapter => $chapter);
		if ($text =~ /\G\s*(MPI_\w+)\s+COUNTED\s+(\w+)\s*\n/gc) {
			$r{name} = $1;
			$r{counted} = $2;
			$REASON{$2} or die "$file: $1: no reason '$2'\n";
		} elsif ($text =~ /\G\s*((?:MPI|Precedent)_\w+)\s*\(([^)]*)\)\s*([A-Z]+)([^{}]*)\{([^}]*)\}/gc) {
			@r{qw(name args class)} = ($1, [split_list($2)], $3);
			parse_rule(\%r, $4, $5, "$file: $1");
		} else {
			die "$file: cannot read a rule at: " . substr($text, pos($text) // 0, 60) . "\n";
		}
		die "$file: $r{name}: a second rule\n" if $seen{$r{name}}++;
		push @row, \%r;
	}
	@row or die "$file: no rules\n";
	return @row;
}

1;
