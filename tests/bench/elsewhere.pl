#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs a benchmark on another host, where nothing is installed. A small form of the benchmark runs here under strace. The files
# that it opens go into a bundle, under their names.
#
#	elsewhere.pl pack FILE.tar.xz [--add PATH]... -- COMMAND [ARGUMENT...]
#	there, as root: mkdir D && tar xJf FILE.tar.xz -C D && D/enter COMMAND [ARGUMENT...]
#
# The command there may have other arguments. --add names files that only that command opens.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(top);
use Bundle qw(bundle_make bundle_pack files_opened);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Getopt::Long;

my $usage = "usage: elsewhere.pl pack FILE.tar.xz [--add PATH]... -- COMMAND [ARGUMENT...]\n";
my @add;
if (!GetOptions('add=s' => \@add) || @ARGV < 3 || shift(@ARGV) ne 'pack') {
	print STDERR $usage;
	exit 2;
}
my $file = shift @ARGV;
my $to = $file =~ m{^/} ? $file : "$ENV{PWD}/$file";
chdir top() or die top() . ": $!\n";
my $root = tempdir('/var/tmp/precedent-elsewhere.XXXXXX', CLEANUP => 1);
bundle_make($root, files_opened(@ARGV), map { abs_path($_) // die "$_: $!\n" } @add);
bundle_pack($root, $to, enter => '"$@"', OMPI_ALLOW_RUN_AS_ROOT => 1, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM => 1);
