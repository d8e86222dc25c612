#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
#
# precedent show and explain of saved answers: where a number comes from, in words, for every kind of evidence.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Cli;
use JSON::PP qw(decode_json encode_json);
use Test::More;

my $saved = slurp("$FindBin::Bin/data/show.json");

# words(VERB, CHANGE): what is said of the saved answer after CHANGE was made to it.
sub words {
	my ($verb, $change) = @_;
	my $answer = decode_json($saved);
	$change->($answer) if $change;
	open my $fh, '>', 'answer.json' or die "answer.json: $!\n";
	print {$fh} encode_json($answer);
	close $fh or die "answer.json: $!\n";
	my $r = precedent($verb, '--from', 'answer.json');
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($r->{rc}, 0, "$verb ends well") or diag $r->{err};
	unlike($r->{out}, qr/^.{101,}$/m, 'within a hundred columns');
	return $r->{out};
}

subtest 'explain' => sub {
	my $out = words('explain');
	like($out, qr/\AJob 77 \(heat3d\) was predicted to run 00:09:50 on fast, between 00:09:20 and 00:10:40,\nfrom the skeleton and past runs/,
		'the prediction, its interval and where it comes from');
	like($out, qr/That was 5 days ago\.$/m, 'the age of the trace');
	like($out, qr/^Estimates: fast .*\n +from the skeleton and 3 past runs of the same job, 3 hours ago\.$/m, 'of the estimate');
	like($out, qr/1\.4 times as wide as its evidence says: earlier ones were too narrow/, 'why the interval is as it is');
	like($out, qr/Earlier predictions there, 3 of this job: median error 2\.0 %, worst 5\.0 %,\n +2 inside their interval, 1 above/,
		'what earlier ones were worth');
	like($out, qr/9 of its family: median error 3\.0 %/, 'of its family too');
	like($out, qr/^ +slow .*\n.*\n.*nodes there are not those that it was probed on/m, 'nodes that have changed');
	like($out, qr/^Warning: +the limit asked for is below the upper bound:/m, 'a request that is too short');
	like($out, qr/^Beside: +the user's last two runs before it took 00:05:00 on average, those of this job 00:09:40\.$/m, 'baselines');
	like($out, qr/^Outcome: .* 3\.6 % too short, inside the interval\.$/m, 'the outcome');
};

subtest 'tasks of an array that wait' => sub {
	my $change = sub {
		my ($answer) = @_;
		my $job = $answer->{job};
		delete @$job{qw(predicted start end)};
		@$job{qw(act state present)} = ('trace', '', {candidate => 'fast', seconds => 100, lo_s => 95, hi_s => 110, kind => 'history'});
	};
	unlike(words('explain'), qr/^Now:/m, 'nothing is said where nothing is new');
	like(words('explain', $change), qr/^Now: +the tasks that wait are expected to take 00:01:40 \(00:01:35-00:01:50\) on fast,\n +from .*past runs/m,
		'explain tells the present estimate');
	my $answer = decode_json($saved);
	$change->($answer);
	spew('jobs.json', encode_json({jobs => [$answer->{job}]}));
	like(precedent('jobs', '--from', 'jobs.json')->{out}, qr/^77 .* 00:01:40 \(00:01:35-00:01:50\) +pending /m, '... and so does jobs');
};

subtest 'the nodes of a probe' => sub {
	my $node = 'Some CPU, 2 packages, 64 cores, 128 threads, L2 512 KiB, L3 8192 KiB, mpirun (Open MPI) 4.1.4, x86_64 6.1';
	for my $verb (qw(show explain)) {
		my $out = words($verb, sub { $_[0]{probes} = [{candidate => "fast", state => "done", record => {ok => JSON::PP::true, node_class => '0' x 16, node => $node, traces => [{skel_s => 1}]}}] });
		like($out, qr/^ +Some CPU, .*, L3 8192 KiB$/m, "$verb: no item is cut");
	}
};

subtest 'what skeletons say' => sub {
	my @probes = map { {candidate => $_->[0], state => 'done', record => {node => 'Some CPU', traces => [{skel_s => $_->[1], compute => {skel_s => $_->[2]},
		partial => {whole_s => $_->[3]}}]}} } ['fast', 85.1, 80, 84], ['slow', 170.2, 120, 171];
	my $out = words('explain', sub { $_[0]{probes} = \@probes });
	like($out, qr/^Skeleton: +by its run on fast, the whole program takes 85\.1 s there\.$/m, 'the time of the whole program by it');
	like($out, qr/^ +by its run on slow, the whole program takes 170\.2 s there, 2\.00 times fast:\n +computation 1\.50 times as long/m, '... and the ratio');
	like($out, qr/^ +By some iterations of the program itself, it takes 171\.0 s there\.$/m, '... and by the program itself');
};

subtest 'a job that was submitted too early' => sub {
	my $early = sub { my ($a) = @_; delete $a->{job}{predicted}; $a->{job}{act} = 'observe'; @{ $a->{program} }{qw(source_submitted source_ended)} = (1000, 1600); $a->{job}{submit} = 1599 };
	my $why = qr/\ANothing was predicted for job 77 \(heat3d\):\nthe first run, job 12, had not ended when this job was submitted\.$/m;
	like(words('explain', $early), $why, 'while the first run was traced');
	like(words('explain', sub { $early->($_[0]); $_[0]{program}{source_ended} = 0 }), $why, '... which still runs');
	for my $change (sub { $_[0]{job}{submit} = 1600 }, sub { $_[0]{job}{submit} = 999 }, sub { $_[0]{program}{source_job} = 77 }, sub { delete $_[0]{program}{source_submitted} }) {
		like(words('explain', sub { $early->($_[0]); $change->($_[0]) }), qr/\ANothing was predicted for job 77 \(heat3d\)\.$/m, 'nothing is said of others');
	}
};

subtest 'names of tasks' => sub {
	my $answer = decode_json($saved);
	my @tasks = map { {%{ $answer->{job} }, %$_} } {job => 90, array_job => 88, array_task => 0}, {job => 88, array_job => 88, array_task => 0, state => '', start => 0},
		{job => 4294967290, array_job => 4294967288, array_task => 17};
	delete $tasks[1]{end};
	spew('jobs.json', encode_json({jobs => \@tasks}));
	my @lines = split /\n/, precedent('jobs', '--from', 'jobs.json')->{out};
	is_deeply([map { /^(\S+)/ } @lines], [qw(JOB 88_0 88 4294967288_17)], 'are those of squeue, once they have started');
	is_deeply([map { index $_, /^JOB/ ? 'NAME' : 'heat3d' } @lines], [(14) x 4], 'the columns stay in line');
	my $task = sub { @{ $_[0]{job} }{qw(array_job array_task)} = (70, 3) };
	like(words('explain', $task), qr/\AJob 70_3 \(heat3d\) was predicted/, 'explain names it so');
	like(words('show', $task), qr/\AJob +70_3  heat3d/, '... and so does show');
	for my $bad (qw(4_ _4 4_x 4_-1 4_1_1 0_1), '') {
		my $r = precedent('explain', $bad);
		is("$r->{rc} $r->{err}", "2 precedent explain: '$bad' is not a job id; try 'precedent explain --help'\n", "'$bad' is refused");
	}
};

subtest 'the quota of the spool' => sub {
	unlike(words('explain'), qr/^Spool:/m, 'nothing is said when there is nothing to say');
	my %quota = (quota => 20 << 30, bytes => 5 << 20, files => 3, removed_bytes => 3 << 19, removed_files => 41);
	my $out = words('explain', sub { $_[0]{quota} = {%quota, when => $_[0]{now} - 3 * 3600, over => JSON::PP::false} });
	like($out, qr/^Spool: +the user's directory was above SpoolQuota \(20480 MiB\) 3 hours ago;\n +precedentd removed 41 files, 1\.5 MiB, the oldest first\.$/m,
		'what was removed');
	unlike($out, qr/no probes/, '... and no more');
	$out = words('explain', sub { $_[0]{quota} = {%quota, removed_files => 0, when => $_[0]{now}, over => JSON::PP::true} });
	like($out, qr/^Spool: .* a moment ago\.\n +It still is, or is closed to precedentd: no probes until there is room\.$/m, 'what is refused');
};

subtest 'rules of the site that keep a limit' => sub {
	my @change = (sub { delete $_[0]{job}{limit_min}; $_[0]{job}{limit_min} = undef; $_[0]{limit_rules} = 'these jobs keep their limits: partition '
		. 'slow (GraceTime), QOS graced (GraceTime), QOS brief (above MaxWall), account science (above MaxWall)' });
	like(words('explain', @change), qr/^Limit: +left as it was asked for .*\n +By rules of the site these jobs keep their limits: partition slow \(GraceTime\),\s+QOS graced/m, 'are told');
	unlike(words('explain', sub { $change[0]->($_[0]); $_[0]{job}{mode} = 'observe' }), qr/rules of the site/, '... but not where no limit is lowered');
	unlike(words('explain', sub { $_[0]{limit_rules} = 'all jobs keep their limits: account a has GrpTRESRunMins' }), qr/rules of the site/, '... nor of a job whose limit was');
};

subtest 'every kind of evidence' => sub {
	my %kind = (source => 'the traced run itself', skeleton => "the traced run, times the skeleton's ratio",
		partial => 'the traced run, times what skeleton and program itself give',
		history => '4 past runs of the same job alone', blend => 'the skeleton and 4 past runs of the same job',
		family => '4 past runs of jobs that differ from it in numbers only');
	for my $kind (sort keys %kind) {
		my $out = words('explain', sub { my ($a) = @_; $a->{estimates} = [{ %{ $a->{estimates}[0] }, kind => $kind, runs => 4 }] });
		like($out, qr/^ +from \Q$kind{$kind}\E, 3 hours ago\.$/m, "$kind in words");
	}
	my @parts = ({kind => 'skeleton', seconds => 590, lo_s => 560, hi_s => 620, runs => 0, weight => 0.25, past_error => 0.031, programs => 4},
		{kind => 'model', seconds => 600, lo_s => 590, hi_s => 610, runs => 12, weight => 0.75});
	my $out = words('explain', sub { $_[0]{estimates} = [{ %{ $_[0]{estimates}[0] }, kind => 'joint', evidence => \@parts }] });
	like($out, qr/^ +from what is known of the job itself and a model over inputs, 3 hours ago\.\n +25 % of it: 00:09:50.*\n +from the traced run, times the skeleton's ratio;\n +off by 3\.1 % over 4 programs of its family\.\n +75 % of it: 00:10:00.*\n +from a model over inputs of 12 past runs\.$/m,
		'several kinds, what each says and counts for');
	like(words('explain', sub { $_[0]{estimates}[0]{runs} = 1; $_[0]{estimates}[0]{kind} = 'history' }), qr/from 1 past run of/, 'one run');
};

subtest 'little is known' => sub {
	my $out = words('explain', sub { delete @{ $_[0] }{qw(program estimates probes history past_errors baselines)}; delete $_[0]{job}{predicted} });
	like($out, qr/\ANothing was predicted for job 77/, 'no prediction');
	unlike($out, qr/Warning|Beside|Estimates/, 'nothing made up');
	like(words('explain', sub { $_[0]{past_errors} = {} }), qr/No earlier prediction there had come to its end/, 'no past');
	unlike(words('explain', sub { $_[0]{job}{user_limit_min} = 'UNLIMITED' }), qr/Warning/, 'no limit, no warning');
	unlike(words('explain'), qr/TimeMin/, 'no plan of Slurm is told where there is none');
	like(words('explain', sub { @{$_[0]{job}}{qw(limit_min plan_min)} = (undef, 4) }),
		qr/^Limit: .*\n +Slurm planned with 00:04:00: the job's TimeMin\.$/m, 'the plan is told');
	like(words('show', sub { @{$_[0]{job}}{qw(limit_min plan_min)} = (undef, 4) }), qr/^  limit .*, planned with 00:04:00$/m, '... by show, too');
	like(words('explain', sub { $_[0]{job}{user_limit_min} = 9 }), qr/Warning: +the limit asked for is below the predicted time:/, 'much too short');
	$out = words('explain', sub { delete $_[0]{job}{predicted}; $_[0]{job}{user_limit_min} = undef });
	like($out, qr/^Limit: +none was asked for, mode \w+\.$/m, 'a job without a request');
};

subtest 'there is no trace: why' => sub {
	my $why = sub {
		my ($act, %more) = @_;
		return words('explain', sub { delete $_[0]{program}; $_[0]{job}{act} = $act; $_[0]{job}{key} = $more{key} // $_[0]{job}{key};
			$_[0]{tracing_stopped} = 1700000000 if $more{stopped} });
	};
	like($why->('observe', key => ''), qr/^Trace: +none: only batch scripts are traced, /m, 'no batch script');
	like($why->('observe'), qr/^Trace: +none: at its submission precedentd was silent, or /m, 'not marked');
	like($why->('observe', stopped => 1), qr/^Trace: +none: tracing is withheld\.$/m, 'tracing is stopped');
	like($why->('trace'), qr/^Trace: +none is known any more: it was forgotten, or not used within Retention\.$/m, 'forgotten');
	like($why->('predict'), qr/^Trace: +none of this job itself: others /m, 'predicted from others');
};

subtest 'a first run that left no trace' => sub {
	my %untraced = (state => 'failed', reason => 'no trace: untraced.txt says why',
		source_job => 77, traces => 0);
	my $first = sub {
		my (%program) = @_;
		my $change = sub { $_[0]{job}{act} = 'trace'; delete $_[0]{job}{predicted}; $_[0]{program} = {%{ $_[0]{program} }, %untraced, %program} };
		my $explained = words('explain', $change);
		my $answer = decode_json($saved);
		$change->($answer);
		spew('jobs.json', encode_json({jobs => [{%{ $answer->{job} }, program => $answer->{program}}]}));
		return ($explained, precedent('jobs', '--from', 'jobs.json')->{out});
	};
	my ($explained, $listed) = $first->();
	like($explained, qr/\AJob 77 \(heat3d\) was the first run of this job: it left no trace, nothing was predicted for it\.\nTrace: .*: no trace: /,
		'explain does not say that it was traced');
	like($listed, qr/^77 .* first run, left no trace /m, 'nor does jobs');
	for my $case ([traces => 1], [source_job => 78], [state => 'ready']) {
		($explained, $listed) = $first->(@$case);
		like($explained, qr/first run of this job: it was traced/, "@$case: traced");
		like($listed, qr/first run, traced/, '... in jobs too');
	}
};

subtest 'the state of the program now' => sub {
	my $state = sub {
		my (%program) = @_;
		return words('explain', sub { $_[0]{program} = {%{ $_[0]{program} }, %program} });
	};
	my $out = $state->(state => 'failed', reason => 'too uncertain:' . ' between this and that' x 8);
	like($out =~ s/\n {10}//gr, qr/^Trace: +at present there is no prediction: too uncertain:( between this and that){8}\.$/m, 'a reason of several lines');
	like($state->(state => 'new', retrace_at => 1700000000, reason => ''), qr/^Trace: +the next submission of this job is traced again\.$/m, 'after retrace');
	like($state->(state => 'new', retrace_at => 1700000000, reason => 'the last runs differed'), qr/^Trace: +the last runs differed\.$/m, 'after drift');
	like($state->(state => 'new', retrace_at => 0, source_elapsed_s => 0), qr/^Trace: +the run to be traced \(job \d+\) has not ended yet\.$/m, 'before the first trace');
	my $answer = decode_json($saved);
	delete $answer->{job}{predicted};
	for my $case ([new => 'no trace'], [traced => 'no probe'], [building => 'no probe']) {
		spew('jobs.json', encode_json({jobs => [{%{ $answer->{job} }, act => 'observe', program => {%{ $answer->{program} }, state => $case->[0]}}]}));
		like(precedent('jobs', '--from', 'jobs.json')->{out}, qr/^77 .* none yet: $case->[1] /m, "$case->[0]: what is missing, in jobs");
	}
};

subtest 'similar runs' => sub {
	my %similar = (seconds => 600, lo_s => 120, hi_s => 4200);
	unlike(words('explain'), qr/^Similar:/m, 'nothing is said where the job itself is known');
	my %source = (script => 'of the same script', command => 'with the same command', numbers => 'of this script with other numbers',
		name => 'with the same name', shape => 'of the same size', user => 'of the same user',
		account => 'of the same account');
	for my $source (sort keys %source) {
		my $out = words('explain', sub { delete $_[0]{job}{predicted}; $_[0]{job}{similar} = {%similar, source => $source} });
		like($out, qr/^Similar: +runs \Q$source{$source}\E took 00:10:00,\n +nine in ten of them between 00:02:00 and 01:10:00\.$/m, $source);
	}
};

subtest 'known by its launches, or of a kind whose keys never come again' => sub {
	unlike(words('explain'), qr/^Known by:/m, 'nothing is said of a key that is known');
	like(words('explain', sub { $_[0]{job}{same_launches} = 12 }),
		qr/^Known by:  program, arguments and inputs are those of job 12; the text of the script is new\.$/m, 'by the launches');
	like(words('explain', sub { $_[0]{job}{same_launches} = 0 }), qr/^Known by:  program, .* of past runs;/m, 'without a traced job');
	my $out = words('explain', sub {
		delete @{ $_[0] }{qw(program estimates probes)};
		delete $_[0]{job}{predicted};
		@{ $_[0]{job} }{qw(act mode fresh)} = ('observe', 'limit', 9);
	});
	like($out, qr/^Trace: +none: the 9 jobs before it with this name and script were all new; none was\n +submitted twice\./m, 'not traced');
	like($out, qr/^ +submitted twice\. One in 16 .* `precedent retrace 77` has the next\n +eight traced; `sbatch --predict=limit` has one traced\.$/m,
		'and how it is traced');
};

subtest 'jobs that differ in numbers only, and drift' => sub {
	my $out = words('explain', sub { $_[0]{families} = [
		{candidate => 'fast', seconds => 100, lo_s => 95, hi_s => 106, runs => 5, programs => 3, reason => ''},
		{candidate => 'slow', programs => 2, reason => 'the numbers in script and arguments matter: with some it took 100 s, with others 130 s'}] });
	like($out, qr/^Family: +fast 00:01:40.*,\n +from 5 runs of 3 jobs that differ in numbers only\.$/m, 'what they say');
	like($out, qr/^ +nothing for slow from 2 jobs that differ in numbers only:\n +the numbers in script and arguments matter: /m, 'or why they do not');
	my %drift = (candidate => 'fast', since => decode_json($saved)->{now} - 7200, acted => 0);
	like(words('explain', sub { $_[0]{drift} = {%drift, stage => 'reprobed'} }),
		qr/^Drift: +on fast runs were not as predicted; what ran before \(2 hours ago\) counts no more, and\n +the probe was made again/m, 'drift');
	like(words('explain', sub { $_[0]{drift} = {%drift, stage => 'retraced'} }), qr/^ +the job is traced again\.$/m, 'and further');
	like(words('explain', sub { $_[0]{drift_model} = {%drift} }),
		qr/^Drift: +on fast runs with other numbers were not as their model said; what ran before\n +\(2 hours ago\) counts no more for it/m,
		'of all with other numbers');
};

subtest 'a traced run that failed' => sub {
	unlike(words('explain'), qr/^Tracing:/m, 'nothing where there was none');
	my %trial = (job => 4294967295, state => 'FAILED');
	my $program = {%{ decode_json($saved)->{program} }, state => 'failed', reason => 'traced job 4294967295 ended FAILED', retrace_at => 1700000000};
	my $explained = sub {
		my (%more) = @_;
		return words('explain', sub { $_[0]{program} = $program; $_[0]{trial} = {%trial, %more} });
	};
	for my $guard (qw(doubt key)) {
		my $out = $explained->(guard => $guard);
		like($out, qr/^Tracing: +job 4294967295 ended FAILED while it was traced:\n +the next run goes without the tracer\.$/m, "$guard: what comes next");
		unlike($out, qr/may be traced again/, '... and nothing else');
	}
	my %untraced = (untraced_job => 4294967294, untraced_state => 'COMPLETED');
	like($explained->(guard => 'suspect', %untraced),
		qr/ while it was traced,\n +job 4294967294 without the tracer ended COMPLETED:\n +the program is not traced again by itself; precedent retrace 4294967295 has it traced\.$/m,
		'suspect: why, and the way out');
	my $out = $explained->(guard => 'free', %untraced, untraced_state => 'FAILED');
	like($out, qr/ while it was traced,\n +job 4294967294 without the tracer ended FAILED:\n +the tracer is not suspected\.$/m, 'free: why it is traced again');
	like($out, qr/^ +It may be traced again from/m, '... and from when on');
	like($explained->(guard => 'doubt', state => 'UNKNOWN'), qr/ended unseen while it was traced/, 'an end that nobody saw');
	$out = words('explain', sub { $_[0]{program} = $program; $_[0]{tracing_stopped} = 1700000000 });
	like($out, qr/^Tracing: +stopped on the whole cluster since 2023-11-1\d \d\d:\d\d.*: traced jobs failed more often\.$/m, 'tracing is stopped');
	unlike($out, qr/may be traced again/, '... and nothing is traced');
	like(words('explain', sub { $_[0]{trial} = {%trial, guard => 'doubt'}; $_[0]{tracing_stopped} = 1700000000 }),
		qr/^Tracing: .*\n.*\n +stopped on the whole cluster/m, 'both');
};

subtest 'a model over inputs' => sub {
	my $out = words('explain', sub { $_[0]{job}{predicted}{kind} = 'model'; $_[0]{inputs} = [4, 2, 1, 0, 1000.5, 7]; $_[0]{models} = [
		{candidate => 'fast', seconds => 100, lo_s => 95, hi_s => 106, runs => 12, inputs => 6, law => '0.1 s * n1', error => 0.013, scale => 1,
			updated => $_[0]{now} - 7200, reason => '', remark => 'in part from guesses'},
		{candidate => 'slow', runs => 2, inputs => 2, reason => 'runs of 2 different inputs: 3 are needed', updated => 0}] });
	like($out, qr/^from a model over inputs\.$/m, 'what the prediction came from');
	like($out, qr/^Model: +fast 00:01:40.*,\n +from 12 runs with 6 different inputs, 2 hours ago\.$/m, 'what it says');
	like($out, qr/^ +On average 0\.1 s \* n1;\n +inputs that were left out of the fit it missed by 1\.3 %\.$/m, 'its shape and its error');
	like($out, qr/^ +Fitted in part from guesses\.$/m, 'what of, where it is not runs alone');
	like($out, qr/^ +nothing for slow from 2 runs with 2 different inputs:\n +runs of 2 different inputs: 3 are needed\.$/m, 'or why it does not');
	like($out, qr/^ +Its inputs: ranks 4, nodes 2, CPUs per rank 1, input bytes 0, n1 1000\.5, n2 7\.$/m, 'of which inputs');
};

subtest 'between which candidates its place was chosen' => sub {
	unlike(words('explain'), qr/^Place:/m, 'nothing where it was not');
	my $out = words('explain', sub { $_[0]{job}{weighed} = [
		{candidate => 'slow', taken => JSON::PP::true, wait_s => 0, seconds => 460, ends_s => 460, why => ''},
		{candidate => 'third', taken => JSON::PP::false, wait_s => undef, seconds => 120, ends_s => undef, why => 'closed'},
		{candidate => 'far', taken => JSON::PP::false, wait_s => undef, seconds => 100, ends_s => undef, why => ''},
		{candidate => 'fast', taken => JSON::PP::false, wait_s => 7200, seconds => 192, ends_s => 7392, why => 'least'}] });
	like($out, qr/^Place: +candidate +starts in +runs +ends after$/m, 'a table');
	like($out, qr/^ +slow +00:00:00 +00:07:40 +00:07:40  here it went$/m, 'the one that was taken first');
	like($out, qr/^ +third +- +00:02:00 +-  closed to the user or to this size$/m, 'why another was not');
	like($out, qr/^ +far +- +00:01:40 +-  when it would start is not known$/m, 'what is not known');
	like($out, qr/^ +fast +>02:00:00 +00:03:12 +>02:03:12$/m, 'one that starts later');
	my %why = (refused => 'slurmctld would not start it there', limit => "the partition's limit is too short",
		unnamed => 'not among the partitions asked for', features => 'not with the features asked for',
		mode => 'nothing is placed there \(mode\)', other => 'no candidate any more');
	for my $word (sort keys %why) {
		$out = words('explain', sub { $_[0]{job}{weighed} = [{candidate => 'x', wait_s => 1, seconds => 2, ends_s => 3, why => $word}] });
		like($out, qr/^ +x .*  $why{$word}$/m, "$word in words");
	}
};

subtest 'show' => sub {
	my $out = words('show');
	like($out, qr/^  beside    request 00:10:00, the user's last two runs 00:05:00, the job's 00:09:40$/m, 'baselines beside the prediction');
	like(words('show', sub { $_[0]{baselines}{last_two_job} = undef }), qr/, the job's -$/m, 'what is not known');
	like(words('show', sub { $_[0]{job}{restarts} = 2 }), qr/queued again 2 times/, 'restarts');
	my $probed = sub {
		my %more = @_;
		return words('show', sub { $_[0]{probes} = [{candidate => 'old', state => 'done', record => {ok => JSON::PP::true, node_class => '0' x 16, %more}}] });
	};
	for my $verb (qw(show explain)) {
		my $r = precedent($verb, '--from', 'no-such.json');
		is($r->{rc}, 1, 'a file that is not there');
		like($r->{err}, qr/\Aprecedent: no-such\.json: [^\n]+\n\z/, 'in one line');
	}
	my $r = precedent('retrace', '--from', 'answer.json');
	is($r->{rc}, 2, 'retrace takes no file');
};

done_testing;
