import type { Operation } from '../history.ts';
import { bulk } from './bulk.ts';
import { configuration } from './configuration.ts';
import { credentialStore } from './credential-store.ts';
import { kvMembers } from './kv-members.ts';
import { kvRestore } from './kv-restore.ts';
import { kvUpgrade } from './kv-upgrade.ts';
import { labelsApply } from './labels-apply.ts';
import { mockJournal } from './mock-journal.ts';
import { trackerApply } from './tracker-apply.ts';

export const operations: readonly Operation[] = [
  credentialStore,
  configuration,
  mockJournal,
  bulk,
  trackerApply,
  labelsApply,
  kvMembers,
  kvUpgrade,
  kvRestore,
];
