#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# make install and make uninstall: what is installed names the places of this installation, everybody may read it, the unit is
# well confined, and nothing of it is left afterwards.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Cwd qw(getcwd);
use File::Find qw(find);
use File::Path qw(make_path);
use Test::More;
use Testbed qw(run_command top);

my $dest = getcwd() . '/dest';
my @make = ('make', '--silent', '-C', top(), "B=$ENV{PRECEDENT_BUILD}", "DESTDIR=$dest");
my ($version) = slurp(top() . '/Makefile') =~ /^VERSION\s*:=\s*(\S+)/m;

sub make_target {
	my ($target, @variables) = @_;
	my $done = run_command('sh', '-c', 'umask 077; exec "$@"', 'sh', @make, @variables, $target);
	is($done->{rc}, 0, "make $target @variables") or diag($done->{err});
	return;
}

sub files_below {
	my ($dir) = @_;
	my @found;
	find({ no_chdir => 1, wanted => sub { push @found, substr $_, length $dir if !-d || -l } }, $dir) if -d $dir;
	return sort @found;
}

sub text_matches {
	my ($file, $pattern, $what) = @_;
	my ($found) = slurp("$dest$file") =~ $pattern;
	ok(defined $found, "$file: $what") or return '';
	return $found;
}

for my $case (['/usr/local'], ['/opt/precedent'], ['/usr', 'libdir=/usr/lib64', 'plugindir=/usr/lib64/slurm', 'unitdir=/lib/systemd/system']) {
	my ($prefix, @variables) = @$case;
	my ($share, $units) = ("$prefix/share/precedent", $variables[2] ? '/lib/systemd/system' : "$prefix/lib/systemd/system");
	make_path($dest . "$prefix/bin");
	spew("$dest$prefix/bin/other", 'of somebody else');
	make_target('install', "prefix=$prefix", @variables);
	my @unread = grep { ((stat "$dest$_")[2] & 0004) == 0 } grep { !m{/bin/other$|/precedent-collect$} } files_below($dest);
	is_deeply(\@unread, [], 'with a umask of 077 everybody may read the files');

	is(text_matches("$share/precedent.conf", qr/^InstallDir = (\S+)$/m, 'InstallDir'), $prefix, 'is the prefix');
	my $check = precedent('conf', '--check', "$dest$share/precedent.conf");
	is($check->{rc}, 0, 'the sample configuration is valid') or diag($check->{err});
	ok(-x "$dest$prefix/lib/precedent/libprecedent_trace.so", 'the tracer is in InstallDir/lib/precedent');
	ok(-x $dest . text_matches("$share/plugstack.conf.d/$_", qr/^optional (\S+)/m, 'the plugin'), 'is there')
	    for qw(precedent.conf zz-precedent-option.conf);
	my $unit = "$units/precedentd.service";
	ok(-x $dest . text_matches($unit, qr/^ExecStart=(\S+)$/m, 'ExecStart'), 'is there');
	text_matches("$prefix/share/man/man8/precedentd.8", qr/^\.TH .*"Precedent (\Q$version\E)"/m, 'the version');
  SKIP: {
		skip 'no systemd-analyze', 1 if run_command('systemd-analyze', '--version')->{rc} != 0;
		my $exposed = run_command('systemd-analyze', 'security', '--no-pager', '--offline=true', '--threshold=15', "$dest$unit");
		is($exposed->{rc}, 0, 'the exposure of the unit is at most 1.5') or diag($exposed->{out});
	}

	make_target('uninstall', "prefix=$prefix", @variables);
	is_deeply([files_below($dest)], ["$prefix/bin/other"], 'uninstall leaves the files of others alone');
	ok(!-e "$dest$prefix/lib/precedent" && !-e "$dest$share", 'and no directories of Precedent');
	unlink "$dest$prefix/bin/other";
}

done_testing;
