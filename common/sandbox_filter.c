/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter on system calls. Calls that reach beyond namespaces and read-only mounts are refused. Calls with paths
 * or addresses in memory are decided by the supervisor. See sandbox.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "common/sandbox_impl.h"

#define CODE_MAX 512
#define NEW_NAMESPACES                                                                                        \
	(CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define FAST_OPEN 0x20000000u /* MSG_FASTOPEN: sendto that connects */

struct code {
	struct sock_filter at[CODE_MAX];
	unsigned n;
	bool full;
};

static void put_instruction(struct code *c, uint16_t op, uint32_t k, uint8_t yes, uint8_t no)
{
	if (c->n == CODE_MAX)
		c->full = true;
	else
		c->at[c->n++] = (struct sock_filter){op, yes, no, k};
}

static void load_word(struct code *c, size_t offset)
{
	put_instruction(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void put_verdict(struct code *c, uint32_t what)
{
	put_instruction(c, BPF_RET | BPF_K, what, 0, 0);
}

/* low half: all supported machines are little-endian */
#define ARG(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define NR     offsetof(struct seccomp_data, nr)
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define ASK    SECCOMP_RET_USER_NOTIF

/* Apply `what` to this call with any arguments. */
static void put_rule(struct code *c, long nr, uint32_t what)
{
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
	put_verdict(c, what);
}

/* Apply `what` to this call if argument i has any of the bits. */
static void when_bits(struct code *c, long nr, unsigned i, uint32_t bits, uint32_t what)
{
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 4);
	load_word(c, ARG(i));
	put_instruction(c, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	put_verdict(c, what);
	load_word(c, NR);
}

static void when_equal(struct code *c, long nr, unsigned i, uint32_t value, uint32_t what)
{
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 4);
	load_word(c, ARG(i));
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	put_verdict(c, what);
	load_word(c, NR);
}

static const long refused[] = {
	__NR_ptrace, __NR_keyctl, __NR_add_key, __NR_request_key, __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot,
	__NR_setns, __NR_unshare, __NR_bpf, __NR_userfaultfd, __NR_perf_event_open, __NR_kexec_load, __NR_init_module,
	__NR_finit_module, __NR_delete_module, __NR_reboot, __NR_swapon, __NR_swapoff, __NR_quotactl, __NR_acct,
	__NR_settimeofday, __NR_clock_settime, __NR_adjtimex, __NR_clock_adjtime, __NR_sethostname, __NR_setdomainname,
	__NR_open_by_handle_at, __NR_syslog, __NR_fanotify_init, __NR_lookup_dcookie, __NR_vhangup,
	__NR_open_tree, __NR_move_mount, __NR_fsopen, __NR_fsconfig, __NR_fsmount, __NR_fspick, __NR_mount_setattr,
	__NR_pidfd_getfd, __NR_pidfd_send_signal,
};

/* Calls that write by a path. */
static const long writes[] = {
	__NR_mkdirat, __NR_unlinkat, __NR_symlinkat, __NR_linkat, __NR_renameat2, __NR_mknodat, __NR_truncate,
#ifdef __NR_renameat
	__NR_renameat,
#endif
#ifdef __NR_mkdir
	__NR_creat, __NR_mkdir, __NR_rmdir, __NR_unlink, __NR_rename, __NR_symlink, __NR_link, __NR_mknod,
#endif
};

static void write_calls(struct code *c)
{
	const uint32_t opens = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++)
		put_rule(c, writes[i], ASK);
	when_bits(c, __NR_openat, 2, opens, ASK);
#ifdef __NR_open
	when_bits(c, __NR_open, 1, opens, ASK);
#endif
}

/* Locks work on files that can only be read, and would be seen outside. */
static void lock_calls(struct code *c)
{
	static const uint32_t locks[] = {F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, F_SETLEASE};

	put_rule(c, __NR_flock, ASK);
	for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++)
		when_equal(c, __NR_fcntl, 1, locks[i], ASK);
}

static void network_calls(struct code *c, bool network)
{
	put_rule(c, __NR_connect, ASK);
	if (network)
		put_rule(c, __NR_listen, ASK);
	when_bits(c, __NR_sendto, 3, FAST_OPEN, REFUSE);
	when_bits(c, __NR_sendmsg, 2, FAST_OPEN, REFUSE);
	when_bits(c, __NR_sendmmsg, 3, FAST_OPEN, REFUSE);
	put_rule(c, __NR_sendmsg, ASK);
	put_rule(c, __NR_sendmmsg, ASK);
	/* sendto without an address is send, the common and harmless case */
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, __NR_sendto, 0, 6);
	load_word(c, ARG(4));
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
	load_word(c, ARG(4) + 4);
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	put_verdict(c, ASK);
	put_verdict(c, SECCOMP_RET_ALLOW);
	/* sockets: file names, internet, and netlink for interfaces */
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 12);
	load_word(c, ARG(0));
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 9, 0);
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 8, 0);
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
	put_verdict(c, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	load_word(c, ARG(1));
	put_instruction(c, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0);
	put_verdict(c, REFUSE);
	put_verdict(c, SECCOMP_RET_ALLOW);
}

static void put_rules(struct code *c, bool network)
{
	load_word(c, offsetof(struct seccomp_data, arch));
	put_instruction(c, BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0);
	put_verdict(c, SECCOMP_RET_KILL_PROCESS);
	load_word(c, NR);
#ifdef ARCH_AUDIT_X32
	put_instruction(c, BPF_JMP | BPF_JGE | BPF_K, ARCH_AUDIT_X32, 0, 1);
	put_verdict(c, SECCOMP_RET_KILL_PROCESS);
#endif
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		put_rule(c, refused[i], REFUSE);
	/* Their arguments lie in memory, where they may change. Programs work without these calls. */
	put_rule(c, __NR_clone3, SECCOMP_RET_ERRNO | ENOSYS);
	put_rule(c, __NR_openat2, SECCOMP_RET_ERRNO | ENOSYS);
	put_rule(c, __NR_io_uring_setup, SECCOMP_RET_ERRNO | ENOSYS);
	when_bits(c, __NR_clone, 0, NEW_NAMESPACES, REFUSE);
	when_equal(c, __NR_ioctl, 1, TIOCSTI, REFUSE);
	when_equal(c, __NR_ioctl, 1, TIOCLINUX, REFUSE);
	when_equal(c, __NR_ioctl, 1, TIOCSETD, REFUSE);
	write_calls(c);
	lock_calls(c);
	network_calls(c, network);
	put_verdict(c, SECCOMP_RET_ALLOW);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -1;
	return syscall(__NR_capset, &h, none) < 0 ? -1 : 0;
}

int sandbox_filter(bool network, struct errbuf *err)
{
	static struct code c;
	struct sock_fprog prog;
	int fd;

	put_rules(&c, network);
	prog = (struct sock_fprog){(unsigned short)c.n, c.at};
	if (c.full)
		return err_set(err, "the filter on system calls is too long");
	if (drop_capabilities() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, "privileges cannot be dropped: %s", strerror(errno));
	fd = (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	return fd < 0 ? err_set(err, "no filter on system calls: %s", strerror(errno)) : fd;
}
