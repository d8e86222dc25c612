#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# What a submission costs more with the plugins: sbatch against two testbeds side by side, one plain, one with
# Precedent (both with their jobs held), interleaved in blocks; medians of one sbatch.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(pairs);
use Testbed;

my ($blocks, $each) = (15, 10);
my $plain = Testbed->attach(name => 'bench-plain', up => ['--plain']);
my $with = Testbed->attach(name => 'bench-with');
my $script = "#!/bin/bash\n#SBATCH -N2 -n2 -t 60 -H\n" . join('', map { "echo step $_ of the work\n" } 1 .. 20) . "srun hostname\n";

$_->write('job.sh', $script) for $plain, $with;
sub block {
    my ($tb) = @_;
    my $r = $tb->run('bash', '-c', "s=\${EPOCHREALTIME/./}; for i in \$(seq $each); do sbatch job.sh >/dev/null 2>&1; done; "
        . "echo \$(( (\${EPOCHREALTIME/./} - s) / $each ))");
    return $r->{out} / 1000;
}
block($_) for $plain, $with;
my $p = pairs($blocks, sub { block($plain) }, sub { block($with) });
printf "one sbatch                   plain %.2f ms    with Precedent %.2f ms    added %+.2f ms   (median of %d pairs of %d)\n",
    $p->{a}, $p->{b}, $p->{diff}, $blocks, $each;
$_->testbed('down') for $plain, $with;
