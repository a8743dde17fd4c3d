/** A page of help as data: the terminal, the Markdown reference and the man pages are made from the same one. */
export type Block =
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  /** Terms with what they mean: flags, arguments, commands. */
  | { readonly kind: 'terms'; readonly rows: readonly (readonly [string, string])[] }
  /** Shell commands; `note` states their purpose. */
  | { readonly kind: 'shell'; readonly lines: readonly string[]; readonly note?: string };
export type Page = {
  /** `opsctl tracker labels create`, `opsctl help output`. */
  readonly title: string;
  readonly summary: string;
  readonly blocks: readonly Block[];
};
export const heading = (text: string): Block => ({ kind: 'heading', text });
export const prose = (text: string): Block => ({ kind: 'text', text });
export const terms = (rows: readonly (readonly [string, string])[]): Block => ({ kind: 'terms', rows });
export const shell = (note: string | undefined, ...lines: string[]): Block =>
  note === undefined ? { kind: 'shell', lines } : { kind: 'shell', lines, note };
