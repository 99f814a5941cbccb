/** Goal: words of `deployments rehearse` that do not go together are refused before a mesh is asked for. Method: commands run here. */
import { expect, test } from "vitest";
import { runHere } from "../../../support/cli.ts";

test.each([
  ["rehearse", [], "--app FILE is missing"],
  ["ls", ["--app", "new.ts"], "deployments ls: --app is for rehearse"],
  ["promote", ["hire@2", "--fail-on", "differs"], "deployments promote: --fail-on is for rehearse"],
  ["rehearse", ["hire@2", "--app", "new.ts"], '"hire@2" is one word too many'],
  ["rehearse", ["--app", "new.ts", "--fail-on", "outcome"], '--fail-on "outcome" is none of differs, stays'],
  ["rehearse", ["--app", "new.ts", "--was", "old.ts", "--fail-on", "nothing"], "none of the conditions"],
  ["rehearse", ["--app", "new.ts", "--sample", "some"], "--sample"],
])("P8: deployments %s %j is refused", async (action, words, why) => {
  const ended = await runHere(["deployments", action, ...words]);
  expect(ended.code).toBe(2);
  expect(ended.stderr).toContain(why);
});
