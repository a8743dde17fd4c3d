import type { HostFacts, MemberSpec } from '../types.ts';
import { environmentProblems, identityProblem } from './launch.ts';
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

export const ownerFacts = (running: ProcessInfo | undefined, dataUid: number | undefined): HostFacts =>
  running?.uid === undefined || dataUid === undefined || running.uid === dataUid
    ? {}
    : { owner_mismatch: `the directory belongs to uid ${dataUid}, the process to uid ${running.uid}` };
