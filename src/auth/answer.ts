import { formatRow } from '../core/output-format.ts';
import { nothing, rawResult, recordResult, type Result, rowsResult } from '../core/result.ts';
import { jsonOf, refuseRedirect } from '../api/response.ts';
import type { HttpResponse } from '../auth/protocol/token-client.ts';
import type { Context } from '../cli/command.ts';

/** `id` and what was asked for with `part`, one level deep. */
const columnsOf = (items: readonly unknown[]): string[] => {
  const [first] = items;
  if (typeof first !== 'object' || first === null) return [];
  const inside = (key: string, value: unknown): string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value).map((name) => `${key}.${name}`)
      : [key];
  return Object.entries(first)
    .filter(([key]) => key !== 'kind' && key !== 'etag')
    .flatMap(([key, value]) => inside(key, value))
    .slice(0, 6);
};

/** The answer as it came; its items in formats that are made of rows. */
export const shown = (context: Context, read: HttpResponse, path: string): Result => {
  const what = `GET ${path}`;
  refuseRedirect(read, what);
  if (read.text === '') return nothing(`${what}: ${read.status}, without a body`);
  const type = read.headers['content-type'] ?? '';
  // A page is a sign-in page's, never the data API's: jsonOf refuses it.
  if (!/\b(json|html)\b/.test(type)) return rawResult(read.text);
  const data = jsonOf(read, what);
  const items = (data as { items?: unknown } | null)?.items;
  if (!formatRow(context.format).isByRow || !Array.isArray(items)) return recordResult(data);
  return rowsResult(items, { columns: columnsOf(items), name: 'id' });
};
