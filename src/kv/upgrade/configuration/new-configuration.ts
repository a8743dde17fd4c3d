import type { Host } from '../../../platform/host.ts';
import type { ClusterFile, HostFacts, MemberSeen, Observation } from '../../engine/types.ts';
import { parseConfig } from './configuration.ts';

/** What the next start will read, as far as it is new. */
const factsOf = async ({ files }: Host, path: string): Promise<HostFacts> => {
  const text = await files.read(path);
  if (text === undefined) return { config_error: `there is no new_config_file ${path}` };
  const read = await parseConfig(text);
  return 'broken' in read
    ? { config_error: `${path} is not a configuration file: ${read.broken}` }
    : { config: read.file };
};

/** Before a restart the guards look at the text that is put in the place of the configuration file, and not at the one that is replaced. */
export const withNewConfiguration = async (
  host: Host,
  { members: specs }: ClusterFile,
  observation: Observation,
): Promise<Observation> => ({
  ...observation,
  members: await Promise.all(
    observation.members.map(async (seen): Promise<MemberSeen> => {
      const path = specs.find(({ name }) => name === seen.name)?.new_config_file;
      if (path === undefined) return seen;
      const { config: _, config_error: __, ...others } = seen.host ?? {};
      return { ...seen, host: { ...others, ...(await factsOf(host, path)) } };
    }),
  ),
});
