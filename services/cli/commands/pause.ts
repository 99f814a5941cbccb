import type { ThrottledDocument } from "../../../protocol/documents/throttle.ts";
import { pause as pauseThrottled } from "../../throttle/pause.ts";
import { defineCommand } from "../frame/command.ts";
import { withMesh } from "../frame/context.ts";
import { readOneThing, isSaga, pausableWords, steerSaga, treeOption } from "./pausable.ts";
import { readThrottled } from "./throttled.ts";

export const pause = defineCommand({
  name: "pause",
  summary: "let a saga decide nothing more, or nothing more of one tool or model begin",
  details:
    "A paused saga finishes what it had begun; what comes for it is held, in order, and costs nothing. Work for a paused\n" +
    "tool waits in its stream, sagas that ask a paused model wait in their hosts, on any process. Nothing is lost.",
  positionals: pausableWords,
  options: {
    reason: { type: "string", hint: "TEXT", help: "kept with the pause, for people who ask why" },
    tree: treeOption,
  },
  examples: [
    'sagamesh pause saga hire-41 --reason "let me look"',
    'sagamesh pause model fast --reason "the bill"',
  ],
  run: async ({ kind, name, reason, tree }, context) => {
    if (isSaga(kind)) return steerSaga(context, "pause", name, { reason, tree });
    const oneKind = readOneThing(kind, tree);
    return withMesh(context, async ({ deps, ports }) => {
      const what = await readThrottled(ports, oneKind, name);
      await pauseThrottled(deps, what, reason);
      const document: ThrottledDocument = {
        ...what,
        paused: true,
        ...(reason === undefined ? {} : { reason }),
      };
      context.output.print(
        document,
        () =>
          `${name} is paused: what runs ends, nothing more begins; \`sagamesh resume ${kind} ${name}\` lets it go on`,
      );
      return 0;
    });
  },
});
