# SPDX-License-Identifier: GPL-2.0-or-later
# The house: every folder includes only what stands below it, no file is too long, nothing of a build machine is named.
use strict;
use warnings;
use Test::More;
use File::Find;

my %may = (
    'common'          => ['common'],
    # rooms of a folder, the lowest first; `trace` is what is generated: trace/functions.h
    'trace/format'    => ['trace/format', 'trace', 'common'],
    'trace/read'      => ['trace/read', 'trace/format', 'trace', 'common'],
    'trace/messages'  => ['trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/clock'     => ['trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/cpu_time'  => ['trace/cpu_time', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/salvage'   => ['trace/salvage', 'trace/format', 'trace', 'common'],
    'trace/tiles'     => ['trace/tiles', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/timeline'  => ['trace/timeline', 'trace/tiles', 'trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/export'    => ['trace/export', 'trace/timeline', 'trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/view'      => ['trace/view', 'trace/timeline', 'trace/read', 'trace/format', 'trace', 'common'],
    'skelgen'         => ['skelgen', 'skelgen/replay', 'skelgen/runtime', 'trace/cpu_time', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'skelgen/replay'  => ['skelgen/replay', 'skelgen/runtime'],
    'skelgen/runtime' => ['skelgen/runtime'],
    'expert/lang'     => ['expert/lang', 'trace/format', 'common'],
    'expert/compile'  => ['expert/compile', 'expert/lang', 'common'],
    'expert/engine'   => ['expert/engine', 'expert/compile', 'expert/lang', 'common'],
    'expert/events'   => ['expert/events', 'expert/engine', 'expert/compile', 'expert/lang',
                          'trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'expert/report'   => ['expert/report', 'expert/engine', 'expert/compile', 'expert/lang', 'trace/read', 'trace/format', 'common'],
    'expert/replay'   => ['expert/replay', 'expert/report', 'expert/events', 'expert/engine', 'expert/compile', 'expert/lang',
                          'trace/read', 'trace/format', 'common'],
    'spank'           => ['spank', 'common'],
    'spank/loader'    => ['spank/loader'],
    'spank/tracer'    => ['spank/tracer', 'spank/loader', 'trace/format', 'trace', 'common'],
    'predictor'       => ['predictor', 'skelgen', 'common'],
    'predictor/model' => ['predictor/model', 'common'],
    'predictor/model/api' => ['predictor/model/api', 'predictor/model', 'common'],
    'predictor/model/api/load' => ['predictor/model/api'],
    'predictor/inputs' => ['predictor/inputs', 'predictor/model', 'skelgen', 'trace/cpu_time', 'trace/read', 'trace/format', 'trace', 'common'],
    'predictor/precedentd' => ['predictor/precedentd', 'predictor', 'common'],
    'plugin'          => ['plugin', 'predictor', 'common'],
    'cli/ui'          => ['cli/ui', 'trace/format', 'common'],
    'cli/trace'       => ['cli/trace', 'cli/ui', 'skelgen',
                          (map { "trace/$_" } qw(export timeline tiles salvage clock messages read format)), 'trace', 'common'],
    'cli/view'        => ['cli/view', 'cli/ui', (map { "expert/$_" } qw(replay report events engine compile lang)), 'skelgen',
                          (map { "trace/$_" } qw(view timeline read format)), 'trace', 'common'],
    'cli/skeleton'    => ['cli/skeleton', 'cli/trace', 'cli/ui', 'predictor', 'skelgen', 'trace/read', 'trace/format', 'trace', 'common'],
    'cli/model'       => ['cli/model', 'cli/ui', 'predictor/inputs', 'predictor/model', 'common'],
    'cli/jobs'        => ['cli/jobs', 'cli/ui', (map { "expert/$_" } qw(report events engine compile lang)), 'predictor', 'common'],
    'cli/accuracy'    => ['cli/accuracy', 'cli/jobs', 'cli/ui', 'common'],
    'cli/admin'       => ['cli/admin', 'cli/ui', 'predictor', 'skelgen', 'common'],
    'cli'             => ['cli/ui'],
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
# An arrow that runs back up would close a ring of those that are allowed.
my (%state, @ring);
sub down {
    my ($dir) = @_;
    return if ($state{$dir} // '') eq 'done';
    if ($state{$dir}) {
        push @ring, $dir;
        return;
    }
    $state{$dir} = 'under way';
    down($_) for grep { $_ ne $dir } @{ $may{$dir} // [] };
    $state{$dir} = 'done';
}
down($_) for sort keys %may;
my (%top, %nameless);
$top{(split m{/})[0]} = 1 for keys %may;
find(sub { $nameless{$File::Find::dir} = 1 if /\.[ch]$/ && !$may{$File::Find::dir} }, sort keys %top);
for my $file (glob 'conf/*.rules') {
    my $lines = slurp($file) =~ tr/\n//;
    push @long, "$file: $lines lines" if $lines > 800;
}
cmp_ok($files, '>', 50, 'the sources are found');
is_deeply([sort keys %nameless], [], 'every folder with sources has its place');
is_deeply(\@ring, [], 'no two folders may use each other');
is_deeply(\@upward, [], 'no folder includes what stands above it');
is_deeply(\@long, [], 'no file is longer than 800 lines');

my @spdx = grep { slurp($_) !~ /SPDX-License-Identifier: GPL-2\.0-or-later/ }
    map { glob "$_/*.[ch]" } sort keys %may;
is_deeply(\@spdx, [], 'every source names its licence');

done_testing;
