#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is traced on arm64, and what users are told about what is missing there. The programs of build-arm64 run under qemu-user,
# in the tree that scripts/system-tree makes. A program starts as its only rank: the tree has no mpirun for arm64.
use strict;
use warnings;

use File::Temp qw(tempdir);
use Test::More;

my $build = $ENV{PRECEDENT_BUILD};
my $dir = tempdir('precedent-arm64-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $why = 'samples are taken on x86-64 only, and this machine is arm64';

# ($status, $output, $errors) of a verb.
sub precedent {
	my ($arguments) = @_;
	my $out = qx(qemu-aarch64 $build/precedent $arguments 2>$dir/stderr);
	my $rc = $? >> 8;
	open my $fh, '<', "$dir/stderr" or die "$dir/stderr: $!\n";
	return ($rc, $out, join '', <$fh>);
}

my ($rc, $out, $err) = precedent('doctor');
like($out, qr/^warn  samples +\Q$why\E: .*: keep Mode = observe/m, 'doctor says what is missing, why, and what to do');

# qemu itself is no arm64 program: its loader ignores the tracer, and says so. The program's loader takes it.
($rc, $out, $err) = precedent("trace -o $dir/heat.ptrace -- qemu-aarch64 $build/tests/programs/heat 64 20 10");
is($rc, 0, 'a program is traced') or diag($err);
like($err, qr/\Q$dir\E\/heat\.ptrace: 1 ranks, \d+ events/, 'with its calls');
like($err, qr/: the trace does not say what computation consists of: \Q$why\E$/m, 'and what the trace lacks is said');
($rc, $out, $err) = precedent("verify $dir/heat.ptrace");
like($out, qr/: lossless: /, 'all calls are in the trace') or diag($err);
($rc, $out, $err) = precedent("info --mix $dir/heat.ptrace");
like($out, qr/: nothing was sampled \(\Q$why\E\)/, 'info --mix says why it knows nothing');
($rc, $out, $err) = precedent("skeleton $dir/heat.ptrace -o $dir/skel");
is($rc, 0, 'a skeleton is written') or diag($err);
like($out, qr/: computes with the default mix of kernels, as nothing was sampled: \Q$why\E$/m, 'and says what it computes');

done_testing;
