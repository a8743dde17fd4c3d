import type { Host } from '../../../platform/host.ts';
import { findProgramDistrust, type Distrust } from '../../../platform/trust.ts';
import { versionInText } from './driver.ts';
import { limits } from '../../../core/limits.ts';

/** On a busy machine, or from a cold disk, a good server takes seconds to say its version. */
const versionWithinMs = 10_000;
export type BinaryVersion = {
  readonly version?: string;
  readonly error?: string;
  readonly distrust?: Distrust;
};
/** Version that a program says of itself with --version. */
export const binaryVersion = async (host: Host, binary: string | undefined): Promise<BinaryVersion> => {
  if (binary === undefined) return { error: 'no binary is named' };
  const distrust = await findProgramDistrust(host, [binary]);
  if (distrust !== undefined) return { error: `opsctl did not run ${binary}: ${distrust.reason}`, distrust };
  const done = await host.processes.run(binary, ['--version'], {
    timeoutMs: versionWithinMs,
    maxBytes: limits.versionTextBytes,
  });
  const version = done.isCut === true ? undefined : versionInText(`${done.stdout}\n${done.stderr}`);
  if (done.startError !== undefined) return { error: `${binary} cannot be started: ${done.startError}` };
  if (version === undefined)
    return {
      error: `${binary} --version does not log a version${done.timedOut ? ` within ${versionWithinMs / 1000} s` : ''}`,
    };
  return { version };
};

/** The four bytes that a program for this machine begins with. What a script says may change while the script does not. */
const elf = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);
const isProgram = ({ files }: Host, path: string): boolean => {
  const parts = files.openParts(path);
  try {
    return parts !== undefined && elf.equals(parts.read(0, elf.length));
  } finally {
    parts?.close();
  }
};
/** Changes with the program; undefined where that cannot be told. */
const changeOf = async (host: Host, binary: string): Promise<string | undefined> => {
  const path = await host.files.realPath(binary);
  const change = path === undefined ? undefined : (await host.files.info(path))?.change;
  return change !== undefined && isProgram(host, path as string) ? change : undefined;
};

export type Versions = (binary: string | undefined) => Promise<BinaryVersion>;
/** Members usually share a binary: one question at a time for each, and its answer is good as long as nobody replaces the file. */
export const versionsOfBinaries = (host: Host): Versions => {
  const asking = new Map<string, Promise<BinaryVersion>>();
  const known = new Map<string, { readonly change: string; readonly version: string }>();
  const ask = async (binary: string): Promise<BinaryVersion> => {
    const change = await changeOf(host, binary).catch(() => undefined);
    const before = known.get(binary);
    if (before !== undefined && before.change === change) return { version: before.version };
    const found = await binaryVersion(host, binary);
    if (change !== undefined && found.version !== undefined)
      known.set(binary, { change, version: found.version });
    return found;
  };
  return (binary) => {
    if (binary === undefined) return binaryVersion(host, binary);
    const found = asking.get(binary) ?? ask(binary).finally(() => asking.delete(binary));
    asking.set(binary, found);
    return found;
  };
};
