import { compareVersions, type Minor } from '../../../api-specs/etcd/versions.ts';
import { type ConfigFinding, finding } from './finding.ts';

export const RETENTION = 'auto-compaction-retention';
export const MODE = 'auto-compaction-mode';

export const isDuration = (text: string): boolean =>
  /^\d+$/.test(text) || /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text);

type Settings = Readonly<Record<string, unknown>>;
const durations = 'write "24" (hours), "24h" or "90m"';

/** 0 too, which only says that nothing is compacted: 3.3 reads no number there. */
const numberFinding = (value: number): ConfigFinding =>
  finding(
    'fail',
    RETENTION,
    `is the number ${value}; from 3.3 on it must be a quoted string, the server would not start`,
    `${value === 0 ? '' : `${MODE}: periodic and `}${RETENTION}: "${value}"`,
    true,
  );

/** Until 3.5 a duration without a mode ends the server and a number compacts nothing; 3.6 takes a duration for periodic (seen on real servers). */
const withoutMode = (text: string, to: Minor): ConfigFinding =>
  compareVersions(to, '3.6') >= 0
    ? finding(
        'warn',
        RETENTION,
        `is "${text}" without ${MODE}: versions differ in what they make of it`,
        `add ${MODE}: periodic`,
        true,
      )
    : beforeDefaultMode(text);
const beforeDefaultMode = (text: string): ConfigFinding =>
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
      );

/** Whatever the mode, what is no number is read as a duration (seen on real servers). */
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

/** spec/store#items: the file's retention is a string in 3.3 (was numeric); with mode periodic it must be a duration. spec/store#measured-configuration for the rest. */
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
