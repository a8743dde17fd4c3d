/** How a token may be asked for at the token endpoint. The first two are the document's; the others are extensions by their RFC. */
export const grantTypes = {
  authorization_code: { client: 'required', source: 'spec/sign-in#exchange' },
  refresh_token: { client: 'required', source: 'spec/sign-in#refresh' },
  client_credentials: { client: 'required', source: 'RFC 6749 4.4' },
  'urn:ietf:params:oauth:grant-type:jwt-bearer': { client: 'optional', source: 'RFC 7523 2.1' },
  'urn:ietf:params:oauth:grant-type:token-exchange': { client: 'optional', source: 'RFC 8693 2' },
  'urn:ietf:params:oauth:grant-type:device_code': { client: 'required', source: 'RFC 8628 3.4' },
} as const satisfies Readonly<
  Record<string, { readonly client: 'required' | 'optional'; readonly source: string }>
>;
export type GrantType = keyof typeof grantTypes;
export const isGrantType = (text: string): text is GrantType => Object.hasOwn(grantTypes, text);

export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code';
/** RFC 8693 3. */
export const tokenTypes = {
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  idToken: 'urn:ietf:params:oauth:token-type:id_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
} as const;
/** RFC 7523 2.2. */
export const clientAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
