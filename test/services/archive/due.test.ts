/**
 * Which sagas are due, and what a tombstone says: over views of ledgers that the kernel made, without a mesh.
 */
import { describe, expect, test } from "vitest";
import { acceptArchived } from "../../../actors/kernel/accept-archived.ts";
import { contractOf } from "../../../actors/contract/tool-contract.ts";
import type { Tool } from "../../../actors/contract/tool.ts";
import { ToolDocument } from "../../../protocol/documents/registry.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId, SagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import { Tombstone } from "../../../protocol/tombstone.ts";
import { reasonToKeep, remainsOf } from "../../../services/archive/due.ts";
import { type Registered, viewingBy } from "../../../services/client/registry.ts";
import { viewOf } from "../../../services/views/view.ts";
import {
  failed,
  given,
  inDoubt,
  started,
  type Story,
  storyBegan,
  succeeded,
} from "../../../services/testing/given.ts";
import { calling, chargeModel, hold, look, release, send } from "../../support/workbench.ts";

const none: Registered = { definitions: [], tools: [] };
/** As hosts register them. */
const all: Registered = {
  definitions: [],
  tools: [look, hold, send, release].map((tool) => ToolDocument.parse(contractOf(tool))),
};
const keep = (story: Story, isForced = false) => reasonToKeep(viewOf(story.turns), isForced);
const input = { of: "x" };
const done = { id: "1" };
const begun = (tool: Tool) => given(calling(tool), started(input));

describe("a saga is due", () => {
  test("once it has ended, whether well or badly", () => {
    expect(keep(begun(hold))).toBe("it has not ended");
    expect(keep(begun(hold).when(succeeded("hold", done)))).toBeUndefined();
    expect(keep(begun(hold).when(failed("hold", { retry: false })))).toBeUndefined();
  });

  test("with nothing in doubt that stands, unless forced", () => {
    const standing = begun(send).when(inDoubt("send"));
    expect(standing.end?.standing).toHaveLength(1);
    expect(keep(standing)).toBe("1-0 (send) is in doubt; settle it, or use --force");
    expect(keep(standing, true)).toBeUndefined();
    const undone = begun(chargeModel).when(inDoubt("charge_model"));
    expect(keep(undone, true)).toBe("it has not ended");
    expect(keep(undone.when(succeeded("release", {})))).toBeUndefined();
  });

  test("not while a success that came after its end is being undone, and again when it is", () => {
    const ended = begun(chargeModel).when(inDoubt("charge_model")).when(succeeded("release", {}));
    const awake = ended.when(succeeded("1-0", done, 1));
    expect(awake.open).toHaveLength(1);
    expect(keep(awake, true)).toBe("it is awake again since its end");
    expect(keep(awake.when(succeeded("release", {})))).toBeUndefined();
  });

  test("as a child only once its parent was told", () => {
    const start = started(input, { saga: "p", intent: "1-0" });
    const child = given(calling(hold), start, succeeded("hold", done));
    expect(child.end?.status).toBe("completed");
    expect(keep(child, true)).toBe("its parent has not been told of its end");
    expect(keep(child.when(succeeded("end")))).toBeUndefined();
  });
});

/** The tombstone of a story, as it is stored. */
const tombstoneOf = (story: Story, registered: Registered = all): Tombstone => {
  const viewing = viewingBy(registered);
  const view = viewOf(story.turns, viewing);
  return Tombstone.parse(
    JSON.parse(
      JSON.stringify({
        v: 1,
        type: "tombstone",
        saga: view.saga,
        archivedAt: storyBegan,
        by: "tester",
        file: "f",
        turns: story.turns.length,
        prev: "",
        ...remainsOf(view),
      }),
    ),
  );
};

describe("a tombstone names an intent as unsettled", () => {
  const unsettled = (story: Story, registered?: Registered) => tombstoneOf(story, registered).unsettled;

  test("if a late success could correct it", () => {
    expect(unsettled(begun(hold).when(succeeded("hold", done)))).toEqual({});
    expect(unsettled(begun(hold).when(failed("hold", { retry: false })))).toEqual({ "1-0": "failed" });
    expect(unsettled(begun(send).when(inDoubt("send")))).toEqual({ "1-0": "in_doubt" });
  });

  test("but not if it only read", () => {
    const read = begun(look).when(failed("look", { retry: false }));
    expect(unsettled(read, none)).toEqual({});
  });

  test("if its success did not fit the tool's contract, known or not, and not if it did", () => {
    const malformed = begun(hold)
      .when(succeeded("hold", { wrong: true }))
      .when(succeeded("release", {}));
    expect(unsettled(malformed, none)).toEqual({ "1-0": "failed" });
    expect(unsettled(begun(hold).when(succeeded("hold", done)), none)).toEqual({});
  });
});

describe("an input for a tombstone", () => {
  const now = storyBegan + 90 * 86_400_000;
  const judge = (tombstone: Tombstone, event: Event): string => {
    const judged = acceptArchived(tombstone, event, now);
    return judged.type === "refused" ? judged.error.code : judged.type;
  };
  const parent = { saga: "p" as SagaId, intent: "1-0" as IntentId };
  const child = tombstoneOf(
    given(calling(hold), started(input, parent), succeeded("hold", done), succeeded("end")),
  );
  const start: Event = { type: "start", definition: child.definition, input, parent };
  const { parent: _parent, ...orphan } = start;

  test("is a known start only with its name, its input and its parent", () => {
    expect(judge(child, start)).toBe("known");
    expect(judge(child, { ...start, definition: { ...child.definition, hash: "of another version" } })).toBe(
      "known",
    );
    expect(judge(child, { ...start, definition: { ...child.definition, name: "other" } })).toBe("taken");
    expect(judge(child, { ...start, input: { of: "y" } })).toBe("taken");
    expect(judge(child, { ...start, parent: { ...parent, intent: "2-0" as IntentId } })).toBe("taken");
    expect(judge(child, orphan)).toBe("taken");
  });

  test("is a signal that comes too late, or is too old to be judged", () => {
    const signal = (sentAt: number): Event => ({
      ...{ type: "signal", name: "again", data: null, id: "s", from: "ana", sentAt },
    });
    expect(judge(child, signal(now))).toBe("SAGA_ENDED");
    expect(judge(child, signal(now - limits.signalHorizonMs - 1))).toBe("SIGNAL_EXPIRED");
  });

  test("is refused as archived only where it would have corrected the ledger", () => {
    const result = (intent: string, outcome: "succeeded" | "failed" | "in_doubt"): Event => ({
      type: "result",
      intent: intent as IntentId,
      attempt: 1,
      by: "w",
      result: outcome === "succeeded" ? { outcome, output: done } : { outcome, code: "IN_DOUBT", reason: "" },
    });
    const doubt = tombstoneOf(begun(send).when(inDoubt("send")));
    const fault = tombstoneOf(begun(hold).when(failed("hold", { retry: false })));
    const judged = (tombstone: Tombstone) =>
      (["succeeded", "failed", "in_doubt"] as const).map((outcome) =>
        judge(tombstone, result("1-0", outcome)),
      );
    expect(judged(child)).toEqual(["known", "known", "known"]);
    expect(judged(doubt)).toEqual(["SAGA_ARCHIVED", "SAGA_ARCHIVED", "known"]);
    expect(judged(fault)).toEqual(["SAGA_ARCHIVED", "known", "known"]);
    expect(judge(child, result("7-0", "succeeded"))).toBe("INTENT_UNKNOWN");
  });

  test("is a timer that is known, and a vote that came too late", () => {
    expect(judge(child, { type: "timer", intent: "1-0" as IntentId })).toBe("known");
    const vote = { vote: "approve", by: "ana" } as const;
    expect(judge(child, { type: "task", intent: "1-0" as IntentId, id: "v", vote })).toBe("TASK_OVER");
  });
});
