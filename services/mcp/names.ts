/**
 * Names: what a server's tool is called here. Its own name may hold what no name of ours may.
 */
import { sha256 } from "../../protocol/digest.ts";

const charactersMax = 64;
const digestCharacters = 8;

/** The prefix and the server's own name, other characters as `_`; a name that is too long is cut and told apart by its digest. */
export function toolName(prefix: string, own: string): string {
  const name = prefix + own.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  if (name.length <= charactersMax) return name;
  return `${name.slice(0, charactersMax - digestCharacters - 1)}_${sha256(own).slice(0, digestCharacters)}`;
}
