import { invalidArguments, problem } from '../core/problem.ts';
import { isRecord } from '../core/shape.ts';

type Json = Record<string, unknown>;
type Pair = [name: string, value: string];

/** Splits `name=value` texts of one flag. */
export const pairsOf = (texts: readonly string[], flag: string, mark = /=/): Pair[] =>
  texts.map((text) => {
    const at = text.search(mark);
    if (at < 1)
      throw invalidArguments([
        problem(`--${flag}`, 'format', `must be name=value; got ${JSON.stringify(text)}`),
      ]);
    return [text.slice(0, at), text.slice(at + 1)];
  });

/** As `gh api -F`: true, false, null and numbers are what they look like; everything else is text. */
export const typedValue = (text: string): unknown =>
  /^(true|false|null|-?(0|[1-9]\d{0,14})(\.\d{1,15})?)$/.test(text) ? JSON.parse(text) : text;

/** `stats[owner]` is the key owner in stats, `labels[]` one more entry of labels, `labels[][name]` a record in it. */
const stepsOf = (name: string): string[] => {
  const steps = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name);
  if (steps === null || /__proto__/.test(name))
    throw invalidArguments([
      problem('--field', 'format', `must be name, name[key] or name[]; got ${JSON.stringify(name)}`),
    ]);
  return [steps[1] ?? '', ...[...(steps[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map(([, key = '']) => key)];
};

const clash = (name: string): Error =>
  invalidArguments([problem('--field', 'rule', `${name} is given as two kinds of value`)]);

/** The record in a list that takes the next key: the last one, unless it has that key already. */
const recordIn = (entries: unknown[], key: string): unknown => {
  const last = entries.at(-1);
  if (typeof last === 'object' && last !== null && !Object.hasOwn(last, key)) return last;
  const made = key === '' ? [] : {};
  entries.push(made);
  return made;
};

/** What is under a step, made where it is missing; undefined when the step does not fit what is there. */
const below = (at: unknown, step: string, next: string): unknown => {
  if (step === '') return Array.isArray(at) ? recordIn(at, next) : undefined;
  if (!isRecord(at)) return undefined;
  at[step] ??= next === '' ? [] : {};
  return at[step];
};

const put = (body: Json, name: string, value: unknown): void => {
  const steps = stepsOf(name);
  const last = steps.at(-1) as string;
  let at: unknown = body;
  for (const [i, step] of steps.slice(0, -1).entries()) at = below(at, step, steps[i + 1] as string);
  if (last === '' && Array.isArray(at)) at.push(value);
  else if (last !== '' && isRecord(at)) at[last] = value;
  else throw clash(name);
};

/** The body that `name=value` pairs say; pairs are [name, value] with the value as it is sent. */
export const bodyOf = (pairs: readonly (readonly [string, unknown])[]): Json => {
  const body: Json = {};
  for (const [name, value] of pairs) put(body, name, value);
  return body;
};
