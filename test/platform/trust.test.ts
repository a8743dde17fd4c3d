import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type TrustProblem, findProgramTrustProblem, findTrustProblem } from '../../src/platform/trust.ts';
import type { Host } from '../../src/platform/host.ts';
import { nodeFiles } from '../../src/platform/node/files.ts';
import { sh } from '../../src/core/shell.ts';
import { unlistedParts } from '../../src/core/runnable-words.ts';
import { trustFunctions } from '../../src/kv/upgrade/supervisors/member-process.ts';
import { partlyMade } from '../support/context.ts';
import { makeDirectory } from '../support/directory.ts';

const isRoot = process.getuid?.() === 0;
const other = 65_534;
const service = 112;
let home = '';
beforeEach(() => {
  home = makeDirectory();
  chmodSync(home, 0o755);
  mkdirSync(join(home, 'bin'), { mode: 0o755 });
  writeFileSync(join(home, 'bin/etcd'), '', { mode: 0o755 });
  chmodSync(join(home, 'bin/etcd'), 0o755);
});

/** The reports of this machine and of the script for other hosts; both must find the same object. */
const distrustOf = async (
  path: string,
  more: readonly number[] = [],
  use: 'run' | 'write' = 'run',
  uid = 0,
) => {
  const host = { files: nodeFiles, uid, env: {}, platform: 'linux' } as const;
  const here = await findTrustProblem(host, path, more, use);
  const script = sh`${trustFunctions}
untrusted ${path} ${String(more[0] ?? '')} ${use}`;
  const become =
    uid === 0 ? [] : ['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups'];
  const [program = '', ...args] = [...become, '/bin/sh', '-s'];
  const there = execFileSync(program, args, { input: String(script), encoding: 'utf8' }).trim();
  expect(there === '', there).toBe(here === undefined);
  if (here === undefined) return undefined;
  expect(there).toContain(`${here.path} belongs to`);
  return here;
};

describe.runIf(isRoot)('a program that root runs', () => {
  const at = (name: string): string => join(home, name);
  it('a program is trusted below directories of root, including a sticky one', async () => {
    expect(await distrustOf(at('bin/etcd'))).toBeUndefined();
    expect(await distrustOf('/bin/sh')).toBeUndefined();
    expect(await distrustOf(at('bin/missing'))).toBeUndefined();
  });
  it.each<[string, (at: (name: string) => string) => void, string, string]>([
    ['belongs to another user', (at) => chownSync(at('bin/etcd'), other, other), 'bin/etcd', 'chown root'],
    ['is in a directory of another user', (at) => chownSync(at('bin'), other, other), 'bin', 'chown root'],
    ['is below a directory of another user', (at) => chownSync(at(''), other, other), '', 'chown root'],
    ['may be written by all', (at) => chmodSync(at('bin/etcd'), 0o757), 'bin/etcd', 'chmod go-w'],
    ['is in a directory that all may write to', (at) => chmodSync(at('bin'), 0o777), 'bin', 'chmod go-w'],
    ['may be written by a group', (at) => chmodSync(at('bin/etcd'), 0o775), 'bin/etcd', 'chmod g-w'],
    ['is in a directory that a group may write to', (at) => chmodSync(at('bin'), 0o775), 'bin', 'chmod g-w'],
  ])('a program is not trusted when it %s', async (_, change, path, fix) => {
    change(at);
    const found = await distrustOf(at('bin/etcd'));
    expect(found?.path).toBe(at(path).replace(/\/$/, ''));
    expect(found?.reason).toMatch(/belongs to .*mode \d{4}$/);
    expect(found?.fix).toBe(`${fix} ${at(path).replace(/\/$/, '')}`);
  });
  it('a program is not trusted behind a link or a directory of links that another user can change', async () => {
    mkdirSync(at('links'), { mode: 0o755 });
    symlinkSync('../bin/etcd', at('links/etcd'));
    symlinkSync('links', at('current'));
    expect(await distrustOf(at('current/etcd'))).toBeUndefined();
    lchownSync(at('links/etcd'), other, other);
    expect((await distrustOf(at('current/etcd')))?.path).toBe(at('links/etcd'));
    lchownSync(at('links/etcd'), 0, 0);
    chownSync(at('links'), other, other);
    expect((await distrustOf(at('current/etcd')))?.path).toBe(at('links'));
  });
  it('a program of a service user is trusted for that service only', async () => {
    chownSync(at('bin/etcd'), service, service);
    expect((await distrustOf(at('bin/etcd')))?.path).toBe(at('bin/etcd'));
    expect(await distrustOf(at('bin/etcd'), [service])).toBeUndefined();
    expect((await distrustOf(at('bin/etcd'), [other]))?.path).toBe(at('bin/etcd'));
  });
  it('does not write through a link of the service', async () => {
    mkdirSync(at('run'), { mode: 0o755 });
    chownSync(at('run'), service, service);
    expect(await distrustOf(at('run/etcd.pid'), [service], 'write')).toBeUndefined();
    symlinkSync('/etc/shadow', at('run/etcd.pid'));
    lchownSync(at('run/etcd.pid'), service, service);
    expect((await distrustOf(at('run/etcd.pid'), [service], 'write'))?.path).toBe(at('run/etcd.pid'));
  });
  it('a program may belong to an operator who is not root, with the private group of that user', async () => {
    for (const path of ['', 'bin', 'bin/etcd']) chownSync(at(path), other, other);
    chmodSync(at('bin/etcd'), 0o775);
    chmodSync(at('bin'), 0o775);
    expect(await distrustOf(at('bin/etcd'), [], 'run', other)).toBeUndefined();
    chownSync(at('bin'), other, service);
    expect((await distrustOf(at('bin/etcd'), [], 'run', other))?.path).toBe(at('bin'));
  });
  it('a loop of links does not cause an endless loop', async () => {
    symlinkSync('b', at('a'));
    symlinkSync('a', at('b'));
    expect(await distrustOf(at('a/etcd'))).toBeUndefined();
  });
});

describe('the program that a name starts', () => {
  type Row = readonly [path: string, mode: number, uid: number];
  /** Judges the name `tool` with these programs in /first and /second, for a user. */
  const judge = async (uid: number, ...rows: readonly Row[]): Promise<string | undefined> => {
    const infoOf = (path: string) => {
      const [, mode, owner] = rows.find(([at]) => at === path) ?? [];
      const kind = mode === undefined ? 'directory' : 'file';
      return { kind, mode: mode ?? 0o755, uid: owner ?? 0, gid: 0, sizeBytes: 0, modifiedMs: 0 } as const;
    };
    const files = {
      ...nodeFiles,
      info: async (path: string) => infoOf(path),
      realPath: async (path: string) => path,
    };
    const env = { PATH: '/first:/second' };
    const host = { files, uid, env, cwd: '/', platform: 'linux' } as unknown as Host;
    return (await findProgramTrustProblem(host, ['tool']))?.path;
  };
  const stranger: Row = ['/second/tool', 0o755, other];
  it.each<[string, number, Row, string | undefined]>([
    ['no file without permission to run', 0, ['/first/tool', 0o644, 0], '/second/tool'],
    ['the first file that root may run', 0, ['/first/tool', 0o700, 0], undefined],
    ['the first file that all may run', 1000, ['/first/tool', 0o755, 0], undefined],
    ['the first file of the user', 1000, ['/first/tool', 0o700, 1000], undefined],
    ['no file that only its owner may run', 1000, ['/first/tool', 0o700, 0], '/second/tool'],
    ['no file that all except its owner may run', 1000, ['/first/tool', 0o655, 1000], '/second/tool'],
    ['both files if the groups of the user decide', 1000, ['/first/tool', 0o750, 0], '/second/tool'],
    ['both files, and the first one too', 1000, ['/first/tool', 0o750, other], '/first/tool'],
  ])('it judges %s', async (_, uid, first, path) => {
    expect(await judge(uid, first, stranger)).toBe(path);
  });
});

describe('the files that a command line runs', () => {
  /** HOOK and OPEN name a script and a file that other users can write to; GOOD names a trusted script. */
  const judge = async (line: string | readonly string[]): Promise<string | undefined> => {
    const names = { HOOK: 'hook.sh', OPEN: 'open.lock', GOOD: 'good.sh', DIR: '.' };
    const modes = { 'hook.sh': 0o777, 'open.lock': 0o666, 'good.sh': 0o755, 'bin/etcd': 0o777 };
    for (const [name, mode] of Object.entries(modes)) {
      writeFileSync(join(home, name), '');
      chmodSync(join(home, name), mode);
    }
    const env = { PATH: `${home}/bin:/usr/bin:/bin` };
    const host = { files: nodeFiles, uid: process.getuid?.() ?? 0, env, cwd: '/', platform: 'linux' };
    const words = (typeof line === 'string' ? line.split(' ') : line).map((word) =>
      word.replace(/HOOK|OPEN|GOOD|DIR/, (name) => join(home, names[name as keyof typeof names])),
    );
    return (await findProgramTrustProblem(host as unknown as Host, words))?.path;
  };
  it.each([
    'HOOK --now',
    'sh HOOK',
    'bash -e HOOK',
    'bash -o pipefail HOOK',
    'bash -euo pipefail HOOK',
    'bash -ec HOOK',
    'busybox sh HOOK',
    'env HOOK',
    'env -i A=1 sh HOOK',
    'env -C /tmp HOOK',
    'env --chdir=DIR ./hook.sh',
    'env -C DIR sh hook.sh',
    'env PATH=DIR hook.sh',
    'env -u etcd HOOK',
    'env --unset=A HOOK',
    'sudo -n -u root HOOK',
    'sudo -u etcd HOOK',
    'sudo -n -u etcd -- sh HOOK',
    'sudo -nu etcd A=1 HOOK',
    'sudo -D DIR ./hook.sh',
    'sudo --unknown cat GOOD HOOK',
    'sudo --unknown cat sh OPEN',
    'doas -u etcd HOOK',
    'runuser -u etcd -- HOOK',
    'runuser etcd -c HOOK',
    'su -c HOOK etcd',
    'su - etcd -c HOOK',
    'su etcd HOOK',
    'su -s HOOK etcd',
    'setpriv --reuid etcd HOOK',
    'setpriv --reuid=etcd --clear-groups HOOK',
    'flock /root/x.lock HOOK',
    'flock -w 5 OPEN -c HOOK',
    'chroot / HOOK',
    'chroot DIR /hook.sh',
    'unshare -m -- HOOK',
    'unshare --wd DIR ./hook.sh',
    'systemd-run --uid etcd --wait HOOK',
    'timeout 60 HOOK',
    'timeout -k 5 60 HOOK',
    'chrt -f 10 HOOK',
    'chrt -b HOOK',
    'taskset -c 0,1 HOOK',
    'stdbuf -oL -e 0 HOOK',
    'xargs -n 1 HOOK',
    'nice -n 10 ionice -c 3 sh -e HOOK',
    'nice -10 HOOK',
    '/usr/bin/env A=1 B=2 timeout --signal KILL 5 env sh HOOK',
    'nohup setsid HOOK',
    'python3 -W ignore OPEN',
    'node --require OPEN GOOD',
    'bash GOOD HOOK',
    'python3 -c pass HOOK',
    'GOOD --run=HOOK',
    'find / -maxdepth 0 -exec HOOK ;',
    'find / -maxdepth 0 -execdir sh OPEN ;',
    'awk -f OPEN',
    'sed -f OPEN /dev/null',
    'ssh -o ProxyCommand=HOOK h',
    'ssh -oProxyCommand=HOOK h',
    'scp -S HOOK a b',
    'rsync -e HOOK a b:',
    'tar -xf a --to-command=HOOK',
    'tar -xf a -I HOOK',
    'tar --checkpoint-action=exec=HOOK -cf a b',
    'git -c core.pager=HOOK log',
    'git -c alias.x=!HOOK x',
    'docker run -v a:b HOOK',
    'nsenter -t 1 -m HOOK',
    'strace -f sh OPEN',
    'pkexec sh OPEN',
    'chronic bash OPEN',
    's6-setuidgid etcd python3 OPEN',
    'chronic node GOOD sh OPEN',
    'fish OPEN',
    'csh OPEN',
    'pwsh -File OPEN',
    'make -f OPEN',
    'psql -f OPEN',
    'java -jar OPEN',
    'ansible-playbook OPEN',
    'Rscript OPEN',
    'sort --compress-program=HOOK x',
    'sort --compress-prog HOOK x',
    'install -s --strip-program=HOOK a b',
    '/opt/etcd/sync HOOK',
    '/opt/etcd/tar -cf HOOK a',
    'tar cIf HOOK a b',
    'tar -cI HOOK -f a b',
    'rsync --rsh=HOOK a b:',
    'etcdctl watch key -- HOOK',
  ])('%s is refused if others can write to the script', async (line) => {
    expect(await judge(line)).toMatch(/hook\.sh$|open\.lock$/);
  });
  it.each([
    ['env', '-S', 'A=1 sh HOOK'],
    ['env', '--split-string=HOOK --now'],
    ['sh', '-c', 'HOOK --now'],
    ['su', 'etcd', '-c', 'sh HOOK'],
  ])('a text of %s is refused if others can write to its script', async (...words) => {
    expect(await judge(words)).toBe(join(home, 'hook.sh'));
  });
  it.each([
    'true; HOOK',
    'true && HOOK --now',
    'false || HOOK',
    'true | HOOK',
    'echo $(HOOK)',
    'echo "x $(HOOK) y"',
    'echo `HOOK`',
    'HOOK > /dev/null 2>&1',
    '. HOOK',
    'true; . OPEN',
    'true\nHOOK',
    'HOOK &',
    '{ HOOK; }',
    '(HOOK)',
    'if true; then HOOK; fi',
    'cd DIR && ./hook.sh',
    'true; sh OPEN',
    "true; sh -c 'sleep 1; HOOK'",
    "eval 'HOOK'",
    "trap 'HOOK' EXIT",
    'A=1; env B=2 HOOK',
    '! HOOK',
    'diff <(HOOK) x',
    'tar -cI HOOK -f a b; true',
    'rsync -e HOOK a b:; true',
    'cat x | HOOK',
  ])('a shell text is refused if others can write to a program of %j', async (text) => {
    expect(await judge(['sh', '-c', text])).toMatch(/hook\.sh$|open\.lock$/);
    expect(await judge(['su', 'etcd', '-c', text])).toMatch(/hook\.sh$|open\.lock$/);
  });
  it.each([
    ['systemd-run', '-p', 'ExecStartPre=HOOK', 'true'],
    ['systemd-run', '--property=ExecStopPost=-+HOOK --now', '--', 'true'],
    ['env', 'LD_PRELOAD=OPEN', 'true'],
    ['env', 'PYTHONSTARTUP=OPEN', 'true'],
    ['env', 'NODE_OPTIONS=--require=OPEN', 'true'],
    ['sudo', '-n', 'PERL5LIB=/usr/lib:OPEN', 'true'],
    ['env', 'GIT_SSH_COMMAND=sh OPEN', 'true'],
    ['env', 'GIT_CONFIG_GLOBAL=OPEN', 'true'],
    ['env', 'MANPAGER=sh OPEN', 'true'],
    ['python3', '-c', "import os; os.system('HOOK --now')"],
    ['perl', '-e', 'exec "HOOK"'],
    ['awk', 'BEGIN{system("HOOK")}'],
    ['awk', '-v', 'x=1', 'BEGIN{while(("HOOK"|getline l)>0)print l}'],
    ['sed', '1e HOOK', '/etc/hostname'],
    ['sed', '-n', '-e', 's|.*|HOOK|e', '/etc/hostname'],
    ['ssh', '-o', 'ProxyCommand=sh -c "true; HOOK"', 'h'],
    ['git', '-c', 'core.sshCommand=HOOK -v', 'fetch'],
    ['script', '-c', 'HOOK --now', '/dev/null'],
    ['watch', 'sh OPEN'],
    ['php', '-r', 'system("HOOK");'],
  ])('a command of %s %s is refused if others can write to its file', async (...words) => {
    expect(await judge(words)).toMatch(/hook\.sh$|open\.lock$/);
  });
  it.each([
    'GOOD; true',
    'cat OPEN | GOOD',
    'echo "a; b" > OPEN && GOOD',
    'cd DIR && ./good.sh',
    'test -e OPEN && . GOOD',
    'tar -czf HOOK DIR && GOOD',
    'set -e; rsync -a HOOK host:; GOOD',
    'etcdctl snapshot save HOOK; gzip HOOK',
    'ssh host HOOK; GOOD',
  ])('a shell text is allowed if others cannot write to the programs of %j', async (text) => {
    expect(await judge(['sh', '-c', text])).toBeUndefined();
  });
  it.each([
    'true HOOK',
    'env true HOOK',
    'timeout 5 true HOOK',
    'env A=HOOK true',
    'flock OPEN GOOD',
    'sudo -u etcd GOOD',
    'sudo --unknown OPEN GOOD',
    'env -C DIR GOOD',
    'chroot DIR /good.sh',
    'setpriv --reuid etcd GOOD',
    'bash -o pipefail GOOD',
    'cp HOOK /tmp/x',
    'GOOD OPEN',
    'find DIR -name OPEN',
    'GOOD --data DIR',
    'tar -czf HOOK DIR',
    'tar czf HOOK DIR',
    'tar -czf HOOK -C DIR .',
    'rsync -a HOOK host:',
    'scp -i OPEN HOOK host:/tmp',
    'ssh host HOOK',
    'ssh -i OPEN -p 22 host sh HOOK -o HOOK',
    'etcdctl snapshot save HOOK',
    'gzip -f HOOK',
    'sort HOOK',
    'install -m 755 HOOK /tmp/x',
    'install --strip HOOK /tmp/x',
    'psql -o OPEN -c x',
    'GOOD before node',
  ])('%s is allowed, because the file is only an argument', async (line) => {
    expect(await judge(line)).toBeUndefined();
  });
});

describe.runIf(isRoot)('what other users can create', () => {
  /**
   * Judges a command with variables of this program. SHARED is a directory like /tmp, GROUP a directory that administrators share,
   * MADE a directory that another user created in SHARED, and SCRIPT a script of python3.
   */
  const judge = async (
    variables: Readonly<Record<string, string>>,
    command = 'true',
    cwd: 'SHARED' | 'GROUP' = 'SHARED',
  ): Promise<TrustProblem | undefined> => {
    const at = { SHARED: join(home, 'shared'), GROUP: join(home, 'group'), SCRIPT: join(home, 'tool') };
    mkdirSync(at.SHARED);
    chmodSync(at.SHARED, 0o1777);
    mkdirSync(join(at.SHARED, 'made'));
    chownSync(join(at.SHARED, 'made'), other, other);
    mkdirSync(at.GROUP);
    chownSync(at.GROUP, 0, 50);
    chmodSync(at.GROUP, 0o775);
    writeFileSync(at.SCRIPT, '#!/usr/bin/env python3\n');
    chmodSync(at.SCRIPT, 0o755);
    const fill = (text: string): string =>
      text.replaceAll(/SHARED|GROUP|SCRIPT/g, (name) => at[name as keyof typeof at]);
    const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, fill(value)]));
    const host = partlyMade<Host>({ files: nodeFiles, uid: 0, env, cwd: at[cwd], platform: 'linux' });
    return findProgramTrustProblem(host, fill(command).split(' '));
  };
  it.each<[Record<string, string>, string?]>([
    [{ PATH: 'SHARED:/usr/bin' }],
    [{ PATH: 'SHARED/made:/usr/bin' }],
    [{ PATH: ':/usr/bin' }],
    [{ PATH: '.:/usr/bin' }],
    [{ PATH: '/usr/bin', LD_PRELOAD: 'SHARED/missing.so' }],
    [{ PATH: '/usr/bin', LD_LIBRARY_PATH: '/usr/lib:SHARED' }],
    [{ PATH: '/usr/bin', PYTHONPATH: 'SHARED' }, 'python3 /opt/x.py'],
    [{ PATH: '/usr/bin', PYTHONPATH: 'SHARED/x' }, 'timeout 5 python3 /opt/x.py'],
    [{ PATH: '/usr/bin', PYTHONPATH: 'SHARED/x' }, 'SCRIPT'],
    [{ PATH: '/usr/bin', NODE_OPTIONS: '--import=SHARED/x.mjs' }, 'node /opt/x.js'],
    [{ PATH: '/usr/bin', BASH_ENV: 'SHARED/x' }, 'bash /opt/x.sh'],
    [{ PATH: '/usr/bin', ENV: 'SHARED/x' }, 'sh /opt/x.sh'],
    [{ PATH: '/usr/bin' }, 'env GIT_CONFIG_GLOBAL=SHARED/x true'],
  ])('refuses a program with the variables %j: %s', async (variables, command) => {
    expect((await judge(variables, command))?.path).toBe(join(home, 'shared'));
  });
  it.each<[Record<string, string>, string, RegExp]>([
    [{ PATH: '/usr/bin', LD_PRELOAD: 'SHARED/x.so' }, 'LD_PRELOAD', /^unset LD_PRELOAD$/],
    [{ PATH: 'SHARED:/usr/bin' }, 'PATH', /^remove \S+\/shared from PATH$/],
  ])('names the variable of %j and does not suggest chmod', async (variables, variable, fix) => {
    const found = await judge(variables);
    expect(found?.variable).toBe(variable);
    expect(found?.reason).toContain(variable);
    expect(found?.fix).toMatch(fix);
  });
  it.each<[Record<string, string>, string?, 'GROUP'?]>([
    [{ PATH: '/usr/bin:SHARED' }],
    [{ PATH: '/missing:/usr/bin' }],
    [{ PATH: 'SHARED/node_modules/.bin:/usr/bin' }],
    [{ PATH: 'GROUP:/usr/bin' }],
    [{ PATH: 'GROUP/missing:/usr/bin' }],
    [{ PATH: '/usr/bin', PYTHONPATH: '/usr/lib', PYTHONUNBUFFERED: '1', NODE_OPTIONS: '--no-warnings' }],
    [{ PATH: '/usr/bin', PYTHONPATH: 'SHARED', NODE_OPTIONS: '--import=SHARED/x.mjs' }],
    [{ PATH: '/usr/bin', LESSOPEN: '|/usr/bin/lesspipe %s' }],
    [{ PATH: '/usr/bin', LESSOPEN: '|/usr/bin/lesspipe %s' }, 'true', 'GROUP'],
    [{ PATH: '/usr/bin', LESSOPEN: '||/usr/bin/lesspipe.sh %s' }, 'true', 'GROUP'],
    [{ PATH: '/usr/bin', GIT_CONFIG_GLOBAL: '/dev/null' }],
    [{ PATH: '/usr/bin', JAVA_TOOL_OPTIONS: '-Djava.io.tmpdir=/tmp' }],
    [{ PATH: '/usr/bin', JAVA_TOOL_OPTIONS: '-Djava.io.tmpdir=SHARED' }],
    [{ PATH: '/usr/bin', ENV: 'eu/prod' }],
    [{ PATH: '/usr/bin', ENV: 'eu/prod' }, 'sh /opt/x.sh'],
    [{ PATH: '/usr/bin', ENV: 'SHARED/x', BASH_ENV: 'SHARED/x' }],
    [{ PATH: '/usr/bin', OPENSSL_CONF: '/dev/null' }],
    [{ PATH: '/usr/bin' }, 'env GIT_CONFIG_GLOBAL=/dev/null true'],
  ])('allows a program with the variables %j: %s in %s', async (variables, command, cwd) => {
    expect(await judge(variables, command, cwd)).toBeUndefined();
  });
});

describe('a path that this user may not enter', () => {
  const denied = (path: string): boolean => path.startsWith('/root/');
  const closed = {
    ...nodeFiles,
    info: async (path: string) => {
      if (denied(path)) throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
      return nodeFiles.info(path);
    },
  };
  it.each([{ PATH: '/root/bin:/usr/bin' }, { PATH: '/usr/bin', LD_LIBRARY_PATH: '/root/lib' }])(
    'starts no program, so it does not stop the check: %j',
    async (env) => {
      const host = partlyMade<Host>({ files: closed, uid: 0, env, cwd: '/', platform: 'linux' });
      expect(await findProgramTrustProblem(host, ['true'])).toBeUndefined();
    },
  );
});

describe('the programs that opsctl cannot list', () => {
  it.each([
    'env PAGER=cat systemctl stop etcd',
    'env NODE_OPTIONS=--max-old-space-size=512 /opt/hook',
    'env JAVA_TOOL_OPTIONS=-Xmx512m /opt/hook',
    'sudo GIT_CONFIG_NOSYSTEM=1 /opt/hook',
    'env GIT_CONFIG_COUNT=0 /opt/hook',
  ])('do not include numbers, pagers and flags that load no code: %s', (line) => {
    expect(unlistedParts(line.split(' '))).toEqual([]);
  });
  it.each<readonly string[]>([
    ['sh', '-c', 'D=/opt; $D/hook'],
    ['sh', '-c', '/opt/h* now'],
    ['sh', '-c', 'echo L29wdC9o | base64 -d | sh'],
    ['sh', '-c', '/o\\pt/hook'],
    ['sh', '-c', 'eval "/opt/hook"'],
    ['sh', '-c', 'PATH=/opt; hook'],
    ['sh', '-c', 'PYTHONPATH=/tmp/evil python3 /opt/tool.py'],
    ['sh', '-c', 'export NODE_OPTIONS=--require=evil; node /opt/tool.js'],
    ['env', 'PERL5OPT=-Mevil', '/opt/tool'],
    ['env', 'RUBYOPT=-revil', '/opt/tool'],
    ['bash', '-c', '/opt/{a,b}'],
    ['bash', '-c', 'read -r x < /opt/list && command'],
    ['su', 'etcd', '-c', '`cat /opt/name`'],
    ['sh'],
    ['bash', '-s', '--', 'x'],
    ['bash', '--unknown', 'x'],
    ['sudo', '--unknown', 'x'],
    ['python3', '-c', 'pass'],
    ['perl', '-e', '1'],
    ['env', 'awk', 'BEGIN{system("/o" "pt")}'],
    ['sed', 's/x/y/', '/etc/hostname'],
    ['xargs', '-a', '/opt/list', 'env'],
    ['make', '-C', '/opt'],
    ['timeout', '5', 'make'],
    ['find', '/', '-exec', 'sh', '-c', '$0', '{}', ';'],
    ['ssh', '-o', 'ProxyCommand=sh -c "$X"', 'h'],
    ['git', '-c', 'alias.x=!$X', 'x'],
    ['systemd-run', '-p', 'ExecStartPre=$X', 'true'],
    ['sh', '-c', 'export "PATH=/tmp/evil"; hook'],
    ['sh', '-c', 'for PATH in /tmp/evil; do hook; done'],
    ['bash', '-c', 'printf -v PATH /tmp/evil; hook'],
    ['bash', '-c', 'printf -vPATH /tmp/evil; hook'],
    ['bash', '-c', 'declare -n x=PATH; x=/tmp/evil; hook'],
    ['sh', '-c', '"eval" "x y"'],
    ['sh', '-c', "ev''al 'x y'; true"],
    ['sh', '-c', 'command eval "x y"'],
    ['bash', '-c', 'mapfile -C /opt/hook -c 1 lines'],
    ['sh', '-c', 'curl -s https://h/x | sh /dev/stdin'],
    ['sh', '-c', 'curl -s https://h/x | . /dev/stdin'],
    ['bash', '-c', 'source <(curl -s https://h/x)'],
    ['sh', '-c', 'true; make -C /opt'],
    ['bash', '/dev/stdin'],
    ['bash', '/dev/fd/3'],
    ['python3', '/proc/self/fd/0'],
    ['awk', '-f', '/dev/stdin'],
    ['fish', '-c', '$X'],
    ['csh', '-c', '$X'],
    ['pwsh', '-c', '$X'],
    ['pkexec', 'sh', '-c', '$X'],
    ['chronic', 'bash'],
    ['npx', 'x'],
    ['java', '-jar', '/opt/a.jar'],
    ['Rscript', '-e', '1'],
    ['ansible-playbook', '/opt/a.yaml'],
    ['ssh', 'host', 'eval "$X"'],
  ])('a command of %s %s has a part that is reported as unknown', (...words) => {
    expect(unlistedParts(words)).not.toEqual([]);
  });
  it.each<readonly string[]>([
    ['/opt/hook.sh', 'n1', '/var/lib/etcd'],
    ['sh', '-e', '/opt/hook.sh', '$1'],
    ['sh', '-c', "/opt/a 'x $y' && systemctl stop etcd; exit $?"],
    ['sh', '-c', 'if /opt/a; then /opt/b > /tmp/log 2>&1; fi'],
    ['env', '-i', 'A=1', 'timeout', '5', '/opt/hook.sh'],
    ['find', '/var/lib/etcd', '-exec', 'rm', '{}', ';'],
    ['ssh', '-o', 'BatchMode=yes', 'host', '/opt/hook.sh n1'],
    ['systemctl', 'stop', 'etcd@$x'],
    ['su', 'etcd', '-c', '/opt/hook.sh now'],
    ['sh', '-c', "/opt/hook.sh 'read; eval it' && grep -q x /opt/list"],
    ['sh', '-c', 'logger "PATHS of /etc/PATH.d" && /opt/a'],
    ['tar', '-czf', '/mnt/etcd.tgz', '/var/lib/etcd'],
    ['/opt/hook.sh', 'before', 'node'],
  ])('opsctl lists the programs of %s %s', (...words) => {
    expect(unlistedParts(words)).toEqual([]);
  });
});

describe('the user who ran sudo', () => {
  const files = {
    ...nodeFiles,
    info: async (path: string) =>
      ({
        kind: path === '/x' ? 'file' : 'directory',
        sizeBytes: 0,
        mode: 0o755,
        modifiedMs: 0,
        gid: 0,
        uid: path === '/x' ? 1000 : 0,
      }) as const,
  };
  const find = (uid: number, env: Record<string, string>) =>
    findTrustProblem({ files, uid, env, platform: 'linux' }, '/x');
  it('the user who ran sudo may own a program that root runs', async () => {
    expect(await find(0, { SUDO_UID: '1000' })).toBeUndefined();
    expect(await find(0, { SUDO_UID: '1001' })).toMatchObject({ path: '/x' });
    expect(await find(0, {})).toMatchObject({ path: '/x', fix: 'chown root /x' });
    expect(await find(1001, { SUDO_UID: '1000' })).toMatchObject({ path: '/x' });
  });
});
