# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tables of the lines that accuracy_machines.pl has left: all of them (--table), and the short ones of doc/evaluation/accuracy.md
# (--document). Lines of another way of measuring than today's do not count. Runs on different numbers of ranks are apart everywhere.
package AccuracyTable;
use strict;
use warnings;
use Bench qw(median);
use Exporter 'import';
use Machines qw(home_of machine machine_names);
use Pairs qw(of_this_way);
use Programs qw(program_names program_of slurp);

our @EXPORT_OK = qw(counting print_tables print_programs document);

# A table of the document: its name and number of ranks stand in the line before it. The program replaces the lines up to the end.
my $BEGIN = qr/^<!-- table (\w+), (\d+) ranks: written by accuracy_machines\.pl --document -->\n/m;
my $END   = "<!-- end of the table -->\n";

my $LARGE = 0.10; # errors above it are named
my $PAIRS = 5;    # of a program on a machine so many count, the latest: earlier ones are of earlier versions

# Relative errors of a method, of the lines that have it.
sub errors {
	my ($method, @l) = @_;
	return map { $_->{$method} / $_->{actual} - 1 } grep { defined $_->{$method} } @l;
}

sub in_percent { my ($x, $format) = @_; return defined $x ? sprintf $format // '%.1f', 100 * $x : '-' }

# Median and worst, with their signs.
sub percents {
	my @e = sort { abs $b <=> abs $a } @_;
	return @e ? map { in_percent($_, '%+.1f') } median(@e), $e[0] : ('-', '-');
}

# Median and worst, without.
sub magnitudes {
	my @e = sort { $a <=> $b } map { abs } @_;
	return @e ? map { in_percent($_) } median(@e), $e[-1] : ('-', '-');
}

# All single times of a program, there (actual) or at home.
sub single_times { my ($where, @l) = @_; return map { map { @$_ } @{$_->{"${where}_runs"}} } @l }

# Median deviation from the median; undef of one alone.
sub noise {
	my @v = @_;
	my $m = median(@v);
	return @v > 1 && $m ? median(map { abs($_ / $m - 1) } @v) : undef;
}

sub table_head { my ($before, @column) = @_; print "\n$before| ", join(' | ', @column), " |\n|", ' --- |' x @column, "\n"; return }
sub table_row { print '| ', join(' | ', @_), " |\n"; return }

# ---- over all programs ----

# [what, lines] of each machine and number of ranks; the number is named where there are several.
sub groups {
	my ($cell) = @_;
	my @l = map { @$_ } map { values %$_ } values %$cell;
	my %ranks = map { $_->{ranks} => 1 } @l;
	my @groups;
	for my $ranks (sort { $a <=> $b } keys %ranks) {
		for my $m (machine_names()) {
			my @of = grep { $_->{machine} eq $m && $_->{ranks} == $ranks } @l or next;
			push @groups, [machine($m)->{text} . (keys %ranks > 1 ? ", $ranks ranks" : ''), @of];
		}
	}
	return @groups;
}

# The error of each program by itself: the median over its pairs, which what disturbs a single pair is not in.
sub of_programs {
	my ($method, @l) = @_;
	my %of;
	push @{$of{$_->{program}}}, $_ for @l;
	return map { median(@$_) } grep { @$_ } map { [errors($method, @$_)] } values %of;
}

sub print_summary {
	my ($cell) = @_;
	my @method = qw(skeleton partial empty kernels clock);
	table_head("Absolute errors, median and worst:\n\n", 'machine', 'pairs', map { (($_ eq 'empty' ? 'empty loop' : $_) . ' %', 'worst') } @method);
	for (groups($cell)) {
		my ($what, @l) = @$_;
		table_row($what, scalar @l, map { magnitudes(errors($_, @l)) } @method);
	}
	table_head("The same of programs, each with the median of its pairs:\n\n", 'machine', 'programs', map { (($_ eq 'empty' ? 'empty loop' : $_) . ' %', 'worst') } @method);
	for (groups($cell)) {
		my ($what, @l) = @$_;
		my %programs = map { $_->{program} => 1 } @l;
		table_row($what, scalar keys %programs, map { magnitudes(of_programs($_, @l)) } @method);
	}
	return;
}

# Share of the lines whose actual time lies inside what was told, half the width relative to the middle, and how many would not
# have been told.
sub interval {
	my ($kind, @l) = @_;
	my @have = grep { $_->{told}{$kind} } @l or return ('-', '-', '-');
	my @told = grep { !$_->{told}{$kind}{refused} } @have;
	my $inside = grep { $_->{actual} >= $_->{told}{$kind}{lo} && $_->{actual} <= $_->{told}{$kind}{hi} } @told;
	my @width = map { ($_->{hi} - $_->{lo}) / 2 / $_->{mean} } map { $_->{told}{$kind} } @told;
	return (@told ? "$inside of " . @told : '-', @width ? in_percent(median(@width)) : '-', @have - @told);
}

sub print_intervals {
	my ($cell) = @_;
	table_head("What is told, with its interval:\n\n", 'machine', (map { ("$_: inside", '+- %', 'refused') } qw(skeleton partial both)), 'both %', 'worst');
	for (groups($cell)) {
		my ($what, @l) = @$_;
		table_row($what, map({ interval($_, @l) } qw(skeleton partial both)),
			magnitudes(map { $_->{told}{both}{mean} / $_->{actual} - 1 } grep { defined $_->{told}{both}{mean} } @l));
	}
	return;
}

# ---- a machine ----

sub summary {
	my ($what, @e) = @_;
	my ($median, $worst) = magnitudes(@e);
	return if !@e;
	print "\n$what: median of the absolute error $median %, worst $worst %, ", scalar(grep { $_ < 0 } @e), ' of ', scalar @e, " predicted too little.\n";
	return;
}

sub print_program {
	my ($p, @l) = @_;
	my @skeleton = errors('skeleton', @l);
	my @partial = grep { defined $_->{partial} } @l;
	table_row($p, scalar @l, sprintf('%.2f', median(map { $_->{actual} } @l)), in_percent(noise(single_times('actual', @l))), percents(@skeleton),
		percents(errors('partial', @l)), (map { (percents(errors($_, @l)))[0] } qw(direct empty kernels clock)),
		grep({ $_ < 0 } @skeleton) . ' of ' . @skeleton, in_percent(median(map { $_->{probe} / $_->{actual} } @l)),
		in_percent(median(map { $_->{partial_probe} / $_->{actual} } @partial)));
	return;
}

# A program whose skeleton is far off here, beside how much program and skeleton differ from run to run here and at home: what
# that does not explain is what remains. Of one pair alone nothing can be said of the program.
sub far_off {
	my ($p, @l) = @_;
	my $off = median(errors('skeleton', @l));
	my $many = grep { abs($_) > $LARGE } errors('skeleton', @l);
	return if !defined $off || abs $off <= $LARGE;
	my @of = (['program', noise(single_times('actual', @l))], ['program at home', noise(single_times('home', @l))],
		map { my $at = $_->[1]; [$_->[0], noise(map { $_->{$at}{skel_s} } grep { $_->{$at} } @l)] } ['skeleton', 'there'], ['skeleton at home', 'at_home']);
	my @known = grep { defined $_->[1] } @of;
	my $sum = 0;
	$sum += $_->[1] ** 2 for @known;
	my $left = abs($off) - sqrt $sum;
	my @by_itself = map { $_->{noise} } grep { $_ } map { ($_->{there}, $_->{at_home}) } @l;
	return "$p " . in_percent($off, '%+.1f') . ' % (' . join(', ', "$many of " . @l . ' pairs', map({ "$_->[0] +-" . in_percent($_->[1]) } @known),
		@by_itself ? 'the probes measure +-' . in_percent(median(@by_itself)) : (), @known ? 'not explained by these ' . in_percent($left > 0 ? $left : 0) : ()) . ')';
}

sub print_machine {
	my ($m, $rows, $failed) = @_;
	table_head('### ' . machine($m)->{text} . "\n\n", 'program, ranks', 'pairs', 'actual s', 'noise %', 'skeleton %', 'worst', 'partial %', 'worst', 'direct %',
		'empty loop %', 'kernels %', 'clock %', 'under', 'probe %', 'its probe %');
	print_program($_, @{$rows->{$_}}) for sort keys %$rows;
	my @l = map { @$_ } values %$rows;
	my %why;
	$why{$_->{unpartial}}{"$_->{program}, $_->{ranks}"} = 1 for grep { defined $_->{unpartial} } @l;
	summary('Skeletons', errors('skeleton', @l));
	summary('Partial execution', errors('partial', @l));
	print "\n" if %why;
	print 'No partial execution of ', join('; ', sort keys %{$why{$_}}), ": $_.\n" for sort keys %why;
	my @far = map { far_off($_, @{$rows->{$_}}) } sort keys %$rows;
	print "\nSkeletons off by more than ", 100 * $LARGE, ' %: ', join('; ', @far), ".\n" if @far;
	print "\n$_: no rows: ", $failed->{$_} =~ s/\.?\s*\z//r, ".\n" for grep { !$rows->{$_} } sort keys %$failed;
	return;
}

# counting(LINES): those that the tables are made of, of today's way and the latest pairs only, in their order.
sub counting {
	my %later;
	return reverse grep { defined $_->{failed} || $later{"$_->{program}, $_->{ranks}, $_->{machine}"}++ < $PAIRS } reverse of_this_way(@_);
}

# print_tables(LINES): the lines of the results, in order. One with `failed` is no pair: it says why there is none.
sub print_tables {
	my (%cell, %failed);
	for my $l (counting(@_)) {
		my $p = "$l->{program}, $l->{ranks}";
		defined $l->{failed} ? $failed{$l->{machine}}{$p} = $l->{failed} : push @{$cell{$l->{machine}}{$p}}, $l;
	}
	print_summary(\%cell);
	print_intervals(\%cell);
	print_machine($_, $cell{$_} // {}, $failed{$_} // {}) for grep { $cell{$_} || $failed{$_} } machine_names();
	return;
}

# ---- the document ----

# Real machines only; --table has the emulated ones too.
my @REAL = qw(home cpu network both unequal host remote);

# [machine, lines] of each real machine that has lines.
sub real_machines {
	my (@l) = @_;
	return grep { @$_ > 1 } map { my $m = $_; [$m, grep { $_->{machine} eq $m } @l] } @REAL;
}

# Errors of programs, by method. On the traced machine there is one: the program against itself.
sub document_methods {
	my (@l) = @_;
	table_head('', 'machine', 'programs', 'skeleton', 'partial execution', 'empty loop', 'kernels', 'clock');
	for (real_machines(@l)) {
		my ($m, @at) = @$_;
		my %programs = map { $_->{program} => 1 } @at;
		my $again = home_of($m) eq $m;
		table_row(machine($m)->{text}, scalar keys %programs, map { my @e = $again && $_ ne 'skeleton' ? () : of_programs($_, @at); @e ? join ', ', magnitudes(@e) : '-' } qw(skeleton partial empty kernels clock));
	}
	return;
}

# Errors of single pairs, and intervals.
sub document_pairs {
	my (@l) = @_;
	table_head('', 'machine', 'pairs', 'error', 'within 5 %', 'within 10 %', map { ("$_ held", '+- %', 'withheld') } 'skeleton:', 'with partial execution:');
	for (real_machines(@l)) {
		my ($m, @at) = @$_;
		my @e = map { abs } errors('skeleton', @at);
		table_row(machine($m)->{text}, scalar @at, join(', ', magnitudes(@e)), map({ my $most = $_; scalar grep { $_ <= $most } @e } 0.05, 0.10), map { interval($_, @at) } qw(skeleton both));
	}
	return;
}

# Skeletons: the median of the pairs of each program on each machine.
sub document_programs {
	my (@l) = @_;
	my @at = real_machines(@l);
	table_head('', 'program', map { machine($_->[0])->{text} } @at);
	for my $p (grep { my $name = $_; grep { $_->{program} eq $name } @l } program_names()) {
		table_row($p, map { my (undef, @of) = @$_; in_percent(scalar median(errors('skeleton', grep { $_->{program} eq $p } @of)), '%+.1f') =~ s/\A[+-](?=0\.0\z)//r } @at);
	}
	return;
}

my %DOCUMENT = (methods => \&document_methods, pairs => \&document_pairs, programs => \&document_programs);

# The table of that name as text, between empty lines.
sub table_text {
	my ($path, $name, $ranks, @l) = @_;
	my $print = $DOCUMENT{$name} // die "$path: no table '$name'; there are " . join(', ', sort keys %DOCUMENT) . "\n";
	my $text = '';
	open my $to, '>', \$text or die "memory: $!\n";
	my $before = select $to;
	$print->(grep { $_->{ranks} == $ranks } @l);
	select $before;
	close $to or die "memory: $!\n";
	return "$text\n";
}

# document(PATH, LINES): writes the tables that PATH asks for between their marker lines. The file is replaced as a whole.
sub document {
	my ($path, @l) = @_;
	my $text = slurp($path);
	of_this_way(@l) or die "no rows of today's way of measuring: $path stays as it is\n";
	my @pairs = grep { !defined $_->{failed} } counting(@l);
	my $begun = () = $text =~ /^<!-- table /mg;
	my $written = $text =~ s/($BEGIN).*?^(\Q$END\E)/$1 . table_text($path, $2, $3, @pairs) . $4/gmse;
	$begun && $written == $begun or die "$path: no place for tables, or one without an end ($begun begin, " . ($written || 0) . " are whole)\n";
	open my $f, '>', "$path.new" or die "$path.new: $!\n";
	print {$f} $text or die "$path.new: $!\n";
	close $f or die "$path.new: $!\n";
	rename "$path.new", $path or die "$path: $!\n";
	return;
}

# What is run.
sub print_programs {
	table_head('', 'program', 'command', 'emulated', 'data; memory of a rank');
	for my $p (map { program_of($_) } program_names()) {
		my ($large, $small) = map { "`@$_`" } @$p{qw(large small)};
		my $emulated = !grep { $_ eq 'qemu' } @{$p->{not_on} // []};
		table_row($p->{name}, $large, !$emulated ? '-' : $small eq $large ? 'the same, smaller' : $small, $p->{data});
	}
	return;
}

1;
