/**
 * Isolated process: a host or worker for suspects alone, started by isolate.ts.
 *
 * IX1 It ends when its parent does, and for no other reason: a signal to all processes of a terminal would look like a
 *     death of its own.
 */
import { enableCompileCache } from "node:module";
import { endWithParent } from "./end-with-parent.ts";
import { guardExit } from "./exit-guard.ts";
import type { FromChild, ToChild } from "../suspects/child.ts";
import type { IsolateOrder, Serves } from "./isolate.ts";

guardExit();
enableCompileCache();
process.once("disconnect", () => process.exit(0));
endWithParent(Number(process.argv[2])); // Where it cannot hear of that.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

const say = (message: FromChild | Serves): void => void process.send?.(message, () => undefined);

process.once("message", (order: IsolateOrder) => {
  serve(order).catch((error: unknown) => {
    console.error(error);
    say({ type: "excused", reason: String(error) });
    process.disconnect();
  });
});

async function serve(order: IsolateOrder): Promise<void> {
  // Loaded after the compile cache is on.
  const [{ openIsolated }, { obey }] = await Promise.all([
    import("./open-isolated.ts"),
    import("../suspects/isolated.ts"),
  ]);
  const { isolated, clock, log, lost } = await openIsolated(order, (key) => say({ type: "quiet", key }));
  void lost.then((reason) => {
    say({ type: "excused", reason: reason ?? "its connection was lost" });
    process.disconnect();
  });
  say({ type: "serves" });
  const hear = obey({ clock, log, say }, isolated);
  process.on("message", (message: ToChild) => hear(message));
}
