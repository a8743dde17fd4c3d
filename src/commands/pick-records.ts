import { jsonRow } from '../core/json.ts';
import { bare } from '../core/field.ts';
import { keys } from '../config/keys.ts';
import type { Context } from '../api/context.ts';
import { tracker } from '../api-specs/tracker/index.ts';
import { kinds, type NamedRecord } from '../tracker/names/resolve.ts';
import type { Choice } from '../platform/host.ts';

/** A longer list is not usable as a menu, so the value is typed. */
const MOST = 500;

const namedOf = async (context: Context, kind: string): Promise<readonly NamedRecord[]> => {
  const found = kinds[kind];
  if (found === undefined) return [];
  const { list, query, read } = found;
  const input = query === undefined ? {} : { query };
  if (list.returns === undefined || bare(list.returns).type !== 'array')
    return read(await context.call(tracker, list, input));
  const all: NamedRecord[] = [];
  for await (const batch of await context.rows(tracker, list, input)) {
    all.push(...read(batch.map(jsonRow)));
    if (all.length > MOST) break;
  }
  return all;
};

/** A name that two records share is ambiguous, so the ID is used. */
const choiceOf =
  (all: readonly NamedRecord[]) =>
  ({ id, names }: NamedRecord): Choice => {
    const [name = '', ...others] = names;
    const isUnique = name !== '' && all.filter((one) => one.names[0] === name).length === 1;
    const value = isUnique && !/^\d+$/.test(name) ? name : String(id);
    const about = [value === String(id) ? name : String(id), ...others].filter((text) => text !== '');
    return { value, label: about.length === 0 ? value : `${value}  (${about.join(', ')})` };
  };

/** What there is to choose from for a word of the completion layer: records with their titles, profiles, settings. */
export const choicesOf = async (context: Context, kind: string): Promise<readonly Choice[]> => {
  if (kind === 'profile') return context.settings.profiles.map((value) => ({ value, label: value }));
  if (kind === 'setting') return keys.map(({ key }) => ({ value: key, label: key }));
  const all = await namedOf(context, kind);
  return all.length > MOST ? [] : all.map(choiceOf(all));
};
