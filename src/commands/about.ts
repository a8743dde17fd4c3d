import { list, str } from '../core/field.ts';
import { type Service, operations } from '../core/operation.ts';
import { nearest } from '../core/nearest.ts';
import { AppError } from '../core/problem.ts';
import { recordResult, rowsResult } from '../core/result.ts';
import { defineCommand, type Command } from '../cli/command.ts';
import { kebab } from '../cli/derived/command.ts';
import { pathOf } from './labels/path.ts';

const services = async (): Promise<Service[]> => [
  (await import('../api-specs/tracker/index.ts')).tracker,
  (await import('../api-specs/labels/index.ts')).labelsService,
];

/** Word by word, so that one mistyped word is found wherever it stands. */
const nearestPath = (words: readonly string[], paths: readonly (readonly string[])[]): string | undefined => {
  const found: string[] = [];
  for (const [i, word] of words.entries()) {
    const below = paths.filter((path) => found.every((name, at) => path[at] === name));
    const close = nearest(word, new Set(below.flatMap((path) => path[i] ?? [])));
    if (close === undefined) return undefined;
    found.push(close);
  }
  return found.join(' ');
};

const reference = defineCommand({
  path: ['reference'],
  summary: 'Show the fields, limits and errors of an endpoint',
  args: [
    {
      name: 'words',
      effects: [],
      field: list(str()),
      summary: 'Service, resource and verb; fewer words list what is there',
      rest: true,
      optional: true,
    },
  ],
  examples: [{ line: 'opsctl reference tracker labels create', says: 'One endpoint' }],
  run: async (_context, { words = [] }) => {
    const { entryOf, entryText } = await import('../reference/entry.ts');
    const all = (await services()).flatMap((service) =>
      operations(service.table).map(({ resource, verb, operation }) => {
        const words = [service.name, ...kebab(resource).split(' '), operation.cli?.verb ?? kebab(verb)];
        return entryOf(service, service.name === 'labels' ? pathOf(words) : words, operation);
      }),
    );
    const wanted = ['opsctl', ...(words as string[])].join(' ');
    const exact = all.find((entry) => entry.command === wanted);
    if (exact) return recordResult(exact, { text: entryText(exact) });
    const some = all.filter((entry) => entry.command.startsWith(wanted));
    if (some.length > 0)
      return rowsResult(some, { columns: ['command', 'request', 'summary'], name: 'command' });
    const close = nearestPath(
      words as string[],
      all.map(({ command }) => command.split(' ').slice(1)),
    );
    const hint = close === undefined ? '' : `; did you mean ${close}?`;
    throw new AppError('usage', `no endpoint is called ${words.join(' ')}${hint}`, {
      code: 'UNKNOWN_ENDPOINT',
      tryThis: [close === undefined ? 'opsctl reference' : `opsctl reference ${close}`],
    });
  },
});

export const commands: readonly Command[] = [reference];
