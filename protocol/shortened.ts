/** Shortened: texts that find no room, as far as they do. */

/** A text as it is, or as much of it as has room before a mark that there was more: at most `lengthMax` UTF-16 units. */
export const shortened = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
