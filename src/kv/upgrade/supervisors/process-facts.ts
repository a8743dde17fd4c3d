import type { HostFacts, MemberSpec, PlaceSeen } from '../../engine/types.ts';
import { environmentProblems, identityProblem } from './launch.ts';
import { placeText } from './places.ts';
import type { ProcessInfo, ProcessTable } from './process-table.ts';

/** What processes that run say about their successors, here or over ssh: the one that was started, and the server itself, which a wrapper may have started. */
export const processProblems = (
  member: MemberSpec,
  first: ProcessInfo | undefined,
  server: ProcessInfo | undefined,
  ownUid: number,
): string[] => {
  const identity = identityProblem(first, ownUid);
  return [...(identity === undefined ? [] : [identity]), ...environmentProblems(member, server)];
};

/** How the server runs, for what its successor is started with. */
export const commandFacts = (server: ProcessInfo | undefined): HostFacts =>
  server === undefined || server.words.length === 0
    ? {}
    : { command: server.words, environment: Object.fromEntries(server.env) };

/** What a relative path in the configuration file is relative to, and what it has to lead to. */
export const placeFacts = async (
  { realPath }: Pick<ProcessTable, 'realPath'>,
  { data_dir }: MemberSpec,
  first: ProcessInfo | undefined,
): Promise<HostFacts> => {
  const real_data_dir = data_dir === undefined ? undefined : await realPath(data_dir);
  return {
    ...(first?.cwd === undefined ? {} : { working_directory: first.cwd }),
    ...(real_data_dir === undefined ? {} : { real_data_dir }),
  };
};

/** Of the real directory: who owns a link to it means nothing. */
export const ownerFacts = (uid: number | undefined, data: PlaceSeen | undefined): HostFacts => {
  if (uid === undefined || data?.uid === undefined || uid === data.uid) return {};
  const what = data.path === data.real ? 'the directory' : placeText(data);
  return { owner_mismatch: `${what} belongs to uid ${data.uid}, the process runs as uid ${uid}` };
};
