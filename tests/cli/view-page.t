#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent view: the page (size, nothing outside of it, names that look like markup), the page in a browser (what it
# paints and says against what `precedent info` says, in light and dark), and the server of --serve.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use Cwd qw(getcwd);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use IO::Select;
use IO::Socket::INET;
use JSON::PP qw(decode_json);
use POSIX qw(WNOHANG);
use Test::More;
use Testbed qw(run_command build_dir);

my $heat = trace_of('heat.ptrace', 'heat', 200, 300);

# ---- the page as a file ----

# The page's facts, as its script reads them.
sub meta_of {
	my ($page) = @_;
	my ($json) = $page =~ m{<script type="application/json" id="meta">(.*?)</script>}s;
	my $meta = eval { decode_json($json // '') };
	ok($meta, 'the facts are JSON') or diag $@;
	return $meta // {};
}

# Nothing is loaded, whatever the trace says: one style, one script that has the nonce, packs, no address.
sub self_contained {
	my ($page, $connect) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($policy) = $page =~ m{<meta http-equiv="Content-Security-Policy" content="([^"]*)">};
	my ($nonce) = ($policy // '') =~ /script-src 'nonce-([0-9a-f]{32})'/;
	ok($nonce, 'the policy lets one nonce run');
	like($policy, qr/\Adefault-src 'none';.*connect-src \Q$connect\E;.*base-uri 'none'/, 'and nothing else');
	unlike($policy, qr/unsafe|https?:|\*/, 'no exceptions');
	my @tags = $page =~ /<(script|style|link|img|iframe|object|embed|form|base|a|audio|video|svg)\b([^>]*)>/gi;
	my @bad;
	while (my ($tag, $attributes) = splice @tags, 0, 2) {
		next if $tag eq 'script' && $attributes =~ m{\A type="application/(?:json|octet-stream)" id="[a-z-]+"\z};
		next if $tag =~ /\A(?:script|style)\z/ && $attributes eq qq{ nonce="$nonce"};
		next if $tag eq 'link' && $attributes eq ' rel="icon" href="data:,"';
		push @bad, "<$tag$attributes>";
	}
	is_deeply(\@bad, [], 'no element that loads or runs anything else');
	unlike($page, qr{(?:src|href|action)\s*=\s*["']?(?:https?:|//)}i, 'no address');
	unlike($page, qr/\bon[a-z]+="/, 'no handlers in attributes');
	return;
}

subtest 'a page' => sub {
	my $r = precedent('view', $heat, '--rules', 'none');
	is($r->{rc}, 0, 'precedent view TRACE') or diag $r->{err};
	like($r->{out}, qr/\Aheat\.html \(\d+ KiB\)\n\z/, 'names the page');
	is($r->{err}, '', 'and says nothing else');
	my $page = slurp('heat.html');
	cmp_ok(length $page, '<', 1_000_000, 'a small trace makes a small page');
	self_contained($page, "'none'");
	my $meta = meta_of($page);
	is($meta->{ranks}, 2, 'ranks');
	is($meta->{served}, JSON::PP::false, 'it asks no server');
	is($meta->{partial}, JSON::PP::false, 'a whole run');
	ok((grep { /main \(heat\.c:\d+\)/ } @{ $meta->{sites} }), 'call sites by file and line');
	ok((grep { /\Ato rank 1, tag 2, 200 \x{d7} MPI_DOUBLE \(1\.6 KiB\)/ } @{ $meta->{sigs} }), 'parameters in words');
	unlike($page, qr/\Q@{[getcwd()]}\E/, 'nothing of the working directory');
	my $other = precedent('view', $heat, '-o', 'other.html');
	is($other->{out}, '', '-o FILE is quiet');
	my ($a) = $page =~ /nonce-([0-9a-f]+)/;
	my ($b) = slurp('other.html') =~ /nonce-([0-9a-f]+)/;
	isnt($a, $b, 'every page has its own nonce');
	is(meta_of(precedent('view', $heat, '-o', '-')->{out})->{ranks}, 2, '-o - is standard output');
	is((stat 'other.html')[2] & 0777, 0666 & ~umask() & (stat $heat)[2], 'the file has the usual mode, and is as private as the trace');
};

# The lane of loops covers the whole run: marks are divided among all loops.
subtest 'many loops, one after another' => sub {
	my ($loops, $iterations) = (450, 300);
	my $calls = join '', map { "\tfor (int i = 0; i < $iterations; i++)\n\t\tMPI_Barrier(MPI_COMM_SELF);\n" } 1 .. $loops;
	spew('loops.c', "#include <mpi.h>\nint main(int n, char **a)\n{\n\tMPI_Init(&n, &a);\n$calls\treturn MPI_Finalize();\n}\n");
	my $built = run_command('mpicc', '-g', '-o', 'loops', 'loops.c');
	is($built->{rc}, 0, 'a program of them') or diag $built->{err};
	my $r = precedent('trace', '-q', '-o', 'loops.ptrace', '--', 'mpirun', '-n', 1, './loops');
	is($r->{rc}, 0, 'its trace') or diag $r->{err};
	my $shown = meta_of(precedent('view', 'loops.ptrace', '--rules', 'none', '-o', '-')->{out})->{loops};
	is(@$shown, $loops, 'all are on the page');
	is(grep({ $_->{marks} > 0 } @$shown), $loops, 'each has iterations on the time line');
	my $marks = 0;
	$marks += $_->{marks} for @$shown;
	cmp_ok($marks, '<=', 100_000, 'few enough');
};

subtest 'usage' => sub {
	my %case = ('no trace named' => [], 'one trace at a time' => [$heat, $heat], 'bad option' => [$heat, '--frob'],
		'one of them' => [$heat, '--serve', '-o', 'x'], 'is for --serve' => [$heat, '--port', 80],
		'wants a port' => [$heat, '--serve', '--port', 70000], 'wants a rank' => [$heat, '--rank', 'x']);
	for my $why (sort keys %case) {
		my $r = precedent('view', @{ $case{$why} });
		is($r->{rc}, 2, "usage: $why");
		like($r->{err}, qr/\Aprecedent view: [^\n]*$why[^\n]*\n\z/, 'says so');
	}
	my %fails = ('no-such' => [qw(no-such.ptrace)], 'no rank 2' => [$heat, '--rank', 2], 'cannot be written' => [$heat, '-o', 'no/dir.html']);
	for my $why (sort keys %fails) {
		my $r = precedent('view', @{ $fails{$why} });
		is($r->{rc}, 1, "fails: $why");
		like($r->{err}, qr/\Aprecedent: [^\n]*$why[^\n]*\n\z/, 'in one line');
	}
	ok(!-e 'no-such.html', 'nothing is left behind');
};

# Names that a page must not take for its own.
my $evil = '</script><script>document.body.dataset.evil=1</script><img src=x onerror=alert(1)>"\'&\\u2028';
my $evil_file = q{<b>"'&`${x}.ptrace};

subtest 'names that look like markup' => sub {
	copy(program('ring'), q{a<b>"'&.x}) or die "copy: $!\n";
	chmod 0755, q{a<b>"'&.x};
	my $r = precedent('trace', '-q', '-o', $evil_file, '--', 'mpirun', '--oversubscribe', '-n', 2, getcwd() . q{/a<b>"'&.x}, 20, 8,
		$evil, "\xff\xfe\xe2\x80\xa8");
	is($r->{rc}, 0, 'a program with such a name and such arguments') or diag $r->{err};
	is(precedent('view', $evil_file, '-o', 'evil.html')->{rc}, 0, 'its page');
	my $page = slurp('evil.html');
	self_contained($page, "'none'");
	my $meta = meta_of($page);
	like($meta->{job}{arguments}, qr/\Q$evil\E/, 'the arguments arrive as they were');
	like($meta->{job}{arguments}, qr/ \?\?/, 'bytes that are no text are replaced');
	like($meta->{job}{program}, qr/a<b>"'&\.x\z/, 'and the name of the program');
	is(() = $page =~ m{</script>}g, 8, 'no script ends early');
	like($page, qr{<title>&lt;b&gt;&quot;&#39;&amp;`\$\{x\}\.ptrace - Precedent</title>}, 'the title is escaped');
	unlike($page, qr/\xe2\x80\xa8/, 'no line separator in the script');
};

# ---- in a browser ----

my ($browser) = grep { -x } map { ("$_/chromium", "$_/chromium-browser", "$_/google-chrome") } split /:/, $ENV{PATH};

sub browse {
	my @limit = ('timeout', '--kill-after=5', patience(50));
	return (@limit, $browser, qw(--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage));
}

# What the page says of itself in a browser.
sub self_test {
	my ($file, $hash, @options) = @_;
	(my $url = 'file://' . getcwd() . "/$file") =~ s/([^A-Za-z0-9_.\/:-])/sprintf '%%%02X', ord $1/ge;
	my ($r, $seen);
	for (1 .. 3) { # on a busy machine the browser may end before the page has painted
		my $profile = tempdir('chromium-XXXXXX', TMPDIR => 1, CLEANUP => 1);
		$r = run_command(browse(), '--window-size=1400,900', "--user-data-dir=$profile", @options,
			'--dump-dom', "$url#$hash");
		my ($text) = $r->{out} =~ m{<pre id="selftest"[^>]*>(.*?)</pre>}s;
		$text //= '{}';
		my %entity = (lt => '<', gt => '>', amp => '&', quot => '"', nbsp => "\xa0");
		$text =~ s/&(lt|gt|amp|quot|nbsp);/$entity{$1}/g;
		$seen = eval { decode_json($text) } // {};
		last if $seen->{painted} || $seen->{error};
	}
	is($seen->{error}, undef, 'the page tests itself without an error');
	ok($seen->{painted}, 'and says what it saw') or diag substr $r->{err}, -2000;
	return ($seen, $r->{out}, $r->{err});
}

sub near {
	my ($got, $expected, $tolerance, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return cmp_ok(abs(($got // 1e9) - $expected), '<=', $tolerance, "$name: $expected") || diag "got $got";
}

# What of the run the marks of its problems cover: [rank, first, last, begin, length, lost] of each.
sub marked_of {
	my ($meta) = @_;
	my ($covered, $end, @stretch) = (0, 0);
	for my $p (@{ $meta->{problems} }) {
		my @marks = @{ $p->{marks} };
		while (my (undef, undef, undef, $begin, $length) = splice @marks, 0, 6) {
			push @stretch, [$begin, $begin + $length];
		}
	}
	for (sort { $a->[0] <=> $b->[0] } @stretch) {
		my $from = $_->[0] > $end ? $_->[0] : $end;
		($covered, $end) = ($covered + $_->[1] - $from, $_->[1]) if $_->[1] > $from;
	}
	return $covered / $meta->{end};
}

sub in_browser {
	my ($theme, $background) = @_;
	my $info = decode_json(precedent('info', '--json', $heat)->{out});
	my ($seen) = self_test('heat.html', "selftest&theme=$theme");
	is($seen->{dark}, $background, "$theme background");
	my $total = 0;
	$total += $_ for @{ $seen->{totals} };
	near($seen->{totals}[1], $info->{compute_s}, 0.02 * $total + $info->{overhead_s}, 'seconds of work as info has them');
	near($seen->{painted}{shares}[$_], $seen->{totals}[$_] / $total, 0.03, "share of the pixels in state $_") for 0 .. 3;
	is($seen->{painted}{rows}, 2, 'a row for each rank');
	my $lived = $total / $seen->{painted}{rows} / (meta_of(slurp('heat.html'))->{end} * 1e-9); # a rank may begin late on a busy machine
	near($seen->{painted}{known}, $lived, 0.002, 'share of the rows that is painted: where a rank lived');
	for my $f (@{ $info->{functions} }) {
		is($seen->{fns}{ $f->{name} }[0], $f->{calls}, "calls of $f->{name}");
		near($seen->{fns}{ $f->{name} }[1], $f->{seconds}, 1e-3 * $total, "seconds in $f->{name}");
	}
	cmp_ok($seen->{deepest_ns}, '<', 10_000, 'zoom goes to microseconds');
	is($seen->{hover}{detail}, 'spans', 'single calls are there');
	like($seen->{hover}{text}, qr/\Q$_\E/, "the card says: $_") for @{ $seen->{hover}{expected} };
	is($seen->{arrows}, 'shown', 'messages are arrows');
	cmp_ok($seen->{arrows_drawn}, '>', 0, 'some');
	is($seen->{loop}{chosen}, $seen->{loop}{expected}, 'a loop is chosen by a click');
	cmp_ok($seen->{loop}{t0}, '<=', $seen->{loop}{a}, 'and shown from its begin');
	cmp_ok($seen->{loop}{t1}, '>=', $seen->{loop}{b}, 'to its end');
	is($seen->{loop}{highlighted}, 1, 'its row is marked');
	cmp_ok($seen->{iteration}{t0}, '<=', $seen->{iteration}{a}, 'an iteration');
	cmp_ok($seen->{iteration}{t1} - $seen->{iteration}{t0}, '<', 1.5 * ($seen->{iteration}{b} - $seen->{iteration}{a}), 'fills the window');
	cmp_ok($seen->{wheel}, '<', 0.9, 'the wheel zooms');
	cmp_ok($seen->{moved}, '>', 0.01, 'an arrow key moves');
	ok($seen->{back}, '0 shows the whole run');
	ok($seen->{help}, '? opens the help');
	ok($seen->{help_closed}, 'Esc closes it');
	ok($seen->{loops_by_share}, 'loops are sorted by share');
	isnt("@{ $seen->{window}{legend} }", "@{ $seen->{window}{all} }", 'the legend follows the zoom');
	like($seen->{link}{hash}, qr/^#t=\d+\.\d{9}-\d+\.\d{9}&r=0-1&(?:loop=\d+&)?tab=window\z/, 'a link to what is shown');
	is($seen->{link}{after}[2], 'window', '... leads back to its table');
	near($seen->{link}{after}[$_], $seen->{link}{before}[$_], 1, '... and its window') for 0, 1; # ns
	like($seen->{window}{legend}[0], qr/ %\z/, '... in percent');
	cmp_ok($seen->{window}{rows}, '>=', 0, 'functions of the window');
	is_deeply($seen->{search}, ['MPI_Sendrecv'], 'a search leaves the functions that have the word');
	like($seen->{matrix}, qr/\A0to rank10from rank1\z/, 'the matrix names its axes');
	near($seen->{pinched}, 0.5, 0.01, 'two fingers that move apart to twice their distance show half of the time');
	ok($seen->{toggled}, 'the theme is switched');
	is($seen->{badges} . $seen->{notes}, '', 'nothing is wrong with this trace');
	is($seen->{tabs}{problems}, undef, 'no problems, no sheet of them');
	cmp_ok($seen->{tabs}{$_}{rows}, '>', 0, "sheet $_") for qw(overview sites ranks messages loops trace);
	return;
}

SKIP: {
	skip 'chromium is not installed', 6 if !$browser;
	subtest 'in a browser, light' => sub { in_browser('light', '#ffffff') };
	subtest 'in a browser, dark' => sub { in_browser('dark', '#15181d') };
	subtest 'an imported trace in a browser' => sub {
		spew('marks.txt', join '', map { my $t = $_; map { "$t $_ " . ($t + $_) % 4 . " 0 0 0 0 0 0 0 0 0 0 0\n" } 0 .. 2 } 0 .. 20);
		is(precedent('import', '-q', 'marks.txt', '-o', 'marks.ptrace')->{rc}, 0, 'imported');
		is(precedent('view', 'marks.ptrace')->{rc}, 0, 'its page');
		my ($seen) = self_test('marks.html', 'selftest');
		is_deeply([sort keys %{ $seen->{tabs} }], [qw(messages overview ranks trace window)], 'no sheets of calls, sites and loops');
		unlike(join(' ', map { $_->{text} } values %{ $seen->{tabs} }), qr/\bcalls?\b|\branks?\b|MPI function/, '... no calls and no ranks')
		    or diag explain $seen->{tabs};
	};
	subtest 'problems in a browser' => sub {
		my $rules = Testbed::top() . '/conf/problems.rules';
		my $trace = 'planted.ptrace';
		my ($late, $meta, $first, $marks, $waiting);
		for (1 .. 5) { # on a busy machine ranks may lose more in other ways, and receivers be later than their senders
			my $r = precedent('trace', '-q', '-o', $trace, '--', 'mpirun', '--oversubscribe', '-n', 4, program('planted'), 'late-send:blocking', '--reps', 10);
			is($r->{rc}, 0, 'a program that sends late') or diag $r->{err};
			is(precedent('view', $trace, '--rules', $rules)->{rc}, 0, 'its page');
			my $advice = decode_json(precedent('advise', $trace, '--json', '--rules', $rules)->{out});
			($late) = grep { $_->{name} eq 'late send' } @{ $advice->{problems} };
			$meta = meta_of(slurp('planted.html'));
			($first) = @{ $meta->{problems} };
			$marks = @{ $first->{marks} // [] } / 6;
			$waiting = grep { $first->{marks}[6 * $_] % 2 } 0 .. $marks - 1;
			last if $first->{title} eq 'late send' && $waiting >= 15 && $waiting > 0.7 * $marks;
		}
		is($first->{title}, 'late send', 'late send is the first problem');
		near($first->{ns} * 1e-9, $late->{seconds}, 1e-6, 'as long as advise says');
		is($marks, $late->{times}, 'every late message has a mark');
		my $waits = 0;
		$waits += $meta->{totals}[4 * $_] for 0 .. $meta->{ranks} - 1;
		cmp_ok($waits, '>=', 0.99 * $late->{seconds}, 'blocked receives wait until their messages are sent');
		cmp_ok($waiting, '>=', 15, 'on the ranks that wait'); # of 20
		cmp_ok($waiting, '>', 0.7 * $marks, '... and hardly on others');
		my ($seen) = self_test('planted.html', 'selftest');
		my $all = 0;
		$all += $_ for @{ $seen->{totals} };
		near($seen->{painted}{shares}[$_], $seen->{totals}[$_] / $all, 0.03, "share of the pixels in state $_") for 0 .. 3;
		my $p = $seen->{problem};
		is($p->{chosen}, 0, 'it is chosen by a click');
		cmp_ok($p->{t0}, '<=', $p->{a}, 'and the window goes to where most time is lost');
		cmp_ok($p->{t1}, '>=', $p->{b}, 'all of it');
		cmp_ok($p->{t1} - $p->{t0}, '<', 6 * ($p->{b} - $p->{a}), 'closely');
		is($p->{highlighted}, 1, 'its row is marked');
		is($p->{after}, -1, 'Esc shows all problems again');
		($seen) = self_test('planted.html', 'selftest', '--window-size=1280,900');
		ok($seen->{problems_fit}, 'the table of problems fits at 1280 pixels');
		near($p->{marked}, marked_of($meta), 0.02, 'share of the lane that is marked');
		like($p->{card}, qr/\Alate sendA rank waits.*lost here.*ranks\d and \d.*Begin the send/s, 'the card tells kind, duration, ranks and advice');
	};
	subtest 'markup in a browser' => sub {
		my ($seen, $dom) = self_test('evil.html', 'selftest');
		unlike($dom, qr/data-evil/, 'no script of the trace has run');
		is($seen->{markup}, 0, 'names are text');
		like($seen->{title}, qr/\Aa<b>"'&\.x 20 8 <\/script>/, 'as they were written');
	};
	subtest 'unsuccessful tests are no damage' => sub {
		trace_of('poll.ptrace', 'poll');
		is(precedent('view', 'poll.ptrace')->{rc}, 0, 'a program that polls');
		is_deeply([map { [@$_[0, 1]] } @{ meta_of(slurp('poll.html'))->{polls} }], [[0, 1000], [1, 1000]], 'the page knows how often each rank did');
		my ($seen) = self_test('poll.html', 'selftest');
		like($seen->{unknown}, qr/\AUnsuccessful tests\n.*counted, not recorded.*tests1,000together/s, 'the card says that the time was polled');
		unlike($seen->{unknown}, qr/damaged/, '... not that the trace is damaged');
		like($seen->{states}[-1], qr/^polling/, 'polling stands in the legend');
		my $polled = 0;
		$polled += $_->[2] * 1e-9 for @{ meta_of(slurp('poll.html'))->{polls} };
		near($seen->{totals}[4], $polled, 1e-6, 'the table of states has its time');
		my $total = 0;
		$total += $_ for @{ $seen->{totals} };
		near($seen->{painted}{shares}[4], $polled / $total, 0.03, 'and a colour of its own has its share of the rows');
	};
	subtest 'a partial trace says so' => sub {
		my $whole = slurp($heat);
		spew('partial.ptrace', substr $whole, 0, length($whole) - 100); # without its index, as when a disk is full
		is(precedent('view', 'partial.ptrace')->{rc}, 0, 'its page is written');
		my ($seen) = self_test('partial.html', 'selftest');
		is(scalar @{ $seen->{states} }, 4, 'what is not known of it is not taken for polling');
		like($seen->{badges}, qr/PARTIAL.*DAMAGED/, 'badges');
		like($seen->{notes}, qr/This trace is partial.*cannot be read/s, 'and lines');
	};
}

# ---- the server ----

my ($server, $port, $token);

sub start_server {
	my ($trace) = @_;
	pipe my $read, my $write or die "pipe: $!\n";
	$server = fork // die "fork: $!\n";
	if (!$server) {
		open STDOUT, '>&', $write or POSIX::_exit(126);
		open STDERR, '>', '/dev/null';
		exec(build_dir() . '/precedent', 'view', $trace, '--serve') or POSIX::_exit(127);
	}
	close $write;
	my $line = IO::Select->new($read)->can_read(30) ? <$read> : '';
	($port, $token) = ($line // '') =~ m{\Ahttp://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\n\z};
	return $port;
}
END { kill 'KILL', $server if $server }

# Status, headers and body of what it answers to these bytes.
sub ask {
	my ($bytes) = @_;
	my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 10) or return {status => 0};
	my ($all, $chunk) = ('');
	print {$s} $bytes;
	$s->flush;
	while (IO::Select->new($s)->can_read(20)) {
		last if !sysread $s, $chunk, 1 << 16;
		$all .= $chunk;
	}
	my ($head, $body) = split /\r\n\r\n/, $all, 2;
	return {status => ($head // '') =~ m{\AHTTP/1\.1 (\d+) } ? $1 : 0, head => $head // '', body => $body // ''};
}

sub get {
	my ($path, $host, $method) = @_;
	$host //= "127.0.0.1:$port";
	return ask(($method // 'GET') . " $path HTTP/1.1\r\nHost: $host\r\n\r\n");
}

subtest 'the server' => sub {
	ok(start_server($heat), 'prints its address') or return;
	my $page = get("/$token/");
	is($page->{status}, 200, 'the page');
	self_contained($page->{body}, "'self'");
	is(meta_of($page->{body})->{served}, JSON::PP::true, 'it may ask the server');
	my ($length) = $page->{head} =~ /^Content-Length: (\d+)/m;
	is(length $page->{body}, $length, 'of the length that was said');
	like($page->{head}, qr/^\Q$_\E\r?$/m, $_) for 'Cache-Control: no-store', 'X-Content-Type-Options: nosniff', 'X-Frame-Options: DENY',
	    'Referrer-Policy: no-referrer', 'Cross-Origin-Resource-Policy: same-origin';
	unlike($page->{head}, qr/Access-Control/i, 'no other origin may read it');
	is(get("/$token/", "localhost:$port")->{status}, 200, 'as localhost, too');

	my $end = meta_of($page->{body})->{end};
	my $spans = get("/$token/spans?r0=0&r1=2&t0=0&t1=$end");
	is($spans->{status}, 200, 'spans');
	cmp_ok(length $spans->{body}, '>', 1000, 'as bytes');
	is(length get("/$token/levels?r0=0&r1=2&t0=0&t1=$end&n=512")->{body}, 2 * 512 * 4, 'levels');
	cmp_ok(length get("/$token/messages?t0=0&t1=$end")->{body}, '>', 1000, 'messages');
	is(get("/$token/spans?r0=0&r1=4294967295&t0=0&t1=18446744073709551615")->{status}, 200, 'a window beyond the run is cut');

	for my $query ('', '?', '?r0=0', '?r0=-1&r1=2&t0=0&t1=5', '?r0=0&r1=2&t0=9&t1=5', '?r0=0&r1=2&t0=x&t1=5', '?r0=0&r1=2&t0=0&t1=99999999999999999999999',
		'?r0=0&r1=4294967296&t0=0&t1=1', '?r0=%30&r1=2&t0=0&t1=5') {
		is(get("/$token/spans$query")->{status}, 400, "spans$query");
	}
	is(get("/$token/levels?r0=0&r1=2&t0=0&t1=5&n=$_")->{status}, 400, "levels in $_ steps") for 0, 65537, 'x';
	is(get("/$token/levels?r0=0&r1=4000000000&t0=0&t1=5&n=60000")->{status}, 400, 'more cells than it gives');
};

subtest 'what the server refuses' => sub {
	ok($port, 'it runs') or return;
	for my $path ('/', "/$token", '/x/', '/' . '0' x 32 . '/', '/' . substr($token, 0, 31) . '/', '//' . $token . '/', "/x/../$token/", "/$token" . 'x/') {
		is(get($path)->{status}, 403, "no token: $path");
	}
	for my $path ('../', '../../etc/passwd', '%2e%2e/', 'heat.ptrace', 'spans/', 'SPANS?r0=0&r1=1&t0=0&t1=1', '/etc/passwd', 'index.html') {
		is(get("/$token/$path")->{status}, 404, "unknown: $path");
	}
	for my $host ('evil.example', "evil.example:$port", '127.0.0.1', '127.0.0.1:1', "127.0.0.1:$port.evil.example", "127.0.0.1:$port evil", "[::1]:$port", '') {
		my $r = get("/$token/", $host);
		is($r->{status}, 403, "Host: $host");
		unlike($r->{body}, qr/html/, 'nothing of the page');
		like($r->{head}, qr/^X-Frame-Options: DENY\r?$/m, 'nor may it be framed');
	}
	is(ask("GET /$token/ HTTP/1.1\r\n\r\n")->{status}, 403, 'no Host');
	is(ask("GET /$token/ HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nHost: evil\r\n\r\n")->{status}, 403, 'two of them');
	for my $method (qw(POST PUT DELETE HEAD OPTIONS TRACE get), 'CONNECT') {
		is(get("/$token/", undef, $method)->{status}, 405, $method);
	}
	is(ask("GET /$token/ HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nX: " . 'y' x 9000 . "\r\n\r\n")->{status}, 431, 'a long request');
	is(ask("GET /$token/\0 HTTP/1.1\r\nHost: 127.0.0.1:$port\r\n\r\n")->{status}, 400, 'a NUL');
	is(ask("GET /$token/\r\nHost: 127.0.0.1:$port\r\n\r\n")->{status}, 400, 'no version');
	my @idle = map { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) } 1 .. 80; # more than it has places
	is(get("/$token/")->{status}, 200, 'connections that say nothing do not stop it');
	my ($listen) = grep { /:@{[sprintf '%04X', $port]} 00000000:0000 0A/ } split /\n/, slurp('/proc/net/tcp');
	like($listen // '', qr/ 0100007F:/, 'it listens on 127.0.0.1 only');
};

sub stop_server {
	kill 'INT', $server;
	my ($done, $status) = (0);
	for (1 .. 200) {
		if (waitpid($server, WNOHANG) == $server) {
			($done, $status) = (1, $?);
			last;
		}
		select undef, undef, undef, 0.05;
	}
	ok($done, 'it ends on Ctrl-C');
	is($status, 0, 'well');
	undef $server if $done;
	return;
}

subtest 'the server ends' => sub {
	ok($server, 'it runs') or return;
	stop_server();
};

SKIP: {
	skip 'chromium is not installed', 1 if !$browser;
	subtest 'detail that is not in the page comes from the server' => sub {
		my $make = "$ENV{PRECEDENT_BUILD}/tests/bench/make_trace";
		is(run_command('make', '--silent', '-C', Testbed::top(), "B=$ENV{PRECEDENT_BUILD}", patience(1) > 1 ? "SANITIZE=1" : (), $make)->{rc}, 0, 'the generator is built');
		is(run_command(build_dir() . '/tests/bench/make_trace', 16, 1_000_000, 'large.ptrace')->{rc}, 0, 'a million calls');
		ok(start_server('large.ptrace'), 'served') or return;
		my $meta = meta_of(get("/$token/")->{body});
		my ($t0, $t1) = map { sprintf '%.9f', $meta->{end} * $_ / 1e9 } 0.9000, 0.9005;
		cmp_ok($meta->{columns}{end}, '<', 0.9 * $meta->{end}, 'the page has no calls of that time');
		my $profile = tempdir('chromium-XXXXXX', TMPDIR => 1, CLEANUP => 1);
		my $r;
		for (1 .. 40) { # the browser may print the page while the server still answers
			$r = run_command(browse(),
				"--user-data-dir=$profile", '--virtual-time-budget=20000', '--dump-dom', "http://127.0.0.1:$port/$token/#t=$t0-$t1");
			last if $r->{out} =~ m{<span id="status-detail">single calls</span>};
		}
		like($r->{out}, qr{<span id="status-detail">single calls</span>}, 'it shows them')
		    or diag $r->{out} =~ m{(<span id="status-detail">.*?)</div>}s, substr $r->{err}, -500;
		spew('gone.html', get("/$token/")->{body});
		stop_server();
		# A page whose server has gone: here it never had one.
		my $pause = 0;
		for (1 .. 40) { # it prints every other page before that page has asked often enough
			$r = run_command(browse(),
				"--user-data-dir=$profile", '--virtual-time-budget=20000', '--dump-dom', 'file://' . getcwd() . "/gone.html#t=$t0-$t1");
			($pause) = $r->{out} =~ m{<span id="status-detail">The server does not answer: is precedent view --serve still running\? Asked again in (\d+) s\.</span>};
			last if ($pause //= 0) >= 4;
		}
		cmp_ok($pause, '>=', 4, 'when the server has gone, the page says so and asks less and less often');
	};
}

done_testing;
