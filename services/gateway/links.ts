/**
 * Links: the URLs that are given to the outside.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Link } from "../../protocol/link.ts";
import type { Chance, Clock } from "../wire/ports.ts";
import type { CallbackUrlOf } from "../wire/settlement-token.ts";
import type { Keys } from "./keys.ts";

/** The folder of a link's path. */
export const doors = { result: "callback", signal: "signal", task: "task" } as const satisfies Record<
  Link["kind"],
  string
>;

export interface Links {
  /** Where a deferred call is answered. Good until the call's deadline, and a year at most. */
  readonly result: CallbackUrlOf;
  /** Where one signal is sent; with `data` it says this and nothing else. Good for `withinMs`. */
  signal(to: { saga: SagaId; name: string; data?: Json }, withinMs: number): string;
  /** Where one vote is given, in the name of `by`. Good for `withinMs`, and while the task is open. */
  task(
    to: { saga: SagaId; intent: IntentId; vote: "approve" | "deny"; by: string; as?: string },
    withinMs: number,
  ): string;
}

/** Links under the gateway's public URL. Each call of `signal` and `task` makes another one. */
export function createLinks(
  { clock, chance }: { clock: Pick<Clock, "now">; chance: Pick<Chance, "nonce"> },
  { publicUrl, keys }: { publicUrl: string; keys: Keys },
): Links {
  const expires = (withinMs: number) => Math.ceil((clock.now() + withinMs) / 1_000);
  const urlOf = (link: Link) => `${publicUrl.replace(/\/+$/, "")}/${doors[link.kind]}/${keys.sign(link)}`;
  return {
    result: (saga, intent) => urlOf({ kind: "result", saga, intent, expires: expires(limits.callbackMaxMs) }),
    signal: (to, withinMs) =>
      urlOf({ kind: "signal", ...to, id: chance.nonce(), expires: expires(withinMs) }),
    task: (to, withinMs) => urlOf({ kind: "task", ...to, id: chance.nonce(), expires: expires(withinMs) }),
  };
}
