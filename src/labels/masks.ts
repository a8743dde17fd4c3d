import { optionMembers } from '../api-specs/labels/words.ts';
import { isPlain } from './read-values.ts';

type Plain = Readonly<Record<string, unknown>>;
type Supplied = { readonly values: Plain; readonly added: readonly string[] };

/** Where the members that an edit writes stand in it; '' is the edit itself. */
const roots: Readonly<Record<string, string>> = {
  updateLabel: 'properties',
  updateField: 'properties',
  updateFieldType: '',
  updateSelectionChoiceProperties: 'properties',
  disableField: 'disabledPolicy',
  disableSelectionChoice: 'disabledPolicy',
};

const hasMask = (edit: Plain): boolean => edit.updateMask !== undefined || edit.update_mask !== undefined;

/** The names of what was given; of a type edit the option member. */
const maskOf = (edit: Plain, root: string): string | undefined => {
  const given = root === '' ? edit : edit[root];
  if (!isPlain(given)) return undefined;
  const names = Object.keys(given).filter((name) => root !== '' || optionMembers.some((one) => one === name));
  // A policy that says nothing still disables: all of it is meant.
  if (names.length === 0) return root === 'disabledPolicy' ? '*' : undefined;
  return names.join();
};

const editMasked = (request: unknown, i: number, added: string[]): unknown => {
  if (!isPlain(request)) return request;
  return Object.fromEntries(
    Object.entries(request).map(([kind, edit]) => {
      const root = roots[kind];
      const mask = root === undefined || !isPlain(edit) || hasMask(edit) ? undefined : maskOf(edit, root);
      if (mask === undefined || !isPlain(edit)) return [kind, edit];
      added.push(`requests[${i}].${kind}.updateMask: ${mask}`);
      return [kind, { ...edit, updateMask: mask }];
    }),
  );
};

const deltaMasked = (values: Plain, added: string[]): Plain => {
  const { requests, body } = values;
  if (Array.isArray(requests))
    return { ...values, requests: requests.map((one, i) => editMasked(one, i, added)) };
  if (!isPlain(body) || !Array.isArray(body.requests)) return values;
  return { ...values, body: { ...body, requests: body.requests.map((one, i) => editMasked(one, i, added)) } };
};

const disableMasked = (values: Plain, added: string[]): Plain => {
  const { body } = values;
  const inner = isPlain(body) ? maskOf(body, 'disabledPolicy') : undefined;
  if (isPlain(body) && inner !== undefined && !hasMask(body)) {
    added.push(`updateMask: ${inner}`);
    return { ...values, body: { ...body, updateMask: inner } };
  }
  const given = values['disabled-policy'];
  const mask = isPlain(given) && values['update-mask'] === undefined ? Object.keys(given).join() : '';
  if (mask === '') return values;
  added.push(`updateMask: ${mask}`);
  return { ...values, 'update-mask': mask };
};

/** The values of `labels delta` or `labels disable` with the masks that were left out. Pure. */
export const withMasks = (bodyName: string, values: Plain): Supplied => {
  const added: string[] = [];
  const whole =
    bodyName === 'DisableLabelRequest' ? disableMasked(values, added) : deltaMasked(values, added);
  return { values: whole, added };
};
