import { AppError } from '../../core/problem.ts';
import { rowOf } from '../../api-specs/etcd/versions.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { ConfigFinding } from './finding.ts';
import { typeFindings } from './configuration-types.ts';

type Settings = Readonly<Record<string, unknown>>;

const isDuration = (text: string): boolean =>
  /^\d+$/.test(text) || /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text);
const finding = (
  level: ConfigFinding['level'],
  key: string,
  message: string,
  hint: string,
  isFixed?: true,
): ConfigFinding =>
  isFixed === undefined ? { level, key, message, hint } : { level, key, message, hint, isFixed };

const [RETENTION, MODE] = ['auto-compaction-retention', 'auto-compaction-mode'];

/** spec/store#items: the file's retention is a string in 3.3 (was numeric); with mode periodic it must be a duration. spec/store#measured-configuration for the rest. */
const retentionFindings = (file: Settings): ConfigFinding[] => {
  const [value, mode] = [file[RETENTION], file[MODE]];
  if (value === undefined || value === null || value === '0' || value === '') return [];
  if (typeof value === 'object')
    return [
      finding(
        'fail',
        RETENTION,
        'is a list or a mapping: the server would not start',
        'write "24" (hours), "24h" or "90m"',
      ),
    ];
  if (typeof value === 'number') {
    const quoted = `${RETENTION}: "${value}"`;
    return [
      finding(
        'fail',
        RETENTION,
        // 0 too, which only says that nothing is compacted: 3.3 reads no number there.
        `is the number ${value}; from 3.3 on it must be a quoted string, the server would not start`,
        value === 0 ? quoted : `${MODE}: periodic and ${quoted}`,
        true,
      ),
    ];
  }
  const text = String(value);
  if (mode === undefined || mode === '') {
    return [
      /^\d+$/.test(text)
        ? finding(
            'warn',
            RETENTION,
            `is "${text}" without ${MODE}: the server starts, but compacts nothing`,
            `add ${MODE}: periodic`,
            true,
          )
        : finding(
            'fail',
            RETENTION,
            `is "${text}" without ${MODE}: the server would not start (unsupported compaction mode)`,
            `add ${MODE}: periodic`,
            true,
          ),
    ];
  }
  // Whatever the mode, what is no number is read as a duration (seen on real servers).
  if ((mode === 'periodic' || mode === 'revision') && !isDuration(text))
    return [
      finding(
        'fail',
        RETENTION,
        `is "${text}", which is not a duration: the server would not start`,
        'write "24" (hours), "24h" or "90m"',
      ),
    ];
  if (mode === 'revision' && !/^\d+$/.test(text))
    return [
      finding(
        'warn',
        RETENTION,
        `is "${text}", which is not a number of revisions`,
        `write a number, or ${MODE}: periodic`,
      ),
    ];
  return [];
};
const modeFindings = ({ [MODE]: mode }: Settings): ConfigFinding[] =>
  mode === undefined ||
  mode === null ||
  mode === '' ||
  mode === 'periodic' ||
  mode === 'revision' ||
  typeof mode !== 'string'
    ? []
    : [finding('fail', MODE, `is "${mode}": the server would not start`, 'write periodic or revision')];

/** spec/store#items-5: the log output setting is a string in 3.3 and a list from 3.4 on; 3.2 has no such setting in its file. */
const logFindings = (file: Settings, to: Minor): ConfigFinding[] => {
  const [old, list] = [file['log-output'], file['log-outputs']];
  const isListTime = to !== '3.2' && to !== '3.3';
  const asList =
    isListTime && typeof list === 'string'
      ? [
          finding(
            'fail',
            'log-outputs',
            'is a single text and must be a list: the server would not start',
            `log-outputs: [${list}]`,
          ),
        ]
      : [];
  if (old === undefined || old === null) return asList;
  if (to === '3.3' && typeof old !== 'string')
    return [
      finding(
        'fail',
        'log-output',
        'is no text; in 3.3 it is one text: the server would not start',
        'log-output: stderr',
      ),
    ];
  if (!isListTime) return asList;
  const isStop = to === '3.4' && typeof old === 'string';
  const message = `is ${to === '3.4' ? 'a list from 3.4 on: the server would not start with a single text' : 'ignored from 3.5 on'}`;
  return [...asList, finding(isStop ? 'fail' : 'warn', 'log-output', message, 'log-outputs: [...]', true)];
};

const GATEWAY = 'enable-grpc-gateway';
/** spec/store#interfaces: clients put through the gateway; without this line they would get 404 from every member that is upgraded. */
const gatewayFindings = (file: Settings, to: Minor): ConfigFinding[] =>
  rowOf(`${to}.0`)?.wantsGatewayInFile === true && file[GATEWAY] === undefined
    ? [
        finding(
          'warn',
          GATEWAY,
          `is not set: ${to} switches the JSON gateway (/v3beta/…) off when it reads a configuration file`,
          `${GATEWAY}: true`,
          true,
        ),
      ]
    : [];

/** What the version `to` would make of a configuration file. Pure. */
export const lintFile = (file: Settings, to: Minor): ConfigFinding[] => {
  const row = rowOf(`${to}.0`);
  const removed = (row?.removed ?? [])
    .filter(({ key }) => file[key] !== undefined)
    .map(({ key, instead }) => finding('warn', key, `is ignored from ${to} on`, instead));
  const isRead = ({ key }: ConfigFinding): boolean => !removed.some((one) => one.key === key);
  const compaction = row?.retention === 'string' ? [...retentionFindings(file), ...modeFindings(file)] : [];
  return [
    ...compaction,
    ...logFindings(file, to),
    ...gatewayFindings(file, to),
    ...typeFindings(file).filter(isRead),
    ...removed,
  ];
};

/** Flags of a command line by name, without the dashes. */
export const flagsOf = (words: readonly string[]): Map<string, string> => {
  const flags = new Map<string, string>();
  words.forEach((word, i) => {
    const found = /^--?([a-z][a-z0-9-]*)(?:=([\s\S]*))?$/.exec(word);
    if (found === null) return;
    const next = words[i + 1];
    flags.set(found[1] as string, found[2] ?? (next !== undefined && !next.startsWith('-') ? next : 'true'));
  });
  return flags;
};

/** What the version `to` would make of a command line (spec/store#measured-configuration). Pure. */
export const lintFlags = (words: readonly string[], to: Minor): ConfigFinding[] => {
  const row = rowOf(`${to}.0`);
  const flags = flagsOf(words);
  const found = (row?.removed ?? [])
    .filter(({ key }) => flags.has(key))
    .map(({ flag, instead }) =>
      finding('fail', flag, `is not known from ${to} on: the server would not start`, instead),
    );
  if (to === '3.5' && flags.has('log-output'))
    found.push(
      finding(
        'fail',
        '--log-output',
        'is not known from 3.5 on: the server would not start',
        '--log-outputs',
      ),
    );
  const [retention, mode] = [flags.get(RETENTION), flags.get(MODE) ?? 'periodic'];
  if (
    row?.retention === 'string' &&
    retention !== undefined &&
    mode === 'periodic' &&
    !isDuration(retention)
  ) {
    found.push(
      finding(
        'fail',
        `--${RETENTION}`,
        `is ${retention}, which is not a duration: the server would not start`,
        'write 24 (hours), 24h or 90m',
      ),
    );
  }
  const limit = flags.get('max-request-bytes');
  if (limit !== undefined && !/^\d+$/.test(limit))
    found.push(
      finding(
        'fail',
        '--max-request-bytes',
        `is ${limit}, which is not a whole number: the server would not start`,
        'write bytes: 1572864',
      ),
    );
  if (row?.retention === 'number' && flags.has(MODE))
    found.push(finding('fail', `--${MODE}`, 'is not known before 3.3', 'leave it out'));
  return found;
};

type Content = { readonly items?: readonly { key: unknown; value: unknown }[] };
/** In place, so that the comments around the line stay where they are. */
const renameToList = (
  content: unknown,
  key: string,
  values: readonly unknown[],
  document: { createNode(value: unknown, options?: { flow: boolean }): unknown },
): void => {
  const pair = (content as Content).items?.find(
    (item) => String((item.key as { value?: unknown }).value) === key,
  );
  if (pair === undefined) return;
  const old = pair.value as { comment?: string | null };
  (pair.key as { value: unknown }).value = 'log-outputs';
  pair.value = Object.assign(document.createNode(values, { flow: true }) as object, { comment: old.comment });
};

export type Migrated = { readonly text: string; readonly changes: readonly string[] };
/** The same file for the version `to`: comments, order and everything else are kept. An unchanged text when nothing has to change. */
export const migrateConfig = async (text: string, to: Minor): Promise<Migrated> => {
  const { parseDocument, isScalar } = await import('../cluster/yaml.ts');
  const parsed = await parseConfig(text);
  if ('broken' in parsed)
    throw new AppError('config', `it is no configuration file: ${parsed.broken}`, { code: 'CONFIG_BROKEN' });
  const document = parseDocument(text);
  const { file } = parsed;
  const fixed = lintFile(file, to).filter(({ isFixed }) => isFixed);
  const changes: string[] = [];
  for (const { key } of fixed) {
    const node = document.get(key, true) as unknown;
    if (key === RETENTION) {
      if (isScalar(node) && typeof node.value === 'number') {
        node.value = String(node.value);
        node.type = 'QUOTE_DOUBLE';
        changes.push(`${RETENTION}: ${String(file[key])} → "${String(file[key])}"`);
      }
      if (file[RETENTION] !== 0 && (file[MODE] === undefined || file[MODE] === '')) {
        document.set(MODE, 'periodic');
        changes.push(`${MODE}: periodic added`);
      }
    } else if (key === GATEWAY) {
      document.set(GATEWAY, true);
      changes.push(`${GATEWAY}: true added`);
    } else {
      renameToList(document.contents, key, [file[key]].flat(), document);
      changes.push(`${key} → log-outputs`);
    }
  }
  return { text: changes.length === 0 ? text : document.toString({ lineWidth: 0 }), changes };
};

/** The content of a configuration file, or why it cannot be read. */
export const parseConfig = async (
  text: string,
): Promise<{ readonly file: Settings } | { readonly broken: string }> => {
  const { parseDocument } = await import('../cluster/yaml.ts');
  const document = parseDocument(text);
  const error = document.errors[0];
  if (error !== undefined) return { broken: error.message.trimEnd() };
  const file: unknown = document.toJS() ?? {};
  return typeof file === 'object' && !Array.isArray(file)
    ? { file: file as Settings }
    : { broken: 'it is not a mapping of settings' };
};
