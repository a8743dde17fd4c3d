import type { CheckFinding } from '../core/finding.ts';
import type { OutputFormat } from '../core/output-format.ts';
import type { ReportFormat } from '../core/report-format.ts';
import type { Category } from '../core/problem.ts';
import type { Result } from '../core/result.ts';
import type { Host } from '../platform/host.ts';
import type { JqRun } from '../platform/jq-run.ts';

/** What the flags and the environment decided, once for a run. */
export type OutputOptions = {
  /** Undefined: table on a terminal, json elsewhere. */
  readonly format?: OutputFormat;
  readonly columns?: readonly string[];
  /** The names in `columns` are those of the table of the service: one that no row has is only left out. */
  readonly areColumnsKnown?: boolean;
  /** A Mustache template for each row, or for the record. */
  readonly template?: string;
  /** Files of --report. */
  readonly reports?: readonly { readonly format: ReportFormat; readonly path: string }[];
  /** What a check found before it ended with an error, and whether its reports are written already. One object for a run. */
  readonly checked?: { findings: readonly CheckFinding[]; isReported: boolean };
  /** The command whose report it is, and the version that made it. */
  readonly title?: string;
  readonly version?: string;
  readonly jq?: string;
  /** False with --no-pager. */
  readonly pager?: boolean;
  /** --all-fields: a record in a table with every field it has. */
  readonly allFields?: boolean;
  readonly header: boolean;
  /** CSV: cells that a spreadsheet would take for a formula are made text. */
  readonly csvSafe?: boolean;
  readonly color?: 'auto' | 'always' | 'never';
  readonly quiet: boolean;
  readonly verbose: boolean;
  /**
   * Under -o json: messages of the first moment, kept back so that an error can be the only thing on stderr.
   * It then carries them; without an error they are written when the answer begins. One list for a run.
   */
  readonly notes?: string[];
  /** The jq of this run, once it was started with the program of --jq. */
  readonly filter?: { run?: JqRun };
};

/** Every secret of the run, replaced by `***` in whatever form it appears. */
export type Redactor = {
  hide(secret: string): void;
  clean(text: string): string;
  /** For text that comes in pieces: a secret that is cut in two is found too. */
  stream(): RedactStream;
};
/** `push` gives back what can be written; an end that may begin a secret is kept until more comes, or until `end`. */
export type RedactStream = { push(piece: string): string; end(): string };

/** render.ts `render`: writes a result to stdout (its message to stderr); resolves with the exit category. EPIPE is 'done'. */
export type Render = (
  result: Result,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
) => Promise<Category | 'done'>;
/** error.ts `renderError`: one error on stderr, as text or as one JSON object under -o json; resolves with its category ('unknown' for a bug). */
export type RenderError = (
  error: unknown,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
) => Promise<Category>;
// logger.ts `makeLogger(host, options, redactor): Say`; redact.ts `makeRedactor(): Redactor`; config/load.ts `loadSettings(host, flags): Settings`.
