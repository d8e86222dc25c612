#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Loops of a program that run as its own instructions, from the trace to other machines: one whose processor lacks
# instructions of theirs, and one on which code that is written at run time may not be executed. No times are compared.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Cli;
use Cwd qw(getcwd);
use File::Path qw(remove_tree);
use JSON::PP;
use List::Util qw(max);
use Test::More;
use Testbed qw(run_command);

chomp(my $machine = qx(uname -m));
$machine eq 'x86_64' or plan skip_all => 'samples are taken on x86-64 only';
my @mpirun = (qw(timeout 180 mpirun --oversubscribe --bind-to none --mca btl_vader_single_copy_mechanism none -n 2));

sub skeleton_of {
	my ($dir, @options) = @_;
	my $r = precedent('skeleton', 'ep.ptrace', '-o', $dir, '--seconds', '0.3', '--compile', @options);
	is($r->{rc}, 0, "$dir is made") or diag $r->{err};
	return;
}

# How many of the program's loops ran, by the result.
sub own_kernels { return scalar(() = slurp($_[0]) =~ /^kernel own/mg) }

sub ran {
	my ($dir, $result, $env, @arguments) = @_;
	return run_command(@mpirun, @$env, "$dir/skel", '--result', $result, @arguments);
}

my $r = precedent('trace', '-q', '-o', 'ep.ptrace', '--', qw(mpirun --oversubscribe --bind-to none -n 2), program('ep'), 24);
is($r->{rc}, 0, 'a program is traced') or BAIL_OUT($r->{err});
my $mixes = decode_json(precedent('info', '--mix', '--json', 'ep.ptrace')->{out})->{mixes};
cmp_ok(max(map { $_->{own} } @$mixes), '>', 0.3, 'much of its time is in loops that can run as such');

skeleton_of('own');
skeleton_of('kernels', '--kernels');
like(slurp('own/report.txt'), qr/own instructions.*:\n +\d+\.\d % in (?:a loop|code) at \S+\+0x/, 'the report names them');
like(slurp('own/report.txt'), qr/in a loop at ep\+0x[0-9a-f]+, with what it calls at libm/, 'the loop that calls the logarithm has it in it');
unlike(slurp('kernels/report.txt'), qr/own instructions/, 'and none where kernels were asked for');

subtest 'on the traced machine' => sub {
	is(ran('own', 'home', [], '--calibrate', 'source')->{rc}, 0, 'it runs');
	cmp_ok(own_kernels('home'), '>=', 1, 'with loops of the program');
	like(slurp('source'), qr/^own(?: [\d.e+-]+)+$/m, 'the calibration says how much of them');
	is(ran('kernels', 'home.kernels', [], '--calibrate', 'other')->{rc}, 0, 'without them it runs too');
	is(own_kernels('home.kernels'), 0, 'by kernels alone');
};

# Their code lies in a file without a name, or in memory alone.
subtest 'where there are no such files' => sub {
	plan skip_all => 'what sanitizers put first cannot be followed by another library' if patience(1) > 1;
	spew('nofile.c', "#include <errno.h>\nint memfd_create(const char *name, unsigned flags) { (void)name; (void)flags; errno = ENOSYS; return -1; }\n");
	is(run_command(qw(gcc -shared -fPIC -o nofile.so nofile.c))->{rc}, 0, 'a library that has none');
	is(ran('own', 'nofile', ['env', "LD_PRELOAD=@{[getcwd()]}/nofile.so"], '--calibration', 'source')->{rc}, 0, 'it runs');
	is(own_kernels('nofile'), own_kernels('home'), '... with the same loops');
};

subtest 'on another' => sub {
	is(ran('own', 'there', [], '--calibration', 'source')->{rc}, 0, 'it runs');
	is(own_kernels('there'), own_kernels('home'), 'with the same loops');
	like(ran('kernels', 'mixed', [], '--calibration', 'source')->{err}, qr/^skeleton: .*source is not a calibration of this program/m,
		'a calibration of the one skeleton is none of the other');
};

# In front of the real mpirun while ONCE goes on; by that line, if it comes so far, with these options.
sub with_launcher {
	my ($line, $options, $once) = @_;
	my ($front) = split /:/, $ENV{PATH};
	spew("$front/mpirun", "#!/bin/sh\n$line\nPATH=\${PATH#*:} exec mpirun $options \"\$@\"\n");
	chmod 0755, "$front/mpirun";
	my $result = $once->();
	unlink "$front/mpirun";
	return $result;
}

subtest 'a probe of the traced machine' => sub {
	mkdir '7';
	link 'ep.ptrace', '7/ep.ptrace' or die "7/ep.ptrace: $!\n";
	my @probe = qw(probe --dir 7 --candidate here --source --seconds 0.5);
	is(precedent(@probe)->{rc}, 0, 'it runs');
	ok(-s '7/skel.0/calibration', 'there is a calibration');
	like(slurp('7/skel.0/calibration.kernels'), qr/\Aprecedent-calibration .*^end\n\z/ms, '... and one for nodes that cannot run its loops');
	unlike(slurp('7/probe.here.result'), qr/^without_own/m, '... which its own record does not speak of');
	unlink '7/probe.here.result';
	my $r = with_launcher('case " $* " in *" --kernels "*) exit 1 ;; esac', '', sub { precedent(@probe) });
	is($r->{rc}, 0, 'where that cannot be made it runs') or diag $r->{err};
	like(slurp('7/probe.here.result'), qr/^status ok\n/m, '... and has its record');
	ok(!-e '7/skel.0/calibration.kernels', '... and none is left of before');
	is(scalar(my @more = glob '7/skel.0/result.*'), 0, '... nor any result');
};

subtest 'a prediction that is kept' => sub {
	my $r = precedent(qw(predict --keep --seconds 0.3 ep.ptrace));
	my ($kept) = $r->{err} =~ /^precedent: kept in (\S+)$/m;
	ok($kept && -s "$kept/skel/calibration.kernels", 'leaves that calibration too') or diag $r->{err};
	my $there = precedent(qw(predict --keep --seconds 0.3 --calibration), "$kept/skel/calibration", 'ep.ptrace');
	my ($taken) = $there->{err} =~ /^precedent: kept in (\S+)$/m;
	is($there->{rc}, 0, 'elsewhere it is used') or diag $there->{err};
	is(slurp("$taken/skel/calibration.kernels"), slurp("$kept/skel/calibration.kernels"), '... and taken along as it is');
	spew("$kept/skel/calibration.kernels", substr slurp("$kept/skel/calibration.kernels"), 0, 200);
	$r = precedent(qw(predict --calibration), "$kept/skel/calibration", 'ep.ptrace');
	is($r->{rc}, 1, 'one that is cut short');
	like($r->{err}, qr/\Aprecedent: \S+calibration.kernels: is cut short: [^\n]+\n\z/, '... is refused in one line');
	remove_tree($kept, $taken);
};

# Where they cannot run, for that reason: refused without the calibration for such machines, and run with it.
sub without_them {
	my ($env, $reason) = @_;
	unlink 'source.kernels', 'there';
	my $r = ran('own', 'there', $env, '--calibration', 'source');
	isnt($r->{rc}, 0, 'it is refused by the calibration of its own loops alone');
	like($r->{err}, qr/^skeleton: rank 0: $reason, and cannot read source.kernels: .*: run the skeleton .* with --kernels --calibrate source.kernels too$/m,
		'one line says why, and what to do');
	is(scalar(() = $r->{err} =~ /^skeleton: /mg), 1, 'only one');
	ok(!-e 'there', 'no result is left');
	is(ran('own', 'here', [], '--kernels', '--calibrate', 'source.kernels')->{rc}, 0, 'that is done');
	$r = ran('own', 'there', $env, '--calibration', 'source');
	is($r->{rc}, 0, 'it runs then') or diag $r->{err};
	like($r->{err}, qr/^skeleton: $reason: kernels stand for them$/m, 'and says how');
	is(own_kernels('there'), 0, 'without loops of the program');
	like(slurp('there'), qr/^without_own $reason$/m, 'which its result gives the reason of');
	unlink 'there';
	my $whole = slurp('source.kernels');
	for my $damaged ('', substr($whole, 0, length($whole) / 2), $whole =~ s/^ranks 2$/ranks 3/mr, "\0" x 4096) {
		spew('source.kernels', $damaged);
		my $d = ran('own', 'there', $env, '--calibration', 'source');
		isnt($d->{rc}, 0, 'one that is damaged is refused');
		is(scalar(() = $d->{err} =~ /^skeleton: rank 0: $reason, and source.kernels .*: run the skeleton/mg), 1, '... in a line') or diag $d->{err};
	}
	spew('source.kernels', $whole);
	return;
}

SKIP: {
	skip 'qemu-user is not installed', 1 if !grep { -x "$_/qemu-x86_64" } split /:/, $ENV{PATH};
	skip 'sanitizers are not made for emulators', 1 if patience(1) > 1;
	my @old = (qw(qemu-x86_64 -cpu core2duo));
	skip 'no loop of it needs more than any processor has', 1 if ran('own', 'old', \@old, '--calibration', 'source')->{rc} == 0;
	subtest 'a processor that lacks their instructions' => sub {
		without_them(\@old, "this processor lacks instructions of the program's loops");
		is(ran('kernels', 'old', \@old, '--calibration', 'other')->{rc}, 0, 'the skeleton without them runs there by itself');
	};
}

SKIP: {
	skip 'what sanitizers put first cannot be followed by another library', 1 if patience(1) > 1;
	subtest 'where written code may not be executed' => \&forbidden;
}

done_testing;

sub forbidden {
	spew('forbid.c', <<'C');
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mprotect(void *at, size_t bytes, int how)
{
	if (how & PROT_EXEC) {
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_mprotect, at, bytes, how);
}
C
	is(run_command(qw(gcc -shared -fPIC -o forbid.so forbid.c))->{rc}, 0, 'a library that forbids it');
	my @forbid = ('env', "LD_PRELOAD=@{[getcwd()]}/forbid.so");
	without_them(\@forbid, 'code that is written at run time may not be executed here');
	my @interpreted = (@forbid, "$ENV{PRECEDENT_LIBDIR}/precedent-replay", 'own/skel.ops');
	is(run_command(@mpirun, @interpreted, '--calibration', 'source', '--result', 'interpreted')->{rc}, 0, 'so does the interpreter');
	is(own_kernels('interpreted'), 0, '... without loops of the program');
	like(run_command("$ENV{PRECEDENT_LIBDIR}/precedent-replay", '--help')->{out}, qr/^  --kernels /m, '... whose help has the option');
	is(ran('own', 'left', \@forbid, '--calibrate', 'source.left')->{rc}, 0, 'on the traced machine they are left to the kernels');
	is(own_kernels('left'), 0, 'none of the loops runs');
	my $r = ran('own', 'left.there', [], '--calibration', 'source.left');
	is($r->{rc}, 0, 'such a calibration is good on machines that could run them') or diag $r->{err};
	is(own_kernels('left.there'), 0, 'where they are left to the kernels as well');
	is(ran('own', 'left.there', \@forbid, '--calibration', 'source.left')->{rc}, 0, 'and on those that could not');
	is(precedent(qw(probe --dir 7 --candidate here --source --seconds 0.5))->{rc}, 0, 'a probe of the traced machine');
	$r = with_launcher('', "-x LD_PRELOAD=@{[getcwd()]}/forbid.so", sub { precedent(qw(probe --dir 7 --candidate there --seconds 0.5)) });
	is($r->{rc}, 0, 'and one of such a node') or diag $r->{err};
	like(slurp('7/probe.there.result'), qr/^without_own code that is written at run time may not be executed here$/m, 'whose record says so');
	return;
}
