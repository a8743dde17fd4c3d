import type { Host } from '../platform/host.ts';

export type ErrorText = {
  readonly category: string;
  readonly messages: readonly string[];
  readonly tryThis: readonly string[];
};
export type GuardText = {
  readonly good: string;
  readonly about: string;
  readonly findings: readonly { readonly level: string; readonly message: string; readonly hint?: string }[];
};
/** Written by the build from the places in the source that raise them. */
type Texts = {
  readonly errors: Readonly<Record<string, ErrorText>>;
  readonly guards: Readonly<Record<string, GuardText>>;
};

export const readTexts = async (host: Host): Promise<Texts> => {
  const text = await host.buildText('explanations.json');
  return text === undefined ? { errors: {}, guards: {} } : (JSON.parse(text) as Texts);
};
