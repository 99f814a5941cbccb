/**
 * Partitions: how many there may be of what the inputs of sagas are spread over. Which one an input is in only the server computes.
 */

/** Of a mesh for which nothing else was said. */
export const partitionsDefault = 8;

/** Most of them: each has two consumers, which the server keeps and a host asks. */
export const partitionsMax = 512;

/** How many a text says; undefined for what is none or too many. */
export function partitionsOf(text: string): number | undefined {
  const number = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : undefined;
  return number === undefined || number > partitionsMax ? undefined : number;
}
