/**
 * Body: what a request says, member by member.
 */
import { MeshError } from "../../protocol/errors.ts";

export const nameMax = 200;
export const reasonMax = 4_000;

type Members = Readonly<Record<string, unknown>>;

/** Throws USAGE for what is no object. */
export function membersOf(said: unknown): Members {
  if (typeof said === "object" && said !== null && !Array.isArray(said)) return said as Members;
  throw new MeshError("USAGE", "expected an object");
}

/** An empty text is none. Throws USAGE for what is no text, or a longer one. */
export function textIn(body: Members, key: string, most: number): string | undefined {
  const value = body[key];
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string" && value.length <= most) return value;
  throw new MeshError("USAGE", `${key} is a text of at most ${most} characters`);
}
