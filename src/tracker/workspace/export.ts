import { heldRows } from '../../core/held-rows.ts';
import { yamlText } from '../../core/yaml-text.ts';
import type { Context } from '../../cli/command.ts';
import { type Lookup, type Row, workspaceKinds } from './kinds.ts';
import { readLookup, readRows, wholeRow } from './read.ts';

/** What was never set is left out: an apply then leaves it alone. */
const exported = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null && value !== undefined && value !== ''),
  );

/** The entries of one list, batch by batch while they arrive. */
async function* entriesOf(context: Context, name: string, lookup: Lookup): AsyncGenerator<Row[]> {
  const kind = workspaceKinds[name];
  if (kind === undefined) return;
  for await (const rows of readRows(context, name)) {
    const entries: Row[] = [];
    for (const row of rows) entries.push(exported(kind.show(await wholeRow(context, name, row), lookup)));
    yield entries;
  }
}

/** The file as YAML text, list by list; only the names that others refer to are held. */
export async function* exportText(context: Context, kinds: readonly string[]): AsyncGenerator<string> {
  const lookup = await readLookup(context, kinds);
  yield 'version: 1\n';
  for (const name of kinds) {
    let isEmpty = true;
    for await (const entries of entriesOf(context, name, lookup)) {
      if (entries.length === 0) continue;
      const text = yamlText({ [name]: entries });
      // The name of the list stands above the first entry only.
      yield isEmpty ? text : text.slice(text.indexOf('\n') + 1);
      isEmpty = false;
    }
    if (isEmpty) yield `${name}: []\n`;
  }
}

/** The same as data. */
export const exportData = async (context: Context, kinds: readonly string[]): Promise<Row> => {
  const lookup = await readLookup(context, kinds);
  const data: Record<string, unknown> = { version: 1 };
  for (const name of kinds) {
    const rows: Row[] = [];
    const held = heldRows(`GET ${workspaceKinds[name]?.list.path}`);
    for await (const entries of entriesOf(context, name, lookup)) {
      held.refuseMore(entries.length);
      for (const entry of entries) rows.push(entry);
    }
    data[name] = rows;
  }
  return data;
};
