import { str } from '../core/field.ts';
import type { Result } from '../core/result.ts';
import { defineCommand, type Context, type Flags } from '../cli/command.ts';
import { generalFindings } from '../support/doctor/general.ts';

const flags = {
  bundle: {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary: 'Write one archive for a bug report (.tar.gz), without secrets',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

const bundled = async (context: Context, file: string): Promise<Result> => {
  const [{ writeBundle }, { signInFindings }] = await Promise.all([
    import('../support/doctor/bundle.ts'),
    import('../support/doctor/sign-in.ts'),
  ]);
  return writeBundle(context, file, {
    doctor: () => generalFindings(context),
    'doctor-auth': () => signInFindings(context, {}),
  });
};

export const doctor = defineCommand({
  path: ['doctor'],
  summary: "Find out what is wrong with this machine's set-up",
  about:
    'Looks at directories, settings, proxies and whether each configured service answers. Ends with 20 when a check fails. `opsctl doctor auth` looks at signing in. --bundle writes what both of them found, the versions, the origin of each setting and the last crash report into one archive.',
  flags,
  examples: [
    { line: 'opsctl doctor', says: 'Every check with its remedy' },
    { line: 'opsctl doctor --bundle report.tar.gz', says: 'One file for a bug report' },
  ],
  run: async (context, { bundle }) => {
    if (bundle !== undefined) return bundled(context, bundle);
    const rows = await generalFindings(context);
    const failed = rows.some(({ state }) => state === 'fail');
    return {
      kind: 'rows',
      rows,
      view: { columns: ['check', 'state', 'found', 'remedy'], name: 'check' },
      exit: () => (failed ? 'no' : 'done'),
    };
  },
});
