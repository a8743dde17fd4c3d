import { type Page, heading, prose, shell } from '../../core/page.ts';

export const page: Page = {
  title: 'opsctl help security',
  summary: 'Where secrets are kept and what is redacted',
  blocks: [
    heading('Where they are kept'),
    prose(
      'Tokens of a sign-in are in one encrypted file that only you can read (mode 0600). Its key is in the keychain of the system, or in a file beside it where there is no keychain; `opsctl auth status` says which.',
    ),
    prose(
      'Tokens that you set (`config set tracker.token --stdin`) are in config.json, which only you can read. Secrets are never taken from the command line, where other users of the machine could see them.',
    ),
    prose(
      'The cache directory holds compiled code of the program (`code`). It is used only while you own it and nobody else can write to it; NODE_COMPILE_CACHE names another directory, NODE_DISABLE_COMPILE_CACHE=1 does without.',
    ),
    heading('What is redacted'),
    prose(
      'Every secret that the program has loaded is replaced by *** in answers, messages, --debug traces, HAR files and journals: by its value, in plain form, URL-encoded and in base64. Only `auth token` and `config get --reveal` print one, because that is what you asked for.',
    ),
    heading('What is sent'),
    prose(
      'There is no telemetry and no update check. Plain HTTP is refused except on this machine. A token of the mock never goes to a real service, and a real one never goes to the mock.',
    ),
    shell('Remove the sign-in and revoke its tokens', 'opsctl logout'),
    shell('A redacted trace for a bug report', 'opsctl tracker labels list --har trace.har'),
  ],
};
