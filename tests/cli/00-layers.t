# SPDX-License-Identifier: GPL-2.0-or-later
# The house: every folder includes only what stands below it, no file is too long, nothing of a build machine is named.
use strict;
use warnings;
use Test::More;
use File::Find;

my %may = (
    'common'          => ['common'],
    'trace'           => ['trace', 'common'],
    'trace/export'    => ['trace/export', 'trace', 'common'],
    'trace/view'      => ['trace/view', 'trace', 'common'],
    'skelgen'         => ['skelgen', 'skelgen/replay', 'skelgen/runtime', 'trace', 'common'],
    'skelgen/replay'  => ['skelgen/replay', 'skelgen/runtime'],
    'skelgen/runtime' => ['skelgen/runtime'],
    'expert'          => ['expert', 'trace', 'common'],
    'spank'           => ['spank', 'common'],
    'spank/loader'    => ['spank/loader'],
    'spank/tracer'    => ['spank/tracer', 'spank/loader', 'trace', 'common'],
    'predictor'       => ['predictor', 'skelgen', 'trace', 'common'],
    'predictor/model' => ['predictor/model', 'trace', 'common'],
    'predictor/model/api' => ['predictor/model/api', 'predictor/model', 'trace', 'common'],
    'predictor/model/api/load' => ['predictor/model/api'],
    'predictor/inputs' => ['predictor/inputs', 'predictor/model', 'skelgen', 'trace', 'common'],
    'predictor/precedentd' => ['predictor/precedentd', 'predictor', 'common'],
    'plugin'          => ['plugin', 'predictor', 'common'],
    'cli'             => ['cli', 'expert', 'predictor', 'predictor/inputs', 'predictor/model', 'plugin', 'skelgen', 'trace/export', 'trace/view', 'trace', 'common'],
);

sub slurp { open my $f, '<', $_[0] or die "$_[0]: $!"; local $/; return scalar <$f> }

my ($files, @upward, @long) = (0);
for my $dir (sort keys %may) {
    for my $file (glob "$dir/*.[ch]") {
        $files++;
        my $text = slurp($file);
        my $lines = ($text =~ tr/\n//);
        push @long, "$file: $lines lines" if $lines > 800;
        while ($text =~ /^#include "([^"]+)"/mg) {
            my $inc = $1;
            (my $from = $inc) =~ s{/[^/]+$}{};
            next if $inc !~ m{/};     # beside the file itself, or generated for it
            push @upward, "$file includes $inc" unless grep { $_ eq $from } @{ $may{$dir} };
        }
    }
}
for my $file (glob 'conf/*.rules') {
    my $lines = slurp($file) =~ tr/\n//;
    push @long, "$file: $lines lines" if $lines > 800;
}
cmp_ok($files, '>', 50, 'the sources are found');
is_deeply(\@upward, [], 'no folder includes what stands above it');
is_deeply(\@long, [], 'no file is longer than 800 lines');

my @spdx = grep { slurp($_) !~ /SPDX-License-Identifier: GPL-2\.0-or-later/ }
    map { glob "$_/*.[ch]" } sort keys %may;
is_deeply(\@spdx, [], 'every source names its licence');

done_testing;
