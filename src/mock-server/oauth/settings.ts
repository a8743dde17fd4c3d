import type { Complete } from '../../core/field.ts';
import type { settingFields } from '../../api-specs/oauth/console-settings.ts';

export type Settings = Complete<typeof settingFields>;

/** spec/sign-in#check and spec/program#choices: where the document is silent, with the document's side of each choice as the default. */
export const defaultSettings: Settings = {
  access_token_seconds: 3599,
  code_seconds: 600,
  refresh_tokens_per_client: 100,
  refresh_tokens_per_user: 500,
  refresh_token_days: null,
  refusal_text_hours: null,
  revoke_on_password_change: false,
  reauth_after_seconds: null,
  require_pkce: false,
  remember_consent: false,
  any_loopback_path: false,
  accept_localhost: false,
  mobile_loopback: 'refuse',
  unused_client_days: 180,
  integrity_delay_seconds: 900,
  revoke_delay_seconds: 0,
  rate_per_minute: null,
  event_attempts: 4,
  event_backoff_ms: 500,
  ownership_delay_seconds: 300,
  extra_scopes: [],
};
