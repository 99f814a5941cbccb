/**
 * A process that has a burst of work behind it and gives its memory back, as a host that sagamesh runs does. It sends its resident
 * size to its parent: once with all that the burst made, then every 250 ms without.
 */
import { silentLog } from "../../services/process/log.ts";
import { giveBack } from "../../services/runtime/give-back.ts";
import { systemClock } from "../../services/runtime/system.ts";

let made: unknown[] = [];
for (let k = 0; k < 1_000_000; k++) made.push({ k, of: [k, k + 1], text: `saga ${k}` });
process.send?.(process.memoryUsage.rss());
made = [];
void giveBack({ clock: systemClock, log: silentLog, signal: new AbortController().signal });
setInterval(() => process.send?.(process.memoryUsage.rss()), 250);
process.on("disconnect", () => process.exit());
