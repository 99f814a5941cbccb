/**
 * Views: questions that have a name, and an address that can be sent. Pure.
 *
 * BV1 What is kept may be another version's, or broken: what is no view is passed over.
 */
export interface View {
  readonly name: string;
  /** What stands behind the path of the list, with its question mark. */
  readonly search: string;
}

const asking = (text: string, more = ""): string => `?text=${encodeURIComponent(text)}${more}`;

export const given: readonly View[] = [
  { name: "running", search: "?status=running" },
  { name: "in doubt", search: asking("outcome=in_doubt") },
  { name: "failed in 24 h", search: asking("status=failed and ended>1d") },
  { name: "waits for a person", search: "?asks=1" },
  { name: "dearest this week", search: asking("changed>7d and cost>0", "&sort=cost") },
];

export const nameMax = 40;
export const viewsMax = 50;

/** BV1. */
export function viewsIn(text: string | undefined): readonly View[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter(isView).slice(0, viewsMax) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is View {
  if (typeof value !== "object" || value === null) return false;
  const { name, search } = value as Partial<Record<keyof View, unknown>>;
  const isNamed = typeof name === "string" && name !== "" && name.length <= nameMax;
  return isNamed && typeof search === "string" && search.startsWith("?");
}

/** The same question, however its choices are ordered; what is chosen of a row or a page is no part of it. */
export function searchOf(query: URLSearchParams): string {
  const chosen = ["text", "status", "name", "asks", "sort"].flatMap((name) => {
    const value = query.get(name);
    return value === null || value === "" ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  return chosen.length === 0 ? "" : `?${chosen.join("&")}`;
}

export const isSame = (search: string, other: string): boolean =>
  searchOf(new URLSearchParams(search)) === searchOf(new URLSearchParams(other));
