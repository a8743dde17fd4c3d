import { describe, expect, it } from 'vitest';
import { readReport, writeReports } from '../../../../src/kv/upgrade/present/report.ts';
import { markdownFrom, pageFrom } from '../../../../src/kv/upgrade/present/page.ts';
import { timelineFrom, timelineSvg } from '../../../../src/kv/upgrade/present/timeline.ts';
import { durationText } from '../../../../src/core/format.ts';
import { canaryReport, emptyCounts, wholeRun } from '../../../../src/kv/upgrade/present/run-model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { realHost } from '../../../support/real-host.ts';
import { failedReport, failedRun, goodRun, report } from '../events.ts';

describe('timeline', () => {
  const timeline = timelineFrom(report, wholeRun(goodRun));
  it('knows what each member ran and when it was away', () => {
    expect(timeline.lanes[1]).toEqual({
      name: 'n2',
      spans: [
        { kind: 'old', fromMs: 0, toMs: 140 },
        { kind: 'down', fromMs: 140, toMs: 340 },
        { kind: 'new', fromMs: 340, toMs: 6000 },
      ],
      snapshotsAt: [115],
      revertedAt: [],
    });
  });
  it('knows who led', () => {
    expect(timeline.leaders).toEqual([
      { name: 'n1', fromMs: 0, toMs: 1700 },
      { name: 'n2', fromMs: 1700, toMs: 6000 },
    ]);
  });
  it('finds the gaps between acknowledged writes; a failed one does not end a gap', () => {
    // The gap lasts from the first attempt to the accepted write. The pause before the attempt is not part of
    // it.
    expect(timeline.gaps).toEqual([{ fromMs: 600, toMs: 850 }]);
    expect(timeline.points.filter((point) => !point.ok)).toEqual([{ atMs: 600, latencyMs: 0, ok: false }]);
  });
  it('shows a member that got its old version back', () => {
    const [, lane] = timelineFrom(failedReport, wholeRun(failedRun)).lanes;
    expect(lane?.spans.map(({ kind }) => kind)).toEqual(['old', 'down', 'new', 'down', 'old']);
    expect(lane?.revertedAt).toEqual([900]);
  });
  it('draws every member, the leaders and the writes', () => {
    const svg = timelineSvg(report, timeline);
    for (const text of [
      'n1 led for 1.7 s',
      'n2 was unavailable for 200 ms',
      'n2 ran 3.3 for 5.7 s',
      'snapshot of n1 saved and verified',
      'no acknowledged write for 250 ms',
      'a write failed',
    ])
      expect(svg).toContain(text);
    expect(svg.match(/<svg/g)).toHaveLength(1);
  });
  it('scales the writes to the next round time above the slowest', () => {
    const topOf = (latencyMs: number): string | undefined =>
      timelineSvg(report, { ...timeline, points: [{ atMs: 0, latencyMs, ok: true }] })
        .split('\n')
        .join('')
        .match(/y1="([\d.]+)" y2="\1"\/><text[^>]*>([^<]*)</)?.[2];
    const tops = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000];
    for (const [i, top] of tops.entries()) {
      expect(topOf(top)).toBe(durationText(top));
      expect(topOf(top + 1)).toBe(durationText(tops[i + 1] ?? top + 1));
    }
  });
  it('draws a run without canary writes', () =>
    expect(
      timelineSvg(
        report,
        timelineFrom(report, wholeRun(goodRun.filter((event) => event.event !== 'canary'))),
      ),
    ).not.toContain('slowest write'));
});

describe('page', () => {
  const page = pageFrom(report, wholeRun(goodRun));
  it('the page loads no resources and runs no script', () => {
    expect(page).not.toMatch(/<script|<link|<img|src=|@import|url\(|https?:\/\/(?!n\d:)/);
    expect(page.startsWith('<!doctype html>')).toBe(true);
  });
  it('shows text from logs and findings as text', () => {
    expect(page).toContain('panic: &lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).toContain('clocks differ by &lt;2&gt; s | see (set them)');
  });
  it.each([
    '3.2 → 3.3',
    'cluster version now 3.3.0',
    '6.0 s',
    'failed of 6 canary writes',
    'longest gap between writes',
    'revision 9, 56 KiB',
    'ann on ops1, process 42',
    'd1935e',
  ])('the page contains %s', (text) => expect(page).toContain(text));
  it('names the same longest gap above the drawing and in it', () => {
    const run = wholeRun(goodRun);
    const canary = canaryReport(run.canary ?? emptyCounts, []);
    const drawn = pageFrom({ ...report, canary }, run);
    const above = /<b>([^<]+)<\/b><span>longest gap/.exec(drawn)?.[1];
    expect(drawn).toContain(`no acknowledged write for ${above}`);
  });
  it('follows light and dark', () => expect(page).toContain('prefers-color-scheme: dark'));
  it('the page has no drawing without events', () =>
    expect(pageFrom(report, wholeRun([]))).not.toContain('<svg'));
  it('the page shows a bad outcome in a bad color', () =>
    expect(pageFrom({ ...report, outcome: 'failed' }, wholeRun([]))).toContain(
      '<span class="badge bad">failed</span>',
    ));
});

describe('Markdown', () => {
  const text = markdownFrom(report);
  it.each([
    '# Upgrade of shop from 3.2 to 3.3: done',
    '| n1 | 3.2.32 | 3.3.27 | 310 ms | yes | 1 check passed | revision 9, 56 KiB |',
    '| 6 | 1 | 400 ms | 4 ms | 30 ms |',
    '| n2 | lag | 7 behind |',
    '| warn | clocks-agree | n2 | clocks differ by &lt;2> s \\| see |',
    '- By ann on ops1, process 42',
  ])('Markdown output contains %s', (line) => expect(text.split('\n')).toContain(line));
  it('leaves out what there is not', () =>
    expect(markdownFrom({ ...report, canary: undefined, unexpected_log_lines: [] })).not.toMatch(
      /clients saw|Log lines/,
    ));
});

it('writes all forms and reads the report and its events back', async () => {
  const { host, directory, close } = await realHost();
  await writeReports(host, directory, report, goodRun);
  const found = await readReport(host, directory);
  expect(found?.report).toEqual(report);
  expect(found?.events).toEqual(goodRun.filter((event) => event.event !== 'run-finished'));
  expect((await host.files.list(directory)).toSorted()).toEqual([
    'events.ndjson',
    'report.html',
    'report.json',
    'report.md',
  ]);
  for (const name of await host.files.list(directory))
    expect((await host.files.info(`${directory}/${name}`))?.mode, name).toBe(0o600);
  expect(await readReport(host, `${directory}/none`)).toBeUndefined();
  expect(await host.files.read(`${directory}/report.json`)).toBe(`${JSON.stringify(report, null, 2)}\n`);
  await close();
});

it('a file of a report that is damaged is named, and a report without events is one', async () => {
  const whole = fakeHost();
  await writeReports(whole, '/r', report, goodRun);
  const read = (name: string, text: string | undefined) => {
    const { [name]: _, ...files } = whole.files.all();
    return readReport(fakeHost({ files: text === undefined ? files : { ...files, [name]: text } }), '/r');
  };
  await expect(read('/r/report.json', '{')).rejects.toThrow('/r/report.json is damaged');
  await expect(read('/r/events.ndjson', '{}\n[]\n')).rejects.toThrow('/r/events.ndjson:2 is damaged');
  expect(await read('/r/events.ndjson', undefined)).toEqual({ report, events: [] });
  expect(await read('/r/events.ndjson', '{')).toEqual({ report, events: [], isTorn: true });
});

const hostile = [
  ...[
    '<script>alert(1)</script>',
    '</code><script>',
    '</td></tr></table>',
    '</style><script>',
    '</title><script>',
  ],
  ...['<img src=x onerror=alert(1)>', '<svg onload=alert(1)>', '</svg><iframe src=javascript:alert(1)>'],
  ...['" onmouseover="alert(1)', "' onmouseover='alert(1)", '"><b>', "'><b>", '" style="x', '`onload=x`'],
  ...[
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<?xml?>',
    '<!doctype x>',
    '<base href=//x>',
    '<link rel=x>',
    '<meta http-equiv=x>',
  ],
  ...[
    '<a href="javascript:alert(1)">x</a>',
    '<form action=//x><input>',
    '<math><mi//xlink:href="data:x,y">',
    '<details open ontoggle=x>',
  ],
  ...[
    '&lt;script&gt;',
    '&#60;script&#62;',
    '&#x3c;b&#x3e;',
    '&',
    '&amp',
    '&colon;',
    '&NewLine;',
    '\\u003cscript\\u003e',
  ],
  ...[
    '\0<b>',
    '<b\0>',
    '<\u200bscript>',
    '<b\n>',
    '<b\t/x>',
    '\ufeff<b>',
    '＜script＞',
    '<ſcript>',
    '%3Cscript%3E',
  ],
  ...[
    '{{7*7}}',
    '${7*7}',
    '<%= 7 %>',
    '<noscript><p title="</noscript><img src=x>">',
    '<template><s>',
    '<plaintext>',
    '<xmp>',
  ],
];
/** Values that the program chooses itself. All other texts of a report and its events come from members, files and users. */
const chosen = /^(event|kind|action|outcome|level|check|at|from|to|format|.*_at)$/;
const withText = (value: unknown, text: string, key = ''): unknown => {
  if (typeof value === 'string') return chosen.test(key) ? value : value + text;
  if (Array.isArray(value)) return value.map((one) => withText(one, text, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withText(one, text, name)]));
};
/** The tags of a page with the names of their attributes, without texts and values. */
const structureOf = (page: string): string[] =>
  [...page.replace(/<style>[^<]*<\/style>/, '').matchAll(/<[^>]*>/g)].map(([tag]) =>
    tag.replaceAll(/="[^"]*"/g, '='),
  );
const pageOf = (text: string): string =>
  pageFrom(withText(report, text) as typeof report, wholeRun(withText(goodRun, text) as typeof goodRun));

describe('texts of others on the page and in the drawing', () => {
  const usual = structureOf(pageOf(' text'));
  it('are in every part of the page', () => {
    expect(usual.length).toBeGreaterThan(150);
    expect(pageOf('a-marker').split('a-marker').length).toBeGreaterThan(40);
  });
  it.each(hostile)('%j adds no tag, no attribute and no entity', (text) => {
    const page = pageOf(text);
    expect(structureOf(page)).toEqual(usual);
    expect(page.match(/&(?!(amp|lt|gt|quot|#39);)/g)).toBeNull();
    expect(page.match(/="[^"]*javascript:[^"]*"/g)).toBeNull();
  });
});
