const SECRET_NAMES = new Set(
  'token access_token refresh_token id_token code code_verifier client_secret secret password assertion api_key key authorization cookie set-cookie'.split(
    ' ',
  ),
);
/** Secrets of a sign-in that are ordinary words elsewhere: a plain challenge is the verifier. */
const FORM_NAMES = new Set(['state', 'code_challenge', 'proof']);
const MASK = '***';

const isSecret = (name: string): boolean => {
  const lower = name.toLowerCase();
  return SECRET_NAMES.has(lower) || /(^|[-_])(token|secret|authorization)$/.test(lower);
};

export const redactedHeaders = (
  headers: Readonly<Record<string, string | undefined>>,
): Record<string, string> => {
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) shown[name] = isSecret(name) ? MASK : value;
  return shown;
};

/** Of a query or a form body; what is not secret stays exactly as it was sent. */
export const redactedForm = (text: string): string =>
  text
    .split('&')
    .map((pair) => {
      const name = pair.split('=', 1)[0] ?? '';
      return (isSecret(decoded(name)) || FORM_NAMES.has(name)) && pair.includes('=')
        ? `${name}=${MASK}`
        : pair;
    })
    .join('&');

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Of a JSON value, at any depth. */
export const redactedJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(redactedJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecret(key) && typeof inner === 'string' ? MASK : redactedJson(inner),
    ]),
  );
};
