import { describe, expect, it } from 'vitest';
import { type Timeline, timelineSvg } from '../../../../src/kv/upgrade/present/timeline.ts';
import { escapeHtml } from '../../../../src/core/text.ts';
import { report } from '../events.ts';

/** The duration equals the width of the drawing. The run starts at 96, and 10 ms are one unit. */
const none: Timeline = {
  ...{ durationMs: 9280, lanes: [], leaders: [], points: [], gaps: [], pauses: [] },
};
const linesOf = (patch: Partial<Timeline>): string[] =>
  timelineSvg(report, { ...none, ...patch }).split('\n');
/** Returns the lines of one class without the ruler. */
const drawn = (patch: Partial<Timeline>, part: string): string[] =>
  linesOf(patch).filter((line) => line.includes(part));
const point = (atMs: number, latencyMs: number, ok = true) => ({ atMs, latencyMs, ok });
const lane = (patch: Partial<Timeline['lanes'][number]>): Timeline['lanes'][number] => ({
  ...{ name: 'n1', spans: [], snapshotsAt: [], revertedAt: [] },
  ...patch,
});
/** Returns the labels of the ruler from left to right. */
const ruler = (durationMs: number): string[] =>
  linesOf({ durationMs }).flatMap((line) => /text-anchor="middle">([^<]+)</.exec(line)?.slice(1) ?? []);

it('text is not markup', () => {
  expect(escapeHtml(`<a b="c">&</a>`)).toBe('&lt;a b=&quot;c&quot;&gt;&amp;&lt;/a&gt;');
  expect([escapeHtml(undefined), escapeHtml(7)]).toEqual(['', '7']);
});

describe('the drawing of a run', () => {
  it('an empty drawing is its ruler', () =>
    expect(linesOf({})).toEqual([
      '<svg class="timeline" viewBox="0 0 1040 78" role="img" aria-label="Timeline of the upgrade">',
      '<line class="grid" x1="96.0" x2="96.0" y1="8" y2="50"/>',
      '<text class="what" x="96.0" y="68" text-anchor="middle">0 ms</text>',
      '<line class="grid" x1="296.0" x2="296.0" y1="8" y2="50"/>',
      '<text class="what" x="296.0" y="68" text-anchor="middle">2.0 s</text>',
      '<line class="grid" x1="496.0" x2="496.0" y1="8" y2="50"/>',
      '<text class="what" x="496.0" y="68" text-anchor="middle">4.0 s</text>',
      '<line class="grid" x1="696.0" x2="696.0" y1="8" y2="50"/>',
      '<text class="what" x="696.0" y="68" text-anchor="middle">6.0 s</text>',
      '<line class="grid" x1="896.0" x2="896.0" y1="8" y2="50"/>',
      '<text class="what" x="896.0" y="68" text-anchor="middle">8.0 s</text>',
      '<text class="what" x="84" y="27" text-anchor="end">leader</text>',
      '</svg>',
    ]));
  it.each<[number, string[]]>([
    [3, ['0 ms', '1 ms', '2 ms', '3 ms']],
    [8, ['0 ms', '1 ms', '2 ms', '3 ms', '4 ms', '5 ms', '6 ms', '7 ms', '8 ms']],
    [8001, ['0 ms', '2.0 s', '4.0 s', '6.0 s', '8.0 s']],
    [16_000, ['0 ms', '2.0 s', '4.0 s', '6.0 s', '8.0 s', '10.0 s', '12.0 s', '14.0 s', '16.0 s']],
    [16_001, ['0 ms', '5.0 s', '10.0 s', '15.0 s']],
    [40_001, ['0 ms', '10.0 s', '20.0 s', '30.0 s', '40.0 s']],
  ])('a ruler of %i ms has at most nine round times', (durationMs, texts) =>
    expect(ruler(durationMs)).toEqual(texts),
  );
  it('the drawing shows the leaders in two colors, with names if they fit', () =>
    expect(
      drawn(
        {
          leaders: [
            { name: 'n1', fromMs: 0, toMs: 4000 },
            { name: 'n2', fromMs: 4000, toMs: 4260 },
            { name: 'n<3>', fromMs: 4300, toMs: 4580 },
          ],
        },
        'y="12"',
      ).concat(drawn({ leaders: [{ name: 'n<3>', fromMs: 4300, toMs: 4580 }] }, 'class="on"')),
    ).toEqual([
      '<rect class="leader l0" x="96.0" y="12" width="399.0" height="21" rx="4"><title>n1 led for 4.0 s</title></rect>',
      '<rect class="leader l1" x="496.0" y="12" width="25.0" height="21" rx="4"><title>n2 led for 260 ms</title></rect>',
      '<rect class="leader l0" x="526.0" y="12" width="27.0" height="21" rx="4"><title>n&lt;3&gt; led for 280 ms</title></rect>',
      '<text class="on" x="540.0" y="27" text-anchor="middle">n&lt;3&gt;</text>',
    ]));
  it('the drawing omits the leader of a narrow piece', () => {
    const led = (toMs: number) => drawn({ leaders: [{ name: 'n1', fromMs: 0, toMs }] }, 'class="on"').length;
    expect([led(260), led(270)]).toEqual([0, 1]);
  });
  it('shows what each member ran, one below the other, and what happened to it', () => {
    const spans = [
      { kind: 'old', fromMs: 0, toMs: 2000 },
      { kind: 'down', fromMs: 2000, toMs: 3000 },
      { kind: 'new', fromMs: 3000, toMs: 9280 },
    ] as const;
    const lanes = [lane({ spans, snapshotsAt: [1000] }), lane({ name: 'n2', revertedAt: [5000] })];
    expect(linesOf({ lanes }).slice(12)).toEqual([
      '<text class="name" x="84" y="57" text-anchor="end">n1</text>',
      '<rect class="old" x="96.0" y="42" width="200.0" height="21" rx="4"><title>n1 ran 3.2 for 2.0 s</title></rect>',
      '<text class="on" x="104.0" y="57">3.2</text>',
      '<rect class="down" x="296.0" y="42" width="100.0" height="21" rx="4"><title>n1 was unavailable for 1.0 s</title></rect>',
      '<rect class="new" x="396.0" y="42" width="628.0" height="21" rx="4"><title>n1 ran 3.3 for 6.3 s</title></rect>',
      '<text class="on" x="404.0" y="57">3.3</text>',
      '<path class="snapshot" d="M196.0 46l6.5 6.5-6.5 6.5-6.5-6.5z"><title>snapshot of n1 saved and verified</title></path>',
      '<text class="name" x="84" y="87" text-anchor="end">n2</text>',
      '<path class="reverted" d="M596.0 76l6.5 6.5-6.5 6.5-6.5-6.5z"><title>n2 was rolled back to the old version</title></path>',
      '</svg>',
    ]);
    expect(linesOf({ lanes })[0]).toContain('viewBox="0 0 1040 138"');
  });
  it('the drawing omits the version of a narrow piece, and shows even the shortest', () => {
    const ran = (toMs: number, part: string) =>
      drawn({ lanes: [lane({ spans: [{ kind: 'old', fromMs: 0, toMs }] })] }, part);
    expect([ran(340, 'class="on"').length, ran(350, 'class="on"').length]).toEqual([0, 1]);
    expect(ran(1, '<rect')[0]).toContain('width="1.5"');
    expect(ran(16, '<rect')[0]).toContain('width="1.6"');
  });
  it('the drawing writes the version next to a mark that would cover it', () => {
    const at = (snapshotsAt: number[], toMs = 2000) =>
      drawn({ lanes: [lane({ spans: [{ kind: 'old', fromMs: 0, toMs }], snapshotsAt })] }, 'class="on"').map(
        (line) => Number(/x="([\d.]+)"/.exec(line)?.[1]),
      );
    expect([at([]), at([100]), at([1000]), at([100], 360)]).toEqual([[104], [115], [104], []]);
  });
  it('the drawing ends with the run: later events are drawn at its end', () =>
    expect(drawn({ pauses: [{ atMs: 99_000, forMs: 61_000 }] }, 'pause')).toEqual([
      '<line class="pause" x1="1024.0" x2="1024.0" y1="8" y2="50"><title>the run was paused here for 1 min 01 s</title></line>',
    ]));
});

describe('the writes of a run', () => {
  const chart = (patch: Partial<Timeline>): string[] => linesOf(patch).slice(12, -1);
  it('writes are a line on a square-root scale, with gaps and failed writes', () =>
    expect(
      chart({
        points: [point(1000, 4), point(2000, 0, false), point(3000, 25), point(4000, 100)],
        gaps: [{ fromMs: 1500, toMs: 2500 }],
        lanes: [],
      }),
    ).toEqual([
      '<text class="what" x="96" y="68">slowest write of each moment</text>',
      '<line class="grid" x1="96" x2="1024" y1="86.0" y2="86.0"/>',
      '<text class="what" x="84" y="90.0" text-anchor="end">100 ms</text>',
      '<line class="grid" x1="96" x2="1024" y1="146.0" y2="146.0"/>',
      '<text class="what" x="84" y="150.0" text-anchor="end">25 ms</text>',
      '<line class="grid" x1="96" x2="1024" y1="182.0" y2="182.0"/>',
      '<text class="what" x="84" y="186.0" text-anchor="end">4 ms</text>',
      '<rect class="gap" x="246.0" y="76" width="100.0" height="130" rx="2"><title>no acknowledged write for 1.0 s</title></rect>',
      '<path class="area" d="M196.0 182.0L396.0 146.0L496.0 86.0L496.0 206L196.0 206z"/>',
      '<path class="line" d="M196.0 182.0L396.0 146.0L496.0 86.0"/>',
      '<circle class="failed" cx="296.0" cy="84" r="4"><title>a write failed</title></circle>',
    ]));
  it('make the drawing higher, and its ruler and pauses go through them', () => {
    const lines = linesOf({ points: [point(0, 1)], pauses: [{ atMs: 7000, forMs: 5 }] });
    expect(lines[0]).toContain('viewBox="0 0 1040 234"');
    expect(lines[1]).toBe('<line class="grid" x1="96.0" x2="96.0" y1="8" y2="206"/>');
    expect(lines.at(-2)).toContain('y1="8" y2="206"');
  });
  it('writes are a line from the second one on', () => {
    const paths = (...points: Timeline['points']) => drawn({ points }, '<path').length;
    expect([paths(point(0, 1)), paths(point(0, 1), point(900, 1))]).toEqual([0, 2]);
    expect(paths(point(0, 1), point(900, 1, false))).toBe(0);
  });
  /** 420 columns of 10 ms each. The test checks which write of a column is visible. */
  const shown = (...points: Timeline['points']) =>
    drawn({ durationMs: 4200, points }, 'class="line"').concat(drawn({ durationMs: 4200, points }, 'failed'));
  it('writes of one moment are shown by the slowest', () => {
    const two = '<path class="line" d="M96.0 86.0L317.0 206.0"/>';
    expect(shown(point(0, 10), point(9, 1), point(1000, 0))).toEqual([two]);
    expect(shown(point(9, 1), point(0, 10), point(1000, 0))).toEqual([two]);
    // The first of two writes with the same duration.
    expect(shown(point(0, 10), point(9, 10), point(1000, 0))).toEqual([two]);
    expect(shown(point(1000, 0), point(0, 10))).toEqual([two]);
    expect(shown(point(0, 10), point(10, 10), point(1000, 0))[0]?.split('L')).toHaveLength(3);
    expect(shown(point(0, 10), point(2100, 10), point(2109, 9))[0]?.split('L')).toHaveLength(2);
  });
  it('writes of one moment are shown by the failed one', () => {
    const failed = [expect.stringContaining('<circle class="failed" cx="96.0"')];
    expect(shown(point(0, 9), point(0, 1, false))).toEqual(failed);
    expect(shown(point(0, 1, false), point(0, 9))).toEqual(failed);
  });
});
