#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The experiments of doc/evaluation/models.md. An experiment that has a result is not run again: a run that was stopped goes on. Prints every prediction.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib", "$FindBin::Bin/lib", "$FindBin::Bin/../../cluster/lib";
use Bench qw(build median);
use Fcntl qw(:flock);
use File::Path qw(make_path);
use Getopt::Long;
use JSON::PP;
use ModelTables qw(tables tables_write);
use OwnPrograms qw(own_run own_names);
use Time::HiRes qw(time);

my @names = ('lag', 'brusselator', 'plate', 'halo', own_names());
my $dir = build() . '/model-experiments';
my $json = JSON::PP->new->canonical->pretty;
my ($only, $again, $as_json, $help, $network, $write, $rounds, $traces);

sub usage {
	print {$_[0] ? *STDERR : *STDOUT} <<"TEXT";
usage: run.pl [--only NAME,...] [--again] [--network] [--rounds N] [--dir DIR] [--json | --write FILE]
Runs the experiments with models and prints every prediction.
  --only NAME,...  only these: @names
  --again          also those that have a result
  --network        the exchange of halos also over the slow network of a testbed (as root)
  --rounds N       how often every run of an own program is made (6): 1 for a trial
  --traces DIR     keep the traces of own programs there, as RANKS-SIZE-ROUND
  --dir DIR        where results are kept ($dir)
  --json           the results as JSON instead of tables
  --write FILE     put summaries into FILE (doc/evaluation/models.md) instead
TEXT
	exit $_[0];
}

GetOptions('only=s' => \$only, again => \$again, json => \$as_json, 'write=s' => \$write, 'rounds=i' => \$rounds, 'dir=s' => \$dir, 'traces=s' => \$traces, network => \$network, help => \$help) or usage(2);
usage(0) if $help;
usage(2) if @ARGV || (defined $rounds && $rounds < 1);
push @names, 'network' if $network;
my @chosen = defined $only ? split(/,/, $only) : @names;
for my $name (@chosen) {
	next if grep { $_ eq $name } @names, 'network';
	print STDERR "run.pl: there is no experiment '$name'\n";
	usage(2);
}

sub load {
	open my $f, '<', '/proc/loadavg' or return 0;
	return (split ' ', <$f>)[0];
}

sub experiment {
	my ($name) = @_;
	local @ENV{qw(OMP_WAIT_POLICY OMP_PROC_BIND)} = ('passive', 'true');
	delete local $ENV{OMP_NUM_THREADS};
	open my $p, '-|', build() . '/tests/bench/model/experiments', $name or die "experiments: $!\n";
	my $out = do { local $/; <$p> };
	close $p or die "experiments $name failed\n";
	return $json->decode($out);
}

# Columns and rows of each rank, steps between exchanges, pairs of runs, what messages go through.
my @halo = (
	[128, 64, 2, 151, 'memory'], [128, 64, 4, 151, 'memory'], [128, 128, 2, 101, 'memory'], [256, 128, 2, 61, 'memory'],
	[256, 128, 2, 61, 'tcp'], [256, 256, 2, 41, 'tcp'], [512, 256, 2, 31, 'tcp'],
);
my $HALO_STEPS = 300;

sub halo {
	my @lines;
	for my $h (@halo) {
		my ($columns, $rows, $every, $pairs, $through) = @$h;
		local $ENV{OMPI_MCA_btl} = $through eq 'tcp' ? 'self,tcp' : 'self,vader';
		my $r = $json->decode(Bench::mpirun(2, build() . '/tests/bench/model/halo', $columns, $rows, $HALO_STEPS, $every, $pairs));
		push @lines, {%$r, through => $through};
	}
	return {sizes => \@lines};
}

# The same over 100 Mbit/s: what is sent matters there, so that blocks are larger.
sub network {
	require Machines;
	my @lines;
	for my $h ([512, 256, 2, 21], [1024, 512, 2, 11]) {
		my ($columns, $rows, $every, $pairs) = @$h;
		my $at = Machines::work_dir('network');
		system('cp', build() . '/tests/bench/model/halo', "$at/halo") == 0 or die "cp failed\n";
		my (undef, $out) = Machines::run_on('network', 2, {}, "$at/halo", $columns, $rows, 100, $every, $pairs);
		push @lines, {%{$json->decode($out)}, through => '100 Mbit/s'};
	}
	Machines::machines_end();
	return {sizes => \@lines};
}

my %how = (halo => \&halo, network => \&network, map { my $n = $_; $n => sub { own_run($n, $rounds, $traces) } } own_names());

sub result_file { return "$dir/$_[0].json" }

sub result_read {
	my ($name) = @_;
	open my $f, '<', result_file($name) or return;
	return eval { $json->decode(do { local $/; <$f> }) };
}

sub result_write {
	my ($name, $r) = @_;
	my $file = result_file($name);
	open my $f, '>', "$file.new" or die "$file.new: $!\n";
	print $f $json->encode($r);
	close $f or die "$file.new: $!\n";
	rename "$file.new", $file or die "$file: $!\n";
	return;
}

make_path($dir);
# Two at once would take each other's files away: a skeleton with the data of another one, say.
open my $lock, '>', "$dir/lock" or die "$dir/lock: $!\n";
if (!flock $lock, LOCK_EX | LOCK_NB) {
	print STDERR "run.pl: another one writes into $dir: wait for it, or name another place by --dir\n";
	exit 1;
}
my ($failed, %result) = (0);
for my $name (@chosen) {
	my $r = $again ? undef : result_read($name);
	if (!$r) {
		print STDERR "$name ...\n";
		my ($begin, $load) = (time, load());
		$r = eval { $how{$name} ? $how{$name}->() : experiment($name) };
		if (!$r) {
			print STDERR "$name: ", $@ =~ s/\s+\z//r, "\n";
			$failed = 1;
			next;
		}
		$r->{load} = $load + 0;
		$r->{took_s} = 0 + sprintf '%.1f', time - $begin;
		result_write($name, $r);
	}
	$result{$name} = $r;
}
if (defined $write) {
	tables_write($write, \%result);
	exit $failed;
}
print $as_json ? $json->encode(\%result) : tables(\%result);
exit $failed;
