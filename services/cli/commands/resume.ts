import type { ThrottledDocument } from "../../../protocol/documents.ts";
import { resume as resumeThrottled } from "../../throttle/pause.ts";
import { defineCommand } from "../command.ts";
import { withMesh } from "../context.ts";
import { readThrottled, throttledWords } from "../throttled.ts";

export const resume = defineCommand({
  name: "resume",
  summary: "let a paused tool or model go on",
  positionals: throttledWords,
  options: {},
  examples: ["sagamesh resume tool charge_deposit"],
  run: async ({ kind, name }, context) =>
    withMesh(context, async ({ deps, ports }) => {
      const what = await readThrottled(ports, kind, name);
      await resumeThrottled(deps, what);
      const document: ThrottledDocument = { ...what, paused: false };
      context.output.print(document, () => `${name} goes on`);
      return 0;
    }),
});
