import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  call,
  hasBinaries,
  missingWrites,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

/** Members of 3.2 with all settings in configuration files that 3.3 cannot read unchanged. */
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});

const kv = (...words: string[]): Promise<Ran> =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], { home });
const versions = async (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3)),
  );

type Configured = RealMember & { readonly config_file: string };
const configured = (member: RealMember, retention: string): Configured => {
  const config_file = join(cluster.directory, `${member.name}.yaml`);
  const flags = member.old_command.slice(1);
  const lines = flags.flatMap((flag, i) =>
    flag.startsWith('--') ? [`${flag.slice(2)}: ${JSON.stringify(flags[i + 1])}`] : [],
  );
  writeFileSync(
    config_file,
    `# of ${member.name}\n${lines.join('\n')}\nauto-compaction-retention: ${retention} # in hours\n`,
  );
  const command = (binary: string): string[] => [binary, '--config-file', config_file];
  return {
    ...member,
    config_file,
    old_command: command(member.old_binary),
    new_command: command(member.new_binary),
  };
};

/** Restarts the members of the cluster from configuration files. */
const restartFromFiles = async (retention: string): Promise<Configured[]> => {
  cluster = await startCluster({ size: 3, from: '3.2', to: '3.3' });
  const members = cluster.members.map((member) => configured(member, retention));
  for (const member of members) {
    cluster.kill(member, 'SIGTERM');
    await cluster.gone(member);
    cluster.start(member);
    await cluster.healthy();
  }
  cluster.write({}, members);
  return members;
};

describe.runIf(process.env['OPSCTL_KV_OLD'] !== undefined && hasBinaries('3.2', '3.3'))(
  'configuration files of 3.2',
  () => {
    it.each(['24', '0'])(
      'files with the number %s as retention are migrated member by member',
      async (retention) => {
        const members = await restartFromFiles(retention);
        const before = members.map(({ config_file }) => readFileSync(config_file, 'utf8'));
        const writer = startWriter(cluster.urls, '/v3alpha');
        expect((await kv('check')).code).toBe(0);
        expect(
          (await kv('plan')).json().steps.filter(({ kind }: { kind: string }) => kind === 'configure'),
        ).toHaveLength(3);
        const held = await kv('upgrade', '--yes', '--accept-point-of-no-return', '--hold-last');
        expect(held.code === 8 ? '' : held.stderr).toBe('');
        expect((await versions()).sort()).toEqual(['3.2', '3.3', '3.3']);
        const back = await kv('rollback', '--yes');
        expect(back.code === 12 ? '' : back.stderr).toBe('');
        expect(await versions()).toEqual(['3.2', '3.2', '3.2']);
        expect(members.map(({ config_file }) => readFileSync(config_file, 'utf8'))).toEqual(before);
        const done = await kv('upgrade', '--yes', '--accept-point-of-no-return');
        expect(done.code === 0 ? '' : done.stderr).toBe('');
        expect(await versions()).toEqual(['3.3', '3.3', '3.3']);
        const { acknowledged, failed } = await writer.stop();
        expect(failed).toBe(0);
        for (const url of cluster.urls)
          expect(await missingWrites(url, acknowledged, '/v3alpha')).toEqual([]);
        for (const { config_file } of members) {
          expect(readFileSync(config_file, 'utf8')).toContain(
            `auto-compaction-retention: "${retention}" # in hours`,
          );
          expect(readFileSync(config_file, 'utf8').includes('auto-compaction-mode: periodic')).toBe(
            retention !== '0',
          );
        }
      },
    );
  },
);
