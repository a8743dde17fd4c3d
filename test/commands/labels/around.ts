import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Host } from '../../../src/platform/host.ts';
import { type LabelServer, labelServer } from '../../support/labels-server.ts';
import { type ProgramOptions, type Ran, opsctl } from '../../support/program.ts';
import { makeDirectory } from '../../support/directory.ts';

export type Surrounding = {
  readonly server: LabelServer;
  readonly directory: string;
  /** Runs the program against the server; `opsctl labels …`. */
  run(...argv: string[]): Promise<Ran>;
  /** Runs the command on a changed machine: with responses to prompts, or gates on the network. */
  runOn(change: (host: Host) => Host, ...argv: string[]): Promise<Ran>;
  runWith(env: ProgramOptions['env'], ...argv: string[]): Promise<Ran>;
  file(name: string, text: string): Promise<string>;
  /** Id of the label with this title. */
  id(title: string): Promise<string>;
  close(): Promise<void>;
};

/** A label server, an empty home, and the program between them. */
export const surrounding = async (options: Parameters<typeof labelServer>[0] = {}): Promise<Surrounding> => {
  const server = await labelServer(options);
  const directory = makeDirectory('opsctl-labels-');
  const env = { OPSCTL_LABELS_URL: server.mock.origin, OPSCTL_LABELS_TOKEN: 'any-token' };
  const runWith = (more: ProgramOptions['env'], ...argv: string[]) =>
    opsctl(['labels', ...argv], { home: directory, env: { ...env, ...more } });
  return {
    server,
    directory,
    run: (...argv) => runWith({}, ...argv),
    runOn: (host, ...argv) =>
      opsctl(['labels', ...argv], { home: directory, env: { ...env, CI: undefined }, host }),
    runWith,
    async file(name, text) {
      const path = join(directory, name);
      await writeFile(path, text);
      return path;
    },
    async id(title) {
      const { json } = await server.send('GET', '/labels?pageSize=200');
      return json.labels.find((label: { properties: { title: string } }) => label.properties.title === title)
        .id;
    },
    async close() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

/** Returns a machine whose user at a terminal gives these responses to prompts. */
export const answering =
  (answer: {
    readonly confirm?: (question: string) => boolean | Promise<boolean>;
    readonly text?: (question: string) => string;
  }) =>
  (host: Host): Host => ({
    ...host,
    terminal: {
      ...host.terminal,
      stdin: { ...host.terminal.stdin, isTty: true },
      stderr: { ...host.terminal.stderr, isTty: true },
      prompts: {
        confirm: async (question) => answer.confirm?.(question) ?? false,
        text: async (question) => answer.text?.(question) ?? '',
        select: async () => '',
      },
    },
  });

/** Every kind of field, several values, badges, descriptions, formats. */
export const everything = `title: Everything
type: SHARED
description: All kinds of fields
learnMoreUri: https://example.com/labels
copyMode: COPY_APPLIABLE
enabledApps: [FILES, MAIL]
fields:
  - {name: Note, type: text, required: true}
  - {name: Count, type: integer}
  - {name: Short day, type: date, dateFormat: SHORT_DATE}
  - {name: Long day, type: date}
  - name: State
    type: selection
    required: true
    choices:
      - {name: Open, id: open, description: Still open, badge: {color: '#cc3311', priority: 3}}
      - {name: Done, badge: '#11aa44'}
      - Void
  - {name: Tags, type: selection, maxEntries: 4, choices: [A, B, 2024]}
  - {name: Owner, type: user}
  - {name: Readers, type: user, maxEntries: 0}
`;
