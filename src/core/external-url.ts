declare const externalUrlBrand: unique symbol;
/**
 * A web address that may be shown, encoded in a QR code, or passed to a browser. Only `externalUrl` makes values of this type.
 * The text is ASCII, starts with `http://` or `https://`, and contains no space, so that it is neither a flag nor two arguments.
 */
export type ExternalUrl = string & { readonly [externalUrlBrand]: true };

/** Longer than any sign-in URL, and shorter than what an operating system accepts as one argument. */
const LONGEST = 32_768;
/** A parser drops tabs and line breaks and turns backslashes into slashes, and a reader does not see bidi marks: text with them is not an address. */
const MISLEADING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\]/u;
const PRINTABLE = /^https?:\/\/[!-~]+$/;

/** Parses text from a service, a file or the environment. Undefined for anything but an http or https URL without user information. */
export const externalUrl = (text: unknown): ExternalUrl | undefined => {
  if (typeof text !== 'string' || text.length > LONGEST || MISLEADING.test(text)) return undefined;
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) return undefined;
  return PRINTABLE.test(url.href) ? (url.href as ExternalUrl) : undefined;
};
