const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Escapes text for the content and the quoted attributes of HTML and SVG. Returns an empty string for
 * undefined.
 */
export const escapeHtml = (text: string | number | undefined): string =>
  String(text ?? '').replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);

/**
 * Escapes text for the content and the quoted attributes of XML. Line breaks stay in attributes. XML cannot express most
 * control characters: U+FFFD takes their place.
 */
export const escapeXml = (text: string): string =>
  escapeHtml(text.replaceAll(/[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD'))
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;');
