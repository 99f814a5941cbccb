/** Within ms: what a silent server is asked, waited for no longer than makes sense. */

/** What it resolves to; undefined if that takes longer, or if it fails. What it does goes on. */
export async function withinMs<T>(ms: number, reading: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), ms)));
  try {
    return await Promise.race([reading.catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
