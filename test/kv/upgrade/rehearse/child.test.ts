import { args } from '../../../../src/core/program-call.ts';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { snapshotFile, trailer } from '../../../../src/etcd-sim/disk/db-file.ts';
import { Machine } from '../../../../src/etcd-sim/state/machine.ts';
import { runSelf, upgradeCopy } from '../../../../src/kv/upgrade/rehearse/private-copy.ts';
import {
  canBeReal,
  type RehearsalInput,
  rehearse,
  snapshotToRehearse,
} from '../../../../src/kv/upgrade/rehearse/rehearse.ts';
import type { UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import type { FileInfo, Finished, Host } from '../../../../src/platform/host.ts';
import { partlyMade } from '../../../support/context.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { naming } from '../../../support/facts.ts';

const report = { outcome: 'done', message: 'it went well', members: [] };
const finishing = (lines: readonly object[]): string => lines.map((line) => JSON.stringify(line)).join('\n');

describe('this program, started again for a rehearsal', () => {
  const upgraded = async (done: Partial<Finished>, complaints?: string) => {
    const host = fakeHost({
      run: () => done,
      files: complaints === undefined ? {} : { '/home/stderr.log': complaints },
    });
    const events: UpgradeEvent[] = [];
    const run = await upgradeCopy(host, '/home', args`kv upgrade`, (event) => events.push(event));
    return { run, events, ran: host.ran[0] };
  };

  it('hands every event on, and ends with the report', async () => {
    const note = { event: 'note', level: 'info', text: 'a' };
    const stdout = `${finishing([note])}\nnoise\n{"no":1}\n${finishing([{ event: 'run-finished', report }])}`;
    const { run, events, ran } = await upgraded({ stdout });
    expect(run).toEqual({ code: 0, reports: [report], report });
    expect(events.map(({ event }) => event)).toEqual(['note', 'run-finished']);
    expect(ran?.args.slice(-4)).toEqual(['kv', 'upgrade', '-o', 'ndjson']);
    expect(ran?.options.env).toMatchObject({ OPSCTL_HOME: '/home', OPSCTL_PROFILE: undefined });
  });

  it('a rehearsal that refused before its start reports the reason', async () => {
    const refused = await upgraded({ code: 8 }, 'noise\n{"message":"refused"}\n');
    expect(refused.run).toEqual({ code: 8, reports: [], complaint: 'refused' });
    expect((await upgraded({ code: 1 }, 'just words\n')).run.complaint).toBe('just words');
    expect((await upgraded({ code: 1 }, '')).run).toEqual({ code: 1, reports: [] });
    expect((await upgraded({ code: 1 })).run).toEqual({ code: 1, reports: [] });
  });

  it('a failed rehearsal reports its last lines', async () => {
    const fails = (done: Partial<Finished>) =>
      runSelf(fakeHost({ run: () => done }), '/home', args`mock kv start x`);
    expect(await fails({ stdout: 'out' })).toBe('out');
    await expect(fails({ code: 3, stderr: 'a\nlast\n' })).rejects.toThrow(
      'opsctl mock kv start failed: last',
    );
    await expect(fails({ code: 1, startError: 'ENOENT' })).rejects.toThrow('failed: ENOENT');
    await expect(fails({ code: 7 })).rejects.toThrow('failed: code 7');
  });
});

const machine = new Machine(1e9);
for (const [i, key] of ['a', 'b'].entries()) machine.apply(i + 1, `${i}`, { op: 'put', key, value: 'dg==' });
const pages = snapshotFile(machine);
const snapshotBytes = Buffer.concat([pages, trailer(pages)]);

describe('a rehearsal', () => {
  /** The members of the copy respond as three small members do. No program is started. */
  const rehearsed = async (
    patch: Partial<RehearsalInput> = {},
    change: (host: Host) => Partial<Host> = () => ({}),
  ) => {
    const small = smallCluster();
    small.keys.set('a', { value: '1', lease: '', mod: 1, create: 1 });
    const { host } = small;
    const commands: string[] = [];
    const asked = (command: string, args: readonly string[]): string => {
      const at = args.findIndex((word) => word === 'mock' || word === 'kv');
      return at < 0 ? [command, ...args].join(' ') : args.slice(at).join(' ');
    };
    const finished = { code: 0, signal: null, stdout: '', stderr: '', timedOut: false };
    const processes: Host['processes'] = {
      ...host.processes,
      run: async (command, args) => {
        commands.push(asked(command, args));
        // The mock server writes the cluster file of its members.
        if (commands.at(-1)?.startsWith('mock kv start'))
          await host.files.replace(
            '/copy/copy/cluster.yaml',
            JSON.stringify({ ...small.cluster, simulated: true }),
          );
        return finished;
      },
      start: async (command, args) => {
        commands.push(asked(command, args));
        async function* lines() {
          yield JSON.stringify({ event: 'run-finished', report });
        }
        return { pid: 1, exited: Promise.resolve({ code: 0, signal: null }), kill: () => true, lines };
      },
    };
    await host.files.replace('/s.db', snapshotBytes);
    const input: RehearsalInput = {
      ...{ cluster: small.cluster, observation: await small.observation(), snapshot: '/s.db' },
      ...{ directory: '/copy', isReal: false, versions: { old: '3.4.45', new: '3.5.30' } },
      ...{ options: planOptions(), onEvent: () => {}, signal: new AbortController().signal },
      ...patch,
      host: { ...host, processes, ...change({ ...host, processes }) },
    };
    const result = await rehearse(input, small.access).catch((error: unknown) => error);
    return { result, commands, small };
  };

  it('starts simulated members with every key, upgrades them, counts again and ends them', async () => {
    const { result, commands, small } = await rehearsed();
    // The runs and snapshots contain keys and values of the real cluster.
    expect(small.host.files.mode('/copy/home')).toBe(0o700);
    expect(result).toEqual({
      ...{
        mode: 'simulated servers',
        outcome: 'done',
        message: 'it went well',
        keys_before: 1,
        keys_after: 1,
      },
      report,
    });
    expect(commands).toEqual([
      'mock kv start --dir /copy/copy --members 3 --version 3.4.45 --new-version 3.5.30 --keys /copy/keys.json -o name',
      'kv upgrade --cluster /copy/copy/cluster.yaml --yes --accept-point-of-no-return --stable-for 1 --stable-before-last 1 -o ndjson',
      'mock kv stop --dir /copy/copy --kill -o name',
    ]);
  });

  it('a rehearsal uses the options of the plan', async () => {
    const options = planOptions({ copy_data: true, to: '3.5', stable_seconds: 3 });
    const { commands } = await rehearsed({ options });
    expect(commands[1]).toContain('--accept-point-of-no-return --copy-data --to 3.5 --stable-for 3 ');
  });

  it('a rehearsal of several hops starts members that know every later version', async () => {
    const hop = (from: '3.4' | '3.5' | '3.6', to: '3.5' | '3.6' | '3.7') => ({ from, to, programs: {} });
    const hops = [hop('3.4', '3.5'), hop('3.5', '3.6'), hop('3.6', '3.7')];
    const path = { to: '3.7', soak_seconds: 0, hops } as const;
    const { result, commands } = await rehearsed({ options: planOptions({ to: '3.7', path }) });
    expect(result).toMatchObject({ outcome: 'done' });
    expect(commands[0]).toContain(
      ' --new-version 3.5.30 --later-version 3.6.0 --later-version 3.7.0 --keys ',
    );
    expect(commands[1]).toContain(' --to 3.7 --soak 1s ');
  });

  it('a rehearsal with unhealthy members fails, and still stops them', async () => {
    const { result, commands } = await rehearsed({}, (host) => ({
      network: { ...host.network, request: () => Promise.reject(new Error('no')) },
    }));
    expect(result).toMatchObject({ message: 'member n1 of the private copy did not become healthy' });
    expect(commands.at(-1)).toMatch(/^mock kv stop /);
  });

  it('a rehearsal that could not start reports it and has no members to stop', async () => {
    const failing = { code: 1, signal: null, stdout: '', stderr: 'no room', timedOut: false };
    const ran: string[] = [];
    const { result } = await rehearsed({}, (host) => ({
      processes: {
        ...host.processes,
        run: async (_, args) => {
          ran.push(args.join(' '));
          return failing;
        },
      },
    }));
    expect(String(result)).toContain('opsctl mock kv start failed: no room');
    expect(ran).toHaveLength(1);
  });

  it('a rehearsal on real servers restores the snapshot for each of them with the ctl program', async () => {
    const members = clusterFile(2).members.map((spec) => ({
      ...spec,
      old_binary: '/old',
      new_binary: '/new',
    }));
    const cluster = { ...clusterFile(2, { members }), ctl_binary: '/ctl' };
    expect(canBeReal(cluster)).toBe(true);
    const ran: string[] = [];
    const { result } = await rehearsed({ isReal: true, cluster }, (host) => ({
      processes: {
        ...host.processes,
        run: async (command, args) => {
          ran.push([command, ...args.slice(0, 3)].join(' '));
          return { code: 1, signal: null, stdout: '', stderr: 'first\nbad file', timedOut: false };
        },
      },
    }));
    expect(ran).toEqual(['/ctl version', '/ctl snapshot restore /s.db']);
    expect(String(result)).toEqual(naming('n1', 'restore', 'snapshot'));
  });

  it.each([
    ['the etcdutl next to it restores', true, '/bin/etcdutl snapshot', 'RESTORE_FAILED'],
    ['without etcdutl, the rehearsal refuses', false, '/bin/etcdutl version', 'WRONG_CTL'],
  ])('an etcdctl of 3.6 cannot restore: %s', async (_, hasUtl, last, code) => {
    const cluster = { ...clusterFile(1), ctl_binary: '/bin/etcdctl' };
    const ran: string[] = [];
    const { result } = await rehearsed({ isReal: true, cluster }, (host) => ({
      processes: {
        ...host.processes,
        run: async (command, [word = '']) => {
          ran.push(`${command} ${word}`);
          const name = command.slice('/bin/'.length);
          const isVersion = word === 'version' && (name === 'etcdctl' || hasUtl);
          const stdout = isVersion ? `${name} version: 3.6.14\nAPI version: 3.6\n` : '';
          return { code: isVersion ? 0 : 1, signal: null, stdout, stderr: '', timedOut: false };
        },
      },
    }));
    expect(result).toMatchObject({ detail: { code } });
    expect(ran.at(-1)).toBe(last);
  });
  it.each([
    [{ stderr: ' \n', startError: 'ENOENT' }, naming('ENOENT')],
    [{ stderr: '' }, naming('4')],
    [{ stderr: 'a\nb\n' }, naming('b')],
  ])('a rehearsal reports why the ctl program failed: %j', async (done, reason) => {
    const cluster = { ...clusterFile(1), ctl_binary: '/ctl' };
    const { result } = await rehearsed({ isReal: true, cluster }, (host) => ({
      processes: {
        ...host.processes,
        run: async () => ({ code: 4, signal: null, stdout: '', timedOut: false, ...done }),
      },
    }));
    expect(result).toMatchObject({
      ...{
        message: naming('n1', reason, 'restore', 'snapshot'),
        detail: { code: 'RESTORE_FAILED' },
      },
    });
  });

  const exec = (rest: string, before = '') => `#!/bin/sh\n${before}\nexec /usr/bin/etcd ${rest}\n`;
  it.each<[string, string | undefined, string[], string | undefined]>([
    ['ignores its arguments', exec('--data-dir /real/n1'), ['/start'], 'arguments'],
    ['sets the directory after them', exec('"$@" --data-dir /real/n1'), ['/start'], '/real/n1'],
    ['sets another WAL directory', exec('--wal-dir /real/wal "$@"'), ['/start'], '/real/wal'],
    ['exports a WAL directory', exec('"$@"', 'export ETCD_WAL_DIR=/real/wal'), ['/start'], '/real/wal'],
    ['names a configuration file', exec('--config-file /real.yml "$@"'), ['/start'], '/real.yml'],
    [
      'sets the directory before them',
      exec('--data-dir /real/n1 "$@"', 'ulimit -n 9'),
      ['/start'],
      undefined,
    ],
    [
      'passes them on to another program',
      '#!/bin/sh\nexec chrt -r 1 "$SERVER" "$@"\n',
      ['/start'],
      undefined,
    ],
    ['ignores them in another language', '#!/usr/bin/python3\nstart("/real/n1")\n', ['/start'], 'arguments'],
    ['is the text of a shell', undefined, ['/bin/sh', '-c', 'exec etcd --data-dir /real/n1'], '/real/n1'],
    ['sets a variable', undefined, ['env', 'ETCD_WAL_DIR=/real/wal', '/usr/bin/etcd'], '/real/wal'],
    ['is the server', undefined, ['/usr/bin/etcd', '--data-dir', '/real/n1', '--wal-dir=/w'], undefined],
  ])('a start that %s is refused if it would use the real data', async (_, script, command, evidence) => {
    const members = clusterFile(1).members.map((spec) => ({
      ...spec,
      ...{ old_binary: '/usr/bin/etcd', new_command: command },
    }));
    const cluster = { ...clusterFile(1, { members }), ctl_binary: '/ctl' };
    const { result, commands } = await rehearsed({ isReal: true, cluster }, (host) => ({
      files: {
        ...host.files,
        realPath: async (path: string) => path,
        info: async (path: string) =>
          path === '/start' ? partlyMade<FileInfo>({ kind: 'file', sizeBytes: 9 }) : host.files.info(path),
        read: async (path: string) => (path === '/start' ? script : host.files.read(path)),
      },
    }));
    if (evidence === undefined)
      expect(result).not.toMatchObject({ detail: { code: 'REHEARSAL_NOT_PRIVATE' } });
    else {
      expect(result).toMatchObject({
        detail: { code: 'REHEARSAL_NOT_PRIVATE' },
        message: naming('new_command', 'n1', evidence),
      });
      expect(commands).toEqual([]);
    }
  });
  it('a rehearsal on real servers writes each configuration, starts the old programs, and stops them at the end', async () => {
    const members = clusterFile(2).members.map((spec) => ({
      ...spec,
      ...(spec.name === 'n1'
        ? { old_command: ['/old', '--config-file', '/etc/n1.yml'], config_file: '/etc/n1.yml' }
        : { old_command: ['/old', '--name', 'n2'] }),
    }));
    const cluster = { ...clusterFile(2, { members }), ctl_binary: '/ctl' };
    const environments: unknown[] = [];
    // The file of n1 is empty, but the member still gets the settings that the copy needs.
    const { result, commands, small } = await rehearsed({ isReal: true, cluster }, (host) => ({
      processes: {
        ...host.processes,
        run: async (command, args, options) => {
          environments.push(options?.env);
          return host.processes.run(command, args, options);
        },
      },
      network: {
        ...host.network,
        // The members of the copy are the small cluster with different ports.
        request: (request) =>
          host.network.request({ ...request, url: request.url.replace(/:\d+/, ':20001') }),
      },
    }));
    expect(result).toMatchObject({ mode: 'real servers', keys_before: 1, keys_after: 1 });
    expect(environments.slice(0, 2)).toEqual([{ ETCDCTL_API: '3' }, { ETCDCTL_API: '3' }]);
    expect(commands.slice(0, 3)).toEqual([
      '/ctl version',
      expect.stringMatching(/^\/ctl snapshot restore \/s\.db --name n1 /),
      expect.stringMatching(/^\/ctl snapshot restore \/s\.db --name n2 /),
    ]);
    expect(commands.filter((line) => /\/old --(config-file|name n2)/.test(line))).toHaveLength(2);
    expect(commands.some((line) => line.startsWith('kv upgrade --cluster /copy/cluster.yaml --yes'))).toBe(
      true,
    );
    expect(commands.some((line) => line.startsWith('mock'))).toBe(false);
    const { files } = small.host;
    expect([files.mode('/copy/cluster.yaml'), files.mode('/copy/n1.conf.yaml')]).toEqual([0o600, 0o600]);
    expect(files.readNow('/copy/n1.conf.yaml')).toContain('data-dir: /copy/n1.data');
    expect(files.readNow('/copy/n2.conf.yaml')).toBeUndefined();
    expect(JSON.parse(files.readNow('/copy/cluster.yaml') ?? '')).toMatchObject({ name: 'test-rehearsal' });
  });

  it('a refused rehearsal reports the reason, with the number of keys', async () => {
    const silent = (code: number, complaint?: string) =>
      rehearsed({}, (host) => ({
        processes: {
          ...host.processes,
          start: async () => {
            if (complaint !== undefined) await host.files.replace('/copy/home/stderr.log', complaint);
            async function* lines(): AsyncGenerator<string> {}
            return { pid: 1, exited: Promise.resolve({ code, signal: null }), kill: () => true, lines };
          },
        },
      }));
    expect((await silent(8, '{"message":"a guard refused"}')).result).toEqual({
      ...{ mode: 'simulated servers', outcome: 'refused', message: naming('refused', 'guard') },
      ...{ keys_before: 1, keys_after: 1 },
    });
    expect((await silent(9)).result).toMatchObject({
      message: naming('upgrade', '9', 'copy', 'exited'),
    });
  });

  it('counts the keys through any member, else those of the snapshot', async () => {
    const deaf = (isDeaf: (url: string) => boolean) =>
      rehearsed({}, (host) => ({
        network: {
          ...host.network,
          request: (request) =>
            /\/kv\/range$/.test(request.url) && isDeaf(request.url)
              ? Promise.reject(new Error('no'))
              : host.network.request(request),
        },
      }));
    expect((await deaf((url) => url.includes(':20001'))).result).toMatchObject({
      keys_before: 1,
      keys_after: 1,
    });
    expect((await deaf(() => true)).result).toMatchObject({ keys_before: 2, keys_after: undefined });
  });

  it.each([
    ['simulated members', { simulated: true }],
    ['no ctl program', { ctl_binary: undefined }],
    ['members on other hosts', { driver: 'ssh' as const }],
    ['a member without its new program', { members: [{ name: 'n1', client_url: '', old_binary: '/old' }] }],
    ['a member without its old program', { members: [{ name: 'n1', client_url: '', new_binary: '/new' }] }],
  ])('a rehearsal with %s is simulated', (_, patch) => {
    const base = { ...clusterFile(), ctl_binary: '/ctl' };
    expect(canBeReal(base)).toBe(true);
    expect(canBeReal({ ...base, ...patch } as typeof base)).toBe(false);
  });
});

describe('the snapshot of a rehearsal', () => {
  const wanted = (patch: object) => {
    const small = smallCluster();
    const said: string[] = [];
    const { host, access } = small;
    const given = {
      access,
      observation: observed(),
      file: undefined,
      directory: '/d',
      info: (text: string) => said.push(text),
    };
    return { small, said, path: snapshotToRehearse(host, { ...given, ...patch }) };
  };
  it('the snapshot is that of a follower', async () => {
    const { small, said, path } = wanted({});
    expect(await path).toBe('/d/snapshot.db');
    expect([small.done, said]).toEqual([['snapshot n2'], [naming('n2', 'snapshot', 'private', 'copy')]]);
  });
  it('the snapshot is that of the leader if no follower responds, and missing without any response', async () => {
    const alone = wanted({ observation: observed([seen('n1'), away('n2'), away('n3')]) });
    await alone.path;
    expect(alone.small.done).toEqual(['snapshot n1']);
    await expect(wanted({ observation: observed([away('n1')]) }).path).rejects.toMatchObject({
      detail: { code: 'UNAVAILABLE' },
    });
  });
  it('the snapshot is a named file, after its verification', async () => {
    const small = smallCluster();
    const page = Buffer.alloc(512, 7);
    await small.host.files.replace(
      '/place/s.db',
      Buffer.concat([page, createHash('sha256').update(page).digest()]),
    );
    const given = { access: small.access, observation: observed(), directory: '/d', info: () => {} };
    expect(await snapshotToRehearse(small.host, { ...given, file: 's.db' })).toBe('/place/s.db');
    await small.host.files.replace('/place/bad.db', page);
    await expect(snapshotToRehearse(small.host, { ...given, file: 'bad.db' })).rejects.toThrow();
    expect(small.done).toEqual([]);
  });
});
