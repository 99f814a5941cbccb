/** Goal: a policy is asked before a call becomes an intent, and cannot be passed by. Method: given, when, then. */
import { expect, test } from "vitest";
import { atMost, type Policy } from "../../actors/policy.ts";
import { failed, given, replied, started, succeeded } from "../../services/testing/given.ts";
import { agentOf, call, look } from "../support/workbench.ts";

const begun = started({ of: "x" });
const looks = (n: number) =>
  replied({ calls: Array.from({ length: n }, (_, k) => call("look", { of: `${k}` })) });

test("at most n calls of a tool are made in one saga, in one batch or in several", () => {
  const agent = agentOf({ policies: [atMost(look, 2)] });
  const kinds = given(agent, begun)
    .when(looks(3))
    .intents.map(({ kind }) => kind);
  expect(kinds).toEqual(["tool", "tool", "denied"]);
  const later = given(agent, begun, looks(1), succeeded("look", 1), looks(1), succeeded("look", 1)).when(
    looks(1),
  );
  later.then(
    { kind: "denied", code: "POLICY_DENIED", reason: "look may be called 2 times at most" },
    { kind: "model" },
  );
});

test("the strictest of two bounds on one tool holds", () => {
  const agent = agentOf({ policies: [atMost(look, 3), atMost(look, 1)] });
  expect(
    given(agent, begun)
      .when(looks(2))
      .intents.map(({ kind }) => kind),
  ).toEqual(["tool", "denied"]);
});

test("an attempt is no call: a retry is not counted", () => {
  const story = given(agentOf({ policies: [atMost(look, 1)] }), begun, looks(1)).when(failed("look"));
  story.then({ kind: "retry", attempt: 2 });
});

test("a policy that throws denies", () => {
  const broken: Policy = {
    name: "broken",
    deny: () => {
      throw new Error("no idea");
    },
  };
  given(agentOf({ policies: [broken] }), begun)
    .when(looks(1))
    .then(
      { kind: "denied", code: "POLICY_DENIED", reason: "the policy broken threw: no idea" },
      { kind: "model" },
    );
});
