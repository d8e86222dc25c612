# SPDX-License-Identifier: GPL-2.0-or-later
# The house: every folder includes only what stands below it, no file is too long, nothing of a build machine is named.
use strict;
use warnings;
use Test::More;
use File::Find;

my %may = (
    'common/arch'     => ['common/arch'],     # a header alone: nothing is linked with it
    'common'          => ['common', 'common/arch'],
    'common/net'      => ['common/net', 'common'],
    # rooms of a folder, the lowest first; `trace` is what is generated: trace/functions.h
    'trace/format'    => ['trace/format', 'trace', 'common'],
    'trace/read'      => ['trace/read', 'trace/format', 'trace', 'common'],
    'trace/messages'  => ['trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/ending'    => ['trace/ending', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/clock'     => ['trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/cpu_time'  => ['trace/cpu_time', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/salvage'   => ['trace/salvage', 'trace/format', 'trace', 'common'],
    'trace/tiles'     => ['trace/tiles', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/timeline'  => ['trace/timeline', 'trace/tiles', 'trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/export'    => ['trace/export', 'trace/timeline', 'trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'trace/view'      => ['trace/view', 'trace/timeline', 'trace/read', 'trace/format', 'trace', 'common'],
    'skelgen/runtime' => ['skelgen/runtime', 'common/arch'],
    'skelgen/replay'  => ['skelgen/replay', 'skelgen/runtime'],
    'skelgen/contract' => ['skelgen/contract', 'common'],
    'skelgen/tree'    => ['skelgen/tree', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'skelgen/merge'   => ['skelgen/merge', 'skelgen/tree', 'skelgen/contract', 'trace/read', 'trace/format', 'trace', 'common'],
    'skelgen/timing'  => ['skelgen/timing', 'skelgen/tree', 'skelgen/runtime', 'trace/cpu_time', 'trace/read', 'trace/format', 'trace', 'common'],
    'skelgen/profile' => ['skelgen/profile', 'skelgen/timing', 'skelgen/tree', 'skelgen/runtime', 'trace/cpu_time', 'trace/read', 'trace/format', 'common'],
    'skelgen/plan'    => ['skelgen/plan', 'skelgen/timing', 'skelgen/tree', 'skelgen/runtime', 'trace/cpu_time', 'trace/read', 'trace', 'common'],
    'skelgen/simulate' => ['skelgen/simulate', 'skelgen/plan', 'skelgen/tree', 'trace/read', 'common'],
    'skelgen/pieces'  => ['skelgen/pieces', 'trace/cpu_time', 'trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'skelgen/partial' => ['skelgen/partial', 'skelgen/timing', 'skelgen/tree', 'trace/cpu_time', 'trace/read', 'trace/format', 'common'],
    'skelgen/emit'    => ['skelgen/emit', 'skelgen/simulate', 'skelgen/pieces', 'skelgen/plan', 'skelgen/profile', 'skelgen/timing', 'skelgen/tree',
                          'skelgen/replay', 'skelgen/runtime', 'trace/read', 'trace/format', 'common'],
    'skelgen'         => ['skelgen', (map { "skelgen/$_" } qw(emit simulate pieces plan profile timing merge tree)), 'trace/read', 'trace/format', 'common'],
    'expert/lang'     => ['expert/lang', 'trace/format', 'common'],
    'expert/compile'  => ['expert/compile', 'expert/lang', 'common'],
    'expert/engine'   => ['expert/engine', 'expert/compile', 'expert/lang', 'common'],
    'expert/events'   => ['expert/events', 'expert/engine', 'expert/compile', 'expert/lang',
                          'trace/ending', 'trace/clock', 'trace/messages', 'trace/read', 'trace/format', 'trace', 'common'],
    'expert/report'   => ['expert/report', 'expert/engine', 'expert/compile', 'expert/lang', 'trace/read', 'trace/format', 'common'],
    'expert/replay'   => ['expert/replay', 'expert/report', 'expert/events', 'expert/engine', 'expert/compile', 'expert/lang',
                          'trace/read', 'trace/format', 'common'],
    'spank'           => ['spank', 'common'],
    'spank/agent'     => ['spank/agent', 'common'],
    'spank/option'    => ['spank/option'],
    'spank/loader'    => ['spank/loader', 'common/arch'],
    'spank/tracer'    => ['spank/tracer', 'spank/loader', 'trace/format', 'trace', 'common', 'common/arch'],
    'model/induce'    => ['model/induce', 'common'],
    'model/api'       => ['model/api', 'model/induce', 'common', 'common/arch'],
    'model/api/load'  => ['model/api'],
    'model/inputs'    => ['model/inputs', 'model/induce', 'skelgen/merge', 'skelgen/contract',
                          'trace/cpu_time', 'trace/read', 'trace/format', 'trace', 'common'],
    'predictor/cluster' => ['predictor/cluster', 'common'],
    'predictor/spool' => ['predictor/spool', 'common'],
    'predictor/estimate' => ['predictor/estimate', 'predictor/spool', 'common'],
    'predictor/store' => ['predictor/store', 'predictor/estimate', 'predictor/spool', 'predictor/cluster', 'common'],
    'predictor/accuracy' => ['predictor/accuracy', 'predictor/store', 'common'],
    'predictor/history' => ['predictor/history', 'predictor/store', 'predictor/estimate', 'predictor/cluster', 'common'],
    'predictor/learn' => ['predictor/learn', 'predictor/store', 'predictor/estimate', 'predictor/spool', 'predictor/cluster', 'common'],
    'predictor/probe' => ['predictor/probe', 'predictor/learn', 'predictor/store', 'predictor/spool', 'predictor/cluster', 'common', 'predictor/estimate'],
    'predictor/limits' => ['predictor/limits', 'predictor/store', 'predictor/cluster', 'common'],
    'predictor/replay' => ['predictor/replay', 'predictor/limits', 'predictor/cluster', 'predictor/history', 'common'],
    'predictor/follow' => ['predictor/follow', 'predictor/limits', 'predictor/probe', 'predictor/learn', 'predictor/store', 'predictor/estimate',
                          'predictor/spool', 'predictor/cluster', 'common'],
    'predictor/query' => ['predictor/query', 'predictor/accuracy', 'predictor/learn', 'predictor/probe', 'predictor/store', 'predictor/estimate', 'predictor/spool',
                          'predictor/cluster', 'common/net', 'common'],
    'predictor/metrics' => ['predictor/metrics', 'predictor/accuracy', 'predictor/store', 'predictor/estimate', 'predictor/cluster', 'common'],
    'predictor/precedentd' => ['predictor/precedentd', 'predictor/metrics', 'predictor/query', 'predictor/follow', 'predictor/limits', 'predictor/probe',
                          'predictor/learn', 'predictor/store', 'predictor/spool', 'predictor/cluster', 'common/net', 'common'],
    'plugin'          => ['plugin', 'predictor/learn', 'predictor/store', 'predictor/estimate', 'predictor/cluster', 'common'],
    'cli/ui'          => ['cli/ui', 'trace/ending', 'trace/read', 'trace/format', 'trace', 'common'],
    'cli/trace'       => ['cli/trace', 'cli/ui', 'common/arch', 'predictor/history', 'predictor/store', 'skelgen', (map { "skelgen/$_" } qw(profile timing merge tree)),
                          (map { "trace/$_" } qw(export timeline tiles salvage ending clock messages read format)), 'trace', 'common'],
    'cli/view'        => ['cli/view', 'cli/ui', (map { "expert/$_" } qw(replay report events engine compile lang)), 'skelgen/merge',
                          (map { "trace/$_" } qw(view timeline ending read format)), 'trace', 'common/net', 'common'],
    'cli/skeleton'    => ['cli/skeleton', 'cli/trace', 'cli/ui', 'predictor/estimate', 'predictor/spool', 'model/inputs',
                          'skelgen', (map { "skelgen/$_" } qw(partial simulate timing merge tree contract runtime)), 'trace/read', 'trace/format', 'trace', 'common'],
    'cli/model'       => ['cli/model', 'cli/ui', 'model/inputs', 'model/induce', 'trace/read', 'common'],
    'cli/jobs'        => ['cli/jobs', 'cli/ui', (map { "expert/$_" } qw(report events engine compile lang)), 'predictor/query', 'predictor/spool', 'predictor/cluster',
                          'trace/ending', 'trace/read', 'common'],
    'cli/replay'      => ['cli/replay', 'cli/ui', 'plugin', 'predictor/replay', 'predictor/learn', 'predictor/store', 'predictor/estimate', 'predictor/cluster', 'common'],
    'cli/accuracy'    => ['cli/accuracy', 'cli/jobs', 'cli/ui', 'common'],
    'cli/admin'       => ['cli/admin', 'cli/ui', 'common/arch', 'predictor/query', 'predictor/limits', 'predictor/store', 'predictor/spool', 'predictor/cluster', 'skelgen/runtime', 'common'],
    'cli'             => [map { "cli/$_" } qw(admin accuracy replay jobs model skeleton view trace ui)],
);

sub slurp { open my $f, '<', $_[0] or die "$_[0]: $!"; local $/; return scalar <$f> }

my ($files, @upward, @long, @arch) = (0);
for my $dir (sort keys %may) {
    for my $file (glob "$dir/*.[ch]") {
        $files++;
        my $text = slurp($file);
        my $lines = ($text =~ tr/\n//);
        push @long, "$file: $lines lines" if $lines > 800;
        push @arch, "$file: $1" if $dir ne 'common/arch' && $text =~ /^\s*#.*(__(?:x86_64|i386|aarch64|amd64|riscv|powerpc)\w*|cpuid\.h|intrin\.h)/m;
        push @arch, "$file: $1" if $file ne 'skelgen/profile/loop_disasm.c' && $text =~ /^\s*#.*(Zydis\.h)/m;
        while ($text =~ /^#include "([^"]+)"/mg) {
            my $inc = $1;
            (my $from = $inc) =~ s{/[^/]+$}{};
            next if $inc !~ m{/};     # beside the file itself, or generated for it
            push @upward, "$file includes $inc" unless grep { $_ eq $from } @{ $may{$dir} };
        }
    }
}
# Calls, as the linker sees them: a symbol that one room needs and only rooms define that it may not use.
my $obj = ($ENV{PRECEDENT_BUILD} // 'build') . '/obj';
my (%defined_in, @needs, @calls);
sub objects_read {
    my @objects = grep { my $source = s{^\Q$obj\E/(.*)\.o$}{$1.c}r; -e $source && -M $source >= -M } map { glob "$obj/$_/*.o" } sort keys %may;
    return 0 unless @objects;
    open my $nm, '-|', 'nm', '-A', '-P', '-g', @objects or die "nm: $!";
    while (<$nm>) {
        my ($room, $file, $name, $type) = m{^\Q$obj\E/(.+)/([^/]+)\.o: (\S+) (\S)} or next;
        next if $room eq 'spank/loader';     # has a memset of its own, which nothing else is linked with
        if ($type eq 'U') { push @needs, ["$room/$file.c", $room, $name] }
        elsif ($type !~ /[wv]/) { $defined_in{$name}{$room} = 1 }
    }
    close $nm;
    return scalar @objects;
}
my $objects = objects_read();
for (@needs) {
    my ($file, $room, $name) = @$_;
    my @by = sort keys %{ $defined_in{$name} // {} } or next;
    next if grep { my $from = $_; grep { $_ eq $from } @{ $may{$room} } } @by;
    push @calls, "$file needs $name of $by[0]";
}

# The linker takes the first of two functions of one name, and a call of the other goes astray.
my %program = map { $_ => 1 } grep { m{^(?:common|trace|skelgen|expert|model|predictor|plugin|cli)\b} && !m{^skelgen/(?:runtime|replay)$|^model/api} } keys %may;
my @twice = grep { (grep { $program{$_} } keys %{ $defined_in{$_} }) > 1 && $_ ne 'main' } sort keys %defined_in;

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
SKIP: {
    skip "nothing is built in $obj", 2 unless $objects;
    is_deeply([sort @calls], [], 'no room calls what stands above it');
    is_deeply(\@twice, [], 'no two rooms of a program define the same name');
}
SKIP: {
    (my $plugin = $obj) =~ s{obj$}{job_submit_precedent.so};
    skip "$plugin is not built", 1 unless -e $plugin;
    is_deeply([grep { /\bgsl_/ } qx(nm -D --undefined-only $plugin)], [], 'slurmctld loads no GSL');
}
is_deeply(\@long, [], 'no file is longer than 800 lines');
is_deeply(\@arch, [], 'common/arch/arch.h alone asks for the architecture of the processor, and loop_disasm.c alone decodes instructions');

my @spdx = grep { slurp($_) !~ /SPDX-License-Identifier: GPL-2\.0-or-later/ }
    map { glob "$_/*.[ch]" } sort keys %may;
is_deeply(\@spdx, [], 'every source names its licence');

done_testing;
