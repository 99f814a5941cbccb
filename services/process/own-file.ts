/**
 * Own files: those that run as a process or a thread of their own, found from the sources and from the package alike.
 */

/**
 * Where `services/demo/process` is: `.ts` in the sources, `.js` in the package. Two folders above this file stand `services` and the others,
 * and so they do above the file that the package has it in (deploy/bundle.ts).
 */
export function ownFile(path: string): URL {
  const [extension = ""] = /\.[jt]s$/.exec(new URL(import.meta.url).pathname) ?? [];
  return new URL(`../../${path}${extension}`, import.meta.url);
}
