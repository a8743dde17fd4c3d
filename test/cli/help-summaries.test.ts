import { expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';

/** Verbs that start a summary. Add a verb here only if a summary needs a new one. */
const verbs = new Set(
  `Abandon Act Add Call Manage Advance Apply Bind Change Check Clear Comment Commit Compact Compare Create Decode
  Defragment Delete Demonstrate Diagnose Disable Disarm Download Edit Enable End Enforce Explain Export Find Forbid
  Get Grant Inject Install Link Lint List Listen Make Monitor Move Open Permanently Print Promote Publish Query React
  Read Rebuild Receive Record Recover Register Rehearse Remove Renew Repeat Replace Replay Reply Reset Restore Resume
  Revoke Rewrite Roll Run Save Search Send Serve Set Show Sign Start Stop Store Subscribe Switch Transfer Trust Undo Unlink
  Update Upgrade Upload Use Validate Verify Wait Watch Write`.split(/\s+/),
);

test('every help summary starts with an imperative verb and has no period', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const summaries = [...groups, ...commands].map(({ summary }) => summary);
  const faults = summaries.filter(
    (text) => !verbs.has((text.split(' ')[0] ?? '').replace(',', '')) || text.endsWith('.'),
  );
  expect(faults).toEqual([]);
});

test('every flag and argument has a text of its own that starts with a capital letter or a value', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const texts = commands.flatMap(({ path, flags = {}, args = [] }) =>
    [
      ...Object.entries(flags).map(([name, { summary }]) => ({ name: `--${name}`, summary })),
      ...args.map(({ name, summary }) => ({ name, summary })),
    ].map((row) => ({ ...row, command: path.join(' ') })),
  );
  const faults = texts.filter(({ summary }) => !/^(\p{Lu}|[a-z-]+[/.:_<{]|\d)/u.test(summary));
  expect(faults).toEqual([]);
});

test('the headings of a group page name each of its words exactly once', async () => {
  for (const group of groups) {
    if (group.parts === undefined) continue;
    const commands = (await group.load()).filter(({ hidden }) => !hidden);
    const words = new Set(commands.map(({ path }) => path[1]));
    const named = Object.values(group.parts).flatMap((text) => text.split(' '));
    expect(named.toSorted(), group.name).toEqual([...words].toSorted());
  }
});
