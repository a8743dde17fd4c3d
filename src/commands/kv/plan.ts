import { resolve } from 'node:path';
import { str } from '../../core/field.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { planFlags } from './plan-flags.ts';
import { prepare } from './prepare.ts';
import { arrived, noPlan } from './outcome.ts';
import { shownPlan } from './shown-plan.ts';

export const plan = defineCommand({
  path: ['kv', 'plan'],
  summary: 'Show step by step what an upgrade would do',
  about:
    'Read-only. The plan carries a digest; `kv upgrade --plan FILE` refuses when the cluster no longer matches it.',
  flags: {
    ...planFlags,
    out: {
      effects: ['writes'],
      field: str(undefined, { min: 1 }),
      summary: 'Write the plan to a file',
      value: 'file',
      complete: 'file',
    },
  },
  examples: [
    { line: 'opsctl kv plan --cluster cluster.yaml', says: 'the numbered plan' },
    {
      line: 'opsctl kv plan --cluster cluster.yaml --out plan.json',
      says: 'for review, then kv upgrade --plan plan.json',
    },
  ],
  run: async (context, values) => {
    const prepared = await prepare(context, values);
    const { isRefusal } = await import('../../kv/upgrade/plan.ts');
    const { made } = prepared;
    const done = await arrived(prepared);
    if (done !== undefined) return done;
    if (isRefusal(made)) throw noPlan(made);
    if (values.out !== undefined) {
      await context.host.files.replace(
        resolve(context.host.cwd, values.out),
        `${JSON.stringify(made, null, 2)}\n`,
        0o600,
      );
    }
    const text = await shownPlan(context, made, 'stdout');
    const next =
      values.out === undefined
        ? undefined
        : `plan written to ${values.out}; carry it out with opsctl kv upgrade --plan ${values.out}`;
    // The numbered plan is made to be read and mailed: it is the same in a pipe, unless data was asked for.
    const view = { text, name: 'digest', message: next, namesCommands: true } as const;
    if (context.isFormatGiven !== true && !context.host.terminal.stdout.isTty)
      return { ...rawResult(`${text}\n`), view };
    return recordResult(made, view);
  },
});
