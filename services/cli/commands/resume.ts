import type { ThrottledDocument } from "../../../protocol/documents/throttle.ts";
import { resume as resumeThrottled } from "../../throttle/pause.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { readOneThing, isSaga, pausableWords, steerSaga, treeOption } from "./pausable.ts";
import { readThrottled } from "./throttled.ts";

export const resume = defineCommand({
  name: "resume",
  summary: "let a paused saga, tool or model go on",
  details: "Of a saga it also acknowledges its flags.",
  positionals: pausableWords,
  options: {
    reason: { type: "string", hint: "TEXT", help: "of a saga: recorded in its ledger" },
    tree: treeOption,
  },
  examples: ["sagamesh resume saga hire-41", "sagamesh resume tool charge_deposit"],
  run: async ({ kind, name, reason, tree }, context) => {
    if (isSaga(kind)) return steerSaga(context, "resume", name, { reason, tree });
    const oneKind = readOneThing(kind, tree, reason);
    return withMesh(context, async ({ deps, ports }) => {
      const what = await readThrottled(ports, oneKind, name);
      await resumeThrottled(deps, what);
      const document: ThrottledDocument = { ...what, paused: false };
      context.output.print(document, () => `${name} goes on`);
      return 0;
    });
  },
});
