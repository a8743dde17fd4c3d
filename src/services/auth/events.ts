/** doc1 Events. `{secevent_base}` is open in the document. */
const secEventBase = 'https://schemas.opsctl.example/secevent';
export const eventTypes = {
  sessionsRevoked: `${secEventBase}/risc/event-type/sessions-revoked`,
  tokenRevoked: `${secEventBase}/oauth/event-type/token-revoked`,
  accountDisabled: `${secEventBase}/risc/event-type/account-disabled`,
} as const;
export type EventType = (typeof eventTypes)[keyof typeof eventTypes];
export const allEventTypes: readonly EventType[] = Object.values(eventTypes);
/** RFC 8417 and 8935: the body of a delivery is one signed token. */
export const eventContentType = 'application/secevent+jwt';
/** How a token is named in a token-revoked event: base64 of SHA-512 of SHA-512 of the refresh token. */
export const tokenIdentifierAlg = 'hash_base64_sha512_sha512';
