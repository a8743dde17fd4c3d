import { expect, it } from 'vitest';
import { limits, pageWatch } from '../../src/core/limits.ts';
import { covers } from '../support/covers.ts';
import { errorWith } from '../support/facts.ts';

const { emptyPages } = limits;
const after = (pages: number, watch = pageWatch('GET /x')) => {
  for (let i = 0; i < pages; i += 1) watch.refuseForEver(0);
  return watch;
};

it(
  'the watch allows n pages without a row, rejects one more, and restarts the count after a row',
  covers('limit/emptyPages'),
  () => {
    const watch = after(limits.emptyPages);
    watch.refuseForEver(1);
    after(emptyPages, watch);
    expect(() => watch.refuseForEver(0)).toThrow(
      errorWith('OTHER_SHAPE', 'GET', '/x', emptyPages + 1, 'service', 'returned'),
    );
  },
);

it('a token that was there before ends the list, whichever it was', () => {
  const watch = pageWatch('GET /x', 'token');
  for (const token of ['a', 'b', 'c']) watch.refuseAgain(token);
  expect(() => watch.refuseAgain('a')).toThrow(/^GET \/x: .*\ba\b/);
});

it('a page that starts like an earlier page stops the list', () => {
  const watch = pageWatch('GET /x');
  watch.refuseSameBeginning([{ id: 1 }, { id: 2 }]);
  watch.refuseSameBeginning([]);
  watch.refuseSameBeginning([{ id: 2 }]);
  expect(() => watch.refuseSameBeginning([{ id: 1 }])).toThrow(/^GET \/x: .*\{"id":1\}/);
});
