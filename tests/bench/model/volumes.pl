#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# Models of MPI programs against the performance-model normal form (normal_form.h), in quantities that do not depend on the
# machine: calls, and bytes of messages, of all ranks. Both learn from the same small runs, and predict runs of other sizes,
# other numbers of steps and another number of ranks. No time is measured, so a busy machine does no harm. Times are compared by
# run.pl, for the programs there.
#
#   volumes.pl [PROGRAM...] [--json | --write doc/evaluation/models.md]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Bench qw(build median output);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;

# sizes are learnt from, each with each number of ranks; ask: [size, steps, ranks]. command: words before the size.
my @STEPS = (14, 25, 33, 30, 21, 40, 17, 36, 29, 12, 50, 27); # also multiples of the ten steps of heat
my @programs = (
	{name => 'heat', kind => 'stencil', sizes => [48, 65, 82, 71], ranks => [2, 3, 4], dims => 1, ask => [[73, 47, 4], [73, 47, 6], [120, 90, 8]]},
	{name => 'jacobi', kind => 'stencil', command => ['send-first'], sizes => [48, 65, 82], ranks => [2, 3, 4], dims => 1, ask => [[73, 47, 4], [73, 47, 6], [120, 90, 8]]},
	{name => 'lu', kind => 'wavefront', sizes => [25, 34, 43], ranks => [2, 3, 4], dims => 2, ask => [[37, 20, 4], [37, 20, 6], [50, 45, 8]]},
	{name => 'cg', kind => 'solver', sizes => [49, 66, 83], ranks => [2, 3, 4], dims => 2, ask => [[72, 47, 4], [72, 47, 6], [100, 90, 8]]},
	{name => 'diffuse', kind => 'solver', after => [0], sizes => [8, 12, 16], ranks => [2], dims => 3, ask => [[20, 18, 2], [24, 9, 2]]},
	{name => 'ft', kind => 'transform', sizes => [8, 16, 32], ranks => [1, 2, 4], dims => 1, ask => [[16, 47, 4], [16, 47, 8], [64, 10, 8]]},
	{name => 'mg', kind => 'multigrid', sizes => [16, 32, 64], ranks => [2, 4, 8], dims => 2, ask => [[32, 47, 2], [32, 47, 8], [128, 9, 8]]},
	{name => 'sp', kind => 'line sweeps', sizes => [31, 43, 58], ranks => [2, 4, 6, 9], dims => 2, ask => [[46, 19, 4], [46, 19, 8]]},
	{name => 'bt', kind => 'line sweeps', sizes => [31, 43, 58], ranks => [2, 4, 6, 9], dims => 2, ask => [[46, 19, 4], [46, 19, 8]]},
	{name => 'is', kind => 'sort', sizes => [16, 32, 128], ranks => [2, 3, 4], dims => 1, ask => [[64, 47, 4], [64, 47, 8]]},
	{name => 'ep', kind => 'Monte Carlo', steps => 0, sizes => [1, 2, 4], ranks => [2, 3, 4], dims => 1, ask => [[3, 0, 4], [3, 0, 8]]},
	{name => 'ring', kind => 'pipeline', swapped => 1, sizes => [8, 40, 1000], ranks => [2, 3, 4], dims => 1, ask => [[300, 47, 4], [300, 47, 6], [5000, 90, 8]]},
);
my ($as_json, $write);
my $usage = "usage: volumes.pl [PROGRAM...] [--json | --write FILE]\n";
GetOptions(json => \$as_json, 'write=s' => \$write) or die $usage;
for my $name (@ARGV) {
	die "volumes.pl: there is no program '$name'\n$usage" if !grep { $_->{name} eq $name } @programs;
}
@programs = grep { my $p = $_; grep { $_ eq $p->{name} } @ARGV } @programs if @ARGV;
@ENV{qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM)} = (1, 1);

sub precedent { return output(build() . '/precedent', @_) }

# Calls of the trace, and bytes of its messages.
sub volumes {
	my ($file) = @_;
	my ($rc, $out) = precedent('info', '--json', $file);
	die "info $file: $out\n" if $rc;
	my $info = decode_json($out);
	return {calls => $info->{events}, bytes => $info->{bytes_sent}};
}

sub traced {
	my ($file, $p, $size, $steps, $ranks) = @_;
	my @arguments = (@{$p->{command} // []}, $p->{swapped} ? ($steps, $size) : ($size, defined $p->{steps} ? () : $steps), @{$p->{after} // []});
	my ($rc, $out) = precedent('trace', '-q', '-o', $file, '--', 'mpirun', '--oversubscribe', '-n', $ranks, build() . "/tests/programs/$p->{name}", @arguments);
	die "$p->{name} @arguments failed on $ranks ranks: $out\n" if $rc || !-s $file;
	return $file;
}

# The values that the normal form gives for the rows that are asked for. A row is [size, steps, ranks, value].
sub form {
	my ($rows, @asked) = @_;
	my $tmp = File::Temp->new;
	my $varied = grep { $_->[1] != $rows->[0][1] } @$rows;
	my @column = $varied ? (0 .. 2) : (0, 2);
	@column = grep { my $c = $_; grep { $_->[$c] != $rows->[0][$c] } @$rows } @column;
	print $tmp join(' ', @$_[@column, 3]) . "\n" for @$rows;
	print $tmp join(' ', @$_[@column]) . "\n" for @asked;
	close $tmp;
	my ($rc, $out) = output(build() . '/tests/bench/model/experiments', 'form', scalar @column, $tmp->filename);
	die "experiments form failed: $out\n" if $rc;
	return decode_json($out);
}

sub relative { return $_[1] ? $_[0] / $_[1] - 1 : $_[0] ? 1 : 0 }

sub ask {
	my ($p, $dir, $files, $size, $steps, $ranks) = @_;
	my $real = traced("$dir/asked", $p, $size, $steps, $ranks);
	my @request = ('model', 'predict', "$dir/model", '--ranks', $ranks, '--var', "N=$size", defined $p->{steps} ? () : ('--var', "S=$steps"));
	my %r = (size => $size, steps => $steps, ranks => $ranks, %{volumes($real)});
	my ($rc, $out) = precedent(@request, '--against', $real);
	my ($calls) = $out =~ /^([\d,]+) calls of/m;
	my ($exact, $wrong, $unknown) = $out =~ /: (\d+) of \d+ ranks make the predicted calls; \S+ calls and \S+ values compared, (\d+) values are others, (\d+) were not/;
	return {%r, refused => (split /\n/, $out)[-1] // ''} if !defined $exact;
	# Values that are not predicted, and requests that end in no fixed order, make no trace, and so no bytes.
	($rc, $out) = precedent(@request, '-o', "$dir/predicted", map { ('--from', $_) } @$files);
	return {%r, exact => $exact == $ranks ? 1 : 0, wrong => $wrong + 0, unknown => $unknown + 0, model_calls => $calls =~ tr/,//dr + 0,
		model_bytes => $rc ? undef : volumes("$dir/predicted")->{bytes}};
}

sub measure {
	my ($p) = @_;
	my $dir = tempdir(CLEANUP => 1);
	my (@rows, @files, $turn);
	for my $ranks (@{$p->{ranks}}) {
		for my $size (@{$p->{sizes}}) {
			my $steps = $p->{steps} // $STEPS[($turn // 0) % @STEPS];
			push @files, traced("$dir/$ranks-$size", $p, $size, $steps, $ranks);
			push @rows, {x => [$size, $steps, $ranks], %{volumes($files[-1])}};
			$turn++;
		}
	}
	my ($rc, $out) = precedent('model', 'fit', @files, '--dims', $p->{dims}, '-o', "$dir/model", '--var', 'N=' . join(',', map { $_->{x}[0] } @rows),
		defined $p->{steps} ? () : ('--var', 'S=' . join(',', map { $_->{x}[1] } @rows)));
	die "$p->{name}: model fit: $out\n" if $rc;
	my @asked = map { ask($p, $dir, \@files, @$_) } @{$p->{ask}};
	my %result = (name => $p->{name}, kind => $p->{kind}, runs => scalar @rows, asked => \@asked);
	for my $what (qw(calls bytes)) {
		# A program without messages has no bytes to fit.
		my $form = (grep { $_->{$what} } @rows) == @rows ? form([map { [@{$_->{x}}, $_->{$what}] } @rows], @{$p->{ask}}) : {form => '0', values => [map { 0 } @asked]};
		$result{"${what}_form"} = $form->{form};
		$asked[$_]{"form_$what"} = $form->{values}[$_] for 0 .. $#asked;
	}
	return \%result;
}

# "exact", or the median and the largest of the errors.
sub errors {
	my ($r, $whose, $what) = @_;
	my @e = map { abs relative($_->{"${whose}_$what"}, $_->{$what}) } grep { defined $_->{"${whose}_$what"} } @{$r->{asked}};
	return '-' if !@e;
	my ($most) = sort { $b <=> $a } @e;
	return $most < 1e-9 ? 'exact' : sprintf '%.1f %%, %.1f %%', 100 * median(@e), 100 * $most;
}

sub table {
	my (@results) = @_;
	my $text = "| program | kind | runs | predicted | sequence | values | calls: model | calls: normal form | bytes: model | bytes: normal form |\n"
		. '| --- ' x 10 . "|\n";
	for my $r (@results) {
		my @known = grep { !$_->{refused} } @{$r->{asked}};
		my $wrong = 0;
		$wrong += $_->{wrong} + $_->{unknown} for @known;
		$text .= sprintf "| %s | %s | %d | %d/%d | %d/%d | %s | %s | %s | %s | %s |\n", @$r{qw(name kind runs)}, scalar @known, scalar @{$r->{asked}},
			scalar(grep { $_->{exact} } @known), scalar @known, $wrong ? "$wrong not" : 'exact',
			map { my $what = $_; map { errors($r, $_, $what) } qw(model form) } qw(calls bytes);
	}
	return $text;
}

sub write_table {
	my ($file, $table) = @_;
	open my $f, '<', $file or die "$file: $!\n";
	my $text = do { local $/; <$f> };
	$text =~ s/^<!-- volumes -->\n.*?^<!-- end -->$/<!-- volumes -->\n\n$table\n<!-- end -->/ms or die "$file has no place for volumes\n";
	open $f, '>', $file or die "$file: $!\n";
	print $f $text;
	close $f or die "$file: $!\n";
	return;
}

my @results;
for my $p (@programs) {
	my $r = eval { measure($p) };
	print STDERR "volumes.pl: $@" if !$r;
	push @results, $r if $r;
	print STDERR table($r) =~ s/\A.*\n.*\n//r, map { $_->{refused} ? "  refused: $_->{refused}\n" : () } @{$r->{asked}} if $r && !$as_json;
}
if (defined $write) {
	write_table($write, table(@results));
} else {
	print $as_json ? JSON::PP->new->canonical->pretty->encode(\@results) : table(@results);
}
exit(@results < @programs ? 1 : 0);
