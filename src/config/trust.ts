import { resolve } from 'node:path';
import type { Host, HttpRequest } from '../platform/host.ts';
import { AppError } from '../core/problem.ts';
import { type Setting, type Settings, removalOf } from './settings.ts';

const readAuthorities = (host: Host, setting: Setting): string => {
  const path = resolve(host.cwd, setting.value);
  const text = host.files.readNow(path);
  if (text?.includes('-----BEGIN CERTIFICATE-----')) return text;
  const why =
    text === undefined ? 'does not exist' : 'holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)';
  throw new AppError('config', `\`ca_file\` (${setting.origin}): ${path} ${why}`, {
    code: 'CA_FILE',
    tryThis: [removalOf(setting)],
  });
};

/** The same host, trusting the authorities of `ca_file` beside the usual ones wherever a request does not name its own. */
export const withCaFile = (host: Host, settings: Settings): Host => {
  const setting = settings.get('ca_file');
  if (setting === undefined) return host;
  const extraCa = readAuthorities(host, setting);
  const request = (given: HttpRequest) =>
    host.network.request(given.tls?.ca === undefined ? { ...given, tls: { ...given.tls, extraCa } } : given);
  const network: Host['network'] = { ...host.network, request };
  return Object.create(host, { network: { value: network } }) as Host;
};
