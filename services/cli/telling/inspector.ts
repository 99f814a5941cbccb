/**
 * Inspector: what a command tells the Stately inspector beside what it prints. Read-only: it tells what was decided, and takes
 * nothing in.
 */
import { openInspector } from "../../runtime/inspector.ts";
import type { InspectionMessage } from "../../views/inspection.ts";
import { processLoop } from "../../wire/loop.ts";

/** How a command is told where the inspector is. */
export const inspectOption = {
  type: "string",
  hint: "URL",
  help: "tell the Stately inspector as well: where its relay listens, ws://localhost:8080",
} as const;

/** Says pieces in order. Throws what they throw, and INSPECTOR_UNREACHABLE. */
type Tell = (pieces: Iterable<InspectionMessage[]>) => Promise<void>;

/** Runs with an inspector that is connected, and closes it. Throws USAGE for no address, INSPECTOR_UNREACHABLE. */
export async function withInspector<T>(
  url: string,
  signal: AbortSignal,
  run: (tell: Tell) => Promise<T>,
): Promise<T> {
  const inspector = await openInspector(url, signal);
  try {
    return await run(async (pieces) => {
      for (const messages of pieces) {
        await inspector.say(messages);
        await processLoop.breathe();
      }
    });
  } finally {
    await inspector.close();
  }
}
