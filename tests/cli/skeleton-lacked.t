# SPDX-License-Identifier: GPL-2.0-or-later
# Other programs have the processor of a traced run, of the calibration, of the skeleton: the user is told, and the interval is
# wider. Starvation is strong, two busy loops on the rank's only processor, so that no quiet machine is needed.
use strict;
use warnings;

use JSON::PP;
use POSIX qw(_exit);
use Test::More;
use lib 'tests/cli/lib', 'tests/cluster/lib';
use Cli;
use Testbed qw(run_command);

use constant LOOPS => 2;
use constant MINUTES => 10;

my ($processor) = run_command('taskset', '-cp', $$)->{out} =~ /: (\d+)/ or plan skip_all => 'taskset does not say where this runs';
$ENV{OMPI_MCA_hwloc_base_binding_policy} = $ENV{PRTE_MCA_hwloc_default_binding_policy} = 'none';

sub beside_loops {
	my (@command) = @_;
	my @pid;
	for (1 .. LOOPS) {
		my $pid = fork // die "fork: $!";
		if (!$pid) {
			exec 'taskset', '-c', $processor, $^X, '-e', 'alarm ' . MINUTES * 60 . '; 1 while 1' or _exit(127);
		}
		push @pid, $pid;
	}
	my $r = run_command('taskset', '-c', $processor, 'timeout', '--kill-after=5', patience(240), Testbed::build_dir() . '/precedent', @command);
	kill 'TERM', @pid;
	waitpid $_, 0 for @pid;
	return $r;
}

my @quick = ('predict', '--seconds', 0.5);
my $r = beside_loops('trace', '-q', '-o', 'busy.ptrace', '--', 'mpirun', '-n', 1, program('blocks'), 40);
is($r->{rc}, 0, 'a run is traced beside other work') or diag $r->{err};

$r = beside_loops(@quick, '--json', '--keep', 'busy.ptrace');
is($r->{rc}, 0, 'it is predicted beside other work') or diag $r->{err};
my $p = decode_json($r->{out});
my ($kept) = $r->{err} =~ /^precedent: kept in (\S+)$/m or die "nothing kept: $r->{err}";
cmp_ok($p->{lacked}{$_}, '>', 0.2, "... others had the processor: $_") for qw(traced calibrating running);
cmp_ok($p->{lo_s}, '<=', $p->{predicted_s} * 0.8 * 0.8, '... the interval is wider below');
cmp_ok($p->{hi_s}, '>=', $p->{predicted_s} / 0.8, '... and above');

# Partial execution beside other work.
$r = beside_loops(@quick, '--json', '--partial', 'busy.ptrace');
is($r->{rc}, 0, 'the program itself runs beside other work') or diag $r->{err};
my $partial = decode_json($r->{out})->{partial};
cmp_ok($partial->{lacked} // 0, '>', 0.2, '... which had its processor') or diag $r->{out};
cmp_ok($partial->{lo_s} // 'inf', '<=', ($partial->{predicted_s} // 0) * 0.8, '... so that the interval is wider');

# The calibration is known to be of a busy machine wherever it is used.
my $calibration = slurp("$kept/skel/calibration");
like($calibration, qr/^lacked 0\.[2-9]/m, 'the calibration says so, too');
$r = precedent(@quick, '--json', '--calibration', "$kept/skel/calibration", 'busy.ptrace');
is($r->{rc}, 0, 'it is used') or diag $r->{err};
my ($lacked) = $calibration =~ /^lacked (\S+)/m;
cmp_ok(abs(decode_json($r->{out})->{lacked}{calibrating} - $lacked), '<', 1e-3, '... and known as one of a busy machine');
$r = precedent(@quick, '--calibration', "$kept/skel/calibration", 'busy.ptrace');
like($r->{out}, qr/^ +\(a rank lacked its processors for \d+ % of the traced run, \d+ % of the calibration[^\n]*: the interval is wider\)$/m,
	'... which the user is told') or diag $r->{out}, $r->{err};
spew('forged', $calibration =~ s/^lacked .*/lacked 1.5/mr);
isnt(precedent(@quick, '--calibration', 'forged', 'busy.ptrace')->{rc}, 0, 'a share above 1 is refused');
run_command('rm', '-r', $kept);

done_testing();
