/** A published label as a service stores it, and its parts. Each test specifies only the differences. */
import type { LiveChoice, LiveField, LiveLabel } from '../../src/labels/definition.ts';

export const text = (name: string, patch: Partial<LiveField> = {}): LiveField => ({
  ...{ id: `id-${name}`, name, state: 'PUBLISHED', type: 'text', required: false, choices: [] },
  ...patch,
});
export const option = (name: string, patch: Partial<LiveChoice> = {}): LiveChoice => ({
  ...{ id: `id-${name}`, name, state: 'PUBLISHED' },
  ...patch,
});
export const label = (patch: Partial<LiveLabel> = {}): LiveLabel => ({
  ...{ id: 'L', title: 'Contract', type: 'SHARED', copyMode: 'DO_NOT_COPY', enabledApps: [], fields: [] },
  ...{ revisionId: '3', state: 'PUBLISHED', hasUnpublishedChanges: false, createTime: '' },
  rights: { canUpdate: true, canDisable: true, canEnable: true },
  ...patch,
});
