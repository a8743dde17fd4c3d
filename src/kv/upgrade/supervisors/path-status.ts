import { dirname, join } from 'node:path';
import { sh, type ShellScript } from '../../../core/shell.ts';
import type { Files } from '../../../platform/host.ts';
import type { DirectoryStatus, MemberSpec, PathStatus } from '../../engine/model.ts';
import { valuesIn } from './driver.ts';

/**
 * Shell functions for a directory that may be a symbolic link or a mount point. `real PATH` prints the path
 * without symbolic links, even if its last part does not exist. `beside PATH` prints the path next to which
 * copies and new directories are created: PATH if its parent directory is on the disk of the real directory's
 * parent, otherwise the real path. So all files stay on the disk of the data.
 */
export const placeFunctions = sh`real() { p=$1; while [ "$p" != / ] && [ "$p" != "\${p%/}" ]; do p=\${p%/}; done; readlink -f "$p" 2>/dev/null || { [ -d "$p" ] && ( cd -P "$p" && pwd ); } || printf '%s\\n' "$p"; }
is_mount() { if command -v mountpoint >/dev/null 2>&1; then mountpoint -q "$1"; else OF=$1 awk '$5 == ENVIRON["OF"] { f = 1 } END { exit !f }' /proc/self/mountinfo 2>/dev/null; fi; }
beside() { p=$1; while [ "$p" != / ] && [ "$p" != "\${p%/}" ]; do p=\${p%/}; done; r=$(real "$p"); if [ "$(stat -c %d "$(dirname "$p")" 2>/dev/null)" = "$(stat -c %d "$(dirname "$r")" 2>/dev/null)" ]; then printf '%s\\n' "$p"; else printf '%s\\n' "$r"; fi; }
unused() { u=$1; n=2; while [ -e "$u" ] || [ -L "$u" ]; do u=$1.$n; n=$((n+1)); done; printf '%s\\n' "$u"; }`;

const withoutEnd = (path: string): string => (/^\/+$/.test(path) ? '/' : path.replace(/\/+$/, ''));

type MountTable = readonly { readonly at: string; readonly type: string }[];
/** Parses the lines of /proc/self/mountinfo. Pure. */
const mountsIn = (text: string): MountTable =>
  text.split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ');
    const at = before?.split(' ')[4];
    return at === undefined || after === undefined
      ? []
      : [
          {
            at: at.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8))),
            type: after.split(' ')[0] ?? '',
          },
        ];
  });
const isBelow = (path: string, directory: string): boolean =>
  directory === '/' || path === directory || path.startsWith(`${directory}/`);
const mountFacts = (text: string, real: string): Pick<PathStatus, 'is_mount' | 'file_system'> => {
  const holder = mountsIn(text)
    .filter(({ at }) => isBelow(real, at))
    .toSorted((a, b) => a.at.length - b.at.length)
    .at(-1);
  return holder === undefined ? {} : { is_mount: holder.at === real, file_system: holder.type };
};

type LocalFiles = Pick<Files, 'info' | 'realPath' | 'isWritable' | 'freeBytes' | 'diskOf' | 'readNow'>;
const mountText = ({ readNow }: LocalFiles): string => {
  try {
    return readNow('/proc/self/mountinfo') ?? '';
  } catch {
    return '';
  }
};
const besideHere = async (files: LocalFiles, named: string, real: string): Promise<DirectoryStatus> => {
  const [own, other] = await Promise.all([files.diskOf(dirname(named)), files.diskOf(dirname(real))]);
  const path = own === other ? named : real;
  const parent = dirname(path);
  const [free_bytes, is_writable] = await Promise.all([
    files.freeBytes(parent).catch(() => undefined),
    files.isWritable(parent),
  ]);
  return {
    path,
    is_writable,
    ...(free_bytes === undefined ? {} : { free_bytes }),
    ...(other === undefined ? {} : { disk: other }),
  };
};
/** Returns the real path of a path whose last part may not exist yet. */
const realHere = async (files: LocalFiles, named: string): Promise<string> => {
  const own = await files.realPath(named);
  if (own !== undefined) return own;
  const parent = await files.realPath(dirname(named)).catch(() => undefined);
  return parent === undefined ? named : join(parent, named.slice(dirname(named).length));
};
/** A directory of this machine. */
export const seePlace = async (files: LocalFiles, path: string): Promise<PathStatus> => {
  const named = withoutEnd(path);
  const real = await realHere(files, named);
  const info = await files.info(real);
  const beside = await besideHere(files, named, real);
  if (info?.kind !== 'directory') return { path: named, real, exists: false, beside };
  const [free_bytes, disk] = await Promise.all([
    files.freeBytes(real).catch(() => undefined),
    files.diskOf(real),
  ]);
  return {
    ...{ path: named, real, exists: true, beside, uid: info.uid, gid: info.gid, mode: info.mode & 0o7777 },
    ...mountFacts(mountText(files), real),
    ...(free_bytes === undefined ? {} : { free_bytes }),
    ...(disk === undefined ? {} : { disk }),
  };
};

/** Prints `place.KEY=VALUE`. Paths are in base64, because they may contain any byte. */
export const placeScript = (path: string): ShellScript => sh`${placeFunctions}
N=${withoutEnd(path)}; R=$(real "$N"); B=$(beside "$N"); P=$(dirname "$B")
encode() { printf %s "$1" | base64 | tr -d '\\n'; }
echo "place.real=$(encode "$R")"; echo "place.beside=$(encode "$B")"
echo "place.beside_kib=$(df -Pk "$P" 2>/dev/null | awk 'NR==2 {print $4}')"
echo "place.beside_disk=$(stat -c %d "$P" 2>/dev/null)"
[ -w "$P" ] && echo place.beside_writable=true
if [ -d "$R" ]; then
  echo "place.stat=$(stat -c '%u %g %a %d' "$R" 2>/dev/null)"
  echo "place.kib=$(df -Pk "$R" | awk 'NR==2 {print $4}')"
  echo "place.mounts=$(base64 < /proc/self/mountinfo 2>/dev/null | tr -d '\\n')"
fi`;
const plain = (text = ''): string => Buffer.from(text, 'base64').toString();
const isNumber = (text: string | undefined): text is string => /^\d+$/.test(text ?? '');

/** Parses the output of `placeScript`. Pure. */
export const placeFrom = (
  text: string,
  path: string,
  { host }: Pick<MemberSpec, 'host'>,
): PathStatus | undefined => {
  const values = valuesIn(text);
  const of = (key: string): string | undefined => values.get(`place.${key}`);
  if (of('real') === undefined) return undefined;
  const disk = (device: string | undefined): string | undefined =>
    isNumber(device) ? `${host ?? 'here'} ${device}` : undefined;
  const bytes = (kib: string | undefined) => (isNumber(kib) ? { free_bytes: Number(kib) * 1024 } : {});
  const onDisk = (device: string | undefined) =>
    disk(device) === undefined ? {} : { disk: disk(device) as string };
  const real = plain(of('real')) || withoutEnd(path);
  const beside = {
    path: plain(of('beside')) || withoutEnd(path),
    is_writable: of('beside_writable') === 'true',
    ...bytes(of('beside_kib')),
    ...onDisk(of('beside_disk')),
  };
  const stat = of('stat');
  if (stat === undefined) return { path: withoutEnd(path), real, exists: false, beside };
  const [uid, gid, mode, device] = stat.split(' ');
  return {
    ...{ path: withoutEnd(path), real, exists: true, beside },
    ...(isNumber(uid) && isNumber(gid) ? { uid: Number(uid), gid: Number(gid) } : {}),
    ...(isNumber(mode) ? { mode: Number.parseInt(mode, 8) } : {}),
    ...mountFacts(plain(of('mounts')), real),
    ...bytes(of('kib')),
    ...onDisk(device),
  };
};

/** For messages: the path as named, and its target if it is a link. */
export const placeText = ({ path, real }: PathStatus): string =>
  path === real ? path : `${path} is a link to ${real}, which`;

/** Returns whether a directory is part of another directory after resolving all links. */
export const isPartOf = (part: PathStatus, whole: PathStatus): boolean => isBelow(part.real, whole.real);
