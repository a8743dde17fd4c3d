import { type Page, heading, prose, shell, terms } from '../../core/page.ts';
import { keys } from '../../config/keys.ts';

export const page: Page = {
  title: 'opsctl help configuration',
  summary: 'Settings, profiles and files; what beats what',
  blocks: [
    prose(
      'A flag beats an environment variable, the variable beats the profile, the profile beats the default. `opsctl config list --show-origin` shows where each value comes from.',
    ),
    heading('Profiles'),
    prose(
      'A profile is a set of settings with a name. Sign-ins, caches and local state of two profiles never meet. The built-in profile `mock` always means the embedded services. With nothing configured it is the one in use, so that nothing real is touched until you name it; a sign-in at a real server is then kept in a profile named after the server.',
    ),
    shell(
      'A profile for a real tracker',
      'opsctl config set tracker.url https://tracker.example.com --profile work',
    ),
    shell(
      'Its token, read from standard input',
      'printf %s "$TOKEN" | opsctl config set tracker.token --stdin --profile work',
    ),
    shell('Use it from now on', 'opsctl config use work'),
    shell('Use it for one command', 'opsctl tracker labels list --profile work'),
    heading('Settings'),
    terms(
      keys.map(({ key, env, summary, fallback }): [string, string] => [
        key,
        `${summary}${env === undefined ? '' : `; ${env}`}${fallback === undefined ? '' : ` (default ${fallback})`}`,
      ]),
    ),
    heading('Files'),
    terms([
      ['config.json', 'All profiles: $XDG_CONFIG_HOME/opsctl, else ~/.config/opsctl'],
      ['state', 'Sign-ins, the state of the mock, journals of runs: ~/.local/state/opsctl'],
      ['cache', 'Names for completion: ~/.cache/opsctl'],
      ['OPSCTL_HOME', 'One directory for all three'],
    ]),
  ],
};
