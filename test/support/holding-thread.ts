/** A thread that holds and lets go, again and again, with keys of one letter each. */
import { workerData } from "node:worker_threads";
import { tellHolds } from "../../services/process/holding.ts";

const { memory } = workerData as { memory: SharedArrayBuffer };
const { during } = tellHolds(memory);
for (let n = 0; ; n += 1) {
  const key = String.fromCharCode(97 + (n % 26)).repeat(1 + (n % 40));
  during(key, key.repeat(3), () => undefined);
}
