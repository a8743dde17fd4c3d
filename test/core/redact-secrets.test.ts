import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  quotableText,
  redactedBody,
  redactedForm,
  redactedHeaders,
  redactedJson,
  redactedOwnJson,
  redactedResult,
  redactedSentence,
  redactedUrl,
  secretsIn,
} from '../../src/core/redact-secrets.ts';

describe('masking', () => {
  it.each([
    ['authorization', 'Bearer abc', '***'],
    ['tracker-token', 'abc', '***'],
    ['x-api-token', 'abc', '***'],
    ['cookie', 'session=1', '***'],
    ['x-api-key', 'abc', '***'],
    ['apiKey', 'abc', '***'],
    ['Proxy-Authorization', 'Basic abc', '***'],
    ['location', 'http://a/cb?code=abc&x=1', 'http://a/cb?code=***&x=1'],
    ['Location', '/cb#access_token=abc', '/cb#access_token=***'],
    ['link', '<http://a/?token=abc&p=2>; rel="next"', '<http://a/?token=***&p=2>; rel="next"'],
    ['accept', 'text/html', 'text/html'],
  ])('masking covers the header %s', (name, value, shown) =>
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
  ])('masking covers the form %s', (text, shown) => expect(redactedForm(text)).toBe(shown));

  it('masking covers texts in JSON at any depth, and no code that is a number', () => {
    expect(
      redactedJson({ secret: 's', list: [{ refresh_token: 'r', color: '#ffffff' }], token: null, code: 7 }),
    ).toEqual({
      secret: '***',
      list: [{ refresh_token: '***', color: '#ffffff' }],
      token: null,
      code: 7,
    });
  });

  test.each([
    ['{"name":"x","otp":123456}', '{"name":"x","otp":"***"}'],
    ['{"pwd":-12.5e+3,"n":1}', '{"pwd":"***","n":1}'],
    ['{"session_id":12345678901234567890}', '{"session_id":"***"}'],
    ['{"token":[1,["b",{"c":2}],null]}', '{"token":["***",["***",{"c":"***"}],null]}'],
    [
      '{"credentials":{"user":"a","value":"hidden","n":{"pin":7}},"m":8}',
      '{"credentials":{"user":"***","value":"***","n":{"pin":"***"}},"m":8}',
    ],
    ['{"secret":{"a":true,"b":false,"c":null}}', '{"secret":{"a":true,"b":false,"c":null}}'],
    // The code of an error is a number or an object; as text it may be the code of a sign-in.
    ['{"code":14,"error":{"code":{"n":1}}}', '{"code":14,"error":{"code":{"n":1}}}'],
    ['{"code":["abc",5]}', '{"code":["***",5]}'],
  ])('masking covers numbers and objects under the name of a secret: %s', (text, shown) => {
    expect(redactedBody(text)).toBe(shown);
    expect(redactedJson(JSON.parse(text))).toEqual(JSON.parse(shown));
  });
  test.each([
    ['{"code":482913,"id":7}', '{"code":"***","id":7}'],
    ['{"data":{"code":482913}}\n{"code":[1]}\n', '{"data":{"code":"***"}}\n{"code":["***"]}\n'],
    ['{"error":"invalid_grant","status":400}', '{"error":"invalid_grant","status":400}'],
  ])('the answer to a form has no code of a sign-in, also as a number: %s', (text, shown) => {
    const form = 'application/x-www-form-urlencoded;charset=UTF-8';
    expect(redactedBody(text, 'application/json', form)).toBe(shown);
    // Other services answer with the numbers of their errors.
    expect(redactedBody(text, 'application/json', 'application/json')).toBe(text);
  });
  test('the result of a command keeps the description of a field, and no number or object of a secret', () => {
    const described = {
      securityDefinitions: { token: { type: 'apiKey', in: 'header', name: 'Tracker-Token' } },
      volumes: [{ secret: { secretName: 'files', defaultMode: 288 } }],
      findings: [{ code: 'UNKNOWN' }],
    };
    expect(redactedResult(described)).toEqual(described);
    expect(redactedResult({ otp: 1, credentials: { type: 'basic', value: 'hidden' } })).toEqual({
      otp: '***',
      credentials: { type: '***', value: '***' },
    });
  });

  it.each([
    ['http://user:pass@a:1/x', 'http://***@a:1/x'],
    ['//user@a/x', '//***@a/x'],
    ['/x?client_assertion=a', '/x?client_assertion=***'],
    [
      'https://a/x?sig=b&X-Amz-Signature=c&X-Goog-Signature=d',
      'https://a/x?sig=***&X-Amz-Signature=***&X-Goog-Signature=***',
    ],
    ['https://a/x?pageToken=1&next_page_token=2', 'https://a/x?pageToken=1&next_page_token=2'],
    ['https://a/x?cursor_token=1&cursorToken=2', 'https://a/x?cursor_token=1&cursorToken=2'],
    ['https://a/x', 'https://a/x'],
  ])('masking covers the URL %s', (url, shown) => expect(redactedUrl(url)).toBe(shown));

  it.each([
    ...['authorization', 'setCookie', 'PASSWORD', 'passwd', 'passphrase', 'Token', 'secret', 'code'],
    ...['client_assertion', 'credential', 'apiKey', 'apikey', 'x-private-key', 'signature', 'user_code'],
    // In lower case, the sign of kelvin is the letter k. An escape is another way to write a letter.
    ...['to\u212aen', '\\u0074oken', 'to\\u212aen'],
  ])('masking finds the name %s in a short JSON text', (name) =>
    expect(redactedBody(`{"${name}":"abc","n":1}`)).not.toContain('abc'),
  );
  it.each(['https://u:abc@h/', 'https:\\/\\/u:abc@h/', '\\u0068ttps://u:abc@h/'])(
    'masking finds the URL %s in a short JSON text',
    (url) => expect(redactedBody(`{"name":"${url}"}`)).not.toContain('abc'),
  );

  it.each<[string, string, string | undefined]>([
    ...[
      ...['otp', 'totp', 'bearer', 'pwd', 'passcode', 'credentials', 'secretKey', 'aws_secret_access_key'],
      ...['sessionId', 'x-session-id', 'keyPassphrase', 'accountKey', 'connectionString', 'requestSignature'],
    ].map((name): [string, string, string] => [`{"${name}":"abc"}`, '', `{"${name}":"***"}`]),
    [
      '{"access_key_id":"a","optional":"b","signal":"c"}',
      '',
      '{"access_key_id":"a","optional":"b","signal":"c"}',
    ],
    ['{"secret":"abc","api_key":"abc","n":1}', 'application/json', '{"secret":"***","api_key":"***","n":1}'],
    [
      '{"accessToken":"abc","url":"http://a/?code=b"}',
      '',
      '{"accessToken":"***","url":"http://a/?code=***"}',
    ],
    ['{"tokens":1, "name":"x"}', 'application/json', '{"tokens":1, "name":"x"}'],
    ['{"token":"a"}\n{"token":"b"}\n', 'application/x-ndjson', '{"token":"***"}\n{"token":"***"}\n'],
    ['client_assertion=abc&x=1', 'application/x-www-form-urlencoded', 'client_assertion=***&x=1'],
    ['--b\r\nAuthorization: Bearer abc\r\n--b--', 'multipart/mixed; boundary=b', undefined],
    ['{"token":"abc', 'application/json', undefined],
    ['token=abc', 'text/plain', undefined],
    ['', 'text/plain', ''],
  ])('masking covers the body %s (%s)', (body, type, shown) => expect(redactedBody(body, type)).toBe(shown));
  test.each([
    '{"password":"hidden","password":"***"}',
    '{"password" : "hidden", "password"\t:"***"}',
    '{"a":{"token":"hidden","token":null}}',
    '{"a\\u0022:":1,"token":"hidden","token":null}',
    '{"pass\\u0077ord":"hidden","password":"***"}',
  ])('masking hides the value of a key that appears twice: %s', (body) => {
    expect(redactedBody(body)).toBeDefined();
    expect(redactedBody(body)).not.toContain('hidden');
  });
  test.each(['{ "a": 12345678901234567890 }', '{"a":"b\\":c","d" : [1.0]}'])(
    'a body without a secret keeps its notation: %s',
    (body) => expect(redactedBody(body)).toBe(body),
  );

  test.each([
    ['{"id": 9007199254740993, "token":"a"}', '{"id": 9007199254740993, "token":"***"}'],
    ['{"token":"a","n":-0,"m":1.0,"e":1e400}', '{"token":"***","n":-0,"m":1.0,"e":1e400}'],
    ['{"token":"a","token":"b","x":1,"x":2}', '{"token":"***","token":"***","x":1,"x":2}'],
    [
      '{"u":"http:\\/\\/a:b@c\\/","n":12345678901234567890}',
      '{"u":"http://***@c/","n":12345678901234567890}',
    ],
    ['{"id":9007199254740993,"token":"a"}\n{"id":2}\n', '{"id":9007199254740993,"token":"***"}\n{"id":2}\n'],
  ])('masking changes only the secrets of %s', (body, shown) => expect(redactedBody(body)).toBe(shown));
  test('masking a text and masking its value give the same value', () => {
    const word = fc.constantFrom(
      'token',
      'a',
      'secret',
      'url',
      'code',
      'state',
      'http://u:p@h/?code=x',
      'x:y',
      '"',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        word,
        fc.integer(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(word, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.parse(redactedBody(text) ?? '')).toEqual(redactedJson(value));
      }),
    );
  });

  it('lists the secrets of a JSON text, and no codes of errors', () => {
    const text = '{"code":"NOT_FOUND","list":[{"api_key":"abc"}],"secret":"def","token":{"a":1}}';
    expect(secretsIn(text)).toEqual(['abc', 'def']);
    expect(secretsIn('{"secret":"cut')).toEqual([]);
  });
});

test.each([
  ['{"token": "a", ', '(15 bytes, not shown because they may contain a secret)'],
  ['password=x', '(10 bytes, not shown because they may contain a secret)'],
  ['{"name":"x","api_key":"k"}', '{"name":"x","api_key":"***"}'],
  ['<html>502 Bad Gateway, status code 502</html>', '<html>502 Bad Gateway, status code 502</html>'],
  ['"a text"', '"a text"'],
])('a message quotes %j as %j', (text, expected) => {
  expect(quotableText(text)).toBe(expected);
});

test('JSON that this program made is masked like any JSON', () => {
  const key = fc.oneof(
    fc.constantFrom('token', 'apiKey', 'code', 'name', 'p\u0061ssword', 'a"b'),
    fc.string(),
  );
  const text = fc.oneof(fc.constantFrom('https://u:p@h/?token=1', 'plain', '\u212aey'), fc.string());
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 3 }, text, fc.integer(), fc.array(tie('any')), fc.dictionary(key, tie('any'))),
  })).any;
  fc.assert(
    fc.property(fc.dictionary(key, value), (given) => {
      const json = JSON.stringify(given);
      expect(redactedOwnJson(json)).toBe(redactedBody(json, 'application/json'));
    }),
  );
});

test.each([
  ['code_verifier=abcdefgh1 is wrong', 'code_verifier=*** is wrong'],
  ['Authorization: Bearer abcdefgh12345678', 'Authorization: Bearer ***'],
  ['sent Basic YWxhZGRpbjpvcGVuMTIzNA== here', 'sent Basic *** here'],
  ['{"refresh_token":"abcdefgh","x":1', '{"refresh_token":"***","x":1'],
  ['see https://h/p?code=abcdefgh&x=1', 'see https://h/p?code=***&x=1'],
  ['invalid token: 1234-abcd', 'invalid token: ***'],
  ['invalid refresh token: malformed (Bearer authentication required)', undefined],
  ['Bearer realm="x", error="invalid_token"', undefined],
  ['Bearer authorization_uri="https://login.example/common", token_endpoint="https://a.example"', undefined],
  ['code: AADSTS70011xyz', undefined],
  ['api key: 1234-abcd', 'api key: ***'],
  ['AADSTS70011: error_code=70011, correlation 0a1b2c3d-0000', undefined],
])('the secrets of the sentence %j are masked', (text, masked = text) => {
  expect(redactedSentence(text)).toBe(masked);
});
