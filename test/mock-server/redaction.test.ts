import { describe, expect, it } from 'vitest';
import { redactedForm, redactedHeaders, redactedJson } from '../../src/mock-server/redaction.ts';

describe('masking', () => {
  it.each([
    ['authorization', 'Bearer abc', '***'],
    ['tracker-token', 'abc', '***'],
    ['x-api-token', 'abc', '***'],
    ['cookie', 'session=1', '***'],
    ['accept', 'text/html', 'text/html'],
  ])('of the header %s', (name, value, shown) =>
    expect(redactedHeaders({ [name]: value })).toEqual({ [name]: shown }),
  );

  it.each([
    ['token=abc&name=x', 'token=***&name=x'],
    [
      'code=4%2F0A&code_verifier=v&client_id=c&redirect_uri=http%3A%2F%2Fx',
      'code=***&code_verifier=***&client_id=c&redirect_uri=http%3A%2F%2Fx',
    ],
    ['client%5Fsecret=s', 'client%5Fsecret=***'],
    ['q=a=b&%zz=1', 'q=a=b&%zz=1'],
    ['', ''],
  ])('of the form %s', (text, shown) => expect(redactedForm(text)).toBe(shown));

  it('of JSON at any depth, and of texts only', () => {
    expect(
      redactedJson({ secret: 's', list: [{ refresh_token: 'r', color: '#ffffff' }], token: null, code: 7 }),
    ).toEqual({
      secret: '***',
      list: [{ refresh_token: '***', color: '#ffffff' }],
      token: null,
      code: 7,
    });
  });
});
