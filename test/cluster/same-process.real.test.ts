/** A member restarts with the same environment, limits, umask and priority under any driver. */
import { spawn } from 'node:child_process';
import { openSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasBinaries, type RealCluster, type RealMember, startCluster } from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
const secret = 'hunter2 with $(blanks)\nand lines';
const startAgain = (member: RealMember): void => {
  const log = openSync(member.log_file, 'a');
  const script =
    'umask 0027; prlimit --pid $$ --nofile=5000:6000 --core=0:0; renice -n 3 -p $$ >/dev/null; echo 7 > /proc/$$/oom_score_adj; unset PWD OLDPWD; exec "$@"';
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...member.old_command], {
    ...{ cwd: '/', detached: true, stdio: ['ignore', log, log] },
    env: { PATH: '/usr/bin:/bin', GODEBUG: 'x509ignoreCN=0', GOGC: '80', APP_TOKEN: secret },
  });
  child.unref();
  writeFileSync(member.pid_file, `${child.pid}\n`);
};
const proc = (member: RealMember, name: string): string =>
  readFileSync(`/proc/${readFileSync(member.pid_file, 'utf8').trim()}/${name}`, 'utf8');
const processOf = (member: RealMember) => ({
  env: proc(member, 'environ')
    .split('\0')
    .filter((word) => word !== '' && !word.startsWith('ETCD_INITIAL_ELECTION_TICK_ADVANCE='))
    .sort(),
  limits: proc(member, 'limits'),
  umask: /^Umask:.*$/m.exec(proc(member, 'status'))?.[0],
  nice: proc(member, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')[16],
  oom: proc(member, 'oom_score_adj'),
});
/** Files below the directory that contain the secret and that other users can read. */
const leaks = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path).size < 1_000_000 && readFileSync(path, 'utf8').includes('hunter2'))
    .filter((path) => (statSync(path).mode & 0o077) !== 0 || path.startsWith(home));

const isRoot = process.getuid?.() === 0;
describe.runIf(hasBinaries('3.4', '3.5') && isRoot)('a member that is started again', () => {
  it('runs as before on the new version, after a rollback and after a restart', async () => {
    cluster = await startCluster({ size: 3, from: '3.4', to: '3.5' });
    for (const member of cluster.members) {
      cluster.kill(member, 'SIGTERM');
      await cluster.gone(member);
    }
    for (const member of cluster.members) startAgain(member);
    await cluster.healthy();
    const before = cluster.members.map(processOf);
    expect(before[0]?.env).toContain('GODEBUG=x509ignoreCN=0');
    const kv = (...words: string[]) =>
      opsctl(['kv', ...words, '--cluster', cluster.file, '--yes', '-o', 'json'], { home });
    const held = await kv('upgrade', '--hold-last');
    expect(held.stdout + held.stderr).toContain('hold');
    expect(cluster.members.map(processOf)).toEqual(before);
    const back = await kv('rollback');
    expect(back.stderr).toContain('again');
    expect(cluster.members.map(processOf)).toEqual(before);
    expect([...leaks(home), ...leaks(cluster.directory)]).toEqual([]);
  });
});
