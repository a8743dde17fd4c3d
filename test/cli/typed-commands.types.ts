// Checked by the compiler alone (`npm run check`): each `@ts-expect-error` is an error when the line below it compiles.
import { type Command, defineCommand } from '../../src/cli/command.ts';
import type { Flags } from '../../src/core/flag.ts';
import { bool, int, list, oneOf, req, str } from '../../src/core/field.ts';
import { nothing } from '../../src/core/result.ts';
import { planFlags, runFlags } from '../../src/commands/kv/flags.ts';
import { runUpgrade } from '../../src/commands/kv/run.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

export const own: Command = defineCommand({
  path: ['own'],
  summary: 'Every kind of flag and argument',
  args: [
    { name: 'file', field: req(str()), summary: 'required' },
    { name: 'kind', field: oneOf('a', 'b'), summary: 'optional', optional: true },
    { name: 'rest', field: list(str()), summary: 'the others', optional: true, rest: true },
  ],
  flags: {
    out: { field: req(str()), summary: 'required by its field' },
    name: { field: list(str()), summary: 'required by its flag', repeat: true, required: true },
    count: { field: int(), summary: 'a number' },
    mode: { field: oneOf('fast', 'slow'), summary: 'a word' },
    browser: { field: bool(), summary: 'negated', negated: true },
  },
  check: (values) => {
    same<typeof values.count, number | undefined>(true);
    // @ts-expect-error no such flag
    void values.cuont;
    return [];
  },
  run: async (_, values) => {
    same<typeof values.file, string>(true);
    same<typeof values.kind, 'a' | 'b' | undefined>(true);
    same<typeof values.rest, string[] | undefined>(true);
    same<typeof values.out, string>(true);
    same<typeof values.name, string[]>(true);
    same<typeof values.mode, 'fast' | 'slow' | undefined>(true);
    same<typeof values.browser, boolean | undefined>(true);
    // @ts-expect-error no such argument
    void values.flie;
    // @ts-expect-error a word that the field does not have
    void (values.mode === 'quick');
    // @ts-expect-error may be absent
    void values.count.toFixed();
    // @ts-expect-error values are read, not written
    values.out = '';
    return nothing();
  },
});

/** The flags of `kv upgrade`: spread groups compose, and a misspelled safety flag does not compile. */
export const upgrade: Command = defineCommand({
  path: ['kv', 'upgrade'],
  summary: 'Spread flag groups',
  flags: { ...planFlags, ...runFlags, plan: { field: str(), summary: 'a plan' } },
  run: async (context, values) => {
    same<(typeof values)['hold-last'], boolean | undefined>(true);
    same<(typeof values)['kill-after-grace'], boolean | undefined>(true);
    same<typeof values.accept, string[] | undefined>(true);
    // @ts-expect-error hold-last
    void values['hold-lst'];
    // @ts-expect-error kill-after-grace
    void values['kill-after-graze'];
    // @ts-expect-error what runs the upgrade wants its own flags, and not any object
    void runUpgrade(context, { 'kill-after-grace': 'yes' }, {} as never);
    return nothing();
  },
});

/** A group without literal names must not make every name valid. */
const nameless: Flags = { out: { field: str(), summary: 'a file' } };
export const loose: Command = defineCommand({
  path: ['loose'],
  summary: 'Flags without names',
  flags: nameless,
  // @ts-expect-error no name is known: write `as const satisfies Flags` instead of `: Flags`
  run: async (_, values) => nothing(values.out),
});
