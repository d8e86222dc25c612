# SPDX-License-Identifier: GPL-2.0-or-later
# The hash in a probe's record is of what was run. A skeleton that its user replaces between two probes is found out by the
# probe, or, when the user changes what the probe goes by as well, by another hash than the source probe's.
use strict;
use warnings;

use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

empty_skeletons();
my @run = ('mpirun', '--bind-to', 'none', '--oversubscribe', '-n', 2, program('heat'), 128, 200);

mkdir 1 or die "1: $!";
my $r = precedent('trace', '-q', '-o', '1/0.ptrace', '--', @run);
die "no trace: $r->{err}\n" if $r->{rc} != 0;

# The record of a probe on this candidate.
sub probed {
	my ($candidate, @options) = @_;
	precedent('probe', '--dir', 1, '--candidate', $candidate, '--partial=never', '--seconds', 0.2, @options);
	return slurp("1/probe.$candidate.result");
}

sub hash_of { return $_[0] =~ /^hash (\w{16})$/m ? $1 : 'none' }

my $home = probed('home', '--source');
like($home, qr/^status ok$/m, 'the source probe runs the skeleton');
my $away = probed('away');
is(hash_of($away), hash_of($home), 'another probe has run the same');

open my $skel, '>>', '1/skel.0/skel' or die "skel: $!";
print {$skel} 'x';
close $skel or die "skel: $!";
like(probed('away'), qr/^reason .*the skeleton is not the one that the source probe built/m, 'a skeleton that was replaced is not run');

my $facts = slurp('1/skel.0/facts');
ok($facts =~ s/^executable .*\n//m, 'the facts have the hash');
open my $to, '>', '1/skel.0/facts' or die "facts: $!";
print {$to} $facts;
close $to or die "facts: $!";
$away = probed('away');
like($away, qr/^status ok$/m, 'without it the skeleton is run');
isnt(hash_of($away), hash_of($home), '... and the record has another hash than that of the source probe');

done_testing();
