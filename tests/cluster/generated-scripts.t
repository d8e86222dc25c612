#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Scripts as workflow tools write them, each with other random names: the third submission of a step is predicted from the first
# two, and a step with another input is another job.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Test::More;
use Testbed qw(wait_until build_dir);

my $testbed = Testbed->attach(name => 'generated', up => ['--build', build_dir()]);
END { $testbed->testbed('down') if $testbed }
my $home = $testbed->path('.') =~ s{/\.$}{}r;
srand 7;
sub digits { return join '', map { sprintf '%x', rand 16 } 1 .. $_[0] }
sub letters { return join '', map { ('a' .. 'z', 0 .. 9)[rand 36] } 1 .. $_[0] }
sub uuid { return join '-', map { digits($_) } 8, 4, 4, 4, 12 }

# Each returns the directory of a step, its script and its options, and writes the files beside it.
# With shorter steps, a busy machine makes runs too unlike to predict.
my %tool = (
	nextflow => sub {
		my ($input) = @_;
		my $dir = join '/', $home, 'work', digits(2), digits(30);
		$testbed->write("$dir/.command.sh", "#!/bin/bash -ue\ncat $home/$input > all\nsleep 12\n");
		return ($dir, "#!/bin/bash\n#SBATCH -J nf-step_(1)\n#SBATCH -o $dir/.command.log\nset -u\nNXF_DEBUG=\${NXF_DEBUG:=0}\n"
			. "nxf_launch() {\n    /bin/bash -ue $dir/.command.sh\n}\non_exit() {\n    printf -- \${ret:=\$?} > $dir/.exitcode\n}\n"
			. "nxf_main() {\n    trap on_exit EXIT\n    cd $dir\n    (nxf_launch | tee .command.out) 2>&1\n}\nnxf_main\n");
	},
	cromwell => sub {
		my ($input) = @_;
		my $call = "$home/cromwell-executions/flow/" . uuid() . '/call-step';
		my ($tmp, $pipe) = map { digits(7) . 'e' } 1, 2; # without a letter: perhaps a date (common/made_up.c)
		$testbed->write("$call/execution/script", "#!/bin/bash\n\ncd $call/execution\ntmpDir=\$(mkdir -p \"$call/tmp.$tmp\" && echo \"$call/tmp.$tmp\")\n"
			. "export TMPDIR=\"\$tmpDir\"\nout$pipe=\"\${tmpDir}/out.\$\$\"\nmkfifo \"\$out$pipe\"\ntee '$call/execution/stdout' < \"\$out$pipe\" &\n"
			. "(\ncd $call/execution\ncat $home/$input\nsleep 12\n) > \"\$out$pipe\"\necho \$? > rc\n");
		return ("$call/execution", undef, '-J', 'cromwell_' . digits(8) . '_step', '--wrap', "/bin/bash $call/execution/script");
	},
	snakemake => sub {
		my ($input) = @_;
		my ($dir, $tmp) = ("$home/snake", "$home/snake/.snakemake/tmp." . letters(8));
		my @sets = map { "'$_'" } sort { rand() <=> 0.5 } qw(mtime params code input software-env);
		$testbed->write("$tmp/waits", '');
		return ($dir, "#!/bin/sh\n# properties = {\"rule\": \"step\", \"jobid\": 7}\ncd '$dir' && cat $home/$input && sleep 12 && : --wait-for-files "
			. "'$tmp' --force --rerun-triggers @sets --nolock && touch '$tmp/7.jobfinished' || (touch '$tmp/7.jobfailed'; exit 1)\n");
	},
);

sub submitted { # (job, message)
	my ($name, $input, @options) = @_;
	my ($dir, $script, @more) = $tool{$name}->($input);
	push @more, $testbed->write($script =~ /nxf/ ? "$dir/.command.run" : "$dir/.snakemake/" . letters(8) . '/job.sh', $script) if $script;
	my $r = $testbed->run({chdir => $dir}, 'sbatch', '-N1', '-n1', '-t', 5, '-p', 'fast', @options, @more);
	return ($r->{out} =~ /^Submitted batch job (\d+)/m, $r->{err});
}

$testbed->write('one.dat', "1\n");
$testbed->write('two.dat', "2\n");
$testbed->write('snake/Snakefile', "rule step:\n");
$testbed->conf_set(PollInterval => 1);
$testbed->daemon($_) for qw(stop start);
ok(wait_until(30, sub { ($testbed->submit("#!/bin/sh\n: first\n", '-N1', '-n1', '-t', 3, '-H'))[2] =~ /it is traced/ }), 'the plugin sees precedentd');
for my $run (1, 2) {
	my %job = map { $_ => (submitted($_, 'one.dat'))[0] } sort keys %tool;
	for my $name (sort keys %job) {
		ok($job{$name}, "$name: run $run is submitted") or next;
		is(($testbed->wait_job($job{$name}, 60) // {})->{state}, 'COMPLETED', '... and ends');
	}
}
for my $name (sort keys %tool) {
	my ($third, $message);
	ok(wait_until(40, sub { ($third, $message) = submitted($name, 'one.dat', '-H'); return $message =~ /^sbatch: precedent: 00:00:1\d on fast/m }),
		"$name: the third script of a step is predicted") or diag $message, $testbed->log('precedentd');
	my ($other, $said) = submitted($name, 'two.dat', '-H');
	unlike($said, qr/^sbatch: precedent: 00:00:1\d on fast/m, '... and a step with another input is not');
}

done_testing();
