import { whyUnwritable } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Observation, Outcome, Report, Sink, UpgradeEvent } from '../../engine/model.ts';
import type { RunNamed } from './notify.ts';

/** What a scraper sees of a run. */
export type Progress = {
  readonly named: RunNamed;
  readonly startedMs: number;
  readonly updatedMs: number;
  readonly stepsDone: number;
  readonly steps: number;
  /** Version by member. */
  readonly versions: Readonly<Record<string, string>>;
  readonly outcome?: Outcome;
};

const outcomes: readonly Outcome[] = [
  'done',
  'held',
  'stopped',
  'rolled-back',
  'failed',
  'aborted',
  'refused',
];
const label = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];
type Family = {
  readonly name: string;
  readonly unit?: string;
  readonly help: string;
  readonly samples: (progress: Progress) => readonly Sample[];
};

const count = (values: readonly string[]): readonly Sample[] =>
  [...new Set(values)].sort().map((version) => [{ version }, values.filter((one) => one === version).length]);
/** One row a metric; the text of the file derives from it. */
const families: readonly Family[] = [
  {
    name: 'steps',
    help: 'Steps of the plan.',
    samples: ({ steps }) => [[{}, steps]],
  },
  { name: 'steps_done', help: 'Steps that are done.', samples: ({ stepsDone }) => [[{}, stepsDone]] },
  {
    name: 'members',
    help: 'Members by the version they run.',
    samples: ({ versions }) => count(Object.values(versions)),
  },
  {
    name: 'running',
    help: 'Whether a run is in progress.',
    samples: ({ outcome }) => [[{}, outcome === undefined ? 1 : 0]],
  },
  {
    name: 'last_outcome',
    help: 'How the last run ended; 1 for its outcome.',
    samples: ({ outcome }) => outcomes.map((one) => [{ outcome: one }, one === outcome ? 1 : 0]),
  },
  {
    name: 'start_timestamp_seconds',
    unit: 'seconds',
    help: 'When the run began.',
    samples: ({ startedMs }) => [[{}, startedMs / 1000]],
  },
  {
    name: 'update_timestamp_seconds',
    unit: 'seconds',
    help: 'When this file was written.',
    samples: ({ updatedMs }) => [[{}, updatedMs / 1000]],
  },
  {
    name: 'end_timestamp_seconds',
    unit: 'seconds',
    help: 'When the run ended.',
    samples: ({ outcome, updatedMs }) => (outcome === undefined ? [] : [[{}, updatedMs / 1000]]),
  },
];

/** OpenMetrics 1.0 text, of gauges only: the textfile collector of the node exporter reads it as well. Pure. */
export const metricsText = (progress: Progress): string => {
  const { cluster, run, action, from, to } = progress.named;
  const common = { cluster };
  const line = (name: string, labels: Readonly<Record<string, string>>, value: number): string =>
    `${name}{${Object.entries(labels)
      .map(([key, text]) => `${key}=${label(text)}`)
      .join(',')}} ${value}`;
  const info = 'opsctl_kv_run_info';
  const parts = families.map(({ name, unit, help, samples }) => {
    const full = `opsctl_kv_run_${name}`;
    const lines = samples(progress).map(([labels, value]) => line(full, { ...common, ...labels }, value));
    return lines.length === 0
      ? []
      : [
          `# TYPE ${full} gauge`,
          ...(unit === undefined ? [] : [`# UNIT ${full} ${unit}`]),
          `# HELP ${full} ${help}`,
          ...lines,
        ];
  });
  return [
    `# TYPE ${info} gauge`,
    `# HELP ${info} Which run this is.`,
    line(info, { cluster, run, action, from, to }, 1),
    ...parts.flat(),
    '# EOF',
    '',
  ].join('\n');
};

const versionsOf = ({ members }: Pick<Observation, 'members'>): Record<string, string> =>
  Object.fromEntries(members.map(({ name, server_version }) => [name, minorOf(server_version) ?? 'unknown']));

/** As they were seen at the end; who did not answer then stays as it was last known. */
const versionsAfter = ({ members = [] }: Pick<Report, 'members'>): Record<string, string> =>
  Object.fromEntries(
    members.flatMap(({ name, version_after }) => {
      const version = minorOf(version_after);
      return version === undefined ? [] : [[name, version]];
    }),
  );

/** What an event changes of what a scraper sees. Pure. */
const progressAfter = (progress: Progress, event: UpgradeEvent): Progress => {
  const versions = (more: Readonly<Record<string, string>>): Progress => ({
    ...progress,
    versions: { ...progress.versions, ...more },
  });
  switch (event.event) {
    case 'run-started':
      return { ...versions(versionsOf(event.plan.observation)), steps: event.plan.steps.length };
    case 'observed':
      return versions(versionsOf(event.observation));
    case 'member-down':
      return versions({ [event.member]: 'none' });
    case 'step-finished': {
      const done = { ...progress, stepsDone: progress.stepsDone + 1 };
      const { kind, member } = event.step;
      return kind === 'gate'
        ? { ...done, versions: { ...done.versions, [member]: progress.named.to } }
        : done;
    }
    case 'reverted':
      return versions({ [event.member]: progress.named.from });
    case 'run-finished':
      return { ...versions(versionsAfter(event.report)), outcome: event.outcome };
    default:
      return progress;
  }
};

/** Writes the newest text, one after the other, each time whole, by rename. */
const newestOnly = (write: () => Promise<void>): { mark(): void; finish(): Promise<void> } => {
  let writing: Promise<void> | undefined;
  let isStale = false;
  const loop = async (): Promise<void> => {
    while (isStale) {
      isStale = false;
      await write();
    }
    writing = undefined;
  };
  return {
    mark: () => {
      isStale = true;
      writing ??= loop();
    },
    finish: async () => writing,
  };
};

/** Keeps a file up to date. One that cannot be written is a warning, once. */
export const metricsFile = (
  host: Host,
  path: string,
  named: RunNamed,
  warn: (text: string) => void,
): { readonly take: Sink; finish(): Promise<void> } => {
  const times = { startedMs: host.now(), updatedMs: host.now() };
  let progress: Progress = { named, ...times, stepsDone: 0, steps: 0, versions: {} };
  let hasWarned = false;
  const writer = newestOnly(async () => {
    progress = { ...progress, updatedMs: host.now() };
    // The collector runs as another user.
    await host.files.replace(path, metricsText(progress), 0o644).catch((error: Error) => {
      if (!hasWarned)
        warn(`--metrics-file: ${path} cannot be written: ${whyUnwritable(error)}; the run goes on`);
      hasWarned = true;
    });
  });
  return {
    take: (event) => {
      const next = progressAfter(progress, event);
      if (next === progress) return;
      progress = next;
      writer.mark();
    },
    finish: writer.finish,
  };
};
