/**
 * Verify: a ledger is made by the kernel and stored as a host stores it; then one thing about it is changed,
 * and the finding must name the turn.
 */
import { describe, expect, test } from "vitest";
import { encodeJson, offload } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { traceIdOf, turnHeaders } from "../../../services/wire/turn-headers.ts";
import { given, replied, started, succeeded } from "../../../services/testing/given.ts";
import { agentOf, call, finish } from "../../support/workbench.ts";

const agent = agentOf();
const story = given(
  agent,
  started({ of: "x" }),
  replied({ calls: [call("hold")] }),
  succeeded("hold", { id: "1" }),
  replied(finish),
);
const saga = "saga-1" as SagaId;
const blobs = new Map<string, Uint8Array>();

/** Turns as a host appends them: chained, under the hash of their bytes, large values apart. */
function stored(turns: readonly Turn[]): StoredMessage[] {
  let prev = "";
  return turns.map((turn, index) => {
    const smaller = offload({ ...turn, prev }, 1_500);
    for (const blob of smaller.blobs) blobs.set(blob.digest, blob.bytes);
    const data = encodeJson(smaller.value);
    prev = chainHash(data);
    const headers = turnHeaders(turn, prev, { definition: agent.definition, traceId: traceIdOf(saga) });
    return { subject: `saga.${saga}.ledger`, seq: index + 1, headers, data, storedAt: turn.at };
  });
}

const portsOf = (messages: readonly StoredMessage[]): Parameters<typeof verifyLedger>[0] => ({
  ledger: { last: async () => messages.at(-1), read: async () => [...messages] },
  blobs: {
    get: async (digest) => {
      const bytes = blobs.get(digest);
      if (bytes === undefined) throw new MeshError("LEDGER_BROKEN", `there is no blob ${digest}`);
      return bytes;
    },
  },
});

const verify = (messages: readonly StoredMessage[]) => verifyLedger(portsOf(messages), saga);
const changed = (index: number, change: (turn: Turn) => Turn): Turn[] =>
  story.turns.map((turn, at) => (at === index ? change(turn) : turn));

describe("verifyLedger", () => {
  test("a whole ledger is whole, and folds to the decisions recorded", async () => {
    const app = defineApp({ sagas: [agent] });
    expect(await verifyLedger(portsOf(stored(story.turns)), saga, app)).toEqual({
      saga,
      ok: true,
      turns: 4,
      last: `4:${chainHash(stored(story.turns)[3]!.data)}`,
      standing: { status: "completed", endedIn: 4, open: [], openCount: 0 },
      folded: true,
      findings: [],
    });
  });

  test("a turn whose bytes were changed breaks its own hash and the next turn's chain", async () => {
    const messages = stored(story.turns);
    const data = Buffer.from(
      Buffer.from(messages[1]!.data).toString().replace('"host":"given"', '"host":"taken"'),
    );
    const { findings } = await verify(messages.with(1, { ...messages[1]!, data }));
    expect(findings.map(({ turn }) => turn)).toEqual([2, 3]);
    expect(findings[0]?.what).toContain("traceparent");
    expect(findings[1]?.what).toContain("does not follow");
  });

  test("a turn that is missing is named by its place", async () => {
    const { ok, findings } = await verify(stored(story.turns).toSpliced(1, 1));
    expect(ok).toBe(false);
    expect(findings[0]).toMatchObject({ turn: 2, what: "it has number 3" });
  });

  test("a turn of another saga is foreign, and where it took a turn's place that one is missed", async () => {
    const { findings, foreign } = await verify(
      stored(changed(2, (turn) => ({ ...turn, saga: "saga-2" as SagaId }))),
    );
    expect(foreign).toMatchObject({
      count: 1,
      first: [{ why: expect.stringContaining("turn 3 of saga-2") }],
    });
    expect(findings).toContainEqual(expect.objectContaining({ turn: 3, what: "it has number 4" }));
  });

  test("a result of an intent that nobody decided is found", async () => {
    const { findings } = await verify(
      stored(
        changed(
          2,
          (turn) => JSON.parse(JSON.stringify(turn).replaceAll('"intent":"2-0"', '"intent":"2-7"')) as Turn,
        ),
      ),
    );
    expect(findings).toContainEqual(
      expect.objectContaining({ turn: 3, what: expect.stringContaining("2-7") }),
    );
  });

  test("a closing that the fold does not close is found at its turn", async () => {
    const app = defineApp({ sagas: [agent] });
    const forged = changed(2, (turn) => ({
      ...turn,
      steps: turn.steps.map((step) => ({
        ...step,
        closed: [{ intent: "2-0" as IntentId, as: "cancelled" }],
      })),
    }));
    const { ok, findings } = await verifyLedger(portsOf(stored(forged)), saga, app);
    expect(ok).toBe(false);
    expect(findings).toMatchObject([
      {
        turn: 3,
        code: "FOLD_DIVERGED",
        what: expect.stringMatching(/expected .*cancelled.*, got .*succeeded/),
      },
    ]);
  });

  test("the same success recorded twice is found", async () => {
    const { findings } = await verify(
      stored(
        changed(2, (turn) => ({
          ...turn,
          steps: [...turn.steps, { event: turn.steps[0]!.event, intents: [], closed: [] }],
        })),
      ),
    );
    expect(findings).toContainEqual(
      expect.objectContaining({ turn: 3, what: expect.stringContaining("twice") }),
    );
  });

  test("a blob that is missing or is another's is found at its turn", async () => {
    const large = given(agent, started({ of: "x".repeat(2_000) }));
    const messages = stored(large.turns);
    expect((await verify(messages)).ok).toBe(true);
    const [digest] = [...blobs.keys()].slice(-1);
    blobs.set(digest!, new Uint8Array([1, 2, 3]));
    expect((await verify(messages)).findings).toMatchObject([{ turn: 1, code: "LEDGER_BROKEN" }]);
    blobs.delete(digest!);
    expect((await verify(messages)).findings).toMatchObject([{ turn: 1, code: "LEDGER_BROKEN" }]);
  });

  test("a decision that today's code does not make is found only by folding", async () => {
    const other = changed(
      1,
      (turn) =>
        JSON.parse(JSON.stringify(turn).replaceAll('"key":"saga-1.2-0.', '"key":"saga-1.9-9.')) as Turn,
    );
    expect((await verify(stored(other))).ok).toBe(true);
    const { findings } = await verifyLedger(portsOf(stored(other)), saga, defineApp({ sagas: [agent] }));
    expect(findings).toMatchObject([{ turn: 2, code: "FOLD_DIVERGED" }]);
  });

  test("a turn that is broken does not hide what was decided otherwise before it", async () => {
    const other = changed(
      1,
      (turn) =>
        JSON.parse(JSON.stringify(turn).replaceAll('"key":"saga-1.2-0.', '"key":"saga-1.9-9.')) as Turn,
    );
    const messages = stored(other);
    const last = messages[3]!;
    const broken = messages.with(3, { ...last, headers: { ...last.headers, "Saga-Event": "failed" } });
    const { findings } = await verifyLedger(portsOf(broken), saga, defineApp({ sagas: [agent] }));
    expect(findings.map(({ turn, code }) => [turn, code])).toEqual([
      [2, "FOLD_DIVERGED"],
      [4, "LEDGER_BROKEN"],
    ]);
  });
});
