import { beforeEach, describe, expect, test } from 'vitest';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, NO_UUID, OWNER, upload } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker();
});
const fetchBytes = async (url: string): Promise<Buffer> =>
  Buffer.from(await (await fetch(url, { headers: { 'Tracker-Token': TOKEN } })).arrayBuffer());
/** Builds a multipart body byte by byte. */
const raw = (parts: readonly (readonly [string, string | Buffer])[]): [Buffer, Record<string, string>] => {
  const chunks = parts.flatMap(([head, content]) => [
    Buffer.from(`--BOUND\r\n${head}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return [
    Buffer.concat([...chunks, Buffer.from('--BOUND--\r\n')]),
    { 'Content-Type': 'multipart/form-data; boundary=BOUND' },
  ];
};

describe('uploaded files', () => {
  test(
    'uploaded files: one to four in one request, in order, attached to a story',
    covers('spec/tracker#limits-4', 'spec/tracker#files-2'),
    async () => {
      for (const names of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd']]) {
        const { status, body } = await ask('POST', '/files', upload(names, 110));
        expect([status, body.map((file: { name: string }) => file.name)]).toEqual([201, names]);
        for (const file of body)
          expect(file).toMatchObject({
            story_ids: [110],
            uploader_id: OWNER,
            content_type: 'text/plain',
            size: 12,
            entity_type: 'file',
          });
      }
      expect((await ask('GET', '/files')).body).toHaveLength(10);
      expect((await ask('GET', '/stories/110')).body.files).toHaveLength(10);
    },
  );
  test('every byte is returned as it was uploaded', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 * 5 }, (_, i) => i % 256));
    const tricky = Buffer.from('\r\n--BOUN\r\n--\r\n\0\ufeff', 'utf8');
    const [body, headers] = raw([
      [
        'Content-Disposition: form-data; name="file0"; filename="all.bin"\r\nContent-Type: application/octet-stream',
        bytes,
      ],
      ['Content-Disposition: form-data; name="file1"; filename="empty"\r\nContent-Type: text/plain', ''],
      ['Content-Disposition: form-data; name="file2"; filename="tricky"\r\nContent-Type: text/plain', tricky],
    ]);
    const { body: files } = await ask('POST', '/files', body, headers);
    expect(files.map((file: { size: number }) => file.size)).toEqual([1280, 0, tricky.length]);
    expect(await fetchBytes(files[0].url)).toEqual(bytes);
    expect(await fetchBytes(files[1].url)).toHaveLength(0);
    expect(await fetchBytes(files[2].url)).toEqual(tricky);
  });
  test(
    'the name is the filename of the Content-Disposition, with any letters',
    covers('spec/tracker#files-2'),
    async () => {
      const names = ['plain.txt', 'zwei Wörter.png', '日本語.md', 'a;b=c.txt'];
      const [body, headers] = raw(
        names.map(
          (name, i) => [`Content-Disposition: form-data; name="file${i}"; filename="${name}"`, 'x'] as const,
        ),
      );
      const { body: files } = await ask('POST', '/files', body, headers);
      expect(files.map((file: { name: string; filename: string }) => [file.name, file.filename])).toEqual(
        names.map((name) => [name, name]),
      );
      const answer = await fetch(files[2].url, { headers: { 'Tracker-Token': TOKEN } });
      expect(answer.headers.get('content-disposition')).toBe(
        `attachment; filename="___.md"; filename*=UTF-8''%E6%97%A5%E6%9C%AC%E8%AA%9E.md`,
      );
    },
  );
  test('a quote or a line end in a name is escaped like in browsers and restored', async () => {
    const disposition = 'Content-Disposition: form-data; name="file0"; filename="a %22b%22 100%25%0D%0A.txt"';
    const [body, headers] = raw([[disposition, 'x']]);
    const { body: files } = await ask('POST', '/files', body, headers);
    expect(files[0].name).toBe('a "b" 100%25\r\n.txt');
    const answer = await fetch(files[0].url, { headers: { 'Tracker-Token': TOKEN } });
    expect(answer.headers.get('content-disposition')).toMatch(
      /filename\*=UTF-8''a%20%22b%22%20100%2525%0D%0A\.txt$/,
    );
  });
  test('a name of 1024 characters is accepted, a longer or an empty one is rejected', async () => {
    const send = (filename: string) =>
      ask(
        'POST',
        '/files',
        ...raw([[`Content-Disposition: form-data; name="file0"; filename="${filename}"`, 'x']]),
      );
    expect((await send('é'.repeat(1024))).body[0].name).toHaveLength(1024);
    for (const filename of ['é'.repeat(1025), '']) {
      const answer = await send(filename);
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, ['file0.filename']]);
    }
    expect((await ask('GET', '/files')).body).toHaveLength(1);
  });
  test('an omitted file of a web form is ignored', async () => {
    const chosen = ['Content-Disposition: form-data; name="file0"; filename="a"', 'x'] as const;
    const left = [
      'Content-Disposition: form-data; name="file1"; filename=""\r\nContent-Type: application/octet-stream',
      '',
    ] as const;
    expect((await ask('POST', '/files', ...raw([chosen, left]))).body).toHaveLength(1);
    const none = await ask(
      'POST',
      '/files',
      ...raw([['Content-Disposition: form-data; name="file0"; filename=""', '']]),
    );
    expect([none.status, none.body.errors]).toEqual([400, { file0: 'is required' }]);
  });
  test('the content needs a token, like everything else', async () => {
    const { body } = await ask('POST', '/files', upload());
    expect((await fetch(body[0].url)).status).toBe(401);
  });
  test.each<[string, () => FormData]>([
    ['file0', () => new FormData()],
    [
      'file0',
      () => {
        const form = new FormData();
        form.set('file1', new Blob(['x']), 'x');
        return form;
      },
    ],
    [
      'file0',
      () => {
        const form = new FormData();
        form.set('file0', 'text, not a file');
        return form;
      },
    ],
    [
      'file4',
      () => {
        const form = upload(['a', 'b', 'c', 'd']);
        form.set('file4', new Blob(['x']), 'e');
        return form;
      },
    ],
    [
      'story_id',
      () => {
        const form = upload();
        form.set('story_id', 'x');
        return form;
      },
    ],
    [
      'story_id',
      () => {
        const form = upload();
        form.set('story_id', new Blob(['107']), 'x');
        return form;
      },
    ],
    [
      'other',
      () => {
        const form = upload();
        form.set('other', '1');
        return form;
      },
    ],
  ])('%s is rejected if it does not match, and no file is stored', async (field, form) => {
    const answer = await ask('POST', '/files', form());
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, [field]]);
    expect((await ask('GET', '/files')).body).toEqual([]);
  });
  test('a missing story is 422, and no file is stored', async () => {
    expect((await ask('POST', '/files', upload(['a'], 9))).status).toBe(422);
    expect((await ask('GET', '/files')).body).toEqual([]);
  });
  test('JSON, no boundary and a torn body are 400', async () => {
    expect((await ask('POST', '/files', { story_id: 1 })).status).toBe(400);
    expect((await ask('POST', '/files', 'x', { 'Content-Type': 'multipart/form-data' })).status).toBe(400);
    const [body, headers] = raw([
      ['Content-Disposition: form-data; name="file0"; filename="a"', 'x'.repeat(100)],
    ]);
    expect((await ask('POST', '/files', body.subarray(0, 90), headers)).status).toBe(400);
  });
  test('the description of a file changes, its content does not', async () => {
    const { body: made } = await ask('POST', '/files', upload(['a']));
    const file = made[0];
    const change = {
      name: 'b',
      description: 'for @ben',
      external_id: 'e',
      created_at: '2020-01-01T00:00:00Z',
      updated_at: '2020-01-02T00:00:00Z',
      uploader_id: BEN,
    };
    const { body } = await ask('PUT', `/files/${file.id}`, change);
    expect(body).toMatchObject({ ...change, filename: 'a', size: 12, mention_ids: [BEN] });
    expect((await fetchBytes(body.url)).toString()).toBe('content of a');
    expect((await ask('PUT', `/files/${file.id}`, { uploader_id: NO_UUID })).status).toBe(422);
  });
  test('a deleted file is gone from its story, and so is its content', async () => {
    const { body } = await ask('POST', '/files', upload(['a'], 107));
    expect((await ask('DELETE', `/files/${body[0].id}`)).status).toBe(204);
    expect((await ask('GET', '/stories/107')).body.files).toEqual([]);
    expect((await fetch(body[0].url, { headers: { 'Tracker-Token': TOKEN } })).status).toBe(404);
  });
});

describe('linked files', () => {
  const link = { name: 'Plan', type: 'storage_a', url: 'https://files.example.com/plan' };
  test('omitted values of a linked file are null; the uploader is the owner of the token', async () => {
    expect((await ask('POST', '/linked-files', link)).body).toMatchObject({
      ...link,
      description: null,
      content_type: null,
      size: null,
      thumbnail_url: null,
      uploader_id: OWNER,
      story_ids: [],
      entity_type: 'linked-file',
    });
  });
  test('a linked file belongs to the story that was named last', async () => {
    const { body } = await ask('POST', '/linked-files', {
      ...link,
      story_id: 107,
      size: 5,
      content_type: 'text/plain',
      description: 'd',
    });
    expect(body).toMatchObject({ story_ids: [107], size: 5, content_type: 'text/plain', description: 'd' });
    expect((await ask('PUT', `/linked-files/${body.id}`, { story_id: 110, name: 'New' })).body).toMatchObject(
      {
        story_ids: [110],
        name: 'New',
        size: 5,
      },
    );
    expect((await ask('GET', '/stories/107')).body.linked_files).toEqual([]);
    expect((await ask('GET', '/stories/110')).body.linked_files).toMatchObject([{ id: body.id }]);
    await ask('DELETE', `/linked-files/${body.id}`);
    expect((await ask('GET', '/stories/110')).body.linked_files).toEqual([]);
  });
  test(
    'a name of any length is accepted on update, and URLs start with http',
    covers('spec/tracker#values-5'),
    async () => {
      const { body } = await ask('POST', '/linked-files', link);
      expect((await ask('PUT', `/linked-files/${body.id}`, { name: 'x'.repeat(5000) })).status).toBe(200);
      for (const url of ['ftp://x', 'plan.pdf', ''])
        expect((await ask('PUT', `/linked-files/${body.id}`, { url })).status).toBe(400);
    },
  );
  test('stories and members that do not exist are 422', async () => {
    expect((await ask('POST', '/linked-files', { ...link, story_id: 9 })).status).toBe(422);
    expect((await ask('POST', '/linked-files', { ...link, uploader_id: NO_UUID })).status).toBe(422);
  });
});

describe('external links', () => {
  const ids = async (link: string): Promise<number[]> =>
    (await ask('GET', `/external-link/stories?external_link=${encodeURIComponent(link)}`)).body.map(
      (story: { id: number }) => story.id,
    );
  test(
    'an external link finds stories only by the complete link',
    covers('spec/tracker#external-links-1'),
    async () => {
      expect(await ids('https://docs.example.com/sign-up')).toEqual([107, 110]);
      expect(await ids('https://charts.example.com/first-order')).toEqual([111]);
      expect(await ids('https://docs.example.com')).toEqual([]);
    },
  );
  test('follows changes of a story', async () => {
    await ask('PUT', '/stories/107', { external_links: ['https://new.example.com/?a=b&c=d'] });
    expect(await ids('https://docs.example.com/sign-up')).toEqual([110]);
    expect(await ids('https://new.example.com/?a=b&c=d')).toEqual([107]);
  });
});
