/**
 * Ask anew: an open call of a model that is not what would be asked now, in a fork or under another definition.
 */
import { srcOf } from "../machine/machine.ts";
import type { OpenIntent } from "../contract/state.ts";
import { withoutKey } from "../values/draft.ts";
import { type Folding, isAwaited } from "./folding.ts";
import { issue } from "./issue.ts";

/** The machine asks for it again, with what it asked for before; nothing where its actor waits for it no more. */
export function askAnew(f: Folding, open: OpenIntent): void {
  const { actor } = open;
  if (!isAwaited(f, open.intent.id, actor)) return;
  const src = srcOf(f.state.snapshot, actor);
  if (src === undefined) return;
  f.state.actors = withoutKey(f.state.actors, actor);
  issue(f, { type: "invoke", id: actor, src, input: f.definition.kind.again(f.definition, f.state, open) });
}
