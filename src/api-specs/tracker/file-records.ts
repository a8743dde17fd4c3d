import { datetime, int, list, oneOf, orNull, record, str, uuid } from '../../core/field.ts';

const mentions = {
  group_mention_ids: list(uuid()),
  member_mention_ids: list(uuid()),
  mention_ids: list(uuid()),
} as const;

/** spec/tracker#records UploadedFile. */
export const uploadedFile = record('UploadedFile', {
  id: int(),
  name: str(1024),
  filename: str(),
  description: orNull(str(4096)),
  content_type: str(),
  external_id: orNull(str(128)),
  size: int(),
  story_ids: list(int()),
  thumbnail_url: orNull(str()),
  url: orNull(str()),
  uploader_id: uuid(),
  ...mentions,
  entity_type: str(),
  created_at: datetime(),
  updated_at: orNull(datetime()),
});

/** spec/tracker#linked-files of a linked file: the four storage providers, or any other place. */
export const linkedFileType = oneOf('storage_a', 'storage_b', 'storage_c', 'storage_d', 'url');

/** spec/tracker#records LinkedFile. */
export const linkedFile = record('LinkedFile', {
  id: int(),
  name: str(),
  description: orNull(str(512)),
  content_type: orNull(str(128)),
  size: orNull(int()),
  story_ids: list(int()),
  thumbnail_url: orNull(str(2048)),
  url: str(2048),
  type: linkedFileType,
  uploader_id: uuid(),
  ...mentions,
  entity_type: str(),
  created_at: datetime(),
  updated_at: datetime(),
});
