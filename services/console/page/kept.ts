/** Kept: what this browser keeps for the page. A browser may keep nothing: then it holds for this visit, or is typed again. */

export function kept(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keep(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // It is kept nowhere.
  }
}
