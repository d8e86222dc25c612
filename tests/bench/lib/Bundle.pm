# SPDX-License-Identifier: GPL-2.0-or-later
#
# A root directory with the files that some programs need and nothing else, for a machine where nothing is installed: what runs
# in it with chroot finds all of it under the names that it has here.
package Bundle;
use strict;
use warnings;
use Bench qw(top);
use Cwd qw(abs_path getcwd);
use Digest::MD5;
use Exporter 'import';
use File::Basename qw(dirname);
use File::Find qw(find);
use File::Path qw(make_path);
use File::Temp;

our @EXPORT_OK = qw(bundle_make bundle_pack files_opened perl_files);

# Files of the running perl: itself and every module that it has loaded so far.
sub perl_files { return ($^X, (grep { $_ && m{^/} && -f } values %INC), @DynaLoader::dl_shared_objects) }

# Shared libraries that a file is linked with, the loader among them; none of what is no program.
sub libraries {
	my (@files) = @_;
	return if !@files;
	open my $ldd, '-|', 'sh', '-c', 'exec ldd "$@" 2>/dev/null', 'ldd', @files or die "ldd: $!\n";
	my %lib;
	while (<$ldd>) {
		$lib{$1} = 1 if m{(?:=> |^\s+)(/\S+) \(0x};
	}
	close $ldd; # it fails of what is no program
	return keys %lib;
}

sub is_elf {
	my ($file) = @_;
	open my $f, '<:raw', $file or return 0;
	read $f, my $magic, 4;
	return $magic eq "\x7fELF";
}

sub digest {
	my ($file) = @_;
	open my $f, '<:raw', $file or die "$file: $!\n";
	return join ' ', -s $file, Digest::MD5->new->addfile($f)->digest;
}

# What is copied keeps its name; a link becomes what it leads to. Programs and libraries of the same content are one file, for
# nothing writes to them: COPIES has where it is, by its digest.
sub put {
	my ($root, $file, $copies) = @_;
	my $to = "$root$file";
	return if -e $to;
	make_path(dirname($to));
	my $content = is_elf($file) ? digest($file) : $file;
	my @copy = defined $copies->{$content} ? ('-l', $copies->{$content}) : ('-pL', $file);
	system('cp', @copy, $to) == 0 or die "$file cannot be copied\n";
	$copies->{$content} //= $to;
	return;
}

# bundle_make(ROOT, PATH...): files, and directories with all that is in them but what only linkers read, and the libraries of both.
sub bundle_make {
	my ($root, @paths) = @_;
	my (%file, %copies);
	for my $path (qw(/usr/bin/env /bin/sh /bin/umount), @paths) {
		-e $path or die "$path: not there\n";
		$file{$path} = 1 if -f $path;
		next if !-d $path;
		find({wanted => sub { $file{$_} = 1 if -f && !/\.l?a$/ }, no_chdir => 1, follow_fast => 1, follow_skip => 2}, $path);
	}
	put($root, $_, \%copies) for sort keys %file;
	put($root, $_, \%copies) for libraries(grep { is_elf($_) } sort keys %file);
	# /bin, /lib and /lib64 are links here: programs are named by them
	for my $link (grep { -l } qw(/bin /sbin /lib /lib64)) {
		make_path("$root/usr$link");
		next if -l "$root$link";
		if (-d "$root$link") {
			system('cp', '-an', "$root$link/.", "$root/usr$link/") == 0 && system('rm', '-r', "$root$link") == 0 or die "$root$link: cannot be moved\n";
		}
		symlink "usr$link", "$root$link" or die "$root$link: $!\n";
	}
	make_path(map { "$root/$_" } qw(proc sys dev tmp root etc));
	return;
}

# Files that a command and its children open or execute, by all names that they use. Files below /dev, /proc, /run, /sys
# and /tmp do not count. strace tells the directory of a relative name: AT_FDCWD</DIR>, "NAME". Where strace tells none, as
# for execve, the present directory is taken.
sub files_opened {
	my (@command) = @_;
	my $log = File::Temp->new;
	system('strace', '-f', '--seccomp-bpf', '-qq', '-z', '-y', '-s', 4096, '-e', 'trace=%file', '-o', $log->filename, @command) == 0
		or die "strace @command: failed\n";
	my ($here, %file) = (getcwd());
	while (<$log>) {
		$file{$_} = 1 for /"(\/[^"]+)"/g;
		$file{($1 // $here) . "/$2"} = 1 while m{(?:<((?:/[^/">]+)*)/?>, |^\d+ +\w+\()"([^"/][^"]*)"}g;
	}
	return grep { !m{^/(?:dev|proc|run|sys|tmp)/} && -f } abs_path($command[0]) // (), sort keys %file;
}

# Mounts of the script are its own: nothing of the host is below the bundle when somebody removes it.
my $ENTER = <<'SH';
#!/bin/sh
# Runs a command in the directory that this file came with; as root. See tests/bench/lib/Bundle.pm.
[ -n "$PRECEDENT_OWN_MOUNTS" ] || exec env PRECEDENT_OWN_MOUNTS=1 unshare -m "$0" "$@"
root=$(dirname "$(readlink -f "$0")")
mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" || exit 1
# The kernel makes no user namespaces for processes in a chroot: the directory becomes the root of all that is mounted.
mkdir -p "$root/host" && mount --rbind "$root" "$root" && cd "$root" && pivot_root . host || exit 1
exec /bin/sh -c 'umount -l /host && exec "$@"' sh /usr/bin/env -i -C '@TOP@' PATH=/usr/bin:/bin HOME=/root OMPI_MCA_plm=isolated \
	@ENV@ @COMMAND@
SH

# bundle_pack(ROOT, FILE, NAME => COMMAND, VARIABLE => VALUE...): the directory as FILE, with a script NAME in it. The script runs COMMAND
# there, words of the shell, with these variables.
sub bundle_pack {
	my ($root, $file, $name, $command, %env) = @_;
	my $top = top();
	make_path("$root$top");
	my %value = (TOP => $top, ENV => join(' ', map { "$_='$env{$_}'" } sort keys %env), COMMAND => $command);
	open my $script, '>', "$root/$name" or die "$root/$name: $!\n";
	print {$script} $ENTER =~ s/@(\w+)@/$value{$1}/gr;
	close $script or die "$root/$name: $!\n";
	chmod 0755, "$root/$name";
	system('tar', 'cJf', $file, '-C', $root, '.') == 0 or die "$file: not written\n";
	printf "%s: %.0f MB\n", $file, (-s $file) / 1e6;
	return;
}

1;
