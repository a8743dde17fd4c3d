import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';
import type { Client, IntegrityState } from '../state.ts';

const conflict = (field: string, message: string): never => {
  throw new HttpError(409, message, { problems: [problem(field, 'rule', message)] });
};

/** spec/sign-in#client: only mobile platform B has an integrity check (spec/sign-in#check-10.13). */
export const clientHasAnIntegrityCheck = (client: Client): void => {
  if (client.type !== 'mobile-b')
    conflict('client', `Clients of the type ${client.type} have no integrity check; only mobile-b has.`);
};
/** spec/sign-in#states: "team ID set, bundle identifier has no `*`". */
export const teamIdIsSet = (client: Client): void => {
  if (!client.team_id) conflict('team_id', 'The integrity check needs a team ID.');
};
/** The same row. */
export const bundleHasNoWildcard = (client: Client): void => {
  if (client.bundle_id?.includes('*'))
    conflict('bundle_id', 'The integrity check needs a bundle identifier without *.');
};

type Transition = {
  readonly from: readonly IntegrityState[];
  readonly to: IntegrityState;
  readonly guards: readonly ((client: Client) => void)[];
};
export type IntegrityVerb = 'enable' | 'enforce' | 'unenforce' | 'disable';
/** spec/sign-in#states, the four rows of the integrity check. */
export const integrityTransitions: Readonly<Record<IntegrityVerb, Transition>> = {
  enable: { from: ['disabled', 'monitoring'], to: 'monitoring', guards: [teamIdIsSet, bundleHasNoWildcard] },
  enforce: { from: ['monitoring', 'enforced'], to: 'enforced', guards: [teamIdIsSet] },
  unenforce: { from: ['enforced', 'monitoring'], to: 'monitoring', guards: [] },
  disable: { from: ['monitoring', 'enforced', 'disabled'], to: 'disabled', guards: [] },
};

/** spec/sign-in#states, second column of the integrity rows; what is there already is allowed again. */
export const stateAllows = (client: Client, verb: IntegrityVerb): void => {
  const { from } = integrityTransitions[verb];
  if (!from.includes(client.integrity.state))
    conflict(
      'state',
      `Cannot ${verb}: the integrity check is ${client.integrity.state}; it must be ${from.join(' or ')}.`,
    );
};
