import { dirname } from 'node:path';
import { sh } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import type { FileInfo } from '../../../platform/host.ts';
import type { LookedAtFiles } from './host-preflight.ts';
import type { Ask } from './service.ts';

type Seen = { readonly real?: string; readonly info?: FileInfo; readonly isWritable: boolean };

const kindOf = (type: string): FileInfo['kind'] => {
  if (/link/.test(type)) return 'link';
  if (type === 'directory') return 'directory';
  return /regular/.test(type) ? 'file' : 'other';
};
const infoFrom = (text: string): FileInfo | undefined => {
  if (text === '') return undefined;
  const [type = '', size, mode, uid, gid, modified] = text.split('|');
  return {
    kind: kindOf(type),
    sizeBytes: Number(size),
    mode: Number.parseInt(mode ?? '0', 8),
    uid: Number(uid),
    gid: Number(gid),
    modifiedMs: Number(modified) * 1000,
  };
};

/** One line a path: its name, its real name, what stat says, whether it can be written; and the same for where it really is. */
const lookScript = (
  paths: readonly string[],
): ShellScript => sh`encode() { printf %s "$1" | base64 | tr -d '\\n'; }
see() { r=; [ ! -e "$1" ] || r=$(readlink -f "$1"); w=no; [ ! -w "$1" ] || w=yes
echo "path=$(encode "$1") $(encode "$r") $(encode "$(stat -c '%F|%s|%a|%u|%g|%Y' -- "$1" 2>/dev/null)") $w"; }
for p in ${paths}; do see "$p"; if [ -e "$p" ] && [ "$(readlink -f "$p")" != "$p" ]; then see "$(readlink -f "$p")"; fi; done
exit 0`;
const plain = (text = ''): string => Buffer.from(text, 'base64').toString();

const seenIn = (text: string): Map<string, Seen> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line.startsWith('path='))
      .map((line) => {
        const [path, real, info, writable] = line.slice('path='.length).split(' ');
        const [place, found] = [plain(real), infoFrom(plain(info))];
        return [
          plain(path),
          {
            ...(place === '' ? {} : { real: place }),
            ...(found === undefined ? {} : { info: found }),
            isWritable: writable === 'yes',
          },
        ];
      }),
  );

/** Files of a host, those that are named with one question, any other with one each. */
export const remoteFiles = async (
  named: readonly (string | undefined)[],
  ask: Ask,
): Promise<LookedAtFiles> => {
  const paths = [...new Set(named.flatMap((path) => (path === undefined ? [] : [path, dirname(path)])))];
  const known = paths.length === 0 ? new Map<string, Seen>() : seenIn(await ask(lookScript(paths)));
  const see = async (path: string): Promise<Seen> => {
    if (!known.has(path))
      for (const [name, one] of seenIn(await ask(lookScript([path])))) known.set(name, one);
    return known.get(path) ?? { isWritable: false };
  };
  return {
    realPath: async (path) => (await see(path)).real,
    info: async (path) => (await see(path)).info,
    isWritable: async (path) => (await see(path)).isWritable,
  };
};
