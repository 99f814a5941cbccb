/**
 * Goal: the story of a saga says what its ledger proves, all of it, and no more.
 * Method: ledgers of the examples on the mesh in memory, with people, policies and hosts that die, and of the kernel.
 * Sentences are held against what happened; every event and intent must be told or declared silent.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Event } from "../../../../protocol/event.ts";
import type { IntentId } from "../../../../protocol/ids.ts";
import { WhyDocument, type WhyTopic } from "../../../../protocol/documents/why.ts";
import { untoldOf, whyOf } from "../../../support/why-of.ts";
import { silent } from "../../../../services/views/why/silent.ts";
import { counted, lasting, listed } from "../../../../services/views/why/words.ts";
import {
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
} from "../../../../services/testing/given.ts";
import { killedDinner, type ToldLedger, toldLedgers } from "../../../support/told-ledgers.ts";
import {
  agentOf,
  call,
  calling,
  chargeAsk,
  finish,
  hold,
  look,
  release,
  send,
  sequence,
} from "../../../support/workbench.ts";
import { atOnce } from "../../../../services/wire/loop.ts";

let ledgers: Readonly<Record<string, ToldLedger>>;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  ledgers = await toldLedgers();
  vi.restoreAllMocks();
});

const named = (name: string): ToldLedger => ledgers[name] ?? { app: undefined as never, turns: [] };
/** The sentences about these things; all of them if none is named. */
const said = (document: WhyDocument, ...about: WhyTopic[]): string[] =>
  document.sentences.filter((one) => about.length === 0 || about.includes(one.about)).map(({ text }) => text);
const summed = (document: WhyDocument, about: WhyTopic): string =>
  document.sum
    .filter((one) => one.about === about)
    .map(({ text }) => text)
    .join(" ");
const like = (...patterns: (string | RegExp)[]) =>
  expect.arrayContaining(patterns.map((pattern) => expect.stringMatching(pattern) as string));
const whyStory = (story: Story, intent?: string): WhyDocument =>
  atOnce(whyOf(story.turns, { intent: intent as IntentId | undefined }));

describe("the story of an example", () => {
  test("tells who was asked, who was too late, who changed what, and who agreed in which role to which arguments", () => {
    const document = atOnce(whyOf(named("edited purchase").turns));
    expect(said(document, "people", "waited")).toEqual(
      like(
        /^team_lead had until .* to approve \(2-0\) the call of pay with .*"cents":90000/,
        /^The time for the approval \(2-0\) was over after 4 hours, and too few had spoken\.$/,
        /^As too few had spoken in time on the approval \(2-0\), finance, 2 of them, had until/,
        /^fay, as finance, changed the arguments of pay, the approval \(6-0\), to .*48000.*: "too dear"\./,
        /^As fay had changed the arguments, finance, 2 of them,/,
        /^fay, as finance, approved pay, the approval \(8-0\) \(1 of 2\)/,
        /^finn, as finance, approved pay, the approval \(8-0\) \(2 of 2\), 2 hours after it was asked\./,
      ),
    );
    const digests = said(document, "people").flatMap(
      (text) => /for the arguments (\w{12})\.$/.exec(text)?.[1] ?? [],
    );
    expect(new Set(digests).size, "votes are for two sets of arguments").toBe(2);
    expect(summed(document, "people")).toBe("Approved before it was done: pay (11-0) (fay and finn).");
    expect(summed(document, "stands")).toMatch(/^What stands.*: pay \(11-0\)\.$/);
  });

  test("tells a denial with its reason, who gave it, and that nothing stands", () => {
    const document = atOnce(whyOf(named("denied purchase").turns));
    expect(said(document, "people")).toEqual(
      like(/^leo, as team_lead, refused pay, the approval \(2-0\), 1 hour after it was asked: "no money"\./),
    );
    expect(summed(document, "refused")).toBe("Refused: the approval (2-0): no money.");
    expect(summed(document, "stands")).toBe("No effect is known to stand.");
  });

  test("tells who called it off, what was undone because of that, and what could not be", () => {
    const document = atOnce(whyOf(named("called off hiring").turns));
    expect(said(document, "signal")).toEqual(['test called the saga off: "the budget was cut".']);
    const undone = said(document, "undone").filter((text) => text.includes("was to be undone"));
    expect(undone).toHaveLength(2);
    for (const text of undone)
      expect(text).toMatch(/: test had called the saga off: "the budget was cut"\.$/);
    expect(said(document, "waited")).toEqual(
      like(/^request_interview \(4-0\) was handed to the outside, which had until 2026-01-06/),
    );
    expect(said(document, "end")[0]).toMatch(/Not undone: send_decline \S+ and send_decline \S+\.$/);
  });

  test("tells what failed, and what was undone in which order because of it", () => {
    const document = atOnce(whyOf(named("undone trip").turns));
    const cause = "it was decided when book_car (3-0) failed: [NOT_PERFORMED] no car is left.";
    expect(
      said(document, "undone").map((text) => text.replace(/ by cancel_booking .*effect key \S+: /, " | ")),
    ).toEqual([
      `book_hotel (2-0) was to be undone | ${cause}`,
      expect.stringMatching(/^cancel_booking \(4-0\) undid book_hotel \(2-0\) after \d+ milliseconds/),
      `book_flight (1-1) was to be undone | ${cause}`,
      expect.stringMatching(/^cancel_booking \(5-0\) undid book_flight \(1-1\)/),
    ]);
    expect(summed(document, "undone")).toBe("Undone: book_flight (1-1) and book_hotel (2-0).");
  });

  test("tells which policy refused what, what a model waited for, and what it undid for what reason", () => {
    const document = atOnce(whyOf(named("waited dinner").turns));
    expect(said(document, "refused")).toEqual([
      "The policy no deposits refused the call of pay_deposit (2-1): nobody pays in advance.",
    ]);
    expect(said(document)).toEqual(
      like(
        /^Decision 2 \(3-0\) was answered after .*, for 100 \+ 20 tokens \(\$0\.01\): wait for coming, 2 hours at most/,
        "The timer \\(4-0\\) fired after 2 hours.",
        /since the decision before there had come the firing of the timer \(4-0\)\.$/,
        /^hold_table \(2-0\) was to be undone .*: decision 3 \(5-0\) asked for it, because "nobody comes"\.$/,
      ),
    );
    expect(summed(document, "cost")).toBe("It cost 4 decisions, 400 + 80 tokens, $0.04 and 1 call of tools.");
    expect(summed(document, "waited")).toContain("the longest waits were for the timer (4-0) (2 hours)");
  });

  test("tells sub-agents in a line each, with how to read on, and a child whose it is and what it was given", () => {
    const lead = atOnce(whyOf(named("research lead").turns));
    const children = said(lead, "child").filter((text) => text.startsWith("The sub-agent"));
    expect(children).toHaveLength(3);
    for (const text of children)
      expect(text).toMatch(/started as (\S+) .*`sagamesh why \1` tells its story\.$/);
    expect(said(lead, "child")).toEqual(
      like(/failed after .*: \[MODEL_REJECTED\] the provider refuses this topic/),
    );
    const [asked] = said(atOnce(whyOf(named("research that ran out").turns)), "asked");
    expect(asked).toMatch(
      /^The saga team asked for it \(intent 2-2\): researcher, .*slice of the budget above it: .*"steps":15/,
    );
  });

  test("with the definition tells that a budget was at its end, as the model was told", () => {
    const { turns, app } = named("research that ran out");
    const document = atOnce(whyOf(turns, { app }));
    expect(document.folded).toBe(true);
    expect(said(document, "decided")).toEqual(like(/^Decision 10 .*told .*This is your last step/));
    expect(
      said(atOnce(whyOf(turns)), "decided").join(" "),
      "the ledger alone does not hold it",
    ).not.toContain("last step");
  });

  test("tells a workflow's calls by their nodes, and claims nobody's arguments for them", () => {
    const document = atOnce(whyOf(named("failed offsite").turns));
    expect(said(document, "done")).toEqual(like(/^rooms was to be done with .* for the node rooms\.$/));
    expect(said(document).join(" ")).not.toMatch(/human|model/);
  });

  test("word for word: a room, a card and a refusal", () => {
    const { sentences, sum } = atOnce(whyOf(named("refused weekend").turns));
    const text = [...sentences, ...sum].map(({ turn, text }) => `${turn} ${text}`).join("\n");
    expect(text.replaceAll(/\d+ milliseconds/g, "N ms")).toBe(
      [
        '1 It was asked for: weekend, version 1, with {"guest":"Ada","cents":60000}. host#1 took it.',
        '1 hold_room was to be done with {"guest":"Ada","cents":60000} (1-0), under the effect key stay-1.d926b595fd26bfc8.796397babb3e.',
        "2 hold_room (1-0) succeeded after N ms: {}; worker#1 reported it.",
        '2 charge_card was to be done with {"guest":"Ada","cents":60000} (2-0), under the effect key stay-1.ae73b86700fe0f80.796397babb3e.',
        "3 charge_card (2-0) failed after N ms: [NOT_PERFORMED] the card is refused; worker#1 reported it.",
        '3 hold_room (1-0) was to be undone by release_room with {"heldWithKey":"stay-1.d926b595fd26bfc8.796397babb3e"} (3-0), under the effect key stay-1.d926b595fd26bfc8.796397babb3e.cc7a85740400: it was decided when charge_card (2-0) failed: [NOT_PERFORMED] the card is refused.',
        "4 release_room (3-0) undid hold_room (1-0) after N ms; worker#1 reported it.",
        '4 The saga ended (4-0), failed: ended in "notBooked".',
        "4 It cost 0 decisions, 0 + 0 tokens and 2 calls of tools.",
        "4 It took N ms, from 2026-01-01 00:00:00 UTC to 2026-01-01 00:00:00 UTC.",
        "4 One host wrote it: host#1.",
        "4 Undone: hold_room (1-0).",
        "4 No effect is known to stand.",
        "4 It failed.",
      ].join("\n"),
    );
  });
});

describe("a host that dies", () => {
  test("is told by who went on, and not by a cause that nobody recorded", async () => {
    const { turns } = await killedDinner();
    const document = atOnce(whyOf(turns));
    const [change, ...more] = said(document, "host");
    expect(more).toEqual([]);
    expect(change).toMatch(
      /^Another host went on: host#2, .* after the last turn of host#1\. The ledger does not say why that one wrote no more\. Still open: decision 2 \(3-0\)\.$/,
    );
    expect(said(document, "recovery")).toEqual([
      "host#2 proved that it owns the saga before it acted.",
      "host#2 proved that it owns the saga before it acted. Nothing that had been begun before was in its hands, so what a call that had been begun has cost may never be told.",
      "Attempt 2 of decision 2 (3-0) was to follow at once; what became of the attempt before, which another incarnation may have begun, the ledger does not say.",
    ]);
    expect(summed(document, "host")).toMatch(
      /^The host changed once: .*may have been a crash, a deploy or a hand-over\.$/,
    );
    expect(summed(document, "recovery")).toBe("Tried more than once: decision 2 (3-0) in 2 attempts.");
    expect(JSON.stringify(document)).not.toMatch(/killed|crashed/);
  });

  test("is part of the story of an intent that was open then, and of no other", async () => {
    const { turns } = await killedDinner();
    const of = (intent: string) => said(atOnce(whyOf(turns, { intent: intent as IntentId })), "host");
    expect(of("3-0")).toHaveLength(1);
    expect(of("2-0")).toEqual([]);
  });
});

test("a fork tells whose turns it shares, where it left, and that its effects are a record's", () => {
  const { turns, app } = named("forked dinner");
  const document = atOnce(whyOf(turns));
  expect(said(document, "asked")).toEqual([
    expect.stringMatching(
      /It is a fork of dinner-1: its first 3 turns, and what they tell, are that saga's; `sagamesh why dinner-1` tells/,
    ),
    expect.stringMatching(
      /^Here the fork left dinner-1, as .* wanted; host\S+ took it\. Effects from here on are answered from its origin's record or by a stand-in, and touch nothing outside\./,
    ),
  ]);
  expect(said(document, "decided")).toEqual(
    like(
      /^Decision 2 \(4-0\) was asked of host; .*the fork\. It took the place of decision 2 \(3-0\), which had not answered\.$/,
    ),
  );
  expect(said(document, "undone")).toEqual(
    like(
      /^free_table \(\d+-0\) undid hold_table \(2-0\) .*; nobody did it here: the result is the one that the origin recorded for 6-0\.$/,
    ),
  );
  const left = document.sentences.filter(({ turn }) => turn === 4);
  expect(
    left.map(({ about }) => about),
    "its first host took nobody's place",
  ).not.toContain("host");
  expect(atOnce(whyOf(turns, { app })).sentences.length).toBe(document.sentences.length);
});

test("a move to another definition is told with who wanted it, and its decision keeps its number", () => {
  const helper = agentOf();
  const story = given(helper, started({ of: "x" })).when((now) => ({
    type: "migrated",
    from: { ...now.state.definition, version: 0, hash: "before" },
    to: now.state.definition,
    ...{ id: "m-1", by: "ana", sentAt: now.state.updatedAt },
  }));
  const { turns } = story.when(replied({ calls: [call("hold", { of: "y" })] }));
  const document = atOnce(whyOf(turns));
  expect(said(document, "asked")[1]).toMatch(
    /^ana had the saga moved from helper, version 0 \(before\), to version 1/,
  );
  expect(said(document)).toEqual(
    like(
      /^Decision 1 \(2-0\) was asked of scripted; .*the move to another definition\. It took the place of decision 1 \(1-0\)/,
      /^hold was to be done with \{"of":"y"\} .* as decision 1 \(2-0\) had proposed\.$/,
    ),
  );
  expect(atOnce(untoldOf(turns))).toEqual([]);
});

describe("a doubt", () => {
  test("is told with who was asked, who settled it and how", () => {
    const document = atOnce(whyOf(named("doubtful helper").turns));
    expect(said(document, "doubt")).toEqual([
      "Nobody knows whether charge_ask (3-0) happened: [IN_DOUBT] nobody reported; somebody reported it.",
      expect.stringMatching(/^Anybody was asked about charge_ask \(3-0\) \(5-0\), until/),
    ]);
    expect(said(document, "people")).toEqual([
      'bea answered the doubt (5-0) with {"outcome":"happened","output":{"id":"9"}}, 1 second after it was asked.',
    ]);
  });

  test("that a late result settles is told as late", () => {
    const story = given(calling(chargeAsk), started({ of: "x" }), inDoubt("charge_ask")).when((now) => ({
      type: "result",
      intent: now.turns[0]?.steps[0]?.intents[0]?.id as IntentId,
      attempt: 1,
      by: "bank",
      result: { outcome: "succeeded", output: { id: "1" } },
    }));
    expect(said(whyStory(story), "done")).toEqual(
      like(/^A late word: charge_ask \(1-0\) succeeded .*bank reported it\.$/),
    );
  });
});

describe("the story of one intent", () => {
  const of = (name: string, intent: string) =>
    atOnce(whyOf(named(name).turns, { intent: intent as IntentId }));

  test("goes from the decision that proposed it over approvals and changes to what was decided from its result", () => {
    const document = of("edited purchase", "11-0");
    expect(document.intent).toBe("11-0");
    const ids = document.sentences.flatMap(({ intent = "" }) => intent);
    expect([...new Set(ids)].filter((id) => id !== "")).toEqual(["1-0", "2-0", "6-0", "8-0", "11-0", "12-0"]);
    expect(said(document, "done")).toEqual([
      'pay was to be done with {"supplier":"Ada & Sons","cents":48000} (11-0), under the effect key p-1.4197daa133b99417.b9e5524a20d0, as decision 1 (1-0) had proposed, approved as the approval (8-0), with the arguments that fay had put in the place of the model\'s.',
      expect.stringMatching(/^pay \(11-0\) succeeded after/),
    ]);
    expect(summed(document, "stands")).toBe("It stands, under the key p-1.4197daa133b99417.b9e5524a20d0.");
  });

  test("of a machine tells the result that it was decided on, and what undid it", () => {
    const document = of("undone trip", "2-0");
    expect(said(document)[0]).toMatch(/^book_flight \(1-1\) succeeded/);
    expect(summed(document, "stands")).toBe("It was undone by cancel_booking (4-0).");
    expect(said(document).join(" ")).not.toContain("book_flight (1-1) was to be undone");
  });

  test("of a decision tells what had come in before it and what it proposed", () => {
    const document = of("waited dinner", "3-0");
    expect(said(document)).toEqual(
      like(/^The policy no deposits refused/, /^hold_table \(2-0\) succeeded/, /^A timer was set \(4-0\)/),
    );
    expect(said(document).join(" ")).not.toContain("free_table");
  });

  test("of an intent that is not there is refused", () => {
    expect(() => of("undone trip", "99-0")).toThrow("[INTENT_UNKNOWN]");
  });

  test("tells every attempt, with who reported it", () => {
    const story = given(
      calling(hold),
      started({ of: "x" }),
      failed("hold", { code: "DOWN", reason: "the line is down" }),
      succeeded("hold", { id: "1" }),
    );
    expect(said(whyStory(story, "1-0"))).toEqual(
      like(
        /^hold \(1-0\) failed after 1 second: \[DOWN\] the line is down; .* reported it\. It is tried again\.$/,
        /^Attempt 2 of hold \(1-0\) was to follow, .* later at the earliest\.$/,
        /^hold \(1-0\) succeeded .* reported it, of attempt 2\.$/,
      ),
    );
  });

  test("names the policy that rewrote it", () => {
    const shorter = { name: "shorter", judge: () => ({ rewrite: { of: "y" } }) };
    const story = given(agentOf({ policies: [shorter] }), started({ of: "x" })).when(
      replied({ calls: [call("hold", { of: "yyy" })] }),
    );
    expect(said(whyStory(story, "2-0"), "done")).toEqual([
      expect.stringMatching(
        /^hold was to be done with \{"of":"y"\} .*as the policy shorter had rewritten it\.$/,
      ),
    ]);
  });
});

/** Stories of any kind: what cannot happen next is left out. */
const happening = fc.constantFrom(
  signalled("note", { text: "a" }),
  signalled("cancel", "enough"),
  signalled("pause", "look"),
  signalled("resume"),
  signalled("flagged", "bad"),
  signalled("rate_limited", 1_000),
  signalled("budget", { steps: 2 }),
  signalled("instruct", "be brief"),
  replied({ calls: [call("hold"), call("look"), call("charge_ask")] }),
  replied({ calls: [call("charge_model"), call("wait", { forMs: 5_000 })] }),
  replied({ calls: [call("ask", { question: "really?" })] }),
  replied({ calls: [call("undo", { calls: ["1.0"] })] }),
  replied({ calls: [call("nothing_of_the_kind")], text: "hm" }),
  replied(finish),
  succeeded("hold", { id: "1" }),
  succeeded("look", null),
  inDoubt("charge_ask"),
  failed("hold", { code: "DOWN", reason: "down" }),
  failed("model", { code: "DOWN", reason: "down" }),
  fired("timer"),
  voted("question", "answer", { by: "ana", answer: "yes" }),
  voted("doubt", "answer", { by: "ana", answer: { outcome: "did_not_happen" } }),
  succeeded("release", {}),
  { type: "adopted", anew: true } satisfies Event,
);

function storyOf(past: readonly Parameters<Story["when"]>[0][]): Story {
  let story = given(
    agentOf({
      whenFlagged: "pause",
      budget: { steps: 4, atLimit: "ask" },
      tools: [look, hold, send, chargeAsk, release],
    }),
    started({ of: "x" }),
  );
  for (const next of past)
    try {
      story = story.when(next);
    } catch (error) {
      if (!String(error).includes("nothing open is named")) throw error;
    }
  return story;
}

describe("every story", () => {
  test("of an example tells each event and each intent, or declares it silent with a reason", () => {
    for (const [name, { turns }] of Object.entries(ledgers))
      expect(atOnce(untoldOf(turns)), name).toEqual([]);
    for (const { reason } of silent) expect(reason.length).toBeGreaterThan(20);
  });

  test("at random is told whole, in the ledger's order, a line a sentence, as a document of its schema", () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 9 }), (past) => {
        const { turns } = storyOf(past);
        expect(atOnce(untoldOf(turns))).toEqual([]);
        const document = atOnce(whyOf(turns));
        expect(WhyDocument.parse(document)).toEqual(document);
        const order = document.sentences.map(({ turn }) => turn);
        expect(order).toEqual([...order].sort((a, b) => a - b));
        for (const { text } of [...document.sentences, ...document.sum]) {
          expect(text).toMatch(/^\S.*[.!]$/);
          expect(text).not.toMatch(/undefined|\[object|NaN/);
        }
        const intents = turns.flatMap(({ steps }) => steps.flatMap((step) => step.intents));
        for (const { id } of intents) {
          const own = atOnce(whyOf(turns, { intent: id }));
          expect(own.sentences.some(({ intent }) => intent === id)).toBe(true);
          expect(document.sentences).toEqual(expect.arrayContaining(own.sentences));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("of the first turns is the beginning of the whole, but for what is still open", () => {
    const { turns } = named("waited dinner");
    const whole = said(atOnce(whyOf(turns)), "decided", "done", "refused", "undone");
    for (let n = 1; n <= turns.length; n++) {
      const part = said(atOnce(whyOf(turns.slice(0, n))), "decided", "done", "refused", "undone");
      expect(whole.slice(0, part.length)).toEqual(part);
    }
  });

  test("moves no cursor and adds no line, whatever came from outside", () => {
    const hostile = "a\u001b[2J\r\nb";
    const { turns } = given(
      sequence(hold),
      started({ of: hostile }),
      signalled("flagged", hostile, { from: hostile }),
      failed("hold", { code: hostile, reason: hostile, retry: false }),
    );
    const { sentences, sum } = atOnce(whyOf(turns));
    for (const { text } of [...sentences, ...sum]) expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });
});

test("durations, counts and lists are said as people say them", () => {
  expect([0, 999, 1_000, 61_000, 3_600_000, 90_061_000, 172_800_000].map(lasting)).toEqual([
    "0 milliseconds",
    "999 milliseconds",
    "1 second",
    "1 minute 1 second",
    "1 hour",
    "1 day 1 hour",
    "2 days",
  ]);
  expect(lasting(-5)).toBe("no time by its hosts' clocks");
  expect([counted(1, "vote"), counted(1_200, "token")]).toEqual(["1 vote", "1,200 tokens"]);
  expect([listed([]), listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "or")]).toEqual([
    "",
    "a",
    "a, b and c",
    "a or b",
  ]);
});
