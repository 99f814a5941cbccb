/**
 * Segments: what proves a ledger that was moved from one definition to another, part by part.
 *
 * Method: a ledger made by the kernel, moved as a host moves it, and stored as a host stores it; then one request of
 * the old part is another than was recorded, which only the old definition can notice.
 */
import { describe, expect, test } from "vitest";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { contractsOf, judgeMigration } from "../../../actors/kernel/migrate.ts";
import { encodeJson } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { Event } from "../../../protocol/event.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import { inspectingLedger } from "../../../services/views/inspection.ts";
import { segmentsOf } from "../../../services/views/segments.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { traceIdOf, turnHeaders } from "../../../services/wire/turn-headers.ts";
import { given, replied, started, succeeded } from "../../../services/testing/given.ts";
import { freely, stepwise } from "../../support/replaying.ts";
import { agentOf, call, hold } from "../../support/workbench.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const old = agentOf();
const next = agentOf({ version: 2, instructions: "Help kindly.", tools: [hold] });
const refOf = ({ definition: { name, version, hash } }: typeof old) => ({ name, version, hash });
const story = given(
  old,
  started({ of: "x" }),
  replied({ calls: [call("hold")] }),
  succeeded("hold", { id: "1" }),
);
const turns: readonly Turn[] = (() => {
  const judged = atOnce(judgeMigration(next.definition, story.turns, contractsOf(old.definition)));
  if (!judged.can) throw new Error(judged.obstacle.why);
  const event: Event = {
    ...{ type: "migrated", from: refOf(old), to: refOf(next), id: "m1", by: "ada", sentAt: 0 },
  };
  const at = story.state.updatedAt + 1;
  const { steps } = decideTurn(next.definition, judged.state, {
    saga: judged.state.saga,
    at,
    events: [event],
  });
  return [...story.turns, { ...story.turns[2]!, turn: 4, at, steps }];
})();

const both = defineApp({ sagas: [old, next] });
const newOnly = defineApp({ sagas: [next] });
const saga = "saga-1" as SagaId;

function portsOf(all: readonly Turn[]): Parameters<typeof verifyLedger>[0] {
  let prev = "";
  const messages = all.map((turn, index): StoredMessage => {
    const data = encodeJson({ ...turn, prev });
    prev = chainHash(data);
    const headers = turnHeaders(turn, prev, {
      definition: turn.turn < 4 ? old.definition : next.definition,
      traceId: traceIdOf(saga),
    });
    return { subject: `saga.${saga}.ledger`, seq: index + 1, headers, data, storedAt: turn.at };
  });
  return {
    ledger: { last: async () => messages.at(-1), read: async () => messages },
    blobs: { get: () => Promise.reject(new Error("there is none")) },
  };
}

describe("a ledger that was moved", () => {
  test("has a part for each definition", () => {
    expect(segmentsOf(turns)).toEqual([
      { definition: refOf(old), from: 1, to: 3 },
      { definition: refOf(next), from: 4, to: 4 },
    ]);
  });

  test("is drawn by the inspector as it is under the new one, from its move on", () => {
    const told = inspectingLedger(both, saga);
    const before = [...told.begin(story.turns)].flat();
    const moved = [...told.take(turns[3]!)].flat();
    expect(before.at(-1)).toMatchObject({ type: "@xstate.snapshot", sessionId: saga });
    expect(moved.map(({ type, sessionId }) => [type, sessionId])).toEqual([["@xstate.actor", saga]]);
    const { snapshot } = before.at(-1) as { snapshot?: { value: unknown } };
    expect(moved[0]).toMatchObject({ snapshot: { status: "active", value: snapshot?.value } });
    expect([...inspectingLedger(newOnly, saga).begin(turns)].flat().length).toBeGreaterThan(
      before.length - 1,
    );
  });

  test("is proved by both definitions; by the new one alone, it is said what was not", async () => {
    const whole = await verifyLedger(portsOf(turns), saga, both);
    expect(whole).toMatchObject({ saga, ok: true, turns: 4, folded: true, findings: [] });
    expect(whole.unproven).toBeUndefined();
    expect(await verifyLedger(portsOf(turns), saga, newOnly)).toEqual({
      ...whole,
      unproven: [{ definition: refOf(old), from: 1, to: 3 }],
    });
  });

  test("whose old request is another is noticed by the old definition, and by nobody else", async () => {
    const request = turns[0]!.steps[0]!.intents[0] as { request: string };
    const other = JSON.parse(
      JSON.stringify(turns).replaceAll(request.request, "0".repeat(request.request.length)),
    ) as Turn[];
    expect((await verifyLedger(portsOf(other), saga, both)).findings).toMatchObject([
      { turn: 1, code: "FOLD_DIVERGED" },
    ]);
    expect((await verifyLedger(portsOf(other), saga, newOnly)).ok).toBe(true);
  });

  test("is replayed with each request as its own definition sent it, or not at all", async () => {
    const replay = (app: typeof both) => stepwise(app, turns, "recorded");
    expect(await replay(both)).toMatchObject({
      ...{ same: 1, skipped: 2 },
      decisions: [{ turn: 1 }, { turn: 3 }, { turn: 4 }],
    });
    await expect(replay(newOnly)).rejects.toThrow(/VERSION_UNSERVED.*turns 1 to 3/);
  });

  test("runs freely under the definition that it was moved to, and diverges nowhere with its own replies", async () => {
    const { document, run } = await freely(both, turns, "recorded");
    expect(document).toMatchObject({ same: 1, different: 0, failed: 0, definition: refOf(next) });
    expect(document.leftRecordAt).toBeUndefined();
    expect(run.turns).toHaveLength(turns.length);
  });
});
