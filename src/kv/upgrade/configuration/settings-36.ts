import {
  findSetting,
  gatedIn36,
  gatesIn36,
  newIn36,
  refusedValues,
  renamedIn36,
} from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, compareVersions } from '../../../api-specs/etcd/versions.ts';
import { type ConfigFinding, finding, later } from './access.ts';

export const RETENTION = 'auto-compaction-retention';
export const MODE = 'auto-compaction-mode';

export const isDuration = (text: string): boolean =>
  /^\d+$/.test(text) || /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h)){1,100}$/.test(text);

const durations = 'write "24" (hours), "24h" or "90m"';

/** This includes 0, which turns compaction off: 3.3 does not accept a number here. */
const numberFinding = (value: number): ConfigFinding =>
  finding(
    'fail',
    RETENTION,
    `is the number ${value}; from 3.3 on it must be a quoted string, the server would not start`,
    `${value === 0 ? '' : `${MODE}: periodic and `}${RETENTION}: "${value}"`,
    true,
  );

/**
 * Up to 3.5 a server exits if a duration has no mode, and ignores a number. 3.6 treats a duration as periodic
 * (seen on real servers).
 */
const withoutMode = (text: string, to: Minor): ConfigFinding =>
  compareVersions(to, '3.6') >= 0
    ? finding(
        'warn',
        RETENTION,
        `is "${text}" without ${MODE}: versions interpret it differently`,
        `add ${MODE}: periodic`,
        true,
      )
    : beforeDefaultMode(text);
const beforeDefaultMode = (text: string): ConfigFinding =>
  /^\d+$/.test(text)
    ? finding(
        'warn',
        RETENTION,
        `is "${text}" without ${MODE}: the server starts, but does not compact`,
        `add ${MODE}: periodic`,
        true,
      )
    : finding(
        'fail',
        RETENTION,
        `is "${text}" without ${MODE}: the server would not start (unsupported compaction mode)`,
        `add ${MODE}: periodic`,
        true,
      );

/** In every mode, a value that is not a number is read as a duration (seen on real servers). */
const withMode = (text: string, mode: unknown): ConfigFinding[] => {
  if ((mode === 'periodic' || mode === 'revision') && !isDuration(text))
    return [
      finding(
        'fail',
        RETENTION,
        `is "${text}", which is not a duration: the server would not start`,
        durations,
      ),
    ];
  return mode === 'revision' && !/^\d+$/.test(text)
    ? [
        finding(
          'warn',
          RETENTION,
          `is "${text}", which is not a number of revisions`,
          `write a number, or ${MODE}: periodic`,
        ),
      ]
    : [];
};

/**
 * spec/store#items: the retention in the file is a number before 3.3 and a string from 3.3 on; with mode
 * periodic it must be a duration. For the other rules see spec/store#measured-configuration.
 */
export const retentionFindings = (file: Settings, to: Minor): ConfigFinding[] => {
  const [value, mode] = [file[RETENTION], file[MODE]];
  if (value === undefined || value === null || value === '0' || value === '') return [];
  if (typeof value === 'object')
    return [finding('fail', RETENTION, 'is a list or a mapping: the server would not start', durations)];
  if (typeof value === 'number') return [numberFinding(value)];
  const text = String(value);
  return mode === undefined || mode === '' ? [withoutMode(text, to)] : withMode(text, mode);
};

export const modeFindings = ({ [MODE]: mode }: Settings): ConfigFinding[] =>
  mode === undefined ||
  mode === null ||
  mode === '' ||
  mode === 'periodic' ||
  mode === 'revision' ||
  typeof mode !== 'string'
    ? []
    : [finding('fail', MODE, `is "${mode}": the server would not start`, 'write periodic or revision')];

export const GATES = 'feature-gates';
const isSince36 = (to: Minor): boolean => compareVersions(to, '3.6') >= 0;
const isThere = (value: unknown): boolean => value !== undefined && value !== null;

/** Returns the feature gates that a text `A=true,B=false` sets. */
const gatesIn = (text: string): string[] =>
  text
    .split(',')
    .map((one) => (one.split('=')[0] ?? '').trim())
    .filter((one) => one !== '');

type Names = { readonly has: (key: string) => boolean; readonly display: (key: string) => string };

/** A setting with its old and new name, or a switch and its gate: the server exits. */
const findDoubled = ({ has, display }: Names, gates: readonly string[]): ConfigFinding[] => [
  ...renamedIn36
    .filter(({ old, now }) => has(old) && has(now))
    .map(({ old, now }) =>
      finding(
        'fail',
        display(old),
        `and ${display(now)} are the same setting: 3.6 would not start with both`,
        `keep ${display(old)} until every member runs 3.6`,
      ),
    ),
  ...gatedIn36
    .filter(({ old, gate }) => has(old) && gates.includes(gate))
    .map(({ old, gate }) =>
      finding(
        'fail',
        display(old),
        `and the gate ${gate} are the same setting: 3.6 would not start with both`,
        `keep ${display(old)} until every member runs 3.6`,
      ),
    ),
];

/** 3.5 and 3.6 accept the old names, so a member that is reverted starts with them. */
const findRenamed = ({ has, display }: Names, gates: readonly string[]): ConfigFinding[] => [
  ...renamedIn36
    .filter(({ old, now }) => has(old) && !has(now))
    .map(({ old, now }) =>
      later(display(old), `is called ${now} from 3.6 on, and 3.7 does not know the old name`, display(now)),
    ),
  ...gatedIn36
    .filter(({ old, gate }) => has(old) && !gates.includes(gate))
    .map(({ old, gate }) =>
      later(
        display(old),
        `is the gate ${gate} from 3.6 on, and 3.7 does not know the old name`,
        `${display(GATES)} ${gate}=…`,
      ),
    ),
];

const unknownGates = ({ display }: Names, gates: readonly string[]): ConfigFinding[] =>
  gates
    .filter((gate) => !gatesIn36.includes(gate))
    .map((gate) =>
      finding(
        'fail',
        display(GATES),
        `contains ${gate}, which is not a gate of 3.6: the server would not start`,
        `one of ${gatesIn36.join(', ')}`,
      ),
    );

const names36 = (names: Names, gates: readonly string[]): ConfigFinding[] => [
  ...findDoubled(names, gates),
  ...findRenamed(names, gates),
  ...unknownGates(names, gates),
];

type Settings = Readonly<Record<string, unknown>>;
const mappedGates = (value: object): string =>
  Object.entries(value)
    .map(([gate, on]) => `${gate}=${String(on)}`)
    .join(',');

const gateShape = (file: Settings): ConfigFinding[] => {
  const value = file[GATES];
  if (!isThere(value) || typeof value === 'string') return [];
  const isMap = typeof value === 'object' && !Array.isArray(value);
  return [
    finding(
      'fail',
      GATES,
      'is not a string: 3.6 would not start',
      `${GATES}: "${isMap ? mappedGates(value as object) : 'Gate=true'}"`,
      isMap ? true : undefined,
    ),
  ];
};

const fileValues = (file: Settings, to: Minor): ConfigFinding[] =>
  refusedValues
    .filter(({ minor, key, value }) => compareVersions(to, minor) >= 0 && file[key] === value)
    .map(({ key, value, instead }) =>
      finding('warn', key, `${value} is ignored in the file from 3.6 on`, instead),
    );

/** Keys that 3.5 ignores: a setting for 3.6 is lost after a downgrade. */
const unknownTo35 = (file: Settings): ConfigFinding[] =>
  newIn36
    .filter((key) => isThere(file[key]))
    .map((key) => finding('warn', key, 'is ignored before 3.6', oldNameOf(key)));
const oldNameOf = (key: string): string => {
  const old = renamedIn36.find(
    (row) => row.now === key && findSetting(row.old, '3.5', 'file') !== undefined,
  )?.old;
  return old ?? (key === GATES ? 'the experimental- keys of its gates' : 'leave it out');
};

/** Returns findings for settings of a file whose meaning changes between 3.5 and 3.6. Pure. */
export const fileFindings36 = (file: Settings, to: Minor): ConfigFinding[] => {
  if (to === '3.5') return unknownTo35(file);
  if (!isSince36(to)) return [];
  const text = typeof file[GATES] === 'string' ? (file[GATES] as string) : '';
  const names = { has: (key: string) => isThere(file[key]), display: (key: string) => key };
  return [...gateShape(file), ...names36(names, gatesIn(text)), ...fileValues(file, to)];
};

/** Plausible new names that do not exist as flags. */
const findGuessed = (flags: ReadonlyMap<string, string>): ConfigFinding[] =>
  gatedIn36
    .map(({ old, gate }) => ({ name: old.replace('experimental-', ''), gate }))
    .filter(({ name }) => flags.has(name))
    .map(({ name, gate }) =>
      finding(
        'fail',
        `--${name}`,
        'is not defined: the server would not start',
        `--${GATES}=${gate}=${flags.get(name)}`,
      ),
    );

/** Returns findings for flags whose meaning changes between 3.5 and 3.6. Pure. */
export const flagFindings36 = (flags: ReadonlyMap<string, string>, to: Minor): ConfigFinding[] => {
  if (to === '3.5')
    return newIn36
      .filter((key) => flags.has(key))
      .map((key) =>
        finding(
          'fail',
          `--${key}`,
          'is not known before 3.6: the server would not start',
          oldNameOf(key).replace(/^experimental-/, '--experimental-'),
        ),
      );
  if (!isSince36(to)) return [];
  const names = { has: (key: string) => flags.has(key), display: (key: string) => `--${key}` };
  const values = refusedValues
    .filter(({ key, value }) => flags.get(key) === value)
    .map(({ key, value, instead }) =>
      finding('fail', `--${key}`, `is ${value}: the server would not start`, instead),
    );
  return [...names36(names, gatesIn(flags.get(GATES) ?? '')), ...findGuessed(flags), ...values];
};
