import { HttpError } from '../../http-error.ts';
import type { Feature, Tracker } from '../state.ts';

const isOn = ({ features }: Tracker, name: Feature): boolean => features.get(name) ?? true;

/** spec/tracker#documents: "403 DisabledFeatureError"; spec/tracker#errors-4 for the body. */
export const documentsAreOn = (state: Tracker): void => {
  if (isOn(state, 'documents')) return;
  const message = 'Documents are switched off in this workspace.';
  throw new HttpError(403, message, { body: { feature_tag: 'documents', message } });
};

/** spec/tracker#states-6. The document names no 403 here, so it is the common 422. */
export const templatesAreOn = (state: Tracker): void => {
  if (!isOn(state, 'entity-templates')) {
    throw new HttpError(
      422,
      'Story templates are switched off in this workspace; PUT /entity-templates/enable switches them on.',
      {
        body: { tag: 'entity_templates_disabled' },
      },
    );
  }
};

/** spec/tracker#states-6. The document names no 403 here, so it is the common 422. */
export const iterationsAreOn = (state: Tracker): void => {
  if (!isOn(state, 'iterations')) {
    throw new HttpError(
      422,
      'Iterations are switched off in this workspace; PUT /iterations/enable switches them on.',
      {
        body: { tag: 'iterations_disabled' },
      },
    );
  }
};

const entitled = (state: Tracker, feature: Feature, tag: string, message: string): void => {
  if (isOn(state, feature)) return;
  throw new HttpError(403, message, {
    body: { reason_tag: 'entitlement-violation', entitlement_tag: tag, message },
  });
};
/** spec/tracker#groups: "403 UnusableEntitlementError"; spec/tracker#errors-4 for the body. */
export const groupsAreEntitled = (state: Tracker): void =>
  entitled(state, 'group-entitlement', 'teams', 'The plan of this workspace does not include more groups.');
/** spec/tracker#objectives: "403 UnusableEntitlementError". */
export const objectivesAreEntitled = (state: Tracker): void =>
  entitled(
    state,
    'objective-entitlement',
    'objectives',
    'The plan of this workspace does not include more objectives.',
  );
