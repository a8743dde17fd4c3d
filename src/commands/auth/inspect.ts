import { bool } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';
import { readSecret } from '../../auth/read-secret.ts';

export const inspect = defineCommand({
  path: ['auth', 'inspect'],
  summary: 'Show what a JWT says: header, claims and times',
  about:
    'Reads the token of the account, or one from standard input. The signature is not checked, and the token itself is not printed.',
  flags: {
    account: accountFlag,
    'id-token': {
      effects: [],
      field: bool(),
      summary: 'The identity token of the account in place of the access token',
    },
    stdin: { effects: ['reads', 'sends'], field: bool(), summary: 'Read the token from standard input' },
  },
  examples: [
    { line: 'opsctl auth inspect --id-token', says: 'Who signed in, at which issuer, and until when' },
    {
      line: 'printenv OPSCTL_IDENTITY_TOKEN | opsctl auth inspect --stdin',
      says: 'What a CI says about its job',
    },
  ],
  run: async (context, values) => {
    const { jwtView } = await import('../../auth/jwt-view.ts');
    const now = context.host.now();
    const given = async (): Promise<string> => {
      if (values.stdin === true) return readSecret(context.host, 'stdin');
      if (values['id-token'] === true) {
        const { idTokenOf } = await import('../../auth/id-token.ts');
        return (await idTokenOf(context, { account: values.account, minTtlMs: 0 })).token;
      }
      const { accessToken } = await import('../../auth/token.ts');
      return (await accessToken(context, { account: values.account })).token;
    };
    return recordResult(jwtView(await given(), now));
  },
});
