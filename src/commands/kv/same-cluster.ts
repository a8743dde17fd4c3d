import { AppError, reworded } from '../../core/problem.ts';
import type { Result, View } from '../../core/result.ts';
import type { Command, Context } from '../../cli/command.ts';

const looking = [
  'status',
  'health',
  'version',
  'endpoint health',
  'endpoint status',
  'endpoint hashkv',
  'member list',
  'alarm list',
  'alarm disarm',
  'defrag',
  'recover-space',
  'watch',
  'lease list',
  'compact',
  'member promote',
  'member update',
  'member remove',
];
const upgrading = [
  'check',
  'plan',
  'upgrade',
  'downgrade',
  'restart',
  'resume',
  'rollback',
  'abort',
  'restore',
  'report',
  'rehearse',
  'replace-member',
];
const lineOf = (commands: readonly string[]): RegExp =>
  new RegExp(`\\bopsctl kv (?:${commands.join('|')})\\b(?! --cluster| --endpoints)`, 'g');
const everyLine = lineOf([...looking, ...upgrading]);
const lookingLine = lineOf(looking);

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** What is to be typed next can be copied as it stands: it names the cluster that this command was given. */
export const naming = ({
  cluster,
  endpoints,
}: {
  readonly cluster?: unknown;
  readonly endpoints?: unknown;
}): ((text: string) => string) => {
  if (typeof cluster === 'string')
    return (text) => text.replace(everyLine, (line) => `${line} --cluster ${quoted(cluster)}`);
  if (typeof endpoints === 'string')
    return (text) => text.replace(lookingLine, (line) => `${line} --endpoints ${quoted(endpoints)}`);
  return (text) => text;
};

type Named = (text: string) => string;
const namedError = (error: unknown, named: Named): unknown => {
  if (!(error instanceof AppError)) return error;
  const { tryThis, problems } = error.detail;
  const more = {
    ...(tryThis === undefined ? {} : { tryThis: tryThis.map(named) }),
    ...(problems === undefined
      ? {}
      : {
          problems: problems.map((one) => (one.hint === undefined ? one : { ...one, hint: named(one.hint) })),
        }),
  };
  const detail = { ...error.detail, ...more, cause: error.detail.cause ?? error };
  return reworded(error, detail, named(error.message));
};

async function* namedRows(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
  named: Named,
): AsyncGenerator<unknown> {
  try {
    yield* rows;
  } catch (error) {
    throw namedError(error, named);
  }
}

const namedView = (view: View, named: Named): View => ({
  ...view,
  ...(view.text === undefined ? {} : { text: named(view.text) }),
  ...(view.message === undefined ? {} : { message: named(view.message) }),
});
/** Data stays what it is: only what people read is completed. */
const namedResult = (result: Result, named: Named): Result => {
  if (result.kind === 'raw') return result;
  const view = result.view === undefined ? {} : { view: namedView(result.view, named) };
  return result.kind === 'rows'
    ? { ...result, ...view, rows: namedRows(result.rows, named) }
    : { ...result, ...view };
};

const speaking = (context: Context, named: Named): Context => ({
  ...context,
  log: {
    ...context.log,
    info: (text) => context.log.info(named(text)),
    warn: (text) => context.log.warn(named(text)),
  },
});

/** A kv command whose advice names the cluster it was given. */
export const namingItsCluster = (command: Command): Command => {
  const { run } = command;
  if (run === undefined || command.flags?.['cluster'] === undefined) return command;
  return {
    ...command,
    run: async (context, values) => {
      const named = naming(values);
      try {
        return namedResult(await run(speaking(context, named), values), named);
      } catch (error) {
        throw namedError(error, named);
      }
    },
  };
};
