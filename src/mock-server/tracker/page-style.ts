import { createHash } from 'node:crypto';

/** One stylesheet, inline, so that a page is one answer and loads nothing. */
export const pageStyle = `
:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--text:#1b1f24;--soft:#5b6470;--line:#dfe3e8;--accent:#2257c9}
@media(prefers-color-scheme:dark){:root{--ground:#101317;--card:#191d23;--text:#e8ebef;--soft:#a3adba;--line:#2e353e;--accent:#8ab0ff}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,sans-serif}
header{display:flex;justify-content:space-between;padding:12px 24px;border-bottom:1px solid var(--line);background:var(--card)}header span,small,.kind,dt{color:var(--soft)}
main{max-width:960px;margin:24px auto;padding:0 24px 48px}a{color:var(--accent)}
h1{font-size:24px;line-height:1.25;margin:0 0 16px;overflow-wrap:anywhere}h2{font-size:16px;margin:24px 0 4px}.kind{margin:0}
section,dl.record{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:12px 20px;margin:0 0 16px}section h2{margin-top:4px}
dl{display:grid;grid-template-columns:minmax(140px,max-content) 1fr;gap:4px 20px;margin:0}dd{margin:0;overflow-wrap:anywhere}dd dl{border-left:2px solid var(--line);padding-left:12px;margin:2px 0 8px}
ul{margin:0;padding-left:18px}pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:0}code{font-family:ui-monospace,monospace}
.dot{display:inline-block;width:10px;height:10px;border-radius:50%;margin-right:6px}
@media(max-width:600px){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}main{padding:0 12px 32px}}
`.trim();
export const pageStyleHash = `'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'`;
