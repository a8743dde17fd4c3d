import type { Naming } from './naming.ts';
import { fieldReferences, paramKind } from './references.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Text that is an id already. A name of digits only is written `name:123`. */
export const isId = (text: string): boolean => /^(0|[1-9]\d*)$/.test(text) || UUID.test(text);

/** Names of the tracker's things; what looks them up is loaded when a name is given. */
export const trackerNaming: Naming = {
  paramKind,
  fields: fieldReferences,
  inputs: { labels: { kind: 'label', alias: 'label' }, categories: { kind: 'category', alias: 'category' } },
  isId,
  resolve: async (context, kind, text, path, isFresh = false) => {
    if (isId(text)) return UUID.test(text) ? text : Number(text);
    const { resolveName } = await import('./resolve.ts');
    return resolveName(context, kind, text, path, isFresh);
  },
  learn: async (context, operation, input, answer) => {
    const { learnNames } = await import('./learn.ts');
    await learnNames(context, operation, input, answer);
  },
  forget: async (context) => {
    const { forgetNames } = await import('./cache.ts');
    await forgetNames(context);
  },
};
