/**
 * Pick: parts of a value by JSON pointers (RFC 6901), in which a token `*` stands for every member.
 *
 * PK1 What is picked keeps its shape: the same paths lead to the same values, and lists stay lists.
 */
import type { Json } from "../../protocol/json.ts";

type Tree = Map<string, Tree | true>;

const tokensOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The value with nothing but what these pointers lead to. A pointer that leads nowhere picks nothing. */
export function picked(value: Json, pointers: readonly string[]): Json {
  const tree: Tree = new Map();
  for (const pointer of pointers) {
    const tokens = tokensOf(pointer);
    if (tokens.length === 0) return value;
    grow(tree, tokens);
  }
  return prune(value, tree) ?? null;
}

function grow(tree: Tree, [token = "", ...rest]: readonly string[]): void {
  const below = tree.get(token);
  if (below === true) return;
  if (rest.length === 0) {
    tree.set(token, true);
    return;
  }
  const next: Tree = below ?? new Map<string, Tree | true>();
  tree.set(token, next);
  grow(next, rest);
}

function prune(value: Json, tree: Tree): Json | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const kept = Object.entries(value).flatMap(([key, member]) => {
    const ways = [tree.get(key), tree.get("*")].filter((way) => way !== undefined);
    if (ways.includes(true)) return [[key, member] as const];
    const parts = ways.flatMap((way) => (way === true ? [] : [...way]));
    const below = parts.length === 0 ? undefined : prune(member, new Map(parts));
    return below === undefined ? [] : [[key, below] as const];
  });
  if (Array.isArray(value)) return kept.map(([, member]) => member);
  return Object.fromEntries(kept);
}

/** The value with another one at a place that exists; undefined if there is no such place. */
export function replacedAt(value: Json, pointer: string, to: Json): Json | undefined {
  const [token, ...rest] = tokensOf(pointer);
  if (token === undefined) return to;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, token)) return undefined;
  if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(token)) return undefined;
  const below = rest.map((one) => `/${one.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  const next = replacedAt((value as Record<string, Json>)[token] ?? null, below, to);
  if (next === undefined) return undefined;
  if (Array.isArray(value)) return value.map((one, k) => (k === Number(token) ? next : one));
  return { ...value, [token]: next };
}
