import type { FieldDef, LabelDef, LiveLabel } from './definition.ts';
import { match } from './match.ts';

/** A field under the key that the same field has in the other definitions: the id that the service knows it by. */
type Keyed = { readonly key: string; readonly field: FieldDef };
/** One fact of a definition, for comparison; `what` is for people: `required of field Status`. */
type Facts = Map<string, { readonly what: string; readonly value: string }>;

const keyed = (label: LiveLabel): Keyed[] => label.fields.map((field) => ({ key: field.id, field }));
const keyedAs = (wanted: LabelDef, live: LiveLabel): Keyed[] =>
  match(wanted.fields, live.fields, 'fields').pairs.map(({ wanted: field, live: known }) => {
    const choices = match(field.choices, known?.choices ?? [], '').pairs.map((pair) => ({
      ...pair.wanted,
      id: pair.live?.id ?? pair.wanted.id,
    }));
    return { key: known?.id ?? `new ${field.name}`, field: { ...field, choices } };
  });

/** Copy mode and apps hold at once for every revision, so an older revision cannot say how they were: they are left out. */
const factsOf = ({ title, description }: LabelDef, fields: readonly Keyed[]): Facts => {
  const facts: Facts = new Map();
  const add = (key: string, what: string, part: Readonly<Record<string, unknown>>): void => {
    for (const [name, value] of Object.entries(part))
      facts.set(`${key}.${name}`, { what: `${name} of ${what}`, value: JSON.stringify(value ?? null) });
  };
  add('label', 'the label', { title, description });
  for (const { key, field } of fields) {
    const { name, required, maxEntries, dateFormat, disabled } = field;
    add(key, `field ${name}`, { name, required, maxEntries, dateFormat, disabled });
    for (const choice of field.choices) {
      const { id, name: called, description: about, badge, disabled: off } = choice;
      add(`${key}/${id ?? called}`, `choice ${called} of field ${name}`, {
        name: called,
        description: about,
        badge,
        disabled: off,
      });
    }
  }
  return facts;
};

const orderOf = (fields: readonly Keyed[], common: ReadonlySet<string>): string =>
  fields
    .map(({ key }) => key)
    .filter((key) => common.has(key))
    .join();

const isOrderUndone = (file: readonly Keyed[], base: readonly Keyed[], live: readonly Keyed[]): boolean => {
  const has = (fields: readonly Keyed[], key: string): boolean => fields.some((one) => one.key === key);
  const common = new Set(base.map(({ key }) => key).filter((key) => has(live, key) && has(file, key)));
  const now = orderOf(live, common);
  return now !== orderOf(base, common) && now !== orderOf(file, common);
};

/**
 * What a file would undo of what others changed since the revision that it was written from: every fact that differs
 * between `base` and `live` has to be in the file as it is live. Empty: nothing is lost. Pure.
 */
export const undoneBy = (wanted: LabelDef, base: LiveLabel, live: LiveLabel): string[] => {
  const file = keyedAs(wanted, live);
  const inFile = factsOf(wanted, file);
  const before = factsOf(base, keyed(base));
  const now = factsOf(live, keyed(live));
  const lost = [...new Set([...before.keys(), ...now.keys()])].flatMap((key) => {
    const [was, is, wants] = [before.get(key), now.get(key), inFile.get(key)];
    if (was?.value === is?.value || is?.value === wants?.value) return [];
    return [is?.what ?? `${was?.what} (gone)`];
  });
  return isOrderUndone(file, keyed(base), keyed(live)) ? [...lost, 'the order of the fields'] : lost;
};
