/**
 * Effects: the class of a tool that the application gives none.
 *
 * EF1 A hint is the server's word, which cannot be checked. It may only choose `read`, where a lie costs one call more:
 *     a `read` is run again after its performer died, and never because it failed.
 * EF2 `idempotentHint` says that the same call twice changes no more than once. `idempotent` promises more: that the
 *     outside remembers the key. Between two attempts another caller may have written, and the second would undo that.
 *     So that is the user's word, as is everything else.
 */
import type { Effect } from "../../protocol/tool.ts";
import type { Hints } from "./listing.ts";

/** `once` for whatever is not said to be read-only. */
export const effectOf = (annotations: Hints | undefined, hints: "map" | "ignore"): Effect =>
  hints === "map" && annotations?.readOnlyHint === true ? "read" : "once";
