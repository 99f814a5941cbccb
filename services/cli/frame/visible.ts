/**
 * Visible: what a saga, a model or a tool said, as a terminal may be shown it.
 *
 * ZV1 A terminal obeys control characters: they clear its screen, set its title, hide what follows or turn its order
 *     round. None reaches one; it is shown by its number. Line ends and tabs stay.
 */

/** The text with its control characters as `\x1b` or `\u202e`. */
export const visible = (text: string): string => text.replaceAll(obeyed, shown);

/** JSON the same: as escapes, so that it stays the same document. */
export const visibleJson = (json: string): string =>
  json.replaceAll(obeyed, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Both sets of control characters with DEL, and what turns the order of a line round. */
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function shown(one: string): string {
  const code = one.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}
