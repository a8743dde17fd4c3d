import { expect, test } from 'vitest';
import { isConfigured } from '../../../src/auth/programs/credential-protocols.ts';

test.each(['github.com', 'GitHub.com', 'https://github.com/', 'github.com:443'])(
  'the helper gives the token to the configured host %j',
  (host) => {
    expect(isConfigured(['github.com'], host)).toBe(true);
  },
);
test.each([
  'git\thub.com',
  'git\nhub.com',
  'github\u3002com',
  'git\u00adhub.com',
  'github.com@evil.example',
  'evil.example',
])(
  'the helper gives no token to the host %j, which a URL parser may change to the configured host',
  (host) => {
    expect(isConfigured(['github.com'], host)).toBe(false);
  },
);
