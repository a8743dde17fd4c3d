import type { Context } from '../api/context.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { int, list, str } from '../core/field.ts';
import type { Flags, ValuesOf } from '../core/flag.ts';
import type { Result } from '../core/result.ts';
import { generalFindings, signInFindings } from '../support/doctor/general.ts';
import { serverFlags } from './authorization-server-flags.ts';

const flags = {
  bundle: {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary: 'Write one archive for a bug report (.tar.gz), without secrets',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
const saveBundle = async (context: Context, file: string): Promise<Result> => {
  const [{ writeBundle }, { signInFindings }] = await Promise.all([
    import('../support/doctor/bundle.ts'),
    import('../support/doctor/general.ts'),
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
    if (bundle !== undefined) return saveBundle(context, bundle);
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

const authFlags = {
  ...serverFlags,
  scope: {
    effects: [],
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'A scope that the client may ask for',
  },
  port: { field: int({ min: 1, max: 65535 }), value: 'port', summary: 'The port that login is to use' },
  'redirect-path': {
    effects: [],
    field: str(200),
    value: 'path',
    summary: 'Path of the registered redirect URI',
  },
} as const satisfies Flags;
type Given = ValuesOf<typeof authFlags>;
const run = async (context: Context, values: Given): Promise<Result> => {
  const rows = await signInFindings(context, values);
  const failed = rows.filter(({ state }) => state === 'fail').length;
  const message = failed === 0 ? 'signing in should work here' : `${failed} of ${rows.length} checks fail`;
  return {
    kind: 'rows',
    rows,
    view: { columns: ['check', 'state', 'found', 'remedy'], name: 'check', message },
    exit: () => (failed > 0 ? 'no' : 'done'),
  };
};
export const doctorAuth = defineCommand({
  path: ['doctor', 'auth'],
  summary: 'Find out why signing in does not work here',
  about:
    'Checks ports, browser, keychain, stored credentials, clock, proxy, certificates and whether the server accepts the redirect URI, each with a remedy. Nobody has to sign in. Ends with 20 when a check fails.',
  flags: authFlags,
  examples: [{ line: 'opsctl doctor auth', says: 'Every check with its remedy' }],
  run,
});

export const commands: readonly Command[] = [doctor, doctorAuth];
