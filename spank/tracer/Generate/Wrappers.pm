# SPDX-License-Identifier: GPL-2.0-or-later
#
# The wrappers of a recorded function: C text of MPI_X, mpi_x_ and the mpi_f08 form, from its rule and its
# prototype.
package Generate::Wrappers;
use strict;
use warnings;
use Exporter 'import';
use Generate::Rules qw(split_list);
our @EXPORT_OK = qw(wrappers_text);

# The context of a wrapper: rule, arguments, whether it is Fortran, whether its choice buffers are descriptors
# (MPICH's mpi_f08).
our ($R, %ARG, $F, $F08, $TS, $POLL);

# Constants with numbers of the trace's own.
my %NUMBERED = (LOCK => 'wrap_lock_type', ASSERT => 'wrap_assert', SPLIT => 'wrap_split_type');

# Arguments of type void * that are no choice buffers in Fortran.
my %PLAIN_POINTER = map { $_ => 1 } qw(baseptr extra_state buffer_addr);

sub arg {
	my ($name) = @_;
	$ARG{$name} or die "rule $R->{name}: no argument '$name'\n";
	return $ARG{$name};
}

# The value of a scalar argument, dereferenced if it is passed by address.
sub value {
	my ($name) = @_;
	my $a = arg($name);
	return $F || $a->{pointer} ? "*$name" : $name;
}

my %HANDLE = (MPI_Comm => 'Comm', MPI_Datatype => 'Type', MPI_Op => 'Op', MPI_Win => 'Win', MPI_File => 'File',
	      MPI_Group => 'Group');

my %NULL_HANDLE = (MPI_Comm => 'MPI_COMM_NULL', MPI_Datatype => 'MPI_DATATYPE_NULL', MPI_Op => 'MPI_OP_NULL',
		   MPI_Win => 'MPI_WIN_NULL', MPI_File => 'MPI_FILE_NULL');

# A C handle.
sub handle {
	my ($name) = @_;
	return $ARG{$name}{converted} if $ARG{$name}{converted};
	my $h = $HANDLE{arg($name)->{base}} or die "rule $R->{name}: $name is no handle\n";
	return $F ? "mpi.${h}_f2c(*$name)" : value($name);
}

sub request_key {
	my ($name) = @_;
	my $base = arg($name)->{base};
	my $key = $base eq 'MPI_Message' ? 'key_message' : 'key';
	return $key . ($F ? '_f(' : '_c(') . value($name) . ')';
}

# The address of the program's request variable; NULL if the program passed a copy.
sub request_place {
	my ($name) = @_;
	return $F || arg($name)->{pointer} ? $name : 'NULL';
}

sub in_place {
	my ($name) = @_;
	arg($name);
	return $TS ? "wrap_in_place_f08ts($name)" : $F ? "wrap_in_place_f($name)" : "($name == MPI_IN_PLACE)";
}

sub condition {
	my ($p) = @_;
	return join ' && ', map {
		my $v = $_->{what} eq 'in_place' ? in_place($_->{arg}) :
			$_->{what} eq 'root' ? 'wrap_is_root(' . value($_->{arg}) . ', ci)' :
			$_->{what} eq 'leaf' ? 'wrap_is_leaf(' . value($_->{arg}) . ')' :
			'wrap_joins(' . value($_->{arg}) . ')';
		($_->{not} ? '!' : '') . $v;
	} @{$p->{when}};
}

sub main_comm {
	my ($p) = grep { $_->{kind} eq 'COMM' } @{$R->{params}};
	return $p ? $p->{expr}[0] : undef;
}

sub length_of {
	my ($e) = @_;
	return value($e) if $e =~ /^\w+$/;
	$e =~ /^(\w+)\((.*)\)$/ or die "rule $R->{name}: no length '$e'\n";
	my ($what, @a) = ($1, split_list($2));
	return 'wrap_peers(ci)' if $what eq 'peers';
	return 'wrap_members(ci)' if $what eq 'members';
	return 'wrap_degree(' . handle($a[0]) . ', ci, true)' if $what eq 'indegree';
	return 'wrap_degree(' . handle($a[0]) . ', ci, false)' if $what eq 'outdegree';
	return "wrap_$what($a[0], " . value($a[1]) . ')' if $what =~ /^(last|sum)$/;
	die "rule $R->{name}: no length '$e'\n";
}

# Flags of a request that a wildcard receive of this rule creates.
sub request_flags {
	my $f = $R->{persistent} ? 'REQ_PERSISTENT' : 'REQ_ACTIVE';
	my ($src) = grep { $_->{kind} eq 'SRC' } @{$R->{params}};
	my ($tag) = reverse grep { $_->{kind} eq 'TAG' } @{$R->{params}}; # the receive's, where a send has one too
	return $f unless $R->{class} =~ /^I(SEND|RECV)$/ && $src;
	return "$f | (" . value($src->{expr}[0]) . ' == MPI_ANY_SOURCE ? REQ_WILD_SRC : 0) | (' .
		value($tag->{expr}[0]) . ' == MPI_ANY_TAG ? REQ_WILD_TAG : 0)';
}

sub status_field {
	my ($status, $field) = @_;
	return $F ? "$status\[MPILIB_F_" . ($field eq 'MPI_SOURCE' ? 'SOURCE' : 'TAG') . ']' : "$status->$field";
}

# The value of a scalar parameter, in C.
sub scalar_code {
	my ($p) = @_;
	my ($k, $e, @more) = ($p->{kind}, @{$p->{expr}});
	return "pre_$p->{name}" if $p->{pre};
	return 'ci' if $k eq 'COMM' && $e eq (main_comm() // '');
	return 'rec_comm(' . handle($e) . ', &c.slow)' if $k eq 'COMM';
	return 'rec_type(' . handle($e) . ', &c.slow)' if $k eq 'TYPE';
	return 'rec_op(' . handle($e) . ', &c.slow)' if $k eq 'OP';
	return 'wrap_rank(' . value($e) . ')' if $k =~ /^(DST|SRC|ROOT)$/;
	return 'wrap_tag(' . value($e) . ')' if $k eq 'TAG';
	return value($e) if $k eq 'COUNT';
	return 'wrap_int(' . value($e) . ')' if $k eq 'INT';
	return '(int64_t)' . value($e) if $k eq 'SIZE';
	return value($e) . ' != 0' if $k eq 'BOOL';
	return $NUMBERED{$k} . '(' . value($e) . ')' if $NUMBERED{$k};
	return 'wrap_disp(&c, ' . value($e) . ')' if $k eq 'DISP';
	return 'rec_win(' . handle($e) . ', &c.slow)' if $k eq 'WIN';
	return 'rec_file(' . handle($e) . ', &c.slow)' if $k eq 'FILE';
	return 'wrap_newwin(' . handle($e) . ', ci, &c.slow)' if $k eq 'NEWWIN';
	return 'wrap_newfile(' . handle($e) . ", ci, $more[0], " . ($F ? "(int64_t)$more[0]_len" : '-1') . ', &c.slow)'
		if $k eq 'NEWFILE';
	return in_place($e) if $k eq 'INPLACE';
	return 'wrap_newtype(' . handle($e) . ', &c.slow)' if $k eq 'NEWTYPE';
	return 'wrap_newcomm(' . handle($e) . ', &c.slow)' if $k eq 'NEWCOMM' && !@more;
	return 'comm_define_like(ci)' if $k eq 'NEWCOMM';
	return 'request_new(' . request_key($e) . ', ' . request_place($e) . ', ' . request_flags() . ')' if $k eq 'NEWREQ';
	return 'request_find(' . request_key($e) . ', ' . request_place($e) . ')' if $k eq 'REQ';
	return '(' . value($more[0]) . ' == MPI_ANY_SOURCE ? wrap_rank(' . status_field($e, 'MPI_SOURCE') .
		') : TRACE_NULL)' if $k eq 'ASRC';
	return '(' . value($more[0]) . ' == MPI_ANY_TAG ? wrap_tag(' . status_field($e, 'MPI_TAG') .
		') : TRACE_NULL)' if $k eq 'ATAG';
	die "rule $R->{name}: $k is no scalar\n";
}

# The call may wait for the members of its group.
sub stores_group { return $R->{name} eq 'MPI_Win_start' }

sub array_code {
	my ($p) = @_;
	my ($k, $e, $len) = ($p->{kind}, @{$p->{expr}});
	if ($k eq 'GROUP') {
		my $found = stores_group() ? '' : 'win_group_find(c.self, ' . handle($e) . ', ' . handle($len) . '); ';
		return $found . 'v = wrap_group(&c, &n);';
	}
	my $n = length_of($len);
	$n = '(' . condition($p) . ") ? $n : 0" if $p->{when};
	return "v = wrap_counts(&c, &n, $e, $n);" if arg($e)->{base} eq 'MPI_Count';
	return "v = wrap_ints(&c, &n, $e, $n, " . ($k eq 'BOOLS' ? 'true' : 'false') . ');'
		if $k =~ /^(COUNTS|INTS|BOOLS)$/;
	return 'v = wrap_types' . ($F ? '_f' : '') . "(&c, &n, $e, $n);" if $k eq 'TYPES';
	return "v = wrap_starts(&c, &n, $e, $n, " . ($F ? 'true' : 'false') . ');' if $k eq 'REQS';
	die "rule $R->{name}: array $k outside of a wait\n";
}

sub is_array { return $_[0]{kind} =~ /^(COUNTS|TYPES|REQS|DONE|ASRCS|ATAGS|INTS|BOOLS|GROUP)$/ }

# Statements that put every parameter into v.
sub values_code {
	my @code;
	my $comm = main_comm();
	my ($pre) = grep { $_->{kind} eq 'COMM' && $_->{pre} } @{$R->{params}};
	push @code, 'const int64_t ci = ' . ($pre ? "pre_$pre->{name}" : 'rec_comm(' . handle($comm) . ', &c.slow)') . ';'
		if $comm;
	push @code, '(void)ci;' if $comm;
	for my $p (@{$R->{params}}) {
		if (is_array($p)) {
			push @code, array_code($p);
			next;
		}
		my $x = scalar_code($p);
		my $missing = $p->{kind} =~ /^(TYPE|OP|COMM)$/ ? 'TRACE_NULL' : '0';
		$x = '(' . condition($p) . ") ? $x : $missing" if $p->{when};
		push @code, "v[n++] = $x;";
		push @code, 'request_start(v[n - 1]);' if $R->{class} eq 'START' && $p->{kind} eq 'REQ';
		push @code, 'request_cancel(v[n - 1]);' if $R->{cancels};
		if ($p->{kind} eq 'NEWCOMM' && @{$p->{expr}} > 1) {
			my $i = (grep { $R->{params}[$_]{kind} eq 'NEWREQ' } 0 .. $#{$R->{params}})[0];
			push @code, "request_bind_comm(v[$i], $p->{expr}[0], $F, v[n - 1]);";
		}
	}
	return @code;
}

# A handle that the call frees is looked up before the call and removed after it. The library may still reject the
# call: the argument may be NULL, and an unknown handle is not examined.
sub frees_code {
	my $name = $R->{frees} or return ([], [], []);
	my $base = arg($name)->{base};
	my ($p) = grep { $_->{expr}[0] eq $name } @{$R->{params}};
	my $pre = "pre_$p->{name}";
	my $guarded = sub { return ("int64_t $pre = TRACE_NULL;", "if ($name) {", (map { "\t$_" } 'wrap_lock();', @_, 'wrap_unlock();'), '}') };
	$p->{pre} = 1;
	if ($base =~ /^MPI_(Request|Message)$/) {
		return ([$guarded->("$pre = request_find(" . request_key($name) . ', ' . request_place($name) . ');')], [],
			["request_drop($pre);"]);
	}
	my ($what, @kept) = $base =~ /^MPI_(Comm|Win|File)$/ ? (lc $1, 1) : ($base eq 'MPI_Op' ? 'op' : 'type');
	my @pre = ("$base old = $name ? " . handle($name) . ' : ' . $NULL_HANDLE{$base} . ';',
		   $guarded->("$pre = " . (@kept ? "${what}_take(old);" : "rec_known(&handles.$what, HANDLE_KEY(old));")));
	return @kept ? (\@pre, ["${what}_put_back(old, $pre);"], ["${what}_release($pre);"]) :
		(\@pre, [], ["hmap_take(&handles.$what, HANDLE_KEY(old));"]);
}

# Pass a status of the tracer if the program would ignore a wildcard's source and tag.
sub status_code {
	my ($p) = grep { $_->{kind} eq 'ASRC' } @{$R->{params}} or return;
	my ($t) = grep { $_->{kind} eq 'ATAG' } @{$R->{params}};
	my ($status, $src, $tag) = ($p->{expr}[0], $p->{expr}[1], $t->{expr}[1]);
	my $wild = '(' . value($src) . ' == MPI_ANY_SOURCE || ' . value($tag) . ' == MPI_ANY_TAG)';
	return ("MPI_Fint own[MPILIB_F_STATUS_SIZE];", "if ($wild && wrap_ignored_f($status))", "\t$status = own;") if $F;
	return ('MPI_Status own;', "if ($wild && $status == MPI_STATUS_IGNORE)", "\t$status = &own;");
}

# The parameters as passed to the call, for readers of the spill file if it does not return (rec_start):
# statements before the call, and the value. Pointers that the library may reject are not dereferenced.
sub inside_code {
	my @p = @{$R->{params}};
	my ($object) = grep { $_->{kind} eq 'COMM' } @p;
	($object) = grep { $_->{kind} =~ /^(?:WIN|FILE)$/ } @p if !$object;
	my ($dst) = grep { $_->{kind} =~ /^(?:DST|ROOT)$/ } @p;
	my ($src) = grep { $_->{kind} eq 'SRC' } @p;
	my ($tag) = reverse grep { $_->{kind} eq 'TAG' } @p;
	my ($reqs) = grep { $R->{class} eq 'WAIT' && $_->{kind} eq 'REQS' } @p;
	my ($key, @before) = (0);
	if ($object) {
		my $name = $object->{expr}[0];
		my $a = arg($name);
		if ($object->{pre}) {
			$key = 'HANDLE_KEY(old)';
		} elsif ($F) {
			push @before, "const $a->{base} at_$name = " . handle($name) . ';';
			$a->{converted} = "at_$name";
			$key = "HANDLE_KEY(at_$name)";
		} elsif (!$a->{pointer}) {
			$key = "HANDLE_KEY($name)";
		}
	}
	my $scalar = sub { my ($p) = @_; my $a = $p ? arg($p->{expr}[0]) : undef; return $a && ($F || !$a->{pointer}) ? value($p->{expr}[0]) : 0 };
	my $first = $reqs ? ($reqs->{expr}[1] ? value($reqs->{expr}[1]) : 1) : $scalar->($dst);
	my ($high, $type) = ($scalar->($src), ', 0');
	if ($R->{class} eq 'SEND') {
		my ($count) = grep { $_->{kind} eq 'COUNT' } @p;
		my ($datatype) = grep { $_->{kind} eq 'TYPE' } @p;
		$high = 'REC_COUNT(' . $scalar->($count) . ')' if $count;
		$type = ', HANDLE_KEY(' . handle($datatype->{expr}[0]) . ')' if $count && $datatype;
	}
	my ($lock) = grep { $_->{kind} eq 'LOCK' } @p;
	$high = 'wrap_lock_type(' . value($lock->{expr}[0]) . ')' if $lock;
	my ($group) = grep { stores_group() && $_->{kind} eq 'GROUP' } @p;
	push @before, 'win_group_before(c.self, ' . join(', ', map { handle($_) } @{$group->{expr}}) . ');' if $group;
	return (\@before, "(struct rec_inside){SPILL_CALL(FN_$R->{name}, " . $scalar->($tag) . "), $key, REC_PEERS($first, $high)$type}");
}

sub wait_code {
	my ($reqs, $done, $asrcs, $atags) = @{$R->{params}};
	my ($array, $len) = @{$reqs->{expr}};
	my $count = $len ? value($len) : 1;
	my @d = @{$done->{expr}};
	my $status = $asrcs->{expr}[0];
	my $n_status = $d[0] ne 'all' && @d == 1 || !$len ? 1 : $count;
	my $ignored = $F ? "wrap_ignored_f($status)" : "$status == " . ($n_status eq '1' ? 'MPI_STATUS_IGNORE' : 'MPI_STATUSES_IGNORE');
	my @pre = ('struct completion d;', "completion_begin(&d, &c, $count, $array, " . ($F ? 'true' : 'false') . ');',
		   "$status = completion_statuses_" . ($F ? 'f' : 'c') . "(&d, $status, $ignored, $n_status);");
	my $base = $F08 ? 'mpi.f08_base' : $F ? 1 : 0;
	my @put = $d[0] eq 'all' ? "completion_put(&d, &n, NULL, 0, 0);" :
		@d == 1 ? "completion_put(&d, &n, $d[0], *$d[0] >= $base, $base);" :
		"completion_put(&d, &n, $d[0], *$d[1], $base);";
	if ($R->{polls}) {
		push @put, 'if (!d.n_done) {', "\trec_poll(&c);", "\tRETURN;", '}';
	}
	my $key = "MPILIB_BITS(" . ($len ? "$array\[0]" : "*$array") . ')';
	my %late = (
		if => join(' && ', $array, $count eq '1' ? () : "$count == 1", "(!($ignored) || !rec.n_wild)"),
		key => $key,
		found => "completion_late(&d, &c, key, $array, $ignored ? NULL : $status);",
	);
	return (\@pre, \@put, \%late);
}

# One argument as this language passes it.
sub declare_arg {
	my ($name, $type, $suffix) = @_;
	my $a = $ARG{$name};
	return $type . ($type =~ /\*$/ ? '' : ' ') . $name . $suffix if !$F;
	return "void *$name" if $a->{base} eq 'void' || $a->{callback};
	return "$a->{base} *$name" if $a->{base} =~ /^(MPI_Aint|MPI_Offset|MPI_Count|char)$/;
	return "MPI_Fint *$name";
}

sub declare_args {
	my ($proto, $lang) = @_;
	%ARG = ();
	my (@decl, @len);
	my @names = @{$R->{args}};
	/^(n|v|c|d|ci|rc|real|own|old|ierr|own_ierr|(?:pre|at)_\w+)$/ and
		die "rule $R->{name}: call argument '$_' something else, the wrappers use it\n" for @names;
	@names == @{$proto->{params}} or die "rule $R->{name}: mpi.h has " . @{$proto->{params}} . " arguments\n";
	for my $i (0 .. $#names) {
		my ($type, $suffix) = @{$proto->{params}[$i]};
		my ($base) = $type =~ /^(?:const )?(\w+)/;
		my $stars = () = $type =~ /\*/g;
		my $callback = $base =~ /_(function|fn)(_c)?$/ || $base =~ /^MPI_User_function/;
		$ARG{$names[$i]} = {base => $base, pointer => $stars + length($suffix) > 0, callback => $callback};
		if ($F && $R->{class} eq 'INIT' && $names[$i] =~ /^arg[cv]$/) {
			$ARG{$names[$i]}{absent} = 1;
			next;
		}
		push @decl, declare_arg($names[$i], $type, $suffix);
		push @len, "$names[$i]_len" if $F && $base eq 'char';
	}
	push @decl, 'MPI_Fint *ierr' if $F && !$R->{silent};
	push @decl, map { "size_t $_" } @len; # lengths of character arguments come last
	push @decl, '...' if !$F && $proto->{variadic};
	my @pass = grep { !$F || !$ARG{$_}{absent} } @names;
	push @pass, 'ierr' if $F && !$R->{silent};
	return (\@decl, [@pass, @len]);
}

sub init_or_finalize {
	my ($symbol, $decl, $pass, $lang) = @_;
	my $ok = $lang eq 'c' ? 'rc == MPI_SUCCESS' : '*ierr == MPI_SUCCESS';
	my $call = $lang eq 'c' ? "rc = real($pass);" : "real($pass);";
	my @own = $lang eq 'c' ? ("\tint rc;") : ("\tMPI_Fint own_ierr = MPI_SUCCESS;");
	my @body = ("\tif (!real)", "\t\treal = (__typeof__(real))wrap_resolve(\"$symbol\");");
	push @body, "\tif (!ierr)", "\t\tierr = &own_ierr;" if $lang ne 'c';
	if ($R->{class} eq 'INIT') {
		my @v = map { scalar_code($_) } @{$R->{params}};
		push @body, "\trun_before_init();", "\t$call";
		if (@v) {
			push @body, "\tconst int64_t v[] = {" . join(', ', @v) . '};';
			push @body, "\trun_after_init($ok, FN_$R->{name}, v, " . @v . ", RETURN_ADDRESS, CALLER_CFA);";
		} else {
			push @body, "\trun_after_init($ok, FN_$R->{name}, NULL, 0, RETURN_ADDRESS, CALLER_CFA);";
		}
	} else {
		push @body, "\trun_before_finalize(FN_$R->{name}, RETURN_ADDRESS, CALLER_CFA);", "\t$call", "\tends_finalized();";
	}
	push @body, "\treturn rc;" if $lang eq 'c';
	return (@own, '', @body);
}

# A call that may not return is recorded before the real call.
sub body_of_first {
	my ($pass) = @_;
	my ($before, $inside) = inside_code();
	my @values = values_code();
	return ('if (rec_enter(&c, RETURN_ADDRESS, CALLER_CFA)) {', (map { "\t$_" } @$before), "\trec_start(&c, $inside);", "\tif (rec_leave(&c, true)) {",
		"\t\tuint32_t n = 0;", "\t\tint64_t *v = c.self->v;", '', (map { "\t\t$_" } @values),
		"\t\tc.t1 = c.t0;", "\t\trec_event(&c, FN_$R->{name}, n);", "\t}", '}', $F ? "real($pass);" : "return real($pass);");
}

# The body of a test or probe in C. Another function (poll_first) may have made the call already: then `made` is
# set, `was` is its result, and `key` is the request before it. Declarations for the call come first, since both
# paths use them.
sub poll_rest {
	my ($late, $pre, @ordinary) = @_;
	my @before = $late ? grep { /^struct completion/ } @$pre : @$pre;
	my %before = map { $_ => 1 } @before;
	return (@before, 'if (made) {', "\trc = was;", "\trec_enter_late(&c, ra, cfa);", $late ? "\t$late->{found}" : (), '} else {',
		(map { "\t$_" } grep { !$before{$_} } @ordinary), '}');
}

# The short function before that body. It handles an unsuccessful test while polls are only counted, and remembers
# the arguments (see rec_poll_untimed).
sub poll_first {
	my ($symbol, $decl, $head, $pass, $poll) = @_;
	my @names = split /, /, $pass;
	my @member = map { s/^(.*?)(\w+)\[\]$/$1*$2/r } @$decl;
	my $found = $poll->{found} =~ s/(?<![>\w])(\w+)(?= )/p->$1/r;
	my $if = $poll->{if} ? " && $poll->{if}" : '';
	return ("static struct ${symbol}_poll {", (map { "\t$_;" } @member), "\tuint64_t key;", "} poll_$symbol;", '',
		"static __attribute__((noinline)) int ${symbol}_found(int rc, uintptr_t ra, uintptr_t cfa)", '{',
		"\tconst struct ${symbol}_poll *p = &poll_$symbol;", '',
		"\treturn ${symbol}_rest(" . join(', ', map { "p->$_" } @names) . ', ra, cfa, true, rc, p->key);', '}', '',
		$head, '{', "\tif (rec_poll_untimed()$if) {", "\t\tstruct ${symbol}_poll *p = &poll_$symbol;",
		"\t\tconst uint64_t key = $poll->{key};", '',
		"\t\tif (__builtin_expect(" . join(' || ', map { "p->$_ != $_" } @names, 'key') . ", 0))",
		"\t\t\t*p = (struct ${symbol}_poll){" . join(', ', @names, 'key') . '};',
		"\t\trec_polls.n += REC_POLL_INSIDE;", "\t\tint rc = real_$symbol($pass);", "\t\tp = REC_AGAIN(&poll_$symbol);",
		"\t\tif (__builtin_expect(rc == MPI_SUCCESS && !($found), 1)) {", "\t\t\trec_polls.n -= REC_POLL_INSIDE - 1;", "\t\t\treturn rc;",
		"\t\t}", "\t\treturn ${symbol}_found(rc, RETURN_ADDRESS, CALLER_CFA);", "\t}",
		"\treturn ${symbol}_rest($pass, RETURN_ADDRESS, CALLER_CFA, false, 0, 0);", '}');
}

sub body_of_call {
	my ($pass) = @_;
	my @values;
	$_->{pre} = 0 for @{$R->{params}};
	my ($pre, $undo, $after) = frees_code();
	my ($before, $inside) = inside_code();
	my $late;
	if ($R->{class} eq 'WAIT') {
		(my ($p, $v), $late) = wait_code();
		push @$pre, @$p;
		@values = @$v;
	} else {
		push @$pre, status_code();
		@values = values_code();
	}
	my $ok = !$F ? 'rc == MPI_SUCCESS' : $R->{silent} ? 'true' : '*ierr == MPI_SUCCESS';
	my $return = $F ? 'return' : 'return rc';
	s/RETURN/$return/ for @values;
	unshift @$pre, @$before;
	my @body;
	if ($F) {
		push @body, 'if (!rec_enter(&c, RETURN_ADDRESS, CALLER_CFA)) {', "\treal($pass);", "\treturn;", '}';
		push @body, 'if (!ierr)', "\tierr = &own_ierr;" if !$R->{silent};
	} else {
		push @body, 'if (!rec_enter(&c, RETURN_ADDRESS, CALLER_CFA))', "\treturn real($pass);";
	}
	push @body, @$pre, ($R->{polls} ? 'rec_start_poll' : 'rec_start') . "(&c, $inside);", ($F ? '' : 'rc = ') . "real($pass);";
	if ($R->{polls}) {
		my $found = $R->{polls} =~ /count/ ? "*$R->{polls} > 0" : "*$R->{polls} != 0";
		push @body, "if (rec_leave_poll(&c, $ok, $ok && $found))", "\t$return;";
		if (!$F) {
			my ($own) = map { /^if \((.*)\)$/ ? "!($1)" : () } @$pre;
			$POLL = {if => $late ? $late->{if} : $own, key => $late ? $late->{key} : 0, found => $found};
			@body = poll_rest($late, $pre, @body);
		}
	}
	push @body, "if (!($ok)) {", (map { "\t$_" } 'wrap_lock();', @$undo, 'wrap_unlock();'), '}' if @$undo;
	push @body, "if (!rec_leave(&c, $ok))", "\t$return;", 'uint32_t n = 0;';
	push @body, 'int64_t *v = c.self->v;', '(void)v;' if grep { /\bv\b/ } @values;
	push @body, @$after, @values, "rec_event(&c, FN_$R->{name}, n);";
	push @body, 'return rc;' unless $F;
	return @body;
}

# Wrappers of the user's own functions come this way: see own.h.
sub own_call {
	return ('', 'if (level == OWN_LEVEL) {', "\tva_list ap;", '', "\tva_start(ap, level);",
		"\town_call(va_arg(ap, const struct own_call *));", "\tva_end(ap);", "\treturn MPI_SUCCESS;", '}');
}

sub wrapper {
	my ($rule, $proto, $lang, $symbol, $descriptors) = @_;
	local $R = $rule;
	local $F = $lang eq 'c' ? 0 : 1;
	local $F08 = $lang eq 'f08';
	local $TS = $descriptors;
	my ($args, $names) = declare_args($proto, $lang);
	my $decl = join(', ', @$args) || 'void';
	my $pass = join ', ', @$names;
	my $head = $F ? "EXPORT void $symbol($decl);\nEXPORT void $symbol($decl)" : "EXPORT int $symbol($decl)";
	if ($R->{class} =~ /^(INIT|FINALIZE)$/) {
		my $real = 'static ' . ($F ? 'void' : 'int') . " (*real)($decl);";
		return join("\n", $head, '{', "\t$real", init_or_finalize($symbol, $decl, $pass, $lang), '}', '');
	}
	local $POLL;
	my @body = ('struct rec_call c;');
	push @body, $F ? "MPI_Fint own_ierr;" : "int rc;" unless $R->{first} || $F && $R->{silent};
	push @body, '', $R->{first} ? body_of_first($pass) : body_of_call($pass);
	splice @body, 2, 0, own_call() if $symbol eq 'MPI_Pcontrol';
	s/\breal\b/real_$symbol/g for @body;
	my @find = find_real($symbol, $decl, $pass);
	if ($POLL) {
		s/\bRETURN_ADDRESS\b/ra/g, s/\bCALLER_CFA\b/cfa/g for @body;
		my $rest = "static __attribute__((noinline)) int ${symbol}_rest($decl, uintptr_t ra, uintptr_t cfa, bool made, int was, uint64_t key __attribute__((unused)))";
		return join("\n", @find, $rest, '{', (map { length $_ ? "\t$_" : '' } @body), '}', '', poll_first($symbol, $args, $head, $pass, $POLL), '');
	}
	return join("\n", @find, $head, '{', (map { length $_ ? "\t$_" : '' } @body), '}', '');
}

# The pointer real_SYMBOL, which is resolved at the first call.
sub find_real {
	my ($symbol, $decl, $pass) = @_;
	my ($type, $return) = $F ? ('void', '') : ('int', 'return ');
	return ("static $type find_$symbol($decl);", "static $type (*real_$symbol)($decl) = find_$symbol;", '', "static $type find_$symbol($decl)", '{',
		"\treal_$symbol = (__typeof__(real_$symbol))wrap_resolve(\"$symbol\");", "\t${return}real_$symbol($pass);", '}', '');
}

# Open MPI has descriptors from version 6 on, and names of its own for large counts. Without descriptors it has the old names.
sub new_f08 {
	my ($h, $choice, $large) = @_;
	return $h->{ompi} >= 6 && ($choice || $large);
}

# All forms of a function: [language, symbol, choice buffers are descriptors].
sub forms {
	my ($rule, $name, $h) = @_;
	my $p = $h->{fn}{$name};
	my $low = lc $rule->{name};
	my $large = $name eq $rule->{name} ? '' : 'large_';
	my ($choice, $cptr);
	for my $i (0 .. $#{$rule->{args}}) {
		next if ($p->{params}[$i][0] // '') !~ /\bvoid\b/;
		$PLAIN_POINTER{$rule->{args}[$i]} ? ($cptr ||= $rule->{args}[$i] eq 'baseptr') : ($choice = 1);
	}
	my $ts = $h->{mpich} && $choice;
	my @form = (['c', $name, 0], ['f08', "${low}_f08" . ($ts ? 'ts' : '') . "_$large", $ts]);
	push @form, ['f08', $low . ($large ? '_c' : '') . '_f08' . ($choice ? 'ts' : '') . '_', $choice] if new_f08($h, $choice, $large);
	push @form, ['f', "${low}_", 0] if !$large;
	push @form, ['f', "${low}_cptr_", 0] if !$large && $cptr;
	return @form;
}

# The text of wrappers.c, and a hash of its functions. A large-count form (MPI_X_c) is recorded by the rule of
# MPI_X.
sub wrappers_text {
	my ($h, @rule) = @_;
	my %wrapped;
	my $text = "/* Generated from conf/trace.rules and mpi.h. */\n#include <stdarg.h>\n\n#include \"spank/tracer/own.h\"\n#include \"spank/tracer/wrap.h\"\n\n" .
		"#define EXPORT __attribute__((visibility(\"default\")))\n";
	for my $r (@rule) {
		for my $name ($r->{name}, "$r->{name}_c") {
			my $p = $h->{fn}{$name} or next; # an MPI library that does not have it
			next if $name ne $r->{name} && grep { $_->{kind} eq 'NEWTYPE' || $_->{expr}[0] eq 'function' } @{$r->{params}};
			$wrapped{$name} = 1;
			$text .= "\n#undef $name\n"; # a macro where the library has it no more in C
			$text .= "\n" . wrapper($r, $p, @$_) for forms($r, $name, $h);
		}
	}
	return ($text, %wrapped);
}

1;
