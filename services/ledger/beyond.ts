/**
 * Beyond: what is known of a saga that its ledger does not say any more, because its last turns were lost or an older copy of
 * it was put back.
 *
 * Owns: which calls those are, and which claims stand for their having begun. Does not own: who knows of them, and claiming.
 *
 * VY1 What is known beyond a ledger is never believed in its place: no turn comes of it. Of a call it says that it may have
 *     begun, no more, so who forges it brings about a doubt and no effect.
 * VY2 A call that the ledger has settled is over. Any other that is known of may have begun: from the attempt that the ledger
 *     has it in, up to the last one known.
 */
import { z } from "zod";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Effect } from "../../protocol/tool.ts";
import type { Account } from "./account.ts";

/** A call of a tool, as somebody knows of it who is not its ledger. */
export interface KnownCall {
  readonly intent: string;
  readonly tool: string;
  readonly key: string;
  /** The last one known. */
  readonly attempt: number;
}

/** One that the ledger has not settled, and the first attempt that may have begun unknown to it. */
export interface CallBeyond extends KnownCall {
  readonly from: number;
}

const call = { tool: z.string(), key: z.string() };
const attempt = z.int().positive();

/** What of a state is read here, of a live one or of one that was stored (VY1). */
const Known = z.object({
  open: z
    .record(z.string(), z.object({ intent: z.looseObject({ kind: z.string() }), attempt }))
    .catch({})
    .default({}),
  effects: z
    .array(z.object({ ...call, intent: z.string(), child: z.string().optional() }))
    .catch([])
    .default([]),
  doubts: z
    .record(z.string(), z.object({ ...call, attempt }))
    .catch({})
    .default({}),
});

const OpenCall = z.object({
  kind: z.literal("tool"),
  name: z.string(),
  key: z.string(),
  reads: z.boolean().optional(),
});

/** Every call of a tool that a saga's state names: open, standing, or in doubt. Of what cannot be read none. */
export function callsKnownIn(state: unknown): KnownCall[] {
  const read = Known.safeParse(state);
  if (!read.success) return [];
  const { open, effects, doubts } = read.data;
  return [
    ...Object.entries(open).flatMap(([intent, one]) => {
      const tool = OpenCall.safeParse(one.intent).data;
      if (tool === undefined || tool.reads === true) return [];
      return [{ intent, tool: tool.name, key: tool.key, attempt: one.attempt }];
    }),
    // Which attempt succeeded is not kept: decided again, it begins with the first.
    ...effects.flatMap(({ child, ...one }) => (child === undefined ? [{ ...one, attempt: 1 }] : [])),
    ...Object.entries(doubts).map(([intent, one]) => ({ intent, ...one })),
  ];
}

/** Those that may have begun unknown to the ledger (VY2); of a ledger that cannot be read all. */
export function callsBeyond(
  calls: readonly KnownCall[],
  account: Pick<Account, "intents"> | undefined,
): CallBeyond[] {
  const told = new Map<string, { attempt: number; isOver: boolean }>();
  for (const { intent, attempt, ended } of account?.intents.values() ?? [])
    if (intent.kind === "tool") told.set(intent.key, { attempt, isOver: ended !== undefined });
  return calls.flatMap((one) => {
    const { attempt: from, isOver } = told.get(one.key) ?? { attempt: 1, isOver: false };
    return isOver || one.attempt < from ? [] : [{ ...one, from }];
  });
}

/** The calls of tools that are open and do more than read: what of each may have begun. */
export const openEffects = ({
  open,
}: Pick<Account, "open">): { readonly intent: IntentOf<"tool">; readonly attempt: number }[] =>
  [...open.values()].flatMap(({ intent, attempt }) =>
    intent.kind === "tool" && intent.reads !== true ? [{ intent, attempt }] : [],
  );

/**
 * The claims of attempts that may have begun: a `once` attempt has one, a `probe` effect a row that begins with the first
 * (services/perform/claim.ts). A class that is not known is taken for either, and what needs no claim has none.
 */
export function claimsFor(
  { key, from, attempt }: Pick<CallBeyond, "key" | "from" | "attempt">,
  effect: Effect | undefined,
): { readonly key: string; readonly attempt: number }[] {
  if (effect === "read" || effect === "idempotent") return [];
  const attempts = effect === "probe" ? [] : Array.from({ length: attempt - from + 1 }, (_, k) => from + k);
  const isRow = effect !== "once" && !attempts.includes(1);
  return [...(isRow ? [1] : []), ...attempts].map((one) => ({ key, attempt: one }));
}

/** What is kept of what was known beyond a ledger: beside the saga's snapshot, for people and for `verify`. */
export const BeyondNote = z.object({
  /** The last turn that was known, and its hash. */
  turn: z.int().positive(),
  hash: z.string(),
  /** The ledger's last turn as that was found; 0: it had none. */
  endsWith: z.int().nonnegative(),
  /** Who knew: an incarnation, a snapshot. */
  by: z.string(),
  /** By the server's clock, milliseconds since the epoch. */
  at: z.number(),
  calls: z.array(z.object({ intent: z.string(), ...call, attempt })),
});
export type BeyondNote = z.infer<typeof BeyondNote>;

/** Under which name beside the snapshot. */
export const beyondName = "beyond";

/** A note as it was stored; undefined where none can be read. */
export function readNote(data: Uint8Array | undefined): BeyondNote | undefined {
  if (data === undefined) return undefined;
  try {
    return BeyondNote.safeParse(JSON.parse(Buffer.from(data).toString())).data;
  } catch {
    return undefined;
  }
}
