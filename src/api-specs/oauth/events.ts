/** spec/sign-in#events. `{secevent_base}` is open in the document. */
const secEventBase = 'https://schemas.opsctl.example/secevent';
export const eventTypes = {
  sessionsRevoked: `${secEventBase}/risc/event-type/sessions-revoked`,
  tokenRevoked: `${secEventBase}/oauth/event-type/token-revoked`,
  accountDisabled: `${secEventBase}/risc/event-type/account-disabled`,
  // spec/sign-in#check-11.8: the document's list is not the full one; these are sent to receivers that name them.
  tokensRevoked: `${secEventBase}/oauth/event-type/tokens-revoked`,
  accountEnabled: `${secEventBase}/risc/event-type/account-enabled`,
  accountPurged: `${secEventBase}/risc/event-type/account-purged`,
  credentialChangeRequired: `${secEventBase}/risc/event-type/account-credential-change-required`,
  verification: `${secEventBase}/risc/event-type/verification`,
} as const;
export type EventType = (typeof eventTypes)[keyof typeof eventTypes];
/** spec/sign-in#events: what a subscription gets unless it names its types. */
export const documentedEventTypes: readonly EventType[] = [
  eventTypes.sessionsRevoked,
  eventTypes.tokenRevoked,
  eventTypes.accountDisabled,
];
export const allEventTypes: readonly EventType[] = Object.values(eventTypes);
/** RFC 8417 and 8935: the body of a delivery is one signed token. */
export const eventContentType = 'application/secevent+jwt';
/** How a token is named in a token-revoked event: base64 of SHA-512 of SHA-512 of the refresh token. */
export const tokenIdentifierAlg = 'hash_base64_sha512_sha512';
