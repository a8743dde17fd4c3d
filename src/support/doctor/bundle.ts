import { childPath, pathPart } from '../../core/file-name.ts';
import { join, resolve } from 'node:path';
import { lossyText } from '../../core/text.ts';
import { keys } from '../../config/settings.ts';
import { secretsOf } from '../../config/load.ts';
import { messageOf } from '../../core/problem.ts';
import { type Result, recordResult } from '../../core/result.ts';
import { makeRedactor } from '../../output/redact.ts';
import type { Context } from '../../api/context.ts';
import { limits } from '../../core/limits.ts';

type Looks = Readonly<Record<string, () => Promise<readonly unknown[]>>>;
type File = { readonly name: string; readonly text: string };

const json = (name: string, value: unknown): File => ({ name, text: `${JSON.stringify(value, null, 2)}\n` });

const versions = ({ host }: Context) => ({
  opsctl: OPSCTL_VERSION,
  runtime: host.runtime,
  platform: host.platform,
  made_at: new Date(host.now()).toISOString(),
});

/** Each setting with where it comes from; of a secret only that. Of variables only the names. */
const configuration = ({ settings, host }: Context) => ({
  profile: settings.profile,
  directories: settings.directories,
  settings: keys.flatMap(({ key, secret }) => {
    const found = settings.get(key);
    if (found === undefined) return [];
    return [{ key, origin: found.origin, value: secret ? '***' : found.value }];
  }),
  variables: Object.keys(host.env).filter((name) =>
    /^(OPSCTL_|XDG_|.*_PROXY$|.*_proxy$|NODE_|LANG$|LC_|TERM$|CI$)/.test(name),
  ),
});

const lastCrash = async ({ host, settings }: Context): Promise<File[]> => {
  // Crashes belong to no profile: the directory above that of the profile's state.
  const directory = join(settings.directories.state, '..', 'crashes');
  const names = (await host.files.list(directory).catch(() => [])).filter((name) =>
    /^crash-[\w.-]+\.txt$/.test(name),
  );
  const newest = names.sort().at(-1);
  if (newest === undefined) return [];
  const path = childPath(directory, pathPart(newest));
  const info = await host.files.info(path);
  if (info?.kind !== 'file' || info.sizeBytes > limits.crashReportBytes) return [];
  return [{ name: newest, text: lossyText(await host.files.readBytes(path)) }];
};

/** A failing doctor is also a finding. The rest of the bundle is still created. */
const gatherFindings = async (looks: Looks): Promise<File[]> => {
  const files: File[] = [];
  for (const [name, look] of Object.entries(looks))
    files.push(json(`${name}.json`, await look().catch((error: unknown) => ({ error: messageOf(error) }))));
  return files;
};

/** Creates one archive for a bug report. The redactor processes every text, whatever its source is. */
export const writeBundle = async (context: Context, file: string, looks: Looks): Promise<Result> => {
  const { host, settings } = context;
  const redactor = makeRedactor();
  for (const secret of secretsOf(settings)) redactor.hide(secret);
  const files = [
    json('versions.json', versions(context)),
    json('configuration.json', configuration(context)),
    ...(await gatherFindings(looks)),
    ...(await lastCrash(context)),
  ].map(({ name, text }) => ({ name: `opsctl-bundle/${name}`, data: redactor.clean(text) }));
  const { createTarGzip } = await import('nanotar');
  const bytes = await createTarGzip(files, { attrs: { mode: '600', mtime: host.now() } });
  const path = resolve(host.cwd, file);
  await host.files.replace(path, bytes, 0o600);
  const contents = files.map(({ name }) => name);
  return recordResult(
    { file: path, size_bytes: bytes.length, contents },
    {
      message: `${path} contains ${contents.length} files for a bug report, without secrets; review them before you send it`,
    },
  );
};
