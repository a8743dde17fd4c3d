import { help, req, str } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';

/** A path parameter that names a record. */
export const id = <const N extends string>(name: N, what: string) =>
  ({ [name]: req(help(str(), what)) }) as unknown as {
    readonly [K in N]: { type: 'string'; required: true };
  };
export const clientId = id('client', 'The client ID');
export const userName = id('user', 'E-mail address or sub of the user');
export const email = req(help(str(320, { format: 'email' }), 'E-mail address'));
/** A row that changes one record with a word: `POST /clients/{client}/restore`. */
export const act = <
  const P extends string,
  const R extends Operation['returns'],
  const I extends Operation['params'],
>(
  path: P,
  params: I,
  returns: R,
  summary: string,
  cites: string,
) => ({ method: 'POST', path, params, body: {}, summary, cites, ok: 200, returns }) as const;
export const columns = (...names: string[]) => ({ columns: names });
