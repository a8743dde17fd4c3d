import { type Fields, bool, help, int, list, oneOf, orNull, str } from '../../core/field.ts';

/** Values the document leaves open or that tests want small; all times in seconds. */
export const settingFields = {
  access_token_seconds: help(int({ min: 1, max: 86_400 }), 'Life of an access token'),
  code_seconds: help(int({ min: 1, max: 600 }), 'Life of a code; RFC 6749 4.1.2 allows ten minutes at most'),
  refresh_tokens_per_client: help(
    int({ min: 1, max: 10_000 }),
    'Live refresh tokens of a user and a client; the oldest stop working',
  ),
  refresh_tokens_per_user: help(
    int({ min: 1, max: 100_000 }),
    'Live refresh tokens of a user across all clients',
  ),
  // spec/sign-in#check-6.17: what ends a refresh token beside the user is not shown in the document; none of it happens unless set.
  refresh_token_days: orNull(
    help(
      int({ min: 1, max: 10_000 }),
      'Refresh tokens end this long after they were issued, as for applications in testing; null is never',
    ),
  ),
  // spec/sign-in#check-6.5: the real service changes the text of a refusal with time.
  refusal_text_hours: orNull(
    help(
      int({ min: 0, max: 8760 }),
      'A refresh this long after the end of its token says "Bad Request" instead of "Token has been expired or revoked."; null is never',
    ),
  ),
  revoke_on_password_change: help(bool(), 'A new password ends the refresh tokens of the user'),
  reauth_after_seconds: orNull(
    help(
      int({ min: 1, max: 31_536_000 }),
      'Refreshes this long after the sign-in get invalid_grant with error_subtype invalid_rapt; null is never',
    ),
  ),
  require_pkce: help(bool(), 'Refuse authorization requests without a code challenge'),
  remember_consent: help(
    bool(),
    'Skip the consent page when everything was granted before, as the real service does',
  ),
  any_loopback_path: help(bool(), 'Accept every path of a loopback redirect, for all clients'),
  accept_localhost: help(bool(), 'Accept http://localhost:PORT beside the two IP forms'),
  mobile_loopback: help(
    oneOf('refuse', 'warn'),
    'What a mobile client gets for the deprecated loopback redirect',
  ),
  unused_client_days: help(int({ min: 1, max: 10_000 }), 'Clients unused this long are deleted'),
  integrity_delay_seconds: help(
    int({ min: 0, max: 900 }),
    'When a change of an integrity check takes effect',
  ),
  revoke_delay_seconds: help(int({ min: 0, max: 900 }), 'How long access tokens go on after a revoke'),
  rate_per_minute: orNull(
    help(int({ min: 1, max: 1_000_000 }), 'Requests a minute at the token and revoke endpoints; null is off'),
  ),
  event_attempts: help(
    int({ min: 1, max: 20 }),
    'How often a security event is sent before it counts as failed',
  ),
  event_backoff_ms: help(int({ min: 0, max: 60_000 }), 'Wait before the second attempt; doubled each time'),
  ownership_delay_seconds: help(
    int({ min: 0, max: 3600 }),
    'How long a new publisher of an extension is not seen yet',
  ),
  extra_scopes: help(
    list(str(300, { min: 1 })),
    'Scopes that this server knows beside its own, so that tools of other services can be tried',
  ),
} as const satisfies Fields;
