#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Makes skeletons of runs that are 1, 4 and 16 times as long, of programs whose steps differ. It prints their lines and data, the time
# and memory to make them, and how long they are planned and run for. None of these may grow with the run.
# Usage: growth.pl [--ranks N] [--seconds S] [--scale X] [KIND...]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Bench qw(build top);
use Cwd qw(getcwd);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;
use POSIX qw(WNOHANG);
use Programs qw(furnish slurp spill);
use Time::HiRes qw(sleep);

my %o = (ranks => 2, seconds => 1, scale => 1);
GetOptions(\%o, 'ranks=i', 'seconds=f', 'scale=f') or exit 2;
my %only = map { $_ => 1 } @ARGV;
my $dir = tempdir(CLEANUP => 1);
my @run = ('mpirun', $o{ranks} > 2 ? '--oversubscribe' : (), '-n', $o{ranks});
my ($program, $precedent) = (build() . '/tests/programs/irregular', build() . '/precedent');

# A kind of tests/programs/irregular.c with its steps at 1x, or an application and how its input is made longer.
my @kinds = ([steps => 1500], [solver => 150], [panels => 2500], [refine => 4000], [farm => 1500], [fetch => 2500], [some => 1500],
	[branch => 1500],
	[openfoam => sub { change('system/controlDict', qr/^(endTime\s+)(\S+?);/m, sub { "$_[0]" . $_[1] * $_[2] / 16 . ';' }, @_) }],
	[python => sub { my ($times, @program) = @_; return ($program[0], 500 * $times) }],
	[lammps => sub { change('in.lj', qr/^(run\s+)(\d+)/m, sub { $_[0] . int($_[1] * $_[2] / 4) }, @_) }],
	[petsc => sub { my ($times, @program) = @_; return ($program[0], '-da_refine', 5 + log($times) / log(4), '-pc_type', 'mg') }],
	[espresso => \&molecular_dynamics],
	[gromacs => sub { my ($times, @program) = @_; return (@program, '-nsteps', 250 * $times) }],
	['hpcc-hpl' => \&solve_again]);

# Rewrites a number in an input file of the working directory; the number there is kept for the next time.
my %original;
sub change {
	my ($file, $where, $by, $times, @program) = @_;
	my $text = $original{getcwd() . $file} //= slurp($file);
	$text =~ s/$where/$by->($1, $2, $times)/e or die "$file: no number to change\n";
	spill($file, $text);
	return @program;
}

# Steps of molecular dynamics. Each needs another number of iterations until its energy has converged.
sub molecular_dynamics {
	my ($times, @program) = @_;
	my $text = slurp('si8.in');
	$text =~ s/calculation=.*?(?=prefix)/calculation='md', nstep=$times, dt=40.0, /;
	$text =~ s/^ \d \d \d 1 1 1$/ 1 1 1 1 1 1/m;
	$text =~ s/^(&electrons\n\/\n)(?!&ions)/$1&ions\n\/\n/m;
	$text =~ s/0\.00 0\.00 0\.00$/0.02 0.01 0.00/m; # out of balance
	spill('si8.in', $text);
	return @program;
}

# The same system of 1,600 equations, once or more often.
sub solve_again {
	my ($times, @program) = @_;
	my $text = slurp('hpccinf.txt');
	$text =~ s/^\d+(\s+# of problems sizes)/$times$1/m;
	$text =~ s/^[\d ]+?(\s+Ns)$/join(' ', (1600) x $times) . $1/me;
	spill('hpccinf.txt', $text);
	return @program;
}

sub silent { return system('sh', '-c', q{exec "$@" >/dev/null 2>&1}, 'sh', @_) }

# Processor seconds and the largest memory in MB of a command, seen every 10 ms.
sub watched {
	my ($peak_kb, @before) = (0, times);
	my $pid = fork // die "fork: $!\n";
	exec 'sh', '-c', q{exec "$@" >/dev/null 2>&1}, 'sh', @_ if !$pid;
	while (waitpid($pid, WNOHANG) == 0) {
		my ($kb) = (eval { slurp("/proc/$pid/status") } // '') =~ /VmHWM:\s+(\d+)/;
		$peak_kb = $kb if ($kb // 0) > $peak_kb;
		sleep 0.01;
	}
	die "@_ failed\n" if $?;
	my @after = times;
	return ($after[2] + $after[3] - $before[2] - $before[3], $peak_kb / 1024);
}

$| = 1;
printf "%-10s %4s %10s %8s %7s %8s %8s %6s %9s %6s\n", 'kind', 'x', 'calls', 'run s', 'lines', 'data kB', 'build s', 'MB', 'planned s', 'ran s';
for my $kind (grep { !%only || $only{$_->[0]} } @kinds) {
	my ($name, $size) = @$kind;
	my ($trace, $skel, $work) = ("$dir/$name.ptrace", "$dir/$name.skel", "$dir/work-$name");
	my @program = ref $size ? furnish($work, $name, $o{ranks}, 0) : ();
	chdir(ref $size ? $work : $dir) or die "$dir: $!\n";
	for my $times (1, 4, 16) {
		my @now = ref $size ? $size->($times, @program) : ($program, $name, int($size * $times * $o{scale}));
		silent($precedent, 'trace', '-q', '-o', $trace, '--', @run, @now) == 0 or die "$name: no trace\n";
		my ($build_s, $mb) = watched($precedent, 'skeleton', $trace, '-o', $skel, '--seconds', $o{seconds});
		my $facts = decode_json(scalar `$precedent skeleton '$trace' -o '$skel' --seconds $o{seconds} --json`);
		my $told = decode_json(scalar `$precedent predict '$trace' --json --seconds $o{seconds} 2>/dev/null`);
		printf "%-10s %4d %10d %8.2f %7d %8.0f %8.2f %6.0f %9.2f %6.2f\n", $name, $times, $facts->{events}, $facts->{traced_s},
			scalar(() = slurp("$skel/skel.c") =~ /\n/g), (-s "$skel/skel.c.data" // 0) / 1024, $build_s, $mb, $facts->{planned_s},
			$told->{skeleton_s};
	}
	chdir '/';
}
