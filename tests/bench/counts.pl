#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Do the kernels execute what the programs do? Instructions in a nanosecond of a program's computation, counted, beside what
# its mix and the kernels' own counts tell. Counts come from valgrind's lackey, as differences of two lengths, so that they are the
# same on a busy machine; nanoseconds are the least processor time of several runs without it. One process each.
# Usage: counts.pl [PROGRAM...]	needs build/precedent, build/tests/programs and build/tests/bench/bench_kernels
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build median);
use File::Temp qw(tempdir);
use JSON::PP;
use List::Util qw(min sum0);

# size, then iterations: two to count, two to time
my %program = (bt => [20, 2, 5, 5, 65], cg => [300, 20, 60, 50, 850], ep => [undef, 1, 2, 1, 16], ft => [32, 2, 6, 10, 150],
	heat => [250, 20, 80, 100, 6100], is => [1024, 1, 3, 2, 42], lu => [64, 6, 18, 20, 220], mg => [32, 5, 20, 20, 420], sp => [24, 3, 9, 20, 320]);
my %what = ('guest instrs' => 'instructions', 'SBs entered' => 'pieces', 'total' => 'branches');
my @columns = ('guest instrs', 'SBs entered', 'total');
my ($TIMES, $UNITS, $LEAST) = (4, 4000, 0.005); # runs to time; of a kernel; shares that are looked at
my @names = @ARGV ? @ARGV : sort keys %program;
my $dir = tempdir(CLEANUP => 1);
$program{$_} or die "counts.pl: no '$_'; there are @{[sort keys %program]}\n" for @names;

sub run {
	my ($to, @cmd) = @_;
	my $pid = fork // die "fork: $!\n";
	if (!$pid) {
		open STDIN, '<', '/dev/null' and open STDOUT, '>', '/dev/null' and open STDERR, '>', $to and exec @cmd;
		exit 127;
	}
	waitpid $pid, 0;
	die "@cmd failed\n" if $?;
	return;
}

# {kind => instructions} of a command.
sub count {
	my (@cmd) = @_;
	run("$dir/count", 'valgrind', '--tool=lackey', '--basic-counts=yes', @cmd);
	open my $f, '<', "$dir/count" or die "$dir/count: $!\n";
	my %n;
	while (my $line = <$f>) {
		next if $line !~ /^==\d+==\s+(total|guest instrs|SBs entered)\b[^:]*:\s+([\d,]+)/;
		my ($kind, $n) = ($1, $2 =~ tr/,//dr);
		$n{$kind} = $n;
	}
	return \%n;
}

# Of each of the iterations that make the difference.
sub count_each {
	my ($small, $large, $cmd) = @_;
	my ($a, $b) = map { count($cmd->($_)) } $small, $large;
	return {map { $_ => ($b->{$_} - $a->{$_}) / ($large - $small) } @columns};
}

sub processor_s {
	my (@cmd) = @_;
	my $before = (times)[2];
	run('/dev/null', @cmd);
	return (times)[2] - $before;
}

# What the kernel of a class executes in a nanosecond, counted when it is first asked for.
my $bench = build() . '/tests/bench/bench_kernels';
my (%kernel_ns, %kernel);
sub kernel_counts {
	my ($class, $row) = @_;
	my $how = "0,$row";
	$kernel_ns{$how} //= {map { (split)[0, 1] } qx($bench 128 $how)};
	return $kernel{"$class $row"} //= do {
		my $each = count_each($UNITS, 2 * $UNITS, sub { return ($bench, 128, $how, $class, $_[0]) });
		+{map { $_ => $each->{$_} / $kernel_ns{$how}{$class} } @columns};
	};
}

# As the runtime rounds it.
sub row_of {
	my ($row) = @_;
	my $n = 16;
	$n *= 2 while $n < 512 && ($row <= 0 || $row > $n * sqrt 2);
	return $n;
}

# Shares of the time of a program's computation, by class, and the length of its rows.
sub shares {
	my ($name, @cmd) = @_;
	run("$dir/traced", build() . '/precedent', 'trace', '-q', '-o', "$dir/$name", '--', qw(mpirun --bind-to none -n 1), @cmd);
	my $d = decode_json(scalar qx(@{[build()]}/precedent info --mix --json $dir/$name));
	my $all = sum0(map { $_->{seconds} } @{$d->{blocks}}) or die "$name computes nothing\n";
	my %share;
	for my $b (@{$d->{blocks}}) {
		my $of = $d->{mixes}[$b->{mix}]{shares};
		$share{$_} += $of->{$_} * $b->{seconds} / $all for keys %$of;
	}
	return (\%share, row_of($d->{row}));
}

print '| program |', map({ " $what{$_}/ns | told |" } @columns), "\n|", ' --- |' x (1 + 2 * @columns), "\n";
my %off;
for my $name (@names) {
	my ($size, $count_few, $count_many, $few, $many) = @{$program{$name}};
	my $cmd = sub { return (build() . "/tests/programs/$name", $size // (), $_[0]) };
	my ($long, $short) = map { my $n = $_; min(map { processor_s($cmd->($n)) } 1 .. $TIMES) } $many, $few;
	my $ns = 1e9 * ($long - $short) / ($many - $few);
	my ($each, $share, $row) = (count_each($count_few, $count_many, $cmd), shares($name, $cmd->($many)));
	print "| $name |";
	for my $c (@columns) {
		my $told = sum0(map { $share->{$_} * kernel_counts($_, $row)->{$c} } grep { $share->{$_} > $LEAST } keys %$share);
		push @{$off{$c}}, my $e = $told / ($each->{$c} / $ns) - 1;
		printf ' %.2f | %+.0f %% |', $each->{$c} / $ns, 100 * $e;
	}
	print "\n";
}
print '| median |', map({ sprintf '  | %.0f %% |', 100 * median(map { abs } @{$off{$_}}) } @columns), "\n";
