import type { ThrottledDocument } from "../../../protocol/documents.ts";
import { pause as pauseThrottled } from "../../throttle/pause.ts";
import { defineCommand } from "../command.ts";
import { withMesh } from "../context.ts";
import { readThrottled, throttledWords } from "../throttled.ts";

export const pause = defineCommand({
  name: "pause",
  summary: "let nothing more of one tool or model begin, on any process",
  details:
    "Work for a paused tool waits in its stream, sagas that ask a paused model wait in their hosts; nothing is lost.",
  positionals: throttledWords,
  options: { reason: { type: "string", hint: "TEXT", help: "kept with the pause, for whoever looks later" } },
  examples: ['sagamesh pause model fast --reason "the bill"'],
  run: async ({ kind, name, reason }, context) =>
    withMesh(context, async ({ deps, ports }) => {
      const what = await readThrottled(ports, kind, name);
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
    }),
});
