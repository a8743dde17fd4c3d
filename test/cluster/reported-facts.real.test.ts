/** What the built program reports about real servers: quoted and repeated log lines, counts of voters, and kinds of tokens. */
import { generateKeyPairSync } from 'node:crypto';
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../src/platform/node/ports.ts';
import { classify } from '../../src/kv/upgrade/watch/log-lines.ts';
import { type Program, program } from '../support/built-program.ts';
import { call, hasBinaries, type RealCluster, type RealMember, startCluster } from '../support/cluster.ts';
import { consent } from '../support/consent.ts';
import { naming } from '../support/facts.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: Program;
let learner: ChildProcess | undefined;
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  learner?.kill('SIGKILL');
  learner = undefined;
  await cluster?.stop();
});
const kv = (verb: string, ...more: string[]) => home.run(['kv', verb, '--cluster', cluster.file, ...more]);
type Finding = {
  readonly guard: string;
  readonly level: string;
  readonly member?: string;
  readonly message: string;
};
/** Returns the findings of one guard, for example `fail n2: message`. */
const checked = async (guard: string): Promise<string[]> => {
  const { stdout } = await kv('check', '-o', 'json');
  return (JSON.parse(stdout).findings as readonly Finding[])
    .filter((one) => one.guard === guard)
    .map(({ level, member, message }) => `${level}${member === undefined ? '' : ` ${member}`}: ${message}`);
};
const post = async (path: string, body: unknown, url = cluster.urls[0]) => {
  const { status, text } = await call(`${url}/v3${path}`, body);
  return { status, json: JSON.parse(text) };
};
const linesOf = ({ log_file }: RealMember): string[] =>
  readFileSync(log_file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');

describe.runIf(hasBinaries('3.4', '3.5'))('log lines of real servers', () => {
  it('a resume quotes the log of the last start, not the log of the old version', async () => {
    cluster = await startCluster({ size: 3, from: '3.4', to: '3.5' });
    expect((await kv('upgrade', '--yes', '--hold-last')).code).toBe(8);
    const runs = (member: RealMember): string => readlinkSync(`/proc/${cluster.pid(member)}/exe`);
    const member = cluster.members.find((one) => runs(one) === realpathSync(one.new_binary)) as RealMember;
    cluster.kill(member, 'SIGKILL');
    await cluster.gone(member);
    const lines = linesOf(member);
    // 3.4 logs text, and 3.5 logs JSON.
    const start = lines.findIndex((line) => line.startsWith('{'));
    expect(start).toBeGreaterThan(0);
    const { code, stderr } = await kv('resume', ...consent('resume'));
    expect(code).toBe(12);
    const [error = ''] = stderr.split('\n').filter((line) => line.startsWith('error:'));
    expect(error).toEqual(naming(member.name, '3.5'));
    const quoted = /the end of its log: (.{80})/.exec(error)?.[1] as string;
    expect(lines.findIndex((line) => line.startsWith(quoted))).toBeGreaterThanOrEqual(start);
    // Only a log without an error leaves another cause.
    const isError = lines.slice(start).some((line) => classify(line)?.expected === false);
    expect(error.includes('may have been killed')).toBe(!isError);
  });

  it('an upgrade prints a repeated line once per power of ten, with its count', async () => {
    cluster = await startCluster({ size: 1, from: '3.4', to: '3.5' });
    const [member] = cluster.members as [RealMember];
    const words = ['--accept', 'quorum-survives', ...consent('upgrade')];
    const run = home.start(['kv', 'upgrade', '--cluster', cluster.file, ...words]);
    await run.said(/\[1\/\d+\]/);
    const repeated = 'embed: rejected connection from "127.0.0.1:';
    const line = (n: number) =>
      `2026-01-01 00:00:00.${String(n).padStart(6, '0')} I | ${repeated}${33_000 + n}" (error "remote error: tls: bad certificate", ServerName "localhost")\n`;
    appendFileSync(member.log_file, Array.from({ length: 200 }, (_, n) => line(n)).join(''));
    const { code, stderr } = await run.ended;
    expect(code).toBe(0);
    const shown = stderr.split('\n').filter((text) => text.includes(repeated));
    const counts = shown.map((text) => Number(/\(×([\d,]+)\)$/.exec(text)?.[1]?.replaceAll(',', '') ?? 1));
    expect(counts).toEqual([1, 10, 100, expect.any(Number)]);
    expect(counts.at(-1)).toBeGreaterThanOrEqual(200);
  });
});

/** Starts n4 with the next ports as a member that does not vote, and adds it to the cluster file. */
const addLearner = async (): Promise<void> => {
  const [first] = cluster.members as [RealMember];
  const [client, peer] = (await freePorts(2)).map((port) => `http://127.0.0.1:${port}`) as [string, string];
  // The servers reject a change while they do not know that all members are connected.
  const add = () => post('/cluster/member/add', { peerURLs: [peer], isLearner: true });
  await expect.poll(async () => (await add()).status).toBe(200);
  const at = (name: string): string => join(cluster.directory, `n4.${name}`);
  const initial = first.old_command[first.old_command.indexOf('--initial-cluster') + 1];
  const words = [
    ...['--name', 'n4', '--data-dir', at('data'), '--listen-peer-urls', peer],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--initial-advertise-peer-urls', peer, '--initial-cluster', `${initial},n4=${peer}`],
    ...['--initial-cluster-state', 'existing', '--initial-cluster-token', 'test'],
  ];
  learner = spawn(first.old_binary, words, { stdio: 'ignore' });
  writeFileSync(at('pid'), `${learner.pid}\n`);
  const files = { data_dir: at('data'), pid_file: at('pid'), log_file: at('log') };
  const commands = {
    old_command: [first.old_binary, ...words],
    new_command: [first.new_binary, ...words],
  };
  const urls = { name: 'n4', client_url: client, peer_url: peer };
  cluster.write({}, [...cluster.members, { ...first, ...urls, ...files, ...commands }]);
  const isCaughtUp = async (): Promise<boolean> => {
    const { json } = await post('/maintenance/status', {}, client);
    return json.isLearner === true && json.leader !== undefined;
  };
  await expect.poll(() => isCaughtUp().catch(() => false)).toBe(true);
};
describe.runIf(hasBinaries('3.4', '3.5'))('a real cluster with a learner', () => {
  it('check counts only the members that vote', async () => {
    cluster = await startCluster({ size: 3, from: '3.4', to: '3.5' });
    await addLearner();
    const quorum = () => checked('quorum-survives');
    const pass = /^pass: /;
    await expect.poll(quorum).toEqual([expect.stringMatching(pass)]);
    expect(await checked('one-cluster')).toEqual([expect.stringMatching(/^fail n4: .*\blearner\b/)]);
    const n3 = cluster.members[2] as RealMember;
    cluster.kill(n3, 'SIGKILL');
    await cluster.gone(n3);
    // Without n1, one of three voters is left. An election may have to finish first.
    const one = expect.stringMatching(/^fail n1: .*\b1 of 3 voting members\b.*\b2 are needed \(n3 is not\)/);
    await expect.poll(quorum).toEqual([one]);
  });
});

describe.runIf(hasBinaries('3.4', '3.5'))('the tokens of a real server', () => {
  const jwt = (): string[] => {
    const directory = makeDirectory();
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const [open, secret] = [join(directory, 'public.pem'), join(directory, 'private.pem')];
    writeFileSync(open, publicKey.export({ type: 'spki', format: 'pem' }));
    writeFileSync(secret, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
    return [`--auth-token=jwt,pub-key=${open},priv-key=${secret},sign-method=RS256,ttl=10m`];
  };
  it.each([
    ['simple tokens', () => [], /^warn: .*\bsimple tokens\b.*\bsign in again\b/],
    ['signed tokens', jwt, /^pass: /],
  ] as const)(
    'check warns about the loss of tokens only if a restart loses them: %s',
    async (_, extra, finding) => {
      cluster = await startCluster({ size: 1, from: '3.4', to: '3.5', extra: extra() });
      for (const [path, body] of [
        ['/auth/user/add', { name: 'root', password: 'open sesame' }],
        ['/auth/role/add', { name: 'root' }],
        ['/auth/user/grant', { user: 'root', role: 'root' }],
        ['/auth/enable', {}],
      ] as const)
        expect((await post(path, body)).status).toBe(200);
      const file = join(cluster.directory, 'password');
      writeFileSync(file, 'open sesame\n', { mode: 0o600 });
      cluster.write({ user: { name: 'root', password_file: file } });
      expect(await checked('auth-and-leases')).toEqual([expect.stringMatching(finding)]);
      const { code, stdout } = await kv('status', '-o', 'json');
      expect([code, JSON.parse(stdout).leader]).toEqual([0, 'n1']);
      expect((await kv('plan', '--accept', 'quorum-survives')).code).toBe(0);
      // Without a user the observation is incomplete, so no plan is made.
      cluster.write({});
      const anonymous = [];
      for (const verb of ['status', 'check', 'plan']) anonymous.push((await kv(verb)).code);
      expect(anonymous).toEqual([0, 20, 10]);
    },
  );
});
