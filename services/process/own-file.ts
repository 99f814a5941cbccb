/**
 * Own files: those that run as a process or a thread of their own, and what lies beside them, found from the sources and from
 * the package alike.
 */

/**
 * Where `services/demo/process` is: `.ts` in the sources, `.js` in the package. Two folders above this file stand `services` and the others,
 * and so they do above the file that the package has it in (deploy/bundle.ts).
 */
export function ownFile(path: string): URL {
  const [extension = ""] = /\.[jt]s$/.exec(new URL(import.meta.url).pathname) ?? [];
  return new URL(`../../${path}${extension}`, import.meta.url);
}

/** Where the folder `services/console/page` is: in the sources that of the sources, in the package what was built of it. */
export const ownFolder = (path: string): URL => new URL(`../../${path}/`, import.meta.url);

/** Whether this runs from the sources, and not from what the package was built to. */
export const isFromSources = (): boolean => import.meta.url.endsWith(".ts");
