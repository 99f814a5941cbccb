/** What processes that are not ours to ask have spent. */
import { readFileSync } from "node:fs";

/** Processor time of a process so far, its own and its system's; Linux only. In hundredths of a second. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user = "0", system = "0"] = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return 10 * (Number(user) + Number(system));
}
