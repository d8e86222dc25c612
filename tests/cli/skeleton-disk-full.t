#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A probe that fails leaves a record of it, and is not tried again; one whose directory is full leaves none, and is.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use Cwd qw(getcwd);
use Test::More;
use Testbed qw(build_dir run_command);

my $can = run_command('unshare', '-m', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', '.');
$can->{rc} == 0 or plan skip_all => "no file system can be mounted here: $can->{err}";

my $r = precedent('trace', '-q', '-o', 'ring.ptrace', '--', qw(mpirun --oversubscribe --bind-to none -n 2), program('ring'), 300);
is($r->{rc}, 0, 'a program is traced') or die $r->{err};

# In a file system of that size, with a launcher that does nothing where it FAILS: the probe, and then what its directory holds.
sub probed {
	my ($size, $fails) = @_;
	mkdir 'spool';
	spew('mpirun', "#!/bin/sh\necho no launcher today >&2\nexit 1\n");
	chmod 0755, 'mpirun';
	my $path = $fails ? 'PATH=' . getcwd() . ':$PATH ' : '';
	my $command = "mount -t tmpfs -o size=$size none spool && mkdir spool/7 && cp ring.ptrace spool/7 || exit 9; " .
		$path . build_dir() . '/precedent probe --dir spool/7 --candidate a --source --seconds 0.2; rc=$?; ' .
		'ls -A spool/7; cat spool/7/probe.a.result; exit $rc';
	return run_command('unshare', '-m', 'sh', '-c', $command);
}

subtest 'with room' => sub {
	my $p = probed('256m', 0);
	is($p->{rc}, 0, 'it runs') or diag $p->{err};
	like($p->{out}, qr/^status ok$/m, '... and its record is there');
	$p = probed('256m', 1);
	is($p->{rc}, 1, 'it fails');
	like($p->{out}, qr/^status failed$/m, '... and the record says so') or diag $p->{err};
	unlike($p->{out}, qr/^room/m, '... and what was tried has left nothing');
};

subtest 'without' => sub {
	my $p = probed((24 + int((-s 'ring.ptrace') / 1024)) . 'k', 0); # the trace, and not much of a skeleton
	is($p->{rc}, 1, 'it fails');
	like($p->{err}, qr{^precedent: [^\n]*; there is no room in spool/7: no record is left, so that the probe is tried again$}m, '... for that reason');
	unlike($p->{out}, qr/^probe\.|^status /m, '... without a record');
};

done_testing();
