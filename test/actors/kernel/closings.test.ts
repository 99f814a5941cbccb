/**
 * Closings: as what each step says that it closed an intent.
 *
 * Method: ledgers made turn by turn (given.ts), whose every turn is stored, read and folded again; the closings that the
 * record holds are compared whole.
 */
import { describe, expect, test } from "vitest";
import type { Closing } from "../../../protocol/closing.ts";
import {
  deferred,
  failed,
  fired,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  type Story,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, chargeAsk, finish, hold, look, sequence } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const agent = agentOf();
/** What the last turn closed. */
const closed = ({ turns }: Story): Closing[] => turns.at(-1)?.steps.flatMap((step) => step.closed) ?? [];

describe("a step", () => {
  test("that a result ends closes its intent as the result says, with its code and reason", () => {
    const asked = [begun, replied({ calls: [call("look"), call("hold")] })];
    expect(closed(given(agent, ...asked))).toEqual([{ intent: "1-0", as: "succeeded" }]);
    const refused = failed("hold", { code: "E", reason: "busy", retry: false });
    expect(closed(given(agent, ...asked, refused))).toEqual([
      { intent: "2-1", as: "failed", code: "E", reason: "busy" },
    ]);
  });

  test("that tries again closes nothing", () => {
    const busy = failed("hold", { code: "E", reason: "busy", retry: true });
    expect(closed(given(agent, begun, replied({ calls: [call("hold")] }), busy))).toEqual([]);
  });

  test("in which a success cannot be read says that it failed, and that it may have happened", () => {
    const story = given(agent, begun, replied({ calls: [call("hold")] }), succeeded("hold", { id: 7 }));
    expect(closed(story)).toEqual([
      expect.objectContaining({ intent: "2-0", as: "failed", code: "BAD_RESULT", stands: true }),
    ]);
  });

  test("in which a signal supersedes a decision says what took its place", () => {
    const story = given(agent, begun, signalled("note", { text: "hurry" }));
    expect(closed(story)).toEqual([{ intent: "1-0", as: "superseded", by: "2-0" }]);
  });

  test("in which a cost comes in late closes nothing", () => {
    const story = given(agent, begun, signalled("note", { text: "hurry" }), succeeded("1-0", {}, 1));
    expect(closed(story)).toEqual([]);
  });

  test("in which a state is left closes what the state waited for", () => {
    const story = given(calling(look), begun, signalled("stop", null));
    expect(closed(story)).toEqual([{ intent: "1-0", as: "cancelled" }]);
  });

  test("that is too late for a deferred call says so, and that it may have happened", () => {
    const story = given(sequence(hold), begun, deferred("hold", 1_000), fired("hold"));
    expect(closed(story)).toEqual([
      expect.objectContaining({ intent: "1-0", as: "failed", code: "DEFERRED_TOO_LATE", stands: true }),
    ]);
  });

  test("in which a human settles a doubt closes the task, and says how the doubtful call ended", () => {
    const doubtful = [begun, replied({ calls: [call("charge_ask")] }), inDoubt("charge_ask")];
    expect(closed(given(agent, ...doubtful))).toEqual([
      { intent: "2-0", as: "in_doubt", code: "IN_DOUBT", reason: "nobody reported" },
    ]);
    const answer = { outcome: "happened", output: { id: "9" } };
    expect(closed(given(agent, ...doubtful, voted("doubt", "answer", { answer })))).toEqual([
      { intent: "3-0", as: "succeeded" },
      { intent: "2-0", as: "succeeded" },
    ]);
  });

  test("in which a late word settles a doubt spares the human", () => {
    const story = given(sequence(chargeAsk), begun, inDoubt("charge_ask"), succeeded("1-0", { id: "9" }, 1));
    expect(closed(story)).toEqual([
      { intent: "1-0", as: "succeeded" },
      { intent: "2-0", as: "cancelled", because: "settled" },
    ]);
  });

  test("that a cancel ends closes the decision, and every later step what it ends", () => {
    const story = given(agent, begun, signalled("cancel", "enough"));
    expect(closed(story)).toEqual([{ intent: "1-0", as: "cancelled" }]);
    expect(story.state.open).toEqual({});
  });

  test("that an agent finishes with closes the decision alone", () => {
    expect(closed(given(agent, begun, replied(finish)))).toEqual([{ intent: "1-0", as: "succeeded" }]);
  });
});
