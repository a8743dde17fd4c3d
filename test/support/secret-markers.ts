/** Secrets as markers: texts that can be found in process lists, recordings and files, in each form in which a secret is transferred. */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Returns a text and the encodings in which a secret is transferred. */
const formsOf = (text: string): string[] => {
  const forms = [text, Buffer.from(text).toString('hex')];
  // The middle of a base64 text does not depend on its neighbors, except for their number.
  for (const before of ['', 'a', 'ab'])
    forms.push(
      Buffer.from(before + text)
        .toString('base64')
        .slice(before === '' ? 0 : 4, -4),
    );
  return forms;
};
export type Markers = {
  marker(name: string): string;
  /** Adds a secret that the test did not choose, such as a part of a key. */
  add(name: string, text: string): void;
  /** Returns the names of the secrets in a text. */
  leaksIn(text: string, allowed?: (name: string) => boolean): string[];
};
export const makeMarkers = (names: readonly string[]): Markers => {
  const texts = new Map(
    names.map((name, i) => [name, `mark${String(i).padStart(2, '0')}x${(i * 7919 + 104_729).toString(36)}q`]),
  );
  const forms = [...texts].flatMap(([name, text]) => formsOf(text).map((form) => ({ name, form })));
  return {
    marker: (name) => {
      const found = texts.get(name);
      if (found === undefined) throw new Error(`no marker of ${name}`);
      return found;
    },
    add: (name, text) => void forms.push(...formsOf(text).map((form) => ({ name, form }))),
    leaksIn: (text, allowed = () => false) => [
      ...new Set(forms.flatMap(({ name, form }) => (text.includes(form) && !allowed(name) ? [name] : []))),
    ],
  };
};

/** Reads a file as bytes; '' if it is gone or not readable. */
export const readAny = (path: string): string => {
  try {
    return readFileSync(path, 'latin1').replaceAll('\0', '\n');
  } catch {
    return '';
  }
};
/** Calls `seen` with the command line and the ID of every process except this one, until `stop`. */
export const watchProcesses = (seen: (words: string, pid: string) => void): { stop(): void } => {
  const timer = setInterval(() => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const words = readAny(`/proc/${pid}/cmdline`);
      if (words !== '' && Number(pid) !== process.pid) seen(words, pid);
    }
  }, 20);
  return { stop: () => clearInterval(timer) };
};
export const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => existsSync(path) && statSync(path).isFile());
