import { dirname, resolve } from 'node:path';
import { defineCommand, type Context, type ValuesOf } from '../../cli/command.ts';
import { AppError } from '../../core/problem.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import type { Draft } from '../../kv/upgrade/cluster/draft.ts';
import { askAny } from './ask.ts';
import { initFlags } from './init-flags.ts';
import { openCluster } from './open-cluster.ts';

type Given = ValuesOf<typeof initFlags>;

const endpointsOf = async (context: Context, values: Given): Promise<string> => {
  if (values.endpoints !== undefined) return values.endpoints;
  if (!context.isInteractive)
    throw new AppError('usage', '--endpoints is required where nobody can be asked', {
      tryThis: ['--endpoints HOST:PORT of one running member'],
    });
  return context.host.terminal.prompts.text('Client address of a running member (host:port):', {
    fallback: '127.0.0.1:2379',
  });
};

const report = ({ log }: Context, values: Given, { left, unseen, processes }: Draft): void => {
  for (const { member, process } of processes) log.info(`${member}: ${process}`);
  for (const line of left) log.warn(`to fill in: ${line}`);
  if (values.driver === undefined && unseen.length > 0)
    log.warn(
      `no process of ${unseen.join(', ')} is seen on this machine; for members on other hosts: --driver ssh`,
    );
};

export const init = defineCommand({
  path: ['kv', 'init'],
  noDryRun: 'without --out the file is only printed',
  summary: 'Write a cluster file from a running cluster',
  about:
    'Reads the member list. Members that run on this machine get their data directory, binary and command line too; what cannot be seen is left for you to fill in. Certificates and user go into the file too, a password never.',
  flags: initFlags,
  examples: [
    {
      line: 'opsctl kv init --endpoints 127.0.0.1:2379 --new-binary ./etcd-3.4 --out cluster.yaml',
      says: 'then kv check --cluster cluster.yaml',
    },
  ],
  run: async (context, values) => {
    const { host, settings } = context;
    const endpoints = await endpointsOf(context, values);
    const opened = await openCluster(context, { ...values, endpoints });
    const listed = await askAny(context, opened, (store) => store.members());
    const file = values.out === undefined ? undefined : resolve(host.cwd, values.out);
    const directory = file === undefined ? host.cwd : dirname(file);
    if (file !== undefined) await host.files.makeDirectory(directory);
    const { draftCluster, draftText } = await import('../../kv/upgrade/cluster/draft.ts');
    const draft = await draftCluster(host, listed, opened.cluster, {
      file,
      directory,
      name: values.name,
      driver: values.driver,
      newBinary: values['new-binary'],
      oldBinary: values['old-binary'],
    });
    const { members, left, processes } = draft;
    report(context, values, draft);
    const text = await draftText(host, settings.directories.cache, draft);
    if (file === undefined) return rawResult(text);
    if ((await host.files.info(file)) !== undefined)
      await context.confirm(`${file} is there already. Replace it?`);
    await host.files.replace(file, text, 0o600);
    return recordResult(
      { cluster_file: file, members, processes, to_fill_in: left },
      { text: `${file} written; next: opsctl kv check --cluster ${values.out}`, name: 'cluster_file' },
    );
  },
});
