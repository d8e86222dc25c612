#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The accuracy table's pairs on another host, one with another processor: it need have nothing installed, nor be reached
# from here while anything is measured. Programs are traced and measured here, a bundle with them, their skeletons and all
# that they need goes there, and the rows come back:
#	accuracy_remote.pl pack FILE.tar.xz [--rounds N] [--programs A,B] [--results FILE] [--seconds S] [--all-runs]
#	there, as root: mkdir D && tar xJf FILE.tar.xz -C D && D/measure [--minutes M] [--programs A,B]
#	D/rows.jsonl is appended to the results (accuracy.jsonl), of which accuracy_machines.pl makes tables
#   --rounds N   at home each program is measured N times, 1; there once for each of these
#   --results    the file of the rows of this host by itself, which are noise alone
#   --minutes M  begin no pair after M minutes
#   --seconds, --programs, --all-runs as of accuracy_machines.pl; there every run counts
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../cluster/lib";
use Bench qw(build top);
use Bundle qw(bundle_make bundle_pack perl_files);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Getopt::Long;
use JSON::PP;
use Machines qw(work_in);
use Pairs qw(prepare pair_begin pair_row);
use Programs qw(named program_names program_of short_name slurp spill);
use Rows qw(note_row row_text);
use Steady qw(count_all never_steady);
use Time::HiRes qw(time);

my $ROWS = '/rows.jsonl'; # there
my $work;                 # programs, traces and skeletons, under the same name here and there
my $HOME = 'host';
my ($RANKS, $TRIES) = (2, 3);
my %o = (rounds => 1, results => 'accuracy.jsonl', programs => '', seconds => 3, minutes => 1e6);
my $verb = shift // '';
GetOptions(\%o, 'rounds=i', 'results=s', 'programs=s', 'seconds=f', 'minutes=f', 'all-runs') or exit 2;
sub usage { return slurp("$FindBin::Bin/$FindBin::Script") =~ /^(#\taccuracy_remote.*?)^use /ms ? $1 =~ s/^# ?//gmr : '' }
my $begin = time;
$| = 1;

sub processor { return slurp('/proc/cpuinfo') =~ /^model name\s*: (.*)$/m ? $1 : 'unknown' }

sub programs {
	my %by = map { short_name($_) => $_ } grep { !grep { $_ eq $HOME } @{program_of($_)->{not_on} // []} } program_names();
	return $o{programs} eq '' ? grep { $by{short_name($_)} } program_names() : @by{named($o{programs}, sort keys %by)};
}

sub state_file { my ($name, $round) = @_; return "$work/state/" . short_name($name) . ".$round" }

sub done { my ($round, $row) = @_; printf "%s; at %.1f min\n", row_text($round, $row), (time - $begin) / 60; return }

# ---- here ----

# What is measured at home; undef of a program that fails or is never steady.
sub at_home {
	my ($p) = @_;
	my $t;
	for (1 .. $TRIES) {
		$t = eval { pair_begin($p) } and return $t;
		warn "$p->{name}: $@";
		last if !never_steady($@);
	}
	return;
}

sub installed {
	my ($tool) = @_;
	my ($path) = grep { -x } map { "$_/$tool" } split /:/, $ENV{PATH};
	return $path // die "$tool: not installed\n";
}

# Everything that runs there, besides the programs' own files.
sub needed {
	my @tools = map { installed($_) } qw(sh env timeout cp rm cat getconf mpirun orted);
	my @built = map { build() . "/$_" } qw(libprecedent_trace.so libprecedent_trace_openmpi.so),
		map { "tests/bench/$_" } qw(make_partial make_estimate core_watch libmpi_timer.so);
	my @programs = map { $_->{cmd}[0] } @_;
	my @mpi = ((grep { -e } map { "/usr/lib/x86_64-linux-gnu/$_" } qw(openmpi/lib/openmpi3 pmix2 hwloc)), '/etc/openmpi', '/usr/share/openmpi');
	my @system = qw(/etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache);
	return (@tools, @built, @programs, @mpi, @system, perl_files(), "$FindBin::Bin/$FindBin::Script", "$FindBin::Bin/lib", top() . '/tests/cluster/lib',
		'/usr/share/espresso/pseudo/Si.pz-vbc.UPF');
}

sub pack_all {
	my ($file) = @_;
	chdir top() or die top() . ": $!\n";
	chomp(my $commit = `git rev-parse --short HEAD 2>/dev/null`);
	count_all() if $o{'all-runs'};
	# What would end it after all has been measured ends it at once.
	-e or die "$_: not there (make bench-accuracy-tools)\n" for needed();
	open my $writable, '>>', $file or die "$file: $!\n";
	$work = tempdir('/var/tmp/precedent-remote.XXXXXX', CLEANUP => 1);
	make_path("$work/state");
	work_in($work);
	my @prepared = grep { defined } map { my $n = $_; eval { prepare($n, $HOME, $RANKS, $o{seconds}, 0) } // do { warn "$n: $@"; undef } } programs();
	for my $round (1 .. $o{rounds}) {
		for my $p (@prepared) {
			my $q = {%$p};
			my $home = at_home($q) or next;
			my $row = {%{pair_row({%$q}, $HOME, $home)}, processor => {there => processor()}};
			note_row($o{results}, $commit, $row);
			done($round, $row);
			spill(state_file($p->{name}, $round), encode_json({p => $q, at_home => $home, commit => $commit, processor => processor()}));
		}
	}
	my $root = tempdir('/var/tmp/precedent-remote.XXXXXX', CLEANUP => 1);
	bundle_make($root, needed(@prepared), $work);
	bundle_pack($root, $file, measure => "'$^X' '$FindBin::Bin/$FindBin::Script' measure \"\$@\"", PRECEDENT_BUILD => build(), PRECEDENT_WORK => $work);
	return;
}

# ---- there ----

sub measure {
	$work = $ENV{PRECEDENT_WORK} // die "accuracy_remote: measure is for the file of that name in a bundle\n";
	work_in($work);
	count_all();
	my %tell = map { $_ => 1 } programs();
	my $failed = 0;
	for my $round (1 .. 1e6) {
		my @here = grep { -e state_file($_, $round) } program_names() or last;
		for my $name (grep { $tell{$_} } @here) {
			last if time - $begin > 60 * $o{minutes};
			my $state = decode_json(slurp(state_file($name, $round)));
			my $p = $state->{p};
			spill("$p->{cal}.$_->[0]", $state->{at_home}{$_->[1]}{calibration}) for ['mix', 'skeleton'], ['spin', 'empty'];
			my $row = eval { pair_row($p, 'remote', $state->{at_home}) };
			if (!$row) {
				warn "$name: $@";
				$failed++;
				next;
			}
			$row->{processor} = {home => $state->{processor}, there => processor()};
			note_row($ROWS, $state->{commit}, $row);
			done($round, $row);
		}
	}
	return $failed ? 1 : 0;
}

if ($verb eq 'pack' && @ARGV == 1) {
	pack_all($ARGV[0] =~ m{^/} ? $ARGV[0] : "$ENV{PWD}/$ARGV[0]");
} elsif ($verb eq 'measure' && !@ARGV) {
	exit measure();
} elsif ($verb =~ /^(?:-h|--help)$/) {
	print usage();
} else {
	print STDERR usage();
	exit 2;
}
