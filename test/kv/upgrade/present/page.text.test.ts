import { describe, expect, it } from 'vitest';
import { markdownFrom, markdownTable, pageFrom } from '../../../../src/kv/upgrade/present/page.ts';
import { wholeRun } from '../../../../src/kv/upgrade/present/run-model.ts';
import type {
  GateCheck,
  MemberReport,
  Outcome,
  Report,
  UpgradeEvent,
} from '../../../../src/kv/engine/model.ts';
import { goodRun, report } from '../events.ts';

/** Report of a run with little known data. */
const bare: Report = {
  ...report,
  owner: { host: 'ops1', pid: 42 },
  cluster_version_before: undefined,
  cluster_version_after: undefined,
  members: [{ name: 'n1', client_url: 'http://n1:2379', was_leader: false, gate: [] }],
  steps: [],
  snapshots: [],
  canary: undefined,
  unexpected_log_lines: [],
  findings: [],
};
const [n1] = report.members as [MemberReport];
const skipped = { check: 'read' as GateCheck, ok: null, detail: 'no user' };
const member: MemberReport = { ...n1, data_copy: '/copy/n1', gate: [...n1.gate, skipped] };
const steps: Report['steps'] = (['done', 'failed', 'skipped'] as const).map((outcome, i) => ({
  ...{ id: `s${i}`, title: `step ${i}`, started_at: '', duration_ms: 40, outcome },
}));
const findings: Report['findings'] = [
  { guard: 'quota', level: 'pass', message: 'small' },
  { guard: 'clocks-agree', level: 'warn', member: 'n2', message: 'differ', hint: 'set them' },
  { guard: 'no-alarms', level: 'fail', message: 'raised' },
];

const page = (patch: Partial<Report>, events: readonly UpgradeEvent[] = []): string =>
  pageFrom({ ...bare, ...patch }, wholeRun(events));
/** Returns the part below a heading or a fold. */
const part = (html: string, title: string): string =>
  html.split(/<section>|<details>|<footer>/).find((one) => one.includes(`>${title}`)) ?? '';
/** Returns the cells of each table row. */
const rows = (html: string): string[][] =>
  [...html.matchAll(/<tr>(<td>.*?)<\/tr>/g)].map(([, row = '']) => row.slice(4, -5).split('</td><td>'));
const cards = (html: string): string[] =>
  [...html.matchAll(/<div class="card"><b>([^<]*)<\/b><span>([^<]*)</g)].map((one) =>
    one.slice(1).join(', '),
  );
const dash = '<span class="what">–</span>';

describe('the page of a run', () => {
  it('the page starts with the outcome, and omits unknown data', () =>
    expect(cards(page({}))).toEqual([
      '3.2 → 3.3, cluster version now unknown',
      '6.0 s, whole run',
      '0, verified snapshots',
    ]));
  it('the page shows the observations of clients and members', () => {
    const canary = { writes: 6, failed: 0, longest_gap_ms: 400 };
    const members = [{ ...n1, down_ms: 200 }, n1, { ...n1, down_ms: undefined }] as MemberReport[];
    expect(cards(page({ canary, members, cluster_version_after: '3.3.0' }))).toEqual([
      '3.2 → 3.3, cluster version now 3.3.0',
      '6.0 s, whole run',
      '0, verified snapshots',
      '310 ms, longest unavailability of a member',
      '0, failed of 6 canary writes',
      '400 ms, longest gap between writes',
    ]);
  });
  it('the page shows the breaks of the run', () => {
    const [first] = goodRun as [UpgradeEvent];
    const resumed = { ...first, elapsed_ms: 1000 };
    const whole = page({}, goodRun);
    expect([whole.includes('whole run'), whole.includes('the run rested')]).toEqual([true, false]);
    const parts = page({}, [first, resumed]);
    expect(cards(parts)[1]).toBe('6.0 s, active time without pauses');
    expect(parts).toContain('<span>┆ the run was paused</span>');
  });
  it.each<[Outcome, string, string]>([
    ['done', 'good', 'done'],
    ['held', 'warn', 'held'],
    ['stopped', 'warn', 'stopped part-way'],
    ['rolled-back', 'warn', 'rolled back'],
    ['aborted', 'warn', 'aborted'],
    ['failed', 'bad', 'failed'],
    ['refused', 'bad', 'refused'],
  ])('a run that ended as %s has a matching badge', (outcome, mood, text) =>
    expect(page({ outcome })).toContain(
      `<h1>Upgrade of shop</h1><span class="badge ${mood}">${text}</span></header>`,
    ),
  );
  it('the page has a row for each member', () =>
    expect(rows(part(page({ members: [member, ...bare.members] }), 'Members'))).toEqual([
      [
        '<b>n1</b> <span class="badge good">was leader</span><br><code>http://n1:2379</code>',
        ...['3.2.32', '3.3.27', '310 ms'],
        '<span class="badge good">1 check passed, 1 skipped</span>',
        'revision 9, 56 KiB',
        '<code>/copy/n1</code>',
      ],
      ['<b>n1</b><br><code>http://n1:2379</code>', dash, dash, dash, dash, dash, dash],
    ]));
  it('the page has a row for each snapshot, or reports that there are none', () => {
    expect(part(page({}), 'Snapshots')).toContain('<p>none</p>');
    const hash = 'f'.repeat(64);
    expect(rows(part(page({ snapshots: report.snapshots }), 'Snapshots'))).toEqual([
      ['n2', '3', '56 KiB', `<code>/backup/n2.db</code><br><code>${hash}</code>`],
      ['n1', '9', '56 KiB', `<code>/backup/n1.db</code><br><code>${hash}</code>`],
    ]);
  });
  it('the page has a row for each step: only the name of a skipped one', () => {
    const html = part(page({ steps }), 'Steps (3)');
    expect(rows(html)).toEqual([
      ['step 0<br><code>s0</code>', '40 ms', '<span class="badge good">done</span>'],
      ['step 1<br><code>s1</code>', '40 ms', '<span class="badge bad">failed</span>'],
      ['step 2<br><code>s2</code>', dash, dash],
    ]);
  });
  it('the page has a row for each check of a member', () => {
    const gate = [{ check: 'lag' as const, ok: false, detail: '7 behind' }, ...member.gate];
    expect(rows(part(page({ members: [{ ...member, gate }] }), 'Health checks of each member'))).toEqual([
      ['n1', 'lag', '<span class="badge warn">not yet</span>', '7 behind'],
      ['n1', 'version', '<span class="badge good">passed</span>', 'runs 3.3.27'],
      ['n1', 'read', '<span class="badge warn">skipped</span>', 'no user'],
    ]);
  });
  it('the page has a row for each finding', () =>
    expect(rows(part(page({ findings }), 'Findings before the start (3)'))).toEqual([
      ['<span class="badge good">pass</span>', 'quota', dash, 'small'],
      ['<span class="badge warn">warn</span>', 'clocks-agree', 'n2', 'differ (set them)'],
      ['<span class="badge bad">fail</span>', 'no-alarms', dash, 'raised'],
    ]));
  it('the page has unexpected log lines, if there are any', () => {
    expect(page({})).not.toContain('Unexpected log lines');
    const unexpected_log_lines = [{ member: 'n1', line: 'panic: a < b' }];
    expect(rows(part(page({ unexpected_log_lines }), 'Unexpected log lines'))).toEqual([
      ['n1', '<code>panic: a &lt; b</code>'],
    ]);
  });
  it('ends with who ran it, and where its journal is', () => {
    const facts = part(page({}), 'Record');
    for (const fact of [
      '<dt>Run</dt><dd><code>20260331T120000Z-1</code></dd>',
      '<dd><code>2026-03-31 12:00:00 UTC – 2026-03-31 12:00:06 UTC</code></dd>',
      '<dt>By</dt><dd><code>unknown user on ops1, process 42</code></dd>',
    ])
      expect(facts).toContain(fact);
  });
  it('the page shows missing values and missing numbers as a dash', () => {
    const gate = [{ check: '' as GateCheck, ok: true, detail: '' }];
    expect(rows(part(page({ members: [{ ...n1, gate }] }), 'Health checks'))[0]).toEqual([
      ...['n1', dash, '<span class="badge good">passed</span>', dash],
    ]);
  });
});

describe('the report as Markdown', () => {
  const lines = (patch: Partial<Report>): string[] => markdownFrom({ ...bare, ...patch }).split('\n');
  /** Returns the rows below a heading. */
  const below = (title: string, patch: Partial<Report>): string[] => {
    const all = lines(patch);
    const from = all.indexOf(`## ${title}`) + 4;
    return all.slice(from, all.indexOf('', from) === -1 ? undefined : all.indexOf('', from));
  };
  it('the Markdown report supports a run with little data', () =>
    expect(lines({})).toEqual([
      ...['# Upgrade of shop from 3.2 to 3.3: done', '', 'cluster shop runs 3.3', ''],
      '- Run 20260331T120000Z-1, 2026-03-31 12:00:00 UTC to 2026-03-31 12:00:06 UTC (6.0 s of active time)',
      '- By unknown user on ops1, process 42',
      '- Cluster version unknown before, unknown after',
      '- Plan digest d1935e',
      '- Journal /state/kv/shop/20260331T120000Z-1/journal.jsonl',
      ...[
        '',
        '## Members',
        '',
        '| Member | Before | After | Unavailable | Was leader | Health check | Snapshot |',
      ],
      ...['|---|---|---|---|---|---|---|', '| n1 | – | – | – |  | 0 checks passed | – |'],
      ...['', '## Steps', '', 'none', '', '## Snapshots', '', 'none'],
      ...['', '## Findings before the start', '', 'none', ''],
    ]));
  it('the Markdown report has the versions of the cluster', () =>
    expect(lines({ cluster_version_before: '3.2.0', cluster_version_after: '3.3.0' })).toContain(
      '- Cluster version 3.2.0 before, 3.3.0 after',
    ));
  it('the Markdown report has a row for each step', () =>
    expect(below('Steps', { steps })).toEqual([
      '| s0 | step 0 | 40 ms | done |',
      '| s1 | step 1 | 40 ms | failed |',
      '| s2 | step 2 | – | skipped |',
    ]));
  it('the Markdown report distinguishes failed and skipped checks, and omits both if all passed', () => {
    const gate = [...member.gate, { check: 'lag' as const, ok: false, detail: '7 behind' }];
    const members = [{ ...member, gate }];
    expect(below('Checks that were skipped', { members })).toEqual(['| n1 | read | no user |']);
    expect(below('Checks that failed during the run', { members })).toEqual(['| n1 | lag | 7 behind |']);
    expect(markdownFrom({ ...bare, members: [n1] })).not.toContain('Checks that');
  });
  it('the Markdown report has the findings that did not pass', () =>
    expect(below('Findings before the start', { findings })).toEqual([
      '| warn | clocks-agree | n2 | differ |',
      '| fail | no-alarms | – | raised |',
    ]));
  it('the Markdown report shows the measured client impact', () =>
    expect(below('What clients saw', { canary: { writes: 6, failed: 0, longest_gap_ms: 400 } })).toEqual([
      '| 6 | 0 | 400 ms | – | – |',
    ]));
  it('keeps a cell in its row', () =>
    expect(markdownTable(['A', 'B'], [['x|y\nz', undefined]])).toEqual([
      ...['| A | B |', '|---|---|', '| x\\|y z | – |', ''],
    ]));
});
