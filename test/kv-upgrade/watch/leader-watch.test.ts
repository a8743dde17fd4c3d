import { expect, it } from 'vitest';
import { newestLeader } from '../../../src/kv-upgrade/watch/leader-watch.ts';

it.each([
  [
    'what all say',
    [
      { leader: 'n1', term: 3 },
      { leader: 'n1', term: 3 },
    ],
    'n1',
  ],
  [
    'what the newest term says: the others have not heard yet',
    [
      { leader: 'n1', term: 3 },
      { leader: 'n2', term: 4 },
      { leader: 'n1', term: 3 },
    ],
    'n2',
  ],
  ['what those say that answer', [undefined, { leader: 'n3', term: 1 }], 'n3'],
  ['nobody when nobody knows', [undefined, undefined], undefined],
])('the leader is %s', (_, seen, expected) => expect(newestLeader(seen)).toBe(expected));
