/** Programs that start other programs, and their flags. The functions of runnable-words.ts read a command line with these tables. */
/**
 * What a flag of a wrapper or an interpreter means for the command behind it. `optional`: the value, if any, is in the same word.
 */
export type FlagRole =
  | 'plain'
  | 'optional'
  | 'value'
  | 'code'
  | 'directory'
  | 'root'
  | 'text'
  | 'split'
  | 'script'
  | 'program';
/** The flags of a program by role, as names without dashes, and the words in front of its command. */
export type Wrapper = { readonly [role in FlagRole]?: string } & {
  /** The number of words in front of the command: the limit of `timeout`, the lock file of `flock`. */
  readonly operands?: number;
  readonly operand?: RegExp;
  /** The operand is the root directory of the command. */
  readonly entersRoot?: true;
  readonly assigns?: true;
  /** A shell runs the words behind the operand, unless one of these flags is given. */
  readonly shellUnless?: string;
  /** The first operand of an interpreter is its code, unless a flag has the code. */
  readonly readsCode?: true;
};
const userFlags: Wrapper = {
  plain: 'l login m p preserve-environment f fast P pty T no-pty',
  value: 'g group G supp-group w whitelist-environment',
  text: 'c command session-command',
  program: 's shell',
  operands: 1,
  shellUnless: '',
};
export const wrappers: Readonly<Record<string, Wrapper>> = {
  busybox: {},
  nohup: {},
  command: { plain: 'p v V' },
  exec: { plain: 'c l', value: 'a' },
  env: {
    plain:
      'i 0 v ignore-environment null debug block-signal default-signal ignore-signal list-signal-handling',
    value: 'u unset a argv0',
    directory: 'C chdir',
    split: 'S split-string',
    assigns: true,
  },
  sudo: {
    plain:
      'A B b E e H i K k l n N P S s v askpass bell background preserve-env set-home login reset-timestamp remove-timestamp list non-interactive no-update preserve-groups stdin shell',
    value:
      'a c C g h p r t T U u auth-type close-from group host prompt role type command-timeout other-user user login-class',
    directory: 'D chdir',
    root: 'R chroot',
    assigns: true,
  },
  doas: { plain: 'L n s', value: 'a C u' },
  su: userFlags,
  runuser: { ...userFlags, value: `${userFlags.value} u user`, shellUnless: 'u user' },
  setpriv: {
    plain: 'd dump clear-groups keep-groups init-groups no-new-privs nnp list-caps reset-env',
    value:
      'reuid regid ruid euid rgid egid groups inh-caps ambient-caps bounding-set securebits pdeathsig selinux-label apparmor-profile ptracer landlock-access landlock-rule seccomp-filter',
  },
  nice: { value: 'n adjustment' },
  ionice: { plain: 't ignore', value: 'c class n classdata p pid P pgid u uid' },
  chrt: {
    plain:
      'a b d e f i m o p r R v all-tasks batch deadline ext fifo idle max other pid reset-on-fork rr verbose',
    value: 'T sched-runtime P sched-period D sched-deadline',
    operands: 1,
    operand: /^\d+$/,
  },
  taskset: { plain: 'a c p all-tasks cpu-list pid', operands: 1 },
  timeout: { plain: 'f p v foreground preserve-status verbose', value: 'k kill-after s signal', operands: 1 },
  stdbuf: { value: 'i input o output e error' },
  setsid: { plain: 'c ctty f fork w wait' },
  time: { plain: 'a p q v append portability quiet verbose', value: 'f format o output' },
  flock: {
    plain: 'e exclusive F fcntl n nb nonblock no-fork o close s shared u unlock x verbose',
    value: 'E conflict-exit-code w wait timeout',
    text: 'c command',
    operands: 1,
  },
  xargs: {
    plain: '0 null o open-tty p interactive r no-run-if-empty t verbose x exit eof max-lines replace',
    value: 'a arg-file d delimiter E I L n max-args P max-procs s max-chars process-slot-var',
  },
  unshare: {
    plain:
      'C c f i m n p r T U u cgroup fork ipc keep-caps kill-child map-auto map-current-user map-root-user mount mount-binfmt mount-proc net pid time user uts',
    value:
      'boottime G l load-interp map-group map-groups map-user map-users monotonic propagation S setgid setgroups setuid',
    directory: 'w wd',
    root: 'R root',
  },
  chroot: { plain: 'skip-chdir', value: 'groups userspec', operands: 1, entersRoot: true },
  numactl: {
    plain: 'a all b balancing l localalloc',
    value:
      'C physcpubind c cpubind i interleave m membind N cpunodebind p preferred P preferred-many w weighted-interleave',
  },
  prlimit: {
    value: 'p pid o output',
    plain: 'raw noheadings verbose',
    optional:
      'c core d data e nice f fsize i sigpending l memlock m rss n nofile q msgqueue r rtprio s stack t cpu u nproc v as x locks y rttime',
  },
  tini: { plain: 'g s v w', value: 'e p' },
  'dumb-init': { plain: 'c single-child v verbose', value: 'r rewrite' },
  catatonit: { plain: 'g P' },
  gosu: { operands: 1 },
  'su-exec': { operands: 1 },
  cgexec: { plain: 'sticky', value: 'g' },
  'systemd-run': {
    plain:
      'd G P q r S t v collect ignore-failure no-ask-password no-block pipe pty quiet remain-after-exit same-dir scope send-sighup shell slice-inherit system user verbose wait',
    value:
      'E H M p u background description expand-environment gid host json machine nice on-active on-boot on-calendar on-startup on-unit-active on-unit-inactive path-property property service-type setenv slice socket-property timer-property uid unit',
    directory: 'working-directory',
  },
};
export const shells: Wrapper = {
  plain:
    'a b B c C e E f h H i k l m n p P r s t T u v x debugger login noediting noprofile norc posix restricted verbose',
  value: 'o O',
  script: 'rcfile init-file',
};
/** `code`: the program is the value, so that the words behind it are arguments. */
export const interpreters: readonly (readonly [name: RegExp, flags: Wrapper])[] = [
  [/^(?:sh|r?bash|dash|ash|[lm]?ksh|yash|zsh)$/, shells],
  [/^(?:fish|nu|elvish|xonsh)$/, { plain: 'i l n N v x', value: 'd', code: 'c command C init-command' }],
  [/^t?csh$/, { plain: 'b d e f i l m n q s t v V x X', code: 'c' }],
  // Its long flags have one dash, so that no table describes them.
  [/^pwsh$/, {}],
  [/^python[\d.]*$/, { plain: 'b B d E h i I O P q s S u v V x', value: 'Q W X', code: 'c m' }],
  [/^perl$/, { plain: 'a c f l n p s S t T u U v w W X', value: 'C D F i I m M x', code: 'e E' }],
  [/^ruby$/, { plain: 'a c l n p s S v w verbose', value: 'C E F I encoding', code: 'e', script: 'r' }],
  [
    /^node$/,
    {
      plain: 'c check enable-source-maps i no-warnings trace-warnings',
      value: 'C conditions env-file title',
      code: 'e eval p print',
      script: 'experimental-loader import loader r require',
    },
  ],
  [
    /^[gmn]?awk$/,
    {
      plain: 'b c C e g h k M n N O P r s S t V posix traditional sandbox',
      value: 'F field-separator v assign',
      script: 'E exec f file i include l load',
      readsCode: true,
    },
  ],
  [
    /^g?sed$/,
    {
      plain:
        'E n r s u z debug follow-symlinks null-data posix quiet regexp-extended sandbox separate silent unbuffered',
      optional: 'i in-place',
      value: 'l line-length',
      code: 'e expression',
      script: 'f file',
      readsCode: true,
    },
  ],
  [/^php[\d.]*$/, { plain: 'a n q', value: 'c d S t z', code: 'r B R E', script: 'f F' }],
  [/^(?:lua|luajit)[\d.]*$/, { plain: 'E i v W', code: 'e', script: 'l' }],
  [/^(?:expect|tclsh)[\d.]*$/, { plain: 'd i n N', code: 'c', script: 'b f' }],
];
/** Their arguments are data: they start none of them. */
export const passive = new Set(
  (
    '[ aws basename bunzip2 bzip2 cat chgrp chmod chown cksum cmp comm cp curl cut date dd df diff dirname du echo egrep etcd etcdutl false fgrep file ' +
    'getent grep gsutil gunzip gzip head hostname id jq kill ln logger ls md5sum mkdir mkfifo mktemp mountpoint mv od pgrep pidof pkill printf ps pwd ' +
    'readlink realpath rm rmdir s3cmd sha1sum sha256sum sha512sum sleep stat sync systemctl tail tee test touch tr true truncate umount uname uniq ' +
    'unxz unzip unzstd wait wc which whoami xz zcat zstd'
  ).split(' '),
);
/** Programs whose operands are data, and their flags that name a command. Long names may be shortened. */
export type DataFlags = {
  readonly commands?: string;
  /** Flags with a value that is data. */
  readonly values?: string;
  /** The number of operands behind which no flag follows. */
  readonly operands?: number;
  /** A subcommand that starts what the words behind it name. */
  readonly starting?: string;
  /** A flag that would otherwise count as the short form of a longer one. */
  readonly exact?: string;
};
export const dataPrograms: Readonly<Record<string, DataFlags>> = {
  etcdctl: { starting: 'watch lock exec-watch' },
  install: { commands: 'strip-program', values: 'g m o S t', exact: 'strip' },
  rsync: { commands: 'e rsh', values: 'B f M T' },
  scp: { commands: 'S D o', values: 'c F i J l P X' },
  sort: { commands: 'compress-program', values: 'k o S t T' },
  split: { commands: 'filter', values: 'a b C l n t' },
  // The command runs on another host.
  ssh: { commands: 'I o', values: 'B b c D E e F i J L l m O P p Q R S W w', operands: 2 },
  tar: {
    commands:
      'I use-compress-program to-command F info-script new-volume-script checkpoint-action rsh-command rmt-command',
    values: 'b C f g H K L N T V X',
  },
  wget: { commands: 'use-askpass' },
};
/** Programs that start what their arguments name. Every word may be a command, or the text of one. */
export const starters = new Set(
  (
    'docker dbus-run-session entr fakeroot find fd gcore git kubectl less ltrace man nsenter podman script setarch sftp start-stop-daemon ' +
    'strace watch zip'
  ).split(' '),
);
/** Programs that read their commands from a file or a terminal that the command line may not name. */
export const readers =
  /^(?:ansible(?:-\w+)?|at|batch|bun|bunx|crontab|deno|ed|emacs|ex|gdb|gmake|java|make|mysql|npm|npx|nvim|parallel|pnpm|psql|Rscript|sqlite3|vi|view|vim|xargs|yarn)$/;
/** In front of a file with commands for such a program. */
export const fileFlags = /^(?:-[fSsx]|--?(?:file|makefile|jar|command|init|source|inventory))$/;
/** Of these programs, each operand may be a file with commands. */
export const operandReaders = /^(?:ansible(?:-\w+)?|bun|crontab|deno|Rscript)$/;
