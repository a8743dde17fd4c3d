import type { Value } from '../../kernel/field.ts';
import type { labelSlim } from '../../services/tracker/records.ts';
import type { Collection, Store } from '../store.ts';

/** A label as stored; statistics are counted when it is read. */
export type StoredLabel = Value<typeof labelSlim>;

export type Tracker = { readonly labels: Collection<StoredLabel> };

export const trackerState = (store: Store): Tracker => ({ labels: store.collection('tracker.labels') });
