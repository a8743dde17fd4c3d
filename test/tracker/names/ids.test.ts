import { describe, expect, test } from 'vitest';
import { wholeNumberHint } from '../../../src/core/format.ts';
import { type InMemory, trackerInMemory } from '../../support/in-memory.ts';

test('digits with a leading zero are a name, not an id', async () => {
  const at = trackerInMemory();
  const victim = at.send('POST', '/labels', { name: 'victim' });
  const typed = `0${victim.id}`;
  at.send('POST', '/labels', { name: typed });
  expect((await at.run(['labels', 'delete', typed, '--yes'])).code).toBe(0);
  expect(at.send('GET', '/labels').map(({ name }: { name: string }) => name)).toEqual(['victim']);
  expect((await at.run(['labels', 'delete', '007', '--yes'])).code).toBe(6);
});

const stateOf = (at: InMemory): number => at.send('GET', '/workflows')[0].states[0].id;
/** Other forms of the number of an ID. Each may be a name, and none is converted. */
const otherForms = ['+#', ' #', '# ', '0#', '#.0', '#e0', '-0', '0x#'];
describe('an ID in another form', () => {
  const rowsFor = (id: string, story: number) => ({
    'id of an epic in CSV': `op,resource,id,name\nupdate,epics,${id},n\n`,
    'id of a story in CSV': `op,resource,id,name\nupdate,stories,${id},n\n`,
    'epic_id in CSV': `op,resource,id,epic_id\nupdate,stories,${story},${id}\n`,
    // Items of a list have spaces around them: "5; 6".
    'objective_ids in CSV': `op,resource,name,objective_ids\ncreate,epics,n,${id.replace(/^ | $/, '+')}\n`,
  });
  test.each(otherForms)('%s changes no record in a table or on the line', async (form) => {
    const at = trackerInMemory();
    const { id: story } = at.send('POST', '/stories', { name: 's', workflow_state_id: stateOf(at) });
    const { id: epic } = at.send('POST', '/epics', { name: 'e' });
    for (const of of [epic, story]) {
      const id = form.replace('#', String(of));
      for (const [name, text] of Object.entries(rowsFor(id, story))) {
        await at.write('r.csv', text);
        const ran = await at.run(['bulk', '-f', 'r.csv', '-o', 'json']);
        expect([name, id, ran.writes]).toEqual([name, id, []]);
        expect(ran.code).not.toBe(0);
      }
      const got = await at.run(['stories', 'delete', id, '--yes']);
      expect([id, got.writes]).toEqual([id, []]);
      expect(got.code).not.toBe(0);
    }
  });
  test.each(['1e2', '-0', '5.0', '-5', '1E2'])('%s is not an ID in a row of JSON', async (number) => {
    const at = trackerInMemory();
    for (const row of [
      `{"op":"update","resource":"epics","id":${number},"name":"n"}`,
      `{"op":"update","resource":"epics","params":{"epic-public-id": ${number}},"body":{"name":"n"}}`,
      `{"op":"create","resource":"epics","name":"n","objective_ids":[1, ${number}]}`,
    ]) {
      await at.write('r.ndjson', `${row}\n`);
      const ran = await at.run(['bulk', '-f', 'r.ndjson', '-o', 'json']);
      expect([row, ran.writes]).toEqual([row, []]);
      expect(JSON.stringify(ran.json())).toContain(`got ${number}`);
    }
  });
  test.each(['9.0', ' 9', '009', '+9'])(
    '%s in a column of references names the form of an ID',
    async (cell) => {
      const at = trackerInMemory();
      const { id: story } = at.send('POST', '/stories', { name: 's', workflow_state_id: stateOf(at) });
      await at.write('r.csv', `op,resource,id,epic_id\nupdate,stories,${story},${cell}\n`);
      const ran = await at.run(['bulk', '-f', 'r.csv', '-o', 'json']);
      expect([ran.code === 0, ran.writes]).toEqual([false, []]);
      expect(JSON.stringify(ran.json())).toContain(wholeNumberHint);
    },
  );
  test('a number in another form stays possible in a field that is not an ID', async () => {
    const at = trackerInMemory();
    const row = { op: 'create', resource: 'stories', workflow_state_id: stateOf(at), name: '"id":1e2' };
    await at.write('r.ndjson', `${JSON.stringify(row).slice(0, -1)},"estimate":3.0}\n`);
    expect((await at.run(['bulk', '-f', 'r.ndjson'])).code).toBe(0);
  });
});
