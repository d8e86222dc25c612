#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# libprecedent_model as it is installed: the examples in C, C++ and Fortran, compiled with what pkg-config says, linked with the
# library, with the archive, or with nothing; with the library there, absent and disabled.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Cwd qw(getcwd);
use Test::More;
use Testbed qw(run_command top);

my $dest = getcwd() . '/dest';
my $lib = "$dest/usr/local/lib";
my $share = "$dest/usr/local/share";
my $build = $ENV{PRECEDENT_BUILD};

my $installed = run_command('make', '--silent', '-C', top(), "B=$build", "DESTDIR=$dest", 'prefix=/usr/local', 'install');
is($installed->{rc}, 0, 'make install') or die $installed->{err};
ok(-s "$dest/usr/local/$_", "$_ is installed")
    for qw(lib/libprecedent_model.so lib/libprecedent_model.so.0 lib/libprecedent_model.a lib/libprecedent_model_load.a
    include/precedent_model.h include/precedent_model_load.h include/precedent_model.f90 lib/pkgconfig/precedent_model.pc
    lib/pkgconfig/precedent_model_load.pc share/man/man3/libprecedent_model.3 share/precedent/examples/predict_loop.c
    share/precedent/examples/predict_loop.f90 share/bash-completion/completions/precedent share/zsh/site-functions/_precedent
    share/fish/vendor_completions.d/precedent.fish);

$ENV{PKG_CONFIG_PATH} = "$lib/pkgconfig";
$ENV{PKG_CONFIG_SYSROOT_DIR} = $dest;
$ENV{PRECEDENT_MODEL_PRIORITY} = 'normal'; # whatever else the machine has to do
delete @ENV{qw(PRECEDENT_MODEL PRECEDENT_MODEL_LIBRARY LD_LIBRARY_PATH)};

sub output { return run_command(@_)->{out} }
sub words { return split ' ', output('pkg-config', @_) }

# A sanitized library wants a sanitized program.
my @sanitize = output('nm', '-D', "$lib/libprecedent_model.so.0") =~ /__asan_init/ ? ('-fsanitize=address,undefined') : ();

# ---- what it shows ----

my @functions = sort(slurp("$dest/usr/local/include/precedent_model.h") =~ /^PRECEDENT_MODEL_API .*?\*?\b(precedent_model_\w+)\(/mg);
cmp_ok(scalar @functions, '>', 10, 'the header declares functions');
my @shown = sort map { /^\S+ T (\S+)/ ? $1 : () } split /\n/, output('nm', '-D', '--defined-only', "$lib/libprecedent_model.so.0");
is_deeply(\@shown, [map { "$_\@\@PRECEDENT_MODEL_0" } @functions], 'the library shows what its header declares, with a version');
for my $archive (qw(libprecedent_model.a libprecedent_model_load.a)) {
	my @defined = sort map { /^\S+ [TDBRV] (\S+)/ && $1 !~ /^(?:__odr_asan|precedent_model_functions$)/ ? $1 : () }
	    split /\n/, output('nm', '--defined-only', "$lib/$archive");
	is_deeply(\@defined, \@functions, "$archive has these names and no other");
}
is((words('--modversion', 'precedent_model'))[0], (split ' ', precedent('--version')->{out})[-1], 'pkg-config knows the version');

# ---- compilers ----

my $example = "$share/precedent/examples/predict_loop";
my @strict = ('-O2', '-Wall', '-Wextra', '-Werror', @sanitize);

sub compiled {
	my ($name, @command) = @_;
	my $r = run_command(@command, '-o', $name);
	is($r->{rc}, 0, "$name is compiled") or diag($r->{err});
	return $name;
}

sub run_it {
	my ($name, $with, @arguments) = @_;
	local $ENV{LD_LIBRARY_PATH} = $with ? $lib : '/nowhere';
	my $r = run_command('timeout', 120, "./$name", @arguments);
	is($r->{rc}, 0, "$name runs " . ($with ? 'with the library' : 'without the library'));
	is($r->{err}, '', '... and writes nothing to standard error');
	return $r->{out};
}

sub predicts {
	my ($out, $what) = @_;
	like($out, qr/residue after 3 sweeps: +0\.4218[0-9]+$/m, "$what: data is predicted");
	like($out, qr/^row 4: check$/m, "$what: the way is predicted");
	like($out, qr/^time.* [0-9.e+-]+ s, .*confidence/mi, "$what: the time is predicted");
	like($out, qr/0 runs unusable, 0 points dropped/, "$what: nothing was lost") if $out =~ /unusable/;
	return;
}

my @load = words('--cflags', 'precedent_model_load');
my $load = compiled('load', 'gcc', '-std=gnu11', @strict, @load, "$example.c", '-lm', '-ldl');
unlike(output('readelf', '-d', $load), qr/libprecedent/, '... and needs no library');
my $linked = compiled('linked', 'gcc', @strict, words('--cflags', 'precedent_model'), "$example.c",
	words('--libs', 'precedent_model'), '-lm');
like(output('readelf', '-d', $linked), qr/NEEDED.*libprecedent_model\.so\.0/, '... and needs the library by its ABI');
my $archive = compiled('archive', 'gcc', @strict, words('--cflags', 'precedent_model'), "$example.c", "$lib/libprecedent_model.a",
	grep { !/libprecedent|^-lprecedent|^-L/ } words('--static', '--libs', 'precedent_model'));
my $cplusplus = compiled('cplusplus', 'g++', '-std=c++11', @strict, @load, '-x', 'c++', "$example.c", '-ldl');
my $off = compiled('off', 'gcc', '-std=gnu11', @strict, '-DPRECEDENT_MODEL_OFF', @load, "$example.c", '-lm', '-ldl');

predicts(run_it('load', 1), 'found at run time');
predicts(run_it('linked', 1), 'linked');
predicts(run_it('archive', 0), 'linked with the archive');
predicts(run_it('cplusplus', 1), 'C++');

# ---- absent and disabled ----

like(run_it('load', 0), qr/^no predictions: libprecedent_model\.so\.0: .*\n.*not known: there is no session\ntook [0-9.e-]+ s\n/,
	'without the library the program does what it does, and is told');
like(run_it('off', 1), qr/^no predictions: off: .*PRECEDENT_MODEL_OFF\n/, 'compiled out');
{
	local $ENV{PRECEDENT_MODEL} = 'off';
	like(run_it($_, 1), qr/^no predictions: off: PRECEDENT_MODEL=off/, 'PRECEDENT_MODEL=off') for qw(load linked);
}
{
	local $ENV{PRECEDENT_MODEL_LIBRARY} = "$lib/libprecedent_model.so.0";
	predicts(run_it('load', 0), 'PRECEDENT_MODEL_LIBRARY');
}

# ---- a model that is kept ----

run_it('load', 1, 'kept.model');
like(slurp('kept.model'), qr/\Aprecedent-model 1\n/, 'the model is written');
my $second = run_it('linked', 1, 'kept.model');
like($second, qr/\Atime for 150: .* from the file\n/, 'the next run begins with it');

# ---- a model that is compiled ----

my $made = precedent('model', 'compile', 'kept.model', '-o', 'made');
is("$made->{rc} $made->{err}", '0 ', 'model compile makes the directory') or diag($made->{err});
my ($input) = slurp('kept.model') =~ /^input (\S+) /m;
my $by_verb = precedent('model', 'run', 'made', '--var', "$input=121");
is($by_verb->{rc}, 0, 'model run runs it') or diag($by_verb->{err});
like($by_verb->{out}, qr/^sweep: 121 times$/m, '... as the program would');
like($by_verb->{out}, qr/^check: 30 times$/m, '... every point');
my $undecided = precedent('model', 'run', 'made', '--var', "$input=120");
is($undecided->{rc}, 1, 'a run that ends at a check, which no run of the model did');
like($undecided->{err}, qr/does not know the way for these inputs; 'precedent model show' says where/, '... is refused');
like(precedent('model', 'show', 'kept.model')->{out}, qr/in doubt: if .* to check, if .* to \(end\): no run had both at once/, '... and show says where');
is(precedent('model', 'run', 'made')->{err}, "precedent: input '$input' has no value: give it by --var; "
	. "the calls of an MPI run are told by 'predict'\n", 'an input without a value');
(my $runner = $example) =~ s/predict_loop/run_model/;
compiled('run_model', 'gcc', @strict, '-Imade', "$runner.c", 'made/model.so', '-Wl,-rpath,' . getcwd() . '/made');
like(run_it('run_model', 0, 121), qr/\A\Q$input\E = 121: \S+ s\n(?:.*\n)*sweep: 121 times\n/, 'a program runs it without the library');
compiled('run_source', 'gcc', '-std=gnu11', '-ffp-contract=off', '-Imade', "$runner.c", 'made/model.c', '-lm');
like(run_it('run_source', 0, 121), qr/^sweep: 121 times$/m, '... or compiles its source');
spew('kept.model', 'precedent-model 1 or not');
my $third = run_it('load', 1, 'kept.model');
like($third, qr/\Atime for 150: not known: no model was fitted yet\n/, 'a file that is no model is not used');
like(slurp('kept.model'), qr/^end [0-9a-f]+\n\z/m, '... and a good one takes its place');

# ---- Fortran ----

SKIP: {
	skip 'no Fortran compiler', 1 if run_command('gfortran', '--version')->{rc} != 0;
	my @sources = ("$dest/usr/local/include/precedent_model.f90", "$example.f90");
	my @fortran = ('gfortran', '-std=f2018', '-O2', '-Wall', '-Wextra', '-Werror', @sanitize);
	compiled('fortran', @fortran, @sources, words('--libs', 'precedent_model_load'));
	compiled('fortran_linked', @fortran, @sources, words('--libs', 'precedent_model'));
	predicts(run_it('fortran', 1), 'Fortran');
	predicts(run_it('fortran_linked', 1), 'Fortran, linked');
	like(run_it('fortran', 0), qr/^no predictions: libprecedent_model\.so\.0: /, 'Fortran without the library');
}

done_testing;
