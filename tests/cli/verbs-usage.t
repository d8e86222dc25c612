#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The command line: help, usage, exit codes (0 done, 1 failed, 2 usage), one line on stderr for an error, and the JSON of
# every verb that needs no Slurm.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use File::Basename qw(dirname);
use Cwd ();
use JSON::PP qw(decode_json);
use Test::More;

# One line, and nothing on standard output.
sub refused {
	my ($rc, $pattern, @arguments) = @_;
	my $r = precedent(@arguments);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $name = "precedent @arguments";
	is($r->{rc}, $rc, "$name: exit code $rc") or diag $r->{err};
	like($r->{err}, qr/\Aprecedent[^\n]*$pattern[^\n]*\n\z/, "$name: one line that says why");
	is($r->{out}, '', "$name: nothing on standard output");
	return;
}

# The JSON of a verb that ends well, and nothing else.
sub json_of {
	my (@arguments) = @_;
	my $r = precedent(@arguments);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($r->{rc}, 0, "precedent @arguments") or diag $r->{err};
	is($r->{err}, '', '... says nothing on stderr');
	my $json = eval { decode_json($r->{out}) };
	ok(defined $json, '... and prints JSON') or diag "$@\n$r->{out}";
	return $json // {};
}

my @verbs = verbs();
my $trace = trace_of('heat.ptrace', 'heat', 32, 200);

subtest 'without a verb' => sub {
	is_deeply([sort @verbs],
		[sort qw(trace info import view export skeleton verify predict advise model jobs queue show explain accuracy replay retrace forget doctor conf completion)],
		'the verbs of this version are listed');
	my $r = precedent();
	is($r->{rc}, 2, 'no verb is a usage error');
	is($r->{out}, '', 'with its text on stderr');
	like($r->{err}, qr/^Usage: precedent VERB/, 'which is the help');
	my $help = precedent('--help');
	is($help->{out}, $r->{err}, 'as --help prints it');
	for my $word ('--help', '-h', 'help') {
		is(precedent($word)->{rc}, 0, "$word ends well");
		is(precedent($word)->{out}, $help->{out}, "$word prints the help");
	}
	like(precedent($_)->{out}, qr/\Aprecedent \d+\.\d+\.\d+\n\z/, "$_ prints the version") for '--version', '-V';
	refused(2, qr/there is no verb 'frobnicate'; 'precedent --help'/, 'frobnicate');
	refused(2, qr/there is no verb 'acuracy'; did you mean 'accuracy'\?/, 'acuracy');
	refused(2, qr/there is no verb 'jbos'; did you mean 'jobs'\?/, 'help', 'jbos');
	refused(2, qr/ help: one verb at a time, not 'jobs' too/, 'help', 'info', 'jobs');
	refused(2, qr/there is no verb '--nonsense'/, '--nonsense');
	refused(2, qr/there is no verb ''/, '');
};

subtest 'help and usage of every verb' => sub {
	my $man = slurp(Testbed::top() . '/man/precedent.1');
	for my $verb (@verbs, 'probe') {
		my $r = precedent($verb, '--help');
		is($r->{rc}, 0, "$verb --help ends well");
		like($r->{out}, qr/\AUsage: precedent $verb\b/, "$verb --help: begins with its usage");
		is($r->{err}, '', "$verb --help: nothing on stderr");
		unlike($r->{out}, qr/^.{101,}$/m, "$verb --help: lines fit");
		my ($listed) = $r->{out} =~ /^Examples:\n((?:  precedent $verb\b.*\n)+)\z/m;
		is($verb eq 'probe' ? 2 : scalar(() = ($listed // '') =~ /\n/g), 2, "$verb --help: two examples");
		my $options = ($listed // '') =~ s/ -- mpirun.*//rg;
		like($r->{out}, qr/^  (?:-[a-z], |    )?\Q$_\E[ ,\n]/m, "... $_ is an option of $verb") for $options =~ / (--?[a-z]+)/g;
		is(precedent(@$_, $verb)->{out}, $r->{out}, "@$_ $verb is the same") for ['help'], ['--help'];
		is(precedent($verb, '-h')->{out}, $r->{out}, "$verb -h is the same");
		like($man, qr/\b$verb\b/, "$verb is in precedent.1") if $verb ne 'probe'; # that is for precedentd
		refused(2, qr/ $verb: bad option '--nonsense'; try 'precedent $verb --help'/, $verb, '--nonsense');
		refused(2, qr/ $verb: bad option '-Z'; try/, $verb, '-Z');
	}
};

subtest 'the JSON of all verbs' => sub {
	my $saved = Testbed::top() . '/tests/cli/data/show.json';
	my @all = (['info', $trace], ['info', '--mix', $trace], ['verify', $trace], ['skeleton', $trace], ['advise', $trace], ['conf', '--check'],
		(map { [$_, '--from', $saved] } qw(show explain)));
	my %json = map { $_->[0] => json_of(@$_, '--json') } @all;
	is($json{$_}{schema}, 1, "$_: its schema") for sort keys %json;
	my $job = $json{show}{job};
	is($job->{submit}, '2023-11-17T05:46:40Z', 'a time is ISO 8601');
	is($json{show}{estimates}[0]{updated}, '2023-11-18T06:46:40Z', '... everywhere');
	spew('saved.json', precedent('show', '--from', $saved, '--json')->{out});
	for my $verb (qw(show explain)) {
		my $said = precedent($verb, '--from', $saved)->{out};
		is(precedent($verb, '--from', 'saved.json')->{out}, $said, "$verb reads what --json printed");
		my $r = Testbed::run_command({stdin => slurp('saved.json')}, Testbed::build_dir() . '/precedent', $verb, '--from', '-');
		is($r->{out}, $said, '... from standard input, too') or diag $r->{err};
	}
	my $r = Testbed::run_command({stdin => "Mode = limit\nMode = place\n"}, Testbed::build_dir() . '/precedent', 'conf', '--check', '-');
	like($r->{err}, qr/:2: .*Mode.*twice/, 'a configuration from standard input is checked');
	my $man = slurp(Testbed::top() . '/man/precedent-json.5');
	for my $verb (sort keys %json) {
		like($man, qr/^\.(?:B|BR) .*\b$verb\b/m, "$verb is in precedent-json.5");
	}
};

subtest 'wrong arguments' => sub {
	refused(2, qr/ $_: no trace named;/, $_) for qw(info verify skeleton);
	refused(2, qr/ $_: one trace at a time;/, $_, $trace, $trace) for qw(info verify skeleton);
	refused(2, qr/ predict: name one trace, or a command after --;/, 'predict', @$_) for [], [$trace, $trace], [$trace, '--', 'true'], ['--'];
	refused(2, qr/ predict: --seconds wants a number/, 'predict', '--seconds', $_, $trace) for '0', '-1', 'x', '1x', '', 'nan', 'inf';
	for my $option (qw(seconds scale)) {
		refused(2, qr/ skeleton: --$option wants a number above 0, not '\Q$_\E'/, 'skeleton', "--$option", $_, $trace) for '0', '-1', 'x', '1x', '', 'nan';
	}
	refused(2, qr/ skeleton: --seconds or --scale, not both/, 'skeleton', '--seconds', 1, '--scale', 2, $trace);
	refused(2, qr/ info: --events wants a rank/, 'info', '--events', $_, $trace) for '-1', 'x', '', '99999999999';
	refused(2, qr/ trace: no command to run/, 'trace', @$_) for [], ['-o', 'x'], ['--'];
	refused(2, qr/ info: --events, --mix or --check: one of them/, 'info', @$_, $trace) for ['--events', 0, '--mix'], ['--mix', '--check'];
	refused(2, qr/ info: --(?:json|all) goes with the summary/, 'info', @$_, $trace)
	    for ['--events', 0, '--json'], ['--all', '--check'], ['--check', '--json'];
	refused(2, qr/ $_->[0]: $_->[-1] wants a value;/, @$_)
	    for ['trace', '-o'], ['jobs', '-n'], ['accuracy', '--days'], ['info', '--events'], ['advise', $trace, '--rules'], ['export', '--format'];
	refused(2, qr/ info: --json takes no value;/, 'info', '--json=3', $trace);
	refused(2, qr/ model: --$_->[0] takes a number from \d to \d+, not '$_->[1]'/, 'model', 'predict', 'x', "--$_->[0]", $_->[1])
	    for ['ranks', -5], ['ranks', 0], ['ranks', 65537], ['ranks', '2x'], ['events', -1], ['dims', 4];
	refused(2, qr/ model: --var n=@-1 names no argument/, 'model', 'fit', $trace, '--var', 'n=@-1', '-o', 'x');
	refused(2, qr/ conf: say what to do: --check/, 'conf');
	refused(2, qr/ conf: one file at a time/, 'conf', '--check', 'a', 'b');
	refused(2, qr/ doctor: unexpected 'x'/, 'doctor', 'x');
	refused(2, qr/ completion: say what: bash, zsh or fish;/, 'completion');
	refused(2, qr/ completion: 'csh' is not bash, zsh or fish;/, 'completion', 'csh');
	refused(2, qr/ model: -o is not for show;/, 'model', 'show', 'x', '-o', 'y');
	refused(2, qr/ $_: which job\?/, $_) for qw(show explain retrace forget);
	for my $job ('x', '-1', '0', '1x', '', '99999999999') {
		refused(2, qr/(?:'\Q$job\E' is not a job id|bad option)/, 'show', $job);
	}
	refused(2, qr/ show: unexpected argument '2'/, 'show', 1, 2);
	refused(2, qr/ jobs: -n takes a number from 1 to 500/, 'jobs', '-n', $_) for '0', '501', 'x', '-1';
	refused(2, qr/ accuracy: --days takes a number/, 'accuracy', '--days', $_) for '0', 'x';
	refused(2, qr/ jobs: bad option/, 'jobs', '--days', 1);
	refused(2, qr/ probe: --dir, --candidate/, 'probe', @$_) for [], ['--dir', '1'], ['--dir', '1', '--candidate', 'a', '--seconds', 'x'];
	refused(2, qr/ probe: the candidate's name is too long/, 'probe', '--dir', '1', '--candidate', 'a' x 5000);
	refused(2, qr/ probe: here is not the spool directory of a job/, 'probe', '--dir', 'here', '--candidate', 'a');
};

subtest 'without precedentd' => sub {
	for my $arguments (['jobs'], ['show', 1], ['explain', 1], ['accuracy'], ['retrace', 1], ['forget', 1]) {
		refused(1, qr/cannot reach precedentd at 127\.0\.0\.1:1: .*is it running\?/, @$arguments);
		refused(1, qr/cannot reach precedentd/, @$arguments, '--json');
	}
};

subtest 'info' => sub {
	my $info = json_of('info', '--json', $trace);
	is($info->{ranks}, 2, 'ranks');
	cmp_ok($info->{events}, '>', 800, 'events');
	my $text = precedent('info', $trace);
	is($text->{rc}, 0, 'in words');
	like($text->{out}, qr/^heat\.ptrace: 2 ranks, [\d,]+ events/, 'names what it read');
	like($text->{out}, qr/ MPI_Sendrecv .*heat\.c:\d+/, 'and the call site');
	my $events = precedent('info', '--events', 1, $trace);
	like($events->{out}, qr/MPI_Init.*MPI_Sendrecv.*MPI_Finalize/s, 'events in order');
	refused(1, qr/heat\.ptrace: rank 2 is not in the trace/, 'info', '--events', 2, $trace);
};

subtest 'verify' => sub {
	my $json = json_of('verify', '--json', $trace);
	is($json->{trace}, 'lossless', 'the skeleton is the trace');
	is($json->{events}, json_of('info', '--json', $trace)->{events}, 'to the last event');
	like(precedent('verify', $trace)->{out}, qr/\Aheat\.ptrace: lossless: .*\n\z/, 'in one line');
};

empty_skeletons();
subtest 'skeleton' => sub {
	my $json = json_of('skeleton', '--json', '--scale', 10, '-o', 'out', $trace);
	is($json->{ranks}, 2, 'ranks');
	is($json->{dir}, 'out', 'directory');
	cmp_ok($json->{length}, '<', 50, 'loops are loops');
	ok(-s "out/$_", "$_ is written") for qw(skel.c Makefile report.txt);
	my $again = json_of('skeleton', '--json', '--scale', 10, '-o', 'out2', $trace);
	is($again->{hash}, $json->{hash}, 'the same trace gives the same program');
	precedent('skeleton', $trace);
	ok(-s 'heat.ptrace.skel/skel.c', 'beside the trace when no directory is named');
	my $tree = precedent('skeleton', '--tree', '-o', 'out3', $trace);
	my $short = precedent('skeleton', '-o', 'out3', '--seconds', 1e-9, $trace)->{out}; # one call takes longer
	like($short, qr/^out3: cannot run for 1e-09 s: (?:[\d.]+ \S+ are in no loop that can be cut(?:, [\d.]+ \S+ are the fewest iterations of the others \(report\.txt names them\))?|one piece of each of \d+ kinds takes longer)$/m,
		'why it runs longer than was asked for');
	unlike(precedent('skeleton', '-o', 'out3', '--seconds', 100, $trace)->{out}, qr/cannot run/, '... where it does');
	precedent('trace', '-q', '-o', 'ring.ptrace', '--', 'mpirun', '-n', 2, program('ring'), 16, 2000000);
	my $whole = json_of('skeleton', '--json', '-o', 'out3', '--seconds', 1000, 'ring.ptrace')->{planned_s};
	cmp_ok(json_of('skeleton', '--json', '-o', 'out3', '--seconds', $whole / 1.6, 'ring.ptrace')->{planned_s}, '<', $whole,
		'a loop of few iterations can be cut');
	unlike(precedent('skeleton', '-o', 'out3', '--seconds', $whole / 1.15, 'ring.ptrace')->{out}, qr/cannot run/,
		'... where it is not, because little is gained, nothing else is said');
	like(precedent('skeleton', '-o', 'out', $trace)->{out}, qr/; reproduces \d+ % of the run$/m, 'how much of the run it reproduces');
	like($tree->{out}, qr/MPI_Sendrecv/, '--tree prints the tree');
	like($tree->{out}, qr/^# r: the rank, P: ranks in all, /m, '... and explains its marks');
	unlike($tree->{out}, qr/a(?:src|tag)s?=\[?-/, '... without sources and tags that tell nothing');
	my $made = Testbed::run_command('make', '-C', 'out');
	is($made->{rc}, 0, 'its Makefile builds it') or diag $made->{err};
	my $ran = Testbed::run_command('mpirun', '--oversubscribe', '-n', 2, 'out/skel');
	is($ran->{rc}, 0, 'and it runs') or diag $ran->{err};
	like($ran->{out}, qr/skel|second/i, 'and says how long it stands for');
};

subtest 'predict' => sub {
	my $json = json_of('predict', '--json', '--seconds', 0.5, $trace);
	cmp_ok($json->{predicted_s}, '>', 0, 'a time');
	ok($json->{reproduced} > 0 && $json->{reproduced} <= 1, 'the share of the run that the skeleton reproduces');
	cmp_ok($json->{lo_s}, '<=', $json->{predicted_s}, 'above its lower bound');
	cmp_ok($json->{hi_s}, '>=', $json->{predicted_s}, 'below its upper bound');
	local $ENV{TMPDIR} = Cwd::getcwd() . '/predicts'; # its own: other tests predict at the same time
	mkdir $ENV{TMPDIR} or die "$ENV{TMPDIR}: $!";
	my $r = precedent('predict', '--seconds', 0.5, '--', 'mpirun', '--oversubscribe', '-n', 2, program('ring'));
	is($r->{rc}, 0, 'of a command') or diag $r->{err};
	like($r->{out}, qr/^ring: .*checksum.*^predicted  \S+/ms, 'its output, then the prediction');
	is_deeply([glob "$ENV{TMPDIR}/precedent-*"], [], 'nothing is left behind');
};

subtest 'trace' => sub {
	my $r = precedent('trace', '--', 'mpirun', '--oversubscribe', '-n', 2, program('ring'));
	is($r->{rc}, 0, 'ends as the command');
	like($r->{out}, qr/\Aring: rounds .*\n\z/, 'standard output is that of the command');
	like($r->{err}, qr/^precedent: \S+\.ptrace: 2 ranks, /m, 'one line on stderr');
	is(precedent('trace', '-q', '-o', 'q.ptrace', '--', program('ring'))->{err}, '', '-q says nothing');
	is(json_of('info', '--json', 'q.ptrace')->{ranks}, 1, 'a singleton is traced too');
	is(precedent('trace', '--', 'sh', '-c', 'exit 7')->{rc}, 7, 'the exit code is that of the command');
	refused(1, qr/no trace: true did not reach MPI_Finalize, is not an MPI program/, 'trace', '--', 'true');
	refused(1, qr/no-such-program/, 'trace', '--', './no-such-program');
	is(precedent('trace', '--', 'sh', '-c', 'exit 127')->{rc}, 127, 'also 127');
	refused(1, qr{no/such/dir/x: cannot be written: No such file}, 'trace', '-o', 'no/such/dir/x', '--', program('ring'));
};

subtest 'the name of a trace' => sub {
	mkdir 'named' and chdir 'named' or die "named: $!\n";
	local $ENV{PATH} = dirname(program('ring')) . ":$ENV{PATH}";
	# The option before the program may have a value or none; "sort" is the value of one, and a program too.
	my @mpirun = ('mpirun', '--oversubscribe', '-x', 'sort', '-np', 2);
	local $ENV{sort} = 1;
	my $named = sub { return precedent('trace', '--', @_)->{err} =~ /^precedent: (\S+): 2 ranks/m ? $1 : undef };
	is($named->(@mpirun, 'ring'), 'ring.ptrace', 'is the name of a program that mpirun finds in PATH');
	my $first = slurp('ring.ptrace');
	is($named->(@mpirun, program('ring')), 'ring.2.ptrace', '... numbered, if there is a trace of that name');
	is($named->('mpirun', '-np', 2, '--oversubscribe', 'ring'), 'ring.3.ptrace', '... behind other options too');
	is(slurp('ring.ptrace'), $first, '... and an older trace stays');
	is(precedent('trace', '-q', '-o', 'ring.ptrace', '--', program('ring'))->{rc}, 0, 'a trace that -o names');
	isnt(slurp('ring.ptrace'), $first, '... is replaced');
	chdir '..' or die "..: $!\n";
};

subtest 'trace of a program that does not end well' => sub {
	mkdir 'dead' and chdir 'dead' or die "dead: $!\n";
	for my $name (qw(crash abort nofinalize)) {
		my $r = precedent('trace', '-o', "$name.ptrace", '--', 'mpirun', '--oversubscribe', '-n', 2, program($name));
		isnt($r->{rc}, 0, "$name: fails");
		like($r->{out}, qr/^$name: /m, '... its output is its own');
		# prterun writes a NUL byte before what comes after an abort.
		like($r->{err} =~ s/^\0//mgr, qr/^precedent: $name\.ptrace: PARTIAL, [^\n]*2 ranks, [^\n]*\n\z/m, '... the last line says that the trace is partial');
		my $json = json_of('info', '--json', "$name.ptrace");
		ok($json->{partial} && $json->{events} >= 20, '... of what happened until then');
		is($json->{passed_through}{MPI_Comm_rank}, 2, '... also the calls that are only counted');
		my ($rank, $call) = $name eq 'crash' ? (0, 'MPI_Allreduce') : $name eq 'abort' ? (1, 'MPI_Abort') : ();
		if (defined $rank) {
			my $how = $name eq 'abort' ? qr/rank $rank called $call in main \($name\.c:\d+\)/ :
				qr/rank $rank was in (?:no MPI call, after )?$call in main \($name\.c:\d+\), and ended before all others/;
			like($r->{err}, qr/; $how\n\z/, '... who ended first, and where');
			like(precedent('info', "$name.ptrace")->{out}, qr/^  (?:died|aborted)\s+$how$/m, '... so does info');
			my @first = grep { $_->{ended_first} } @{ $json->{stopped} };
			is_deeply([map { $_->{rank} } @first], [$rank], '... and its JSON');
		}
		unlink "$name.ptrace";
	}
	my $r = precedent('trace', '-o', 'noinit.ptrace', '--', 'mpirun', '--oversubscribe', '-n', 2, program('noinit'));
	like($r->{err}, qr/^precedent: no trace: [^\n]*did not reach MPI_Finalize[^\n]*\n\z/m, 'no MPI, no trace');
	is(precedent('predict', '--', 'mpirun', '--oversubscribe', '-n', 2, program('abort'))->{rc}, 1, 'nothing to predict');
	opendir my $dir, '.' or die "dead: $!\n";
	is_deeply([grep { !/^\.\.?$/ } readdir $dir], [], 'nothing is left behind');
	chdir '..';
};

subtest 'conf' => sub {
	my $json = json_of('conf', '--check', '--json');
	is($json->{mode}, 'observe', 'the mode');
	is($json->{file}, $ENV{PRECEDENT_CONF}, 'the file');
	like(precedent('conf', '--check')->{out}, qr/: good$/m, 'in words');
	my $example = Testbed::top() . '/conf/precedent.conf';
	is(precedent('conf', '--check', $example)->{rc}, 0, 'the file that is installed is good');
};

subtest 'doctor' => sub {
	my $r = precedent('doctor', '--json');
	my $said = eval { decode_json($r->{out}) } // {};
	my $list = $said->{findings} // [];
	my %verdict = map { $_->{check} => $_->{verdict} } @$list;
	is($said->{precedent}, 1, 'the version of the form');
	is($said->{verdict}, 'warn', 'the worst verdict');
	is_deeply([grep { $_->{verdict} ne 'ok' && !length $_->{remedy} } @$list], [], 'what is wrong has a remedy');
	is($verdict{configuration}, 'ok', 'no candidates: that is good');
	is($verdict{mpicc}, 'ok', 'mpicc is found');
	is($verdict{tracer}, 'ok', 'the tracer is found');
	is($verdict{slurmctld}, 'warn', 'no Slurm');
	ok(!exists $verdict{spool}, 'and so nothing is said of the spool');
	is($r->{rc}, 0, 'and it does not fail');
	is($verdict{interpreter}, 'ok', 'the interpreter is found');
	ok(!exists $verdict{sandbox}, 'no program is run in part: the sandbox is not tried');
	my @lines = split /\n/, precedent('doctor')->{out};
	is(scalar @lines, scalar @$list, 'one line each, in words');
	is_deeply([grep { !/^(ok|warn|FAIL)\s+\S/ } @lines], [], 'that begins with the verdict');
};

subtest 'doctor, where programs may be run in part' => sub {
	my $conf = slurp($ENV{PRECEDENT_CONF});
	local $ENV{PRECEDENT_CONF} = 'partial.conf';
	for my $on ('PartialExecution = on', 'PartialExecution.fast = on') {
		spew('partial.conf', "$conf$on\n");
		like(precedent('doctor')->{out}, qr/^(?:ok|warn) +sandbox +\S/m, "$on: the sandbox is tried");
		local $ENV{PATH} = '/nowhere'; # where not even true(1) is found
		my $r = Testbed::run_command('/usr/bin/timeout', 60, Testbed::build_dir() . '/precedent', 'doctor');
		like($r->{out}, qr/^warn  sandbox +\S.*: PartialExecution has no effect on this node/m, '... and why it cannot be had is said');
	}
	for my $off ('', 'PartialExecution = off', 'PartialExecution.fast = never') {
		spew('partial.conf', "$conf$off\n");
		unlike(precedent('doctor')->{out}, qr/sandbox/, "'$off': it is not");
	}
};

subtest 'doctor, where probes may make files' => sub {
	my $conf = slurp($ENV{PRECEDENT_CONF});
	local $ENV{PRECEDENT_CONF} = 'scratch.conf';
	my $dir = Cwd::getcwd() . '/scratch';
	my $left = "$dir/precedent-scratch.node.1.2.3";
	my $scratch = sub { return join "\n", grep { / scratch / } split /\n/, precedent('doctor')->{out} };
	spew('scratch.conf', $conf);
	is($scratch->(), '', 'no ScratchDir, no word of it');
	spew('scratch.conf', "${conf}ScratchDir = $dir\n");
	like($scratch->(), qr/^FAIL  scratch +ScratchDir \Q$dir\E: No such file or directory: in probes, calls on files are delays: create it/, 'it does not exist');
	spew($dir, '');
	like($scratch->(), qr/^FAIL  scratch +ScratchDir \Q$dir\E: not a directory:/, 'it is a file');
	unlink $dir;
	mkdir $dir, 0755;
	like($scratch->(), qr/^warn  scratch +.*users cannot make files there \(mode 0755\): chmod 1777$/, 'nobody may write there');
	chmod 0777, $dir;
	like($scratch->(), qr/^warn  scratch +.*users can remove each other's files \(mode 0777\): chmod \+t$/, 'all may do everything there');
	chmod 01777, $dir;
	like($scratch->(), qr/^ok    scratch +\Q$dir\E$/, 'it is as it should be');
	spew($left, 'x' x 5000);
	like($scratch->(), qr/^ok    scratch/, 'files of a probe that may be running are its own');
	utime time - 90000, time - 90000, $left;
	like($scratch->(), qr/^warn  scratch +1 files of probes that were killed, [0-9.]+ MiB: find \Q$dir\E -name 'precedent-scratch\.\*' -mtime \+0 -delete$/,
		'files of one that was killed are counted');
};

subtest 'standard output that is full' => sub {
	for my $arguments (['--help'], ['--version'], ['help', 'info'], ['info', $trace], ['info', '--json', $trace], ['conf', '--check'], ['verify', $trace]) {
		my $r = Testbed::run_command('sh', '-c', '"$@" >/dev/full', 'sh', Testbed::build_dir() . '/precedent', @$arguments);
		is($r->{rc}, 1, "precedent @$arguments >/dev/full fails");
		like($r->{err}, qr/\Aprecedent: [^\n]+\n\z/, 'and says so');
	}
};

done_testing;
