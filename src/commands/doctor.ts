import type { Context } from '../api/context.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { int, list, str } from '../core/field.ts';
import type { Flags, ValuesOf } from '../core/flag.ts';
import { formatRow } from '../core/format.ts';
import { recordResult, type Result } from '../core/result.ts';
import { generalFindings, signInFindings } from '../support/doctor/general.ts';
import { serverFlags } from './auth/account.ts';

const flags = {
  bundle: {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary: 'Write a support archive (.tar.gz) without secrets',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
type Check = Awaited<ReturnType<typeof generalFindings>>[number];
/** The checks as `kv check` shows findings: the worst last, and each remedy on its own line. */
const checksResult = async (
  { host, isFormatGiven, format }: Context,
  rows: readonly Check[],
  message?: string,
): Promise<Result> => {
  const failed = rows.some(({ state }) => state === 'fail');
  const view = { columns: ['check', 'state', 'found', 'remedy'], name: 'check', message };
  const { findingsText } = await import('../kv/upgrade/present/text.ts');
  const findings = rows.map(({ check, state, found, remedy }) => ({
    guard: check,
    level: state,
    message: found,
    ...(remedy === undefined || remedy === '' ? {} : { hint: remedy }),
  }));
  const isText = !isFormatGiven || formatRow(format).isForPeople === true;
  const text = isText ? findingsText(findings, host.terminal.stdout.columns ?? 80) : undefined;
  return recordResult(rows, text === undefined ? view : { ...view, text }, failed ? 'no' : undefined);
};
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
  summary: 'Diagnose the configuration of this machine',
  about:
    'Checks directories, settings, proxies and whether each configured service responds. Exits with code 20 if a check fails. `opsctl doctor auth` checks sign-in. --bundle writes the results of both commands, the versions, the origin of each setting and the last crash report into one archive.',
  flags,
  examples: [
    { line: 'opsctl doctor', says: 'Run every check and print fixes' },
    { line: 'opsctl doctor --bundle report.tar.gz', says: 'Create one file for a bug report' },
  ],
  run: async (context, { bundle }) => {
    if (bundle !== undefined) return saveBundle(context, bundle);
    return checksResult(context, await generalFindings(context));
  },
});

const authFlags = {
  ...serverFlags,
  scope: {
    effects: [],
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'Scope that the client may request',
  },
  port: { field: int({ min: 1, max: 65535 }), value: 'port', summary: 'Port that login will use' },
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
  const message =
    failed === 0 ? 'sign-in should work on this machine' : `${failed} of ${rows.length} checks failed`;
  return checksResult(context, rows, message);
};
export const doctorAuth = defineCommand({
  path: ['doctor', 'auth'],
  summary: 'Diagnose sign-in problems',
  about:
    'Checks ports, browser, keychain, stored credentials, clock, proxy, certificates and whether the server accepts the redirect URI, and prints a fix for each failure. Requires no sign-in. Exits with code 20 if a check fails.',
  flags: authFlags,
  examples: [{ line: 'opsctl doctor auth', says: 'Run every sign-in check and print fixes' }],
  run,
});

export const commands: readonly Command[] = [doctor, doctorAuth];
