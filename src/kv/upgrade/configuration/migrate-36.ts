import { durationsInFile, gatedIn36, renamedIn36 } from '../../../api-specs/etcd/settings.ts';
import { GATES, nanosecondsOf } from './settings-36.ts';

type Document = {
  readonly contents: unknown;
  get(key: string, keepScalar: true): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): unknown;
  createNode(value: unknown): unknown;
};
type Settings = Readonly<Record<string, unknown>>;
type Pair = { key: { value?: unknown }; value: unknown };

/** In place, so that the comments around the line stay where they are. */
const renameKey = (document: Document, from: string, to: string): void => {
  const items = (document.contents as { readonly items?: readonly Pair[] }).items ?? [];
  const pair = items.find(({ key }) => String(key.value) === from);
  if (pair !== undefined) pair.key.value = to;
};
const setText = (document: Document, key: string, text: string): void => {
  const node = document.createNode(text) as { type?: string };
  node.type = 'QUOTE_DOUBLE';
  document.set(key, node);
};

const mapToText = (file: Settings): string =>
  Object.entries(file[GATES] as object)
    .map(([gate, on]) => `${gate}=${String(on)}`)
    .join(',');

const gateInstead = (document: Document, old: string, gate: string): string[] => {
  const now = document.get(GATES, true) as { value?: unknown } | undefined;
  const on = String((document.get(old, true) as { value?: unknown }).value);
  const text = typeof now?.value === 'string' && now.value !== '' ? `${now.value},` : '';
  if (now === undefined) renameKey(document, old, GATES);
  else document.delete(old);
  setText(document, GATES, `${text}${gate}=${on}`);
  return [`${old}: ${on} → ${GATES}: ${gate}=${on}`];
};

const ruleFor = (key: string) => ({
  renamed: renamedIn36.find(({ old }) => old === key),
  gated: gatedIn36.find(({ old }) => old === key),
});
export const isSetting36 = (key: string): boolean => {
  const { renamed, gated } = ruleFor(key);
  return renamed !== undefined || gated !== undefined || key === GATES || durationsInFile.includes(key);
};

/** One setting as 3.6 wants it; what was changed, for people. */
export const fixSetting36 = (document: Document, file: Settings, key: string): string[] => {
  const node = document.get(key, true) as { value?: unknown; type?: string } | undefined;
  if (durationsInFile.includes(key) && typeof node?.value === 'string') {
    const was = node.value;
    node.value = nanosecondsOf(was);
    node.type = 'PLAIN';
    return [`${key}: "${was}" → ${String(node.value)}`];
  }
  if (key === GATES) {
    setText(document, GATES, mapToText(file));
    return [`${GATES}: a mapping → "${mapToText(file)}"`];
  }
  const { renamed, gated } = ruleFor(key);
  if (gated !== undefined) return gateInstead(document, key, gated.gate);
  if (renamed === undefined) return [];
  renameKey(document, key, renamed.now);
  return [`${key} → ${renamed.now}`];
};
