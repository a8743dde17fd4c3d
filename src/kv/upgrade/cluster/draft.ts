import { join } from 'node:path';
import type { ListedMember } from '../../client/etcd-client.ts';
import type { Host } from '../../../platform/host.ts';
import type { ClusterFile } from '../../engine/types.ts';
import { clusterProblems, clusterSchema } from './cluster-file.ts';
import { ctlBeside, describeMembers, nameFor } from './describe-members.ts';
import { stringify } from './yaml.ts';

type Given = Parameters<typeof describeMembers>[2] & {
  /** Where it will be written; its name gives the cluster one. */
  readonly file: string | undefined;
  readonly name: string | undefined;
};
export type Draft = {
  readonly content: unknown;
  readonly members: readonly string[];
  /** What could not be found out. */
  readonly left: readonly string[];
  /** Members of which no process is seen on this machine. */
  readonly unseen: readonly string[];
  /** Members with their processes on this machine and the users of those. */
  readonly processes: readonly { readonly member: string; readonly process: string }[];
};

/** A cluster file made of the member list and of what is seen on this machine. */
export const draftCluster = async (
  host: Host,
  listed: readonly ListedMember[],
  { tls, user }: Pick<ClusterFile, 'tls' | 'user'>,
  given: Given,
): Promise<Draft> => {
  const sorted = listed.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const { driver, members } = await describeMembers(host, sorted, given);
  const specs = members.map(({ spec }) => spec);
  const ctl_binary = await ctlBeside(host, specs);
  const name = given.name ?? nameFor(given.file);
  const content = JSON.parse(JSON.stringify({ name, driver, tls, user, ctl_binary, members: specs }));
  return {
    content,
    members: specs.map((member) => member.name),
    left: [
      ...clusterProblems(content).map(({ path, message }) => `${path} ${message}`),
      ...members.flatMap(({ left }) => left),
    ],
    processes: members.flatMap(({ spec, process }) =>
      process === undefined ? [] : [{ member: spec.name, process }],
    ),
    unseen: members.filter(({ isSeen }) => !isSeen).map(({ spec }) => spec.name),
  };
};

/** Editors complete and check the values of a YAML file whose first line names its schema. */
const head = async (host: Host, cache: string): Promise<string> => {
  const path = join(cache, 'cluster.schema.json');
  await host.files.makeDirectory(cache, 0o700);
  await host.files.replace(path, `${JSON.stringify(clusterSchema(), null, 2)}\n`);
  return `# yaml-language-server: $schema=${path}\n# Cluster file of opsctl. Its JSON Schema: opsctl kv schema`;
};

/** The text of the file; its schema is written into the cache. */
export const draftText = async (host: Host, cache: string, { content }: Draft): Promise<string> =>
  `${await head(host, cache)}\n${stringify(content, { lineWidth: 0 })}`;
