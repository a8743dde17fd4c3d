/** Style of the report page. Everything is in the page itself: no script, no font, no picture from elsewhere. */
export const pageStyles = `
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #ffffff; --ink: #1c2330; --soft: #667085; --line: #e3e7ee;
  --good: #0b6b4b; --good-soft: #d9f2e6; --warn: #8a4e00; --warn-soft: #fdeecf; --bad: #a31d13; --bad-soft: #fde3e0;
  --old: #b9c2d0; --old-ink: #27303f; --new: #2f6fed; --new-ink: #ffffff; --down: #e5484d; --lead: #7a5af8; --lead2: #9b83fa; --area: #2f6fed; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f141c; --card: #171e29; --ink: #e8ecf3; --soft: #98a3b5; --line: #283142;
  --good: #4bd39d; --good-soft: #12352a; --warn: #f3b95f; --warn-soft: #3a2a10; --bad: #ff8a80; --bad-soft: #411b18;
  --old: #47536a; --old-ink: #e8ecf3; --new: #4d86ff; --new-ink: #ffffff; --down: #ff6369; --lead: #6d51e0; --lead2: #8a72f0; --area: #4d86ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 64px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 6px 14px; margin-bottom: 4px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 16px; margin: 0 0 12px; }
p { margin: 0; }
.message { color: var(--soft); margin: 2px 0 20px; }
.badge { display: inline-block; border-radius: 999px; padding: 2px 12px; font-weight: 600; font-size: 14px; white-space: nowrap; }
.good { color: var(--good); background: var(--good-soft); } .warn { color: var(--warn); background: var(--warn-soft); } .bad { color: var(--bad); background: var(--bad-soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-bottom: 16px; }
.card, section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.card { padding: 14px 16px; } .card b { display: block; font-size: 22px; line-height: 1.3; font-variant-numeric: tabular-nums; } .card span { color: var(--soft); font-size: 13px; }
section { padding: 18px 20px; margin-bottom: 16px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 500; font-size: 13px; padding: 4px 14px 6px 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; } td:last-child, th:last-child { padding-right: 0; }
code { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
details { margin-bottom: 16px; background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 0 20px; }
summary { cursor: pointer; font-weight: 600; padding: 14px 0; } details > :last-child { padding-bottom: 16px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; color: var(--soft); font-size: 13px; margin-top: 8px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0; font-size: 14px; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.timeline { width: 100%; min-width: 720px; height: auto; display: block; }
.timeline text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--soft); } .timeline .name { fill: var(--ink); font-weight: 600; font-size: 13px; }
.timeline .on { fill: var(--new-ink); font-weight: 600; } .timeline .grid { stroke: var(--line); stroke-width: 1; }
.timeline .old { fill: var(--old); } .timeline .old + .on { fill: var(--old-ink); } .timeline .new { fill: var(--new); } .timeline .down { fill: var(--down); }
.timeline .leader { fill: var(--lead); } .timeline .l1 { fill: var(--lead2); }
.timeline .snapshot { fill: var(--card); stroke: var(--ink); stroke-width: 1.5; } .timeline .reverted { fill: var(--warn); }
.timeline .area { fill: var(--area); opacity: .16; } .timeline .line { fill: none; stroke: var(--area); stroke-width: 1.6; stroke-linejoin: round; }
.timeline .pause { stroke: var(--soft); stroke-width: 2; stroke-dasharray: 3 4; } .timeline .gap { fill: var(--down); opacity: .16; } .timeline .failed { fill: var(--bad); }
footer { color: var(--soft); font-size: 13px; }
@media print { body { background: none; } section, .card, details { break-inside: avoid; } }
`;
