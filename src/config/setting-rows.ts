import { type Key, keys } from './keys.ts';
import type { Setting, Settings } from './settings.ts';

const MASK = '***';
const shown = (key: Key, setting: Setting | undefined): string | null =>
  setting === undefined ? null : key.secret ? MASK : setting.value;

/** The profile and each setting as a row; a secret is masked. */
export const settingRows = (
  settings: Settings,
  { all, showOrigin }: { readonly all?: boolean | undefined; readonly showOrigin?: boolean | undefined },
): unknown[] => {
  const origin = (text: string | null) => (showOrigin ? { origin: text } : {});
  const rows = keys.flatMap((key) => {
    const setting = settings.get(key.key);
    if (setting === undefined && !all) return [];
    return [
      {
        key: key.key,
        value: shown(key, setting),
        ...origin(setting?.origin ?? null),
        ...(all ? { environment: key.env ?? null, summary: key.summary } : {}),
      },
    ];
  });
  return [{ key: 'profile', value: settings.profile.name, ...origin(settings.profile.origin) }, ...rows];
};
