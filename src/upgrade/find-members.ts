import type { Host } from '../host/host.ts';
import { flagsOf } from './configuration.ts';
import type { ListedMember } from './types.ts';

export type FoundProcess = { readonly pid: number; readonly argv: readonly string[]; readonly data_dir?: string };

const commandLines = async (host: Host): Promise<{ pid: number; argv: string[] }[]> => {
  const names = await host.files.list('/proc').catch(() => []);
  return names
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const text = host.files.readNow(`/proc/${name}/cmdline`);
      return text === undefined || text === '' ? [] : [{ pid: Number(name), argv: text.replace(/\0$/, '').split('\0') }];
    });
};

/** The process of a member on this machine: the one that advertises or listens on its client URL. */
export const findProcess = async (host: Host, { client_urls, name }: ListedMember): Promise<FoundProcess | undefined> => {
  for (const { pid, argv } of await commandLines(host)) {
    const flags = flagsOf(argv);
    const urls = `${flags.get('advertise-client-urls') ?? ''},${flags.get('listen-client-urls') ?? ''}`.split(',');
    if (!client_urls.some((url) => urls.includes(url)) || (flags.get('name') ?? name) !== name) continue;
    const data = flags.get('data-dir');
    return { pid, argv, ...(data === undefined ? {} : { data_dir: data }) };
  }
  return undefined;
};
