#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedentd --backup and what the manual says of restoring it, on a made-up store; precedent accuracy --cost of a made-up
# answer.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json encode_json);
use Test::More;
use Testbed qw(run_command build_dir);

my $make = build_dir() . '/tests/bench/make_history';
my $daemon = build_dir() . '/precedentd';
my ($state) = slurp($ENV{PRECEDENT_CONF}) =~ /^StateDir=(.*)$/m;
mkdir $state;
my $store = "$state/precedent.db";

sub backup {
	my (@arguments) = @_;
	return run_command($daemon, '--backup', @arguments);
}

sub answer_of {
	my ($file) = @_;
	return run_command($make, '--answer', $file, 0)->{out};
}

SKIP: {
	skip 'make_history or precedentd is not built', 1 if grep { !-x } $make, $daemon;
	subtest 'backup' => sub {
		my $r = backup('copy');
		is($r->{rc}, 1, 'there is no store yet');
		like($r->{err}, qr/^precedentd: backup: \Q$store\E: there is no store yet: is precedentd running\?\n\z/, 'says so in one line');
		ok(!-e 'copy', 'and leaves nothing');
		is(run_command($make, $store, 500, 20)->{rc}, 0, 'a store');
		my $before = answer_of($store);
		is(backup('copy')->{rc}, 0, 'backup');
		is((stat 'copy')[2] & 07777, 0600, 'is its owner\'s alone');
		is_deeply([glob 'copy*'], ['copy'], 'is one file, with nothing beside it');
		is(answer_of('copy'), $before, 'and holds the same');
		is(backup('copy')->{rc}, 0, 'over an older one');
		is(backup('none/copy')->{rc}, 1, 'no such directory');
		is(backup('.')->{rc}, 1, 'a directory');
		is(backup()->{rc}, 2, 'no file named');
		unlink glob "$store-*";
		spew($store, 'damaged');
		is(backup('copy')->{rc}, 1, 'of a damaged store');
		is(answer_of('copy'), $before, 'the last good one stays');
		unlink glob "$store*";
		is(run_command('install', '-m', '0640', 'copy', $store)->{rc}, 0, 'restored');
		is(answer_of($store), $before, 'it is as it was');
	};
}

subtest 'accuracy --cost' => sub {
	my %row = (probes => 12, probe_node_h => 0.25, jobs => 400, used_node_h => 1234.5, probe_share => 0.0002, limited => 300,
		asked_node_h => 4000, freed_node_h => 2500, freed_share => 0.625);
	my %none = (%row, map { $_ => 0 } keys %row);
	my @rows = ({%row, uid => 0, partition => 'fast'}, {%none, uid => 4_000_000_000, partition => "sl\x{1f600}w", probes => 1});
	my $all = {everybody => JSON::PP::true, days => 7, rows_n => 2, rows => \@rows, total => \%row};
	spew('cost.json', encode_json($all));
	my $out = precedent('accuracy', '--cost', '--from', 'cost.json')->{out};
	like($out, qr/^Node-hours of the last 7 days$/m, 'says of when');
	like($out, qr/^root +fast +12 +0\.25 +400 +1,23[45] +0\.0 % +300 +4,000 +2,500 +62\.5 %$/m, 'a row') or diag $out;
	like($out, qr/^4000000000 +.* - +0 +0\.00 +0\.00 +-$/m, 'one without jobs') or diag $out;
	like($out, qr/^all +12 /m, 'the sum');
	unlike($out, qr/^.{121,}$/m, 'within 120 columns');
	is(decode_json(precedent('accuracy', '--cost', '--from', 'cost.json', '--json')->{out})->{total}{probes}, 12, '--json');
	spew('cost.json', encode_json({%$all, rows_n => 0, rows => []}));
	is(precedent('accuracy', '--cost', '--from', 'cost.json')->{out}, "no job and no probe has ended yet\n", 'nothing yet');
	spew('cost.json', '{}');
	like(precedent('accuracy', '--cost', '--from', 'cost.json')->{err}, qr/is not what precedent accuracy --cost --json printed$/, 'another file');
};

done_testing;
