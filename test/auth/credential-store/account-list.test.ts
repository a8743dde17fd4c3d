import { expect, test } from 'vitest';
import {
  type Account,
  accountLines,
  type StoredCredentials,
  writeAccountList,
} from '../../../src/auth/credential-store/account.ts';
import { realHost } from '../../support/real-host.ts';

const account = (name: string, server = `https://${name}.example`): Account =>
  ({ name, server, accessToken: `secret-of-${name}` }) as Account;
const data: StoredCredentials = {
  current: 'bob',
  accounts: [account('ada'), account('bob'), account('carl\nthe  third', 'https://c\t.example')],
};

test('the current account is first, the others keep their order, and each has one line', () => {
  expect(accountLines(data)).toBe(
    'bob\thttps://bob.example\nada\thttps://ada.example\ncarl the third\thttps://c .example\n',
  );
  expect(accountLines({ accounts: [account('ada')] })).toBe('ada\thttps://ada.example\n');
});

test('the list is private and contains no secret, and an unwritable list is not a failure', async () => {
  const { host, directory, close } = await realHost();
  await writeAccountList(host, directory, data);
  expect((await host.files.info(`${directory}/accounts`))?.mode).toBe(0o600);
  expect(await host.files.read(`${directory}/accounts`)).not.toContain('secret');
  await writeAccountList(host, `${directory}/accounts/is-a-file`, data);
  await close();
});
