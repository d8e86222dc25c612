#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# How much slower each kernel, and a plain loop of its class, run under qemu-user and under valgrind without a tool, as
# machines that weigh instructions differently: a kernel that stands for its class slows down as the loop does.
# Usage: kernels.pl BENCH_KERNELS [VECTOR_BITS]
use strict;
use warnings;

my ($bench, @bits) = @ARGV;
die "usage: kernels.pl BENCH_KERNELS [VECTOR_BITS]\n" if !$bench || !-x $bench;

sub measure {
	my (@how) = @_;
	my %ns;
	open my $out, '-|', @how, $bench, @bits or die "@how: $!\n";
	while (<$out>) {
		my ($class, @both) = split;
		$ns{$class} = \@both;
		push @{ $ns{order} }, $class;
	}
	close $out or die "@how $bench failed\n";
	return \%ns;
}

my ($qemu) = grep { -x } map { "/usr/bin/qemu-x86_64$_" } '-static', '';
my $native = measure();
my $translated = $qemu ? measure($qemu, '-cpu', 'max') : undef;
my $emulated = -x '/usr/bin/valgrind' ? measure('/usr/bin/valgrind', '-q', '--tool=none') : undef;

printf "%-11s %9s %9s   %7s %7s   %7s %7s\n", 'class', 'kernel ns', 'loop ns', 'qemu', 'loop', 'valgr.', 'loop';
for my $class (@{ $native->{order} }) {
	my $n = $native->{$class};
	printf "%-11s %9.2f %9.2f", $class, @$n;
	for my $other ($translated, $emulated) {
		printf $other ? "   %7.2f %7.2f" : "   %7s %7s",
			$other ? map { $other->{$class}[$_] / $n->[$_] } 0, 1 : ('-', '-');
	}
	print "\n";
}
