import { createHash } from 'node:crypto';

/** The one stylesheet of all pages, inline, so that a page is one answer and loads nothing. */
export const style = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--text:#1b1f24;--soft:#5b6470;--line:#dfe3e8;--accent:#2257c9;--accent-text:#fff;--warn:#b3261e;--warn-ground:#fdeceb;--chip:#eef2fb}
@media(prefers-color-scheme:dark){:root{--ground:#101317;--card:#191d23;--text:#e8ebef;--soft:#a3adba;--line:#2e353e;--accent:#8ab0ff;--accent-text:#0d1b38;--warn:#ff9d94;--warn-ground:#3a1d1b;--chip:#222b3b}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;min-height:100vh;display:flex;flex-direction:column;align-items:center;justify-content:center;padding:24px 16px}
main{background:var(--card);border:1px solid var(--line);border-radius:16px;padding:32px;width:100%;max-width:460px;box-shadow:0 1px 3px rgba(0,0,0,.06),0 8px 28px rgba(0,0,0,.05)}
body.wide{justify-content:flex-start}body.wide main{max-width:1060px}
header{display:flex;align-items:center;gap:10px;color:var(--soft);font-size:14px;margin-bottom:18px}
.mark{width:28px;height:28px;border-radius:8px;background:var(--accent);color:var(--accent-text);display:grid;place-items:center;font-weight:700;font-size:15px}
h1{font-size:22px;line-height:1.25;margin:0 0 8px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:17px;margin:32px 0 8px}
h3{font-size:15px;margin:0}
p{margin:0 0 14px}p,li{overflow-wrap:anywhere}.soft{color:var(--soft)}.small{font-size:14px}
label{display:block;font-weight:600;font-size:14px;margin:14px 0 4px}
input[type=text],input[type=email],input[type=password],input[type=number],select{width:100%;font:inherit;color:inherit;background:var(--ground);border:1px solid var(--line);border-radius:10px;padding:10px 12px}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:10px}
button{font:inherit;font-weight:600;border-radius:10px;padding:10px 18px;border:1px solid var(--line);background:transparent;color:var(--text);cursor:pointer;min-height:44px}
button.main{background:var(--accent);border-color:var(--accent);color:var(--accent-text)}button:hover{filter:brightness(.95)}
.row{display:flex;flex-direction:row-reverse;gap:12px;justify-content:flex-start;margin-top:22px;flex-wrap:wrap}
fieldset{border:0;padding:0;margin:18px 0 0}legend{font-weight:600;padding:0;margin-bottom:6px}
.scope{display:flex;gap:12px;align-items:flex-start;font-weight:400;font-size:15px;margin:0;padding:12px 0;border-top:1px solid var(--line);cursor:pointer}
.scope input{width:20px;height:20px;margin:2px 0 0;flex:none;accent-color:var(--accent)}
.scope small,li small{display:block;color:var(--soft);overflow-wrap:anywhere}
ul.plain{list-style:none;padding:0;margin:0}ul.plain li{padding:12px 0;border-top:1px solid var(--line)}
.account{display:flex;align-items:center;gap:10px;background:var(--chip);border-radius:999px;padding:6px 14px 6px 6px;font-size:14px;max-width:100%;overflow-wrap:anywhere;margin-bottom:16px;width:fit-content}
.face{width:30px;height:30px;border-radius:50%;background:var(--accent);color:var(--accent-text);display:grid;place-items:center;font-weight:700;flex:none}
.pick{display:flex;gap:12px;align-items:center;width:100%;text-align:left;margin-bottom:8px;padding:10px 12px}
.alert code{background:transparent;padding:0}.alert{background:var(--warn-ground);color:var(--warn);border-radius:10px;padding:10px 14px;margin:0 0 14px;font-size:15px}
code,.code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--chip);border-radius:6px;padding:2px 6px;overflow-wrap:anywhere}
details{margin-top:18px;border-top:1px solid var(--line);padding-top:12px}summary{cursor:pointer;font-weight:600;font-size:14px}
dl{display:grid;grid-template-columns:minmax(90px,auto) 1fr;gap:4px 14px;font-size:14px;margin:10px 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;min-width:640px;font-size:14px}th,td{text-align:left;padding:8px 10px;border-top:1px solid var(--line);vertical-align:top}td:first-child{min-width:220px}th{color:var(--soft);font-weight:600;white-space:nowrap}
td form{display:inline}td button{padding:4px 10px;min-height:32px;font-size:13px}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:0 16px}
nav{display:flex;flex-wrap:wrap;gap:6px 16px;font-size:14px;margin-bottom:10px}a{color:var(--accent)}
footer{color:var(--soft);font-size:13px;margin-top:16px;text-align:center;max-width:460px}
@media(max-width:480px){body{padding:0;background:var(--card);justify-content:flex-start}main{border:0;border-radius:0;box-shadow:none;padding:24px 20px}footer{padding:0 20px 24px}.row button{flex:1}}
@media(prefers-reduced-motion:no-preference){button{transition:filter .12s}}
`.trim();
export const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;
