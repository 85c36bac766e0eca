/*
 * call_numbers.c - names of system calls and of their errors by number, which is all that some
 * tracepoints tell.
 *
 * The tables of 64-bit programs on x86-64 and on arm64 (the latter is also riscv64's), as of Linux
 * 6.17; what is newer has no name here.
 */
#include "call_numbers.h"

#include <string.h>

static const char x86_64_from_0[] =
	"read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction "
	"rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select "
	"sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep "
	"getitimer alarm setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg "
	"recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt "
	"clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd "
	"msgrcv msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir "
	"fchdir rename mkdir rmdir creat link unlink symlink readlink chmod fchmod chown fchown "
	"lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid "
	"setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid setregid "
	"getgroups setgroups setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid "
	"getsid capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend "
	"sigaltstack utime mknod uselib personality ustat statfs fstatfs sysfs getpriority "
	"setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler "
	"sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock "
	"mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex "
	"setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname "
	"setdomainname iopl ioperm create_module init_module delete_module get_kernel_syms "
	"query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid "
	"readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr "
	"llistxattr flistxattr removexattr lremovexattr fremovexattr tkill time futex "
	"sched_setaffinity sched_getaffinity set_thread_area io_setup io_destroy io_getevents "
	"io_submit io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old "
	"epoll_wait_old remap_file_pages getdents64 set_tid_address restart_syscall semtimedop "
	"fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete "
	"clock_settime clock_gettime clock_getres clock_nanosleep exit_group epoll_wait "
	"epoll_ctl tgkill utimes vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink "
	"mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key "
	"request_key keyctl ioprio_set ioprio_get inotify_init inotify_add_watch "
	"inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat futimesat newfstatat "
	"unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare "
	"set_robust_list get_robust_list splice tee sync_file_range vmsplice move_pages "
	"utimensat epoll_pwait signalfd timerfd_create eventfd fallocate timerfd_settime "
	"timerfd_gettime accept4 signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 "
	"preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init fanotify_mark "
	"prlimit64 name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns "
	"getcpu process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr "
	"renameat2 seccomp getrandom memfd_create kexec_file_load bpf execveat userfaultfd "
	"membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free "
	"statx io_pgetevents rseq ";
static const char x86_64_from_424[] =
	"pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount "
	"fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd "
	"faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd "
	"landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret "
	"process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 "
	"map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount "
	"lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat "
	"listxattrat removexattrat open_tree_attr file_getattr file_setattr ";

static const char aarch64_from_0[] =
	"io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr "
	"getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr "
	"fremovexattr getcwd lookup_dcookie eventfd2 epoll_create1 epoll_ctl epoll_pwait dup "
	"dup3 fcntl inotify_init1 inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get "
	"flock mknodat mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root "
	"nfsservctl statfs fstatfs truncate ftruncate fallocate faccessat chdir fchdir chroot "
	"fchmod fchmodat fchownat fchown openat close vhangup pipe2 quotactl getdents64 lseek "
	"read write readv writev pread64 pwrite64 preadv pwritev sendfile pselect6 ppoll "
	"signalfd4 vmsplice splice tee readlinkat newfstatat fstat sync fsync fdatasync "
	"sync_file_range timerfd_create timerfd_settime timerfd_gettime utimensat acct capget "
	"capset personality exit exit_group waitid set_tid_address unshare futex set_robust_list "
	"get_robust_list nanosleep getitimer setitimer kexec_load init_module delete_module "
	"timer_create timer_gettime timer_getoverrun timer_settime timer_delete clock_settime "
	"clock_gettime clock_getres clock_nanosleep syslog ptrace sched_setparam "
	"sched_setscheduler sched_getscheduler sched_getparam sched_setaffinity "
	"sched_getaffinity sched_yield sched_get_priority_max sched_get_priority_min "
	"sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack rt_sigsuspend "
	"rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigreturn "
	"setpriority getpriority reboot setregid setgid setreuid setuid setresuid getresuid "
	"setresgid getresgid setfsuid setfsgid times setpgid getpgid getsid setsid getgroups "
	"setgroups uname sethostname setdomainname getrlimit setrlimit getrusage umask prctl "
	"getcpu gettimeofday settimeofday adjtimex getpid getppid getuid geteuid getgid getegid "
	"gettid sysinfo mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr "
	"msgget msgctl msgrcv msgsnd semget semctl semtimedop semop shmget shmctl shmat shmdt "
	"socket socketpair bind listen accept connect getsockname getpeername sendto recvfrom "
	"setsockopt getsockopt shutdown sendmsg recvmsg readahead brk munmap mremap add_key "
	"request_key keyctl clone execve mmap fadvise64 swapon swapoff mprotect msync mlock "
	"munlock mlockall munlockall mincore madvise remap_file_pages mbind get_mempolicy "
	"set_mempolicy migrate_pages move_pages rt_tgsigqueueinfo perf_event_open accept4 "
	"recvmmsg ";
static const char aarch64_from_260[] =
	"wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at "
	"clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp "
	"finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf "
	"execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect "
	"pkey_alloc pkey_free statx io_pgetevents rseq kexec_file_load ";
static const char aarch64_from_424[] =
	"pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount "
	"fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd "
	"faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd "
	"landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret "
	"process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 "
	"map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount "
	"lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat "
	"listxattrat removexattrat open_tree_attr file_getattr file_setattr ";

/* Names that follow each other without a gap, the first of which is `first`. */
struct run {
	int64_t first;
	const char *names;
};

static const struct run x86_64_runs[] = {
	{ 0, x86_64_from_0 },
	{ 424, x86_64_from_424 },
};
static const struct run aarch64_runs[] = {
	{ 0, aarch64_from_0 },
	{ 260, aarch64_from_260 },
	{ 424, aarch64_from_424 },
};

/* The n-th word of `names`; NULL if there are fewer. */
static const char *word(const char *names, int64_t n, size_t *length)
{
	for (; n > 0 && *names; n--)
		names += strcspn(names, " ") + 1;
	*length = strcspn(names, " ");
	return *length ? names : NULL;
}

const char *tl_call_number_name(const char *arch, int64_t number, size_t *length)
{
	const struct run *runs = NULL;
	size_t count = 0;

	if (arch && !strcmp(arch, "x86_64")) {
		runs = x86_64_runs;
		count = sizeof(x86_64_runs) / sizeof(*x86_64_runs);
	} else if (arch && (!strcmp(arch, "aarch64") || !strcmp(arch, "riscv64"))) {
		runs = aarch64_runs;
		count = sizeof(aarch64_runs) / sizeof(*aarch64_runs);
	}
	while (count-- > 0)
		if (number >= runs[count].first)
			return word(runs[count].names, number - runs[count].first, length);
	return NULL;
}

/* ---- names of errors ------------------------------------------------------------------------ */

/* errno.h, and what only the kernel sees: calls that will be made again. */
static const struct {
	int16_t number;
	const char *name;
} errors[] = {
	{ 1, "EPERM" },
	{ 2, "ENOENT" },
	{ 3, "ESRCH" },
	{ 4, "EINTR" },
	{ 5, "EIO" },
	{ 6, "ENXIO" },
	{ 7, "E2BIG" },
	{ 8, "ENOEXEC" },
	{ 9, "EBADF" },
	{ 10, "ECHILD" },
	{ 11, "EAGAIN" },
	{ 12, "ENOMEM" },
	{ 13, "EACCES" },
	{ 14, "EFAULT" },
	{ 15, "ENOTBLK" },
	{ 16, "EBUSY" },
	{ 17, "EEXIST" },
	{ 18, "EXDEV" },
	{ 19, "ENODEV" },
	{ 20, "ENOTDIR" },
	{ 21, "EISDIR" },
	{ 22, "EINVAL" },
	{ 23, "ENFILE" },
	{ 24, "EMFILE" },
	{ 25, "ENOTTY" },
	{ 26, "ETXTBSY" },
	{ 27, "EFBIG" },
	{ 28, "ENOSPC" },
	{ 29, "ESPIPE" },
	{ 30, "EROFS" },
	{ 31, "EMLINK" },
	{ 32, "EPIPE" },
	{ 33, "EDOM" },
	{ 34, "ERANGE" },
	{ 35, "EDEADLK" },
	{ 36, "ENAMETOOLONG" },
	{ 37, "ENOLCK" },
	{ 38, "ENOSYS" },
	{ 39, "ENOTEMPTY" },
	{ 40, "ELOOP" },
	{ 42, "ENOMSG" },
	{ 43, "EIDRM" },
	{ 44, "ECHRNG" },
	{ 45, "EL2NSYNC" },
	{ 46, "EL3HLT" },
	{ 47, "EL3RST" },
	{ 48, "ELNRNG" },
	{ 49, "EUNATCH" },
	{ 50, "ENOCSI" },
	{ 51, "EL2HLT" },
	{ 52, "EBADE" },
	{ 53, "EBADR" },
	{ 54, "EXFULL" },
	{ 55, "ENOANO" },
	{ 56, "EBADRQC" },
	{ 57, "EBADSLT" },
	{ 59, "EBFONT" },
	{ 60, "ENOSTR" },
	{ 61, "ENODATA" },
	{ 62, "ETIME" },
	{ 63, "ENOSR" },
	{ 64, "ENONET" },
	{ 65, "ENOPKG" },
	{ 66, "EREMOTE" },
	{ 67, "ENOLINK" },
	{ 68, "EADV" },
	{ 69, "ESRMNT" },
	{ 70, "ECOMM" },
	{ 71, "EPROTO" },
	{ 72, "EMULTIHOP" },
	{ 73, "EDOTDOT" },
	{ 74, "EBADMSG" },
	{ 75, "EOVERFLOW" },
	{ 76, "ENOTUNIQ" },
	{ 77, "EBADFD" },
	{ 78, "EREMCHG" },
	{ 79, "ELIBACC" },
	{ 80, "ELIBBAD" },
	{ 81, "ELIBSCN" },
	{ 82, "ELIBMAX" },
	{ 83, "ELIBEXEC" },
	{ 84, "EILSEQ" },
	{ 85, "ERESTART" },
	{ 86, "ESTRPIPE" },
	{ 87, "EUSERS" },
	{ 88, "ENOTSOCK" },
	{ 89, "EDESTADDRREQ" },
	{ 90, "EMSGSIZE" },
	{ 91, "EPROTOTYPE" },
	{ 92, "ENOPROTOOPT" },
	{ 93, "EPROTONOSUPPORT" },
	{ 94, "ESOCKTNOSUPPORT" },
	{ 95, "EOPNOTSUPP" },
	{ 96, "EPFNOSUPPORT" },
	{ 97, "EAFNOSUPPORT" },
	{ 98, "EADDRINUSE" },
	{ 99, "EADDRNOTAVAIL" },
	{ 100, "ENETDOWN" },
	{ 101, "ENETUNREACH" },
	{ 102, "ENETRESET" },
	{ 103, "ECONNABORTED" },
	{ 104, "ECONNRESET" },
	{ 105, "ENOBUFS" },
	{ 106, "EISCONN" },
	{ 107, "ENOTCONN" },
	{ 108, "ESHUTDOWN" },
	{ 109, "ETOOMANYREFS" },
	{ 110, "ETIMEDOUT" },
	{ 111, "ECONNREFUSED" },
	{ 112, "EHOSTDOWN" },
	{ 113, "EHOSTUNREACH" },
	{ 114, "EALREADY" },
	{ 115, "EINPROGRESS" },
	{ 116, "ESTALE" },
	{ 117, "EUCLEAN" },
	{ 118, "ENOTNAM" },
	{ 119, "ENAVAIL" },
	{ 120, "EISNAM" },
	{ 121, "EREMOTEIO" },
	{ 122, "EDQUOT" },
	{ 123, "ENOMEDIUM" },
	{ 124, "EMEDIUMTYPE" },
	{ 125, "ECANCELED" },
	{ 126, "ENOKEY" },
	{ 127, "EKEYEXPIRED" },
	{ 128, "EKEYREVOKED" },
	{ 129, "EKEYREJECTED" },
	{ 130, "EOWNERDEAD" },
	{ 131, "ENOTRECOVERABLE" },
	{ 132, "ERFKILL" },
	{ 133, "EHWPOISON" },
	{ 512, "ERESTARTSYS" },
	{ 513, "ERESTARTNOINTR" },
	{ 514, "ERESTARTNOHAND" },
	{ 515, "ENOIOCTLCMD" },
	{ 516, "ERESTART_RESTARTBLOCK" },
	{ 517, "EPROBE_DEFER" },
	{ 524, "ENOTSUPP" },
	{ 529, "EIOCBQUEUED" },
};

const char *tl_call_error_name(int64_t number)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].number == number)
			return errors[i].name;
	return NULL;
}

bool tl_call_is_restart(int64_t number)
{
	return number == 512 || number == 513 || number == 514 || number == 516;
}

/* ---- names of operations -------------------------------------------------------------------- */

/* linux/futex.h: the command, then with one or both of its flags (128, 256). */
#define FUTEX(word)                                                                             \
	{                                                                                       \
		"FUTEX_" word, "FUTEX_" word "_PRIVATE", "FUTEX_" word "|FUTEX_CLOCK_REALTIME", \
			"FUTEX_" word "_PRIVATE|FUTEX_CLOCK_REALTIME"                           \
	}

static const char *futex_name(uint64_t operation)
{
	static const char *const names[][4] = {
		FUTEX("WAIT"),		 FUTEX("WAKE"),	       FUTEX("FD"),
		FUTEX("REQUEUE"),	 FUTEX("CMP_REQUEUE"), FUTEX("WAKE_OP"),
		FUTEX("LOCK_PI"),	 FUTEX("UNLOCK_PI"),   FUTEX("TRYLOCK_PI"),
		FUTEX("WAIT_BITSET"),	 FUTEX("WAKE_BITSET"), FUTEX("WAIT_REQUEUE_PI"),
		FUTEX("CMP_REQUEUE_PI"), FUTEX("LOCK_PI2"),
	};
	uint64_t command = operation & ~(uint64_t)(128 | 256);

	return command < sizeof(names) / sizeof(*names) ? names[command][operation >> 7 & 3] : NULL;
}

/* fcntl.h, sys/epoll.h, asm-generic/ioctls.h, asm-generic/mman-common.h, linux/prctl.h, time.h */
static const struct {
	const char *call;
	uint64_t number;
	const char *name;
} operations[] = {
	{ "clock_nanosleep", 0, "CLOCK_REALTIME" },
	{ "clock_nanosleep", 1, "CLOCK_MONOTONIC" },
	{ "epoll_ctl", 1, "EPOLL_CTL_ADD" },
	{ "epoll_ctl", 2, "EPOLL_CTL_DEL" },
	{ "epoll_ctl", 3, "EPOLL_CTL_MOD" },
	{ "fcntl", 0, "F_DUPFD" },
	{ "fcntl", 1, "F_GETFD" },
	{ "fcntl", 2, "F_SETFD" },
	{ "fcntl", 3, "F_GETFL" },
	{ "fcntl", 4, "F_SETFL" },
	{ "fcntl", 5, "F_GETLK" },
	{ "fcntl", 6, "F_SETLK" },
	{ "fcntl", 7, "F_SETLKW" },
	{ "fcntl", 1030, "F_DUPFD_CLOEXEC" },
	{ "flock", 1, "LOCK_SH" },
	{ "flock", 2, "LOCK_EX" },
	{ "flock", 5, "LOCK_SH|LOCK_NB" },
	{ "flock", 6, "LOCK_EX|LOCK_NB" },
	{ "flock", 8, "LOCK_UN" },
	{ "ioctl", 0x5401, "TCGETS" },
	{ "ioctl", 0x5402, "TCSETS" },
	{ "ioctl", 0x5413, "TIOCGWINSZ" },
	{ "ioctl", 0x541b, "FIONREAD" },
	{ "ioctl", 0x5421, "FIONBIO" },
	{ "ioctl", 0x5451, "FIOCLEX" },
	{ "madvise", 4, "MADV_DONTNEED" },
	{ "madvise", 8, "MADV_FREE" },
	{ "madvise", 14, "MADV_HUGEPAGE" },
	{ "madvise", 15, "MADV_NOHUGEPAGE" },
	{ "madvise", 25, "MADV_COLLAPSE" },
	{ "prctl", 15, "PR_SET_NAME" },
	{ "prctl", 16, "PR_GET_NAME" },
};

static bool is_named(const char *name, size_t length, const char *word)
{
	return length == strlen(word) && !memcmp(name, word, length);
}

const char *tl_call_operation_name(const char *name, size_t length, uint64_t operation)
{
	operation &= UINT32_MAX; /* an int, or an unsigned one */
	if (is_named(name, length, "futex") || is_named(name, length, "futex_time64"))
		return futex_name(operation);
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (operations[i].number == operation && is_named(name, length, operations[i].call))
			return operations[i].name;
	return NULL;
}
