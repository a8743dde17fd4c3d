import { isUtf8 } from 'node:buffer';
import type { Json } from './endpoint.ts';

export type KeyValue = {
  readonly key: string;
  readonly value: string;
  /** Present when key or value is not text: what was shown of it lost bytes. */
  readonly key_base64?: string;
  readonly value_base64?: string;
  readonly create_revision: number;
  readonly mod_revision: number;
  readonly version: number;
  readonly lease?: string;
};

const plain = (text: unknown): string => Buffer.from(String(text ?? ''), 'base64').toString();
const number = (value: unknown): number => Number(value ?? 0);
const isText = (data: unknown): boolean => isUtf8(Buffer.from(String(data ?? ''), 'base64'));
export const keyValueFrom = (kv: Json): KeyValue => ({
  key: plain(kv['key']),
  value: plain(kv['value']),
  ...(isText(kv['key']) ? {} : { key_base64: String(kv['key']) }),
  ...(isText(kv['value']) ? {} : { value_base64: String(kv['value']) }),
  create_revision: number(kv['create_revision']),
  mod_revision: number(kv['mod_revision']),
  version: number(kv['version']),
  ...(kv['lease'] === undefined || kv['lease'] === '0' ? {} : { lease: String(kv['lease']) }),
});
