import { basename, dirname, isAbsolute, resolve } from 'node:path';
import type { Files as AllFiles } from '../../../platform/host.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf } from '../configuration/configuration.ts';
import type { MemberSpec } from '../../engine/types.ts';

/** What is asked of a host's files, here or over ssh. */
export type LookedAtFiles = Pick<AllFiles, 'info' | 'isWritable' | 'realPath'>;
type Files = LookedAtFiles;

const realOf = async (files: Files, path: string): Promise<string> =>
  (await files.realPath(path).catch(() => undefined)) ?? path;

/** A file that the start writes: without it the member would stay down, on either version. */
const unwritable = async (
  files: Files,
  key: 'pid_file' | 'log_file',
  named: string | undefined,
): Promise<string | undefined> => {
  if (named === undefined) return undefined;
  const path = await realOf(files, named);
  const info = await files.info(path).catch(() => undefined);
  if (info?.kind === 'directory') return `${key} ${named} is a directory`;
  if (info !== undefined)
    return (await files.isWritable(path)) ? undefined : `${key} ${named} cannot be written`;
  const directory = await realOf(files, dirname(named));
  if ((await files.info(directory).catch(() => undefined))?.kind !== 'directory')
    return `${key} ${named}: there is no directory ${dirname(named)}`;
  return (await files.isWritable(directory)) ? undefined : `${key} ${named}: its directory cannot be written`;
};

const wrongCommand = async (
  files: Files,
  member: MemberSpec,
  cwd: string,
  which: 'old' | 'new',
): Promise<string | undefined> => {
  const argv = argvOf(member[`${which}_command`], member[`${which}_binary`]);
  if (argv === undefined) return undefined;
  const [program] = argv;
  // A binary that is not there has a guard of its own.
  const isNamedTwice = program !== member[`${which}_binary`] && member[`${which}_binary`] !== undefined;
  if (
    isNamedTwice &&
    isAbsolute(program) &&
    (await files.info(await realOf(files, program)).catch(() => undefined)) === undefined
  )
    return `${which}_command starts ${program}, which is not there`;
  return wrongDirectory(files, member, cwd, `${which}_command`, flagsOf(argv.slice(1)).get('data-dir'));
};

/** A relative directory is another one, and empty, where it is not the working directory of the process. */
const wrongDirectory = async (
  files: Files,
  member: MemberSpec,
  cwd: string,
  where: string,
  directory: string | undefined,
): Promise<string | undefined> => {
  if (directory === undefined || member.data_dir === undefined) return undefined;
  const said = resolve(cwd, directory);
  if ((await realOf(files, said)) === (await realOf(files, resolve(member.data_dir)))) return undefined;
  const from = isAbsolute(directory) ? '' : `, which is ${said} from here`;
  return `${where} runs on the data directory ${directory}${from}; data_dir is ${member.data_dir}`;
};

/** What would go wrong between stop and start, seen while nothing was touched. `cwd`: where the member will be started. */
export const placeProblems = async (files: Files, member: MemberSpec, cwd: string): Promise<string[]> => {
  const found = await Promise.all([
    unwritable(files, 'pid_file', member.pid_file),
    unwritable(files, 'log_file', member.log_file),
    wrongCommand(files, member, cwd, 'new'),
    wrongCommand(files, member, cwd, 'old'),
    wrongDirectory(files, member, cwd, 'ETCD_DATA_DIR in env', member.env?.['ETCD_DATA_DIR']),
  ]);
  return found.filter((problem) => problem !== undefined);
};

/** The program that a command really starts, when it is another file of the name that the binary has. A wrapper is not asked: it may not know --version. */
export const startedProgram = (member: MemberSpec, which: 'old' | 'new'): string | undefined => {
  const [named, started] = [
    member[`${which}_binary`],
    argvOf(member[`${which}_command`], member[`${which}_binary`])?.[0],
  ];
  if (named === undefined || started === undefined) return named ?? started;
  return basename(named) === basename(started) ? started : named;
};
