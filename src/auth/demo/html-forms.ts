/** A form as a browser without script would send it. */
export type Form = {
  readonly action: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly buttons: readonly (readonly [string, string])[];
  /** What a person types, with what stands there already. */
  readonly asks: readonly (readonly [string, string])[];
};

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
export const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? '');

const attributes = (tag: string): Record<string, string> =>
  Object.fromEntries(
    [...tag.matchAll(/([a-zA-Z-]+)(?:\s*=\s*"([^"]*)")?/g)]
      .slice(1)
      .map(([, name = '', value = '']) => [name.toLowerCase(), plain(value)]),
  );

const tags = (html: string, name: string): Record<string, string>[] =>
  [...html.matchAll(new RegExp(`<${name}\\b[^>]*>`, 'gi'))].map(([tag]) => attributes(tag));

const typed = new Set(['text', 'email', 'password']);

const selects = (html: string): (readonly [string, string])[] =>
  [...html.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gis)].map(([, head = '', body = '']) => [
    attributes(`<select ${head}>`).name ?? '',
    tags(body, 'option')[0]?.value ?? '',
  ]);

/** The first form of a page. */
export const formIn = (html: string): Form | undefined => {
  const found = /<form\b([^>]*)>(.*?)<\/form>/is.exec(html);
  if (found === null) return undefined;
  const [, head = '', body = ''] = found;
  const inputs = tags(body, 'input').filter(({ name }) => name !== undefined);
  const kept = inputs.filter(({ type }) => type === 'hidden' || type === 'checkbox');
  return {
    action: attributes(`<form ${head}>`).action ?? '',
    fields: [...kept.map((input) => [input.name ?? '', input.value ?? 'on'] as const), ...selects(body)],
    buttons: tags(body, 'button').map((button) => [button.name ?? '', button.value ?? ''] as const),
    asks: inputs
      .filter(({ type }) => typed.has(type ?? 'text'))
      .map(({ name, value }) => [name ?? '', value ?? ''] as const),
  };
};
