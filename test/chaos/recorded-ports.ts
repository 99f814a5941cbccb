/** Recorded ports: what a host or a worker of a run opens in place of its ports. See record-first.ts. */
import { join } from "node:path";
import { openNatsPorts } from "../../services/nats/open.ts";
import { historyVariable, nameVariable } from "./door.ts";
import { openHistory } from "./linear/history.ts";
import { recordedPorts } from "./linear/record.ts";

/** As `openNatsPorts`; what is done through them is written down. */
export const openRecordedPorts: typeof openNatsPorts = async (nc, options) => {
  const ports = await openNatsPorts(nc, options);
  const name = `${process.env[nameVariable] ?? "somebody"}-${process.pid}`;
  const path = join(process.env[historyVariable] ?? ".", `history-${name}.jsonl`);
  return { ...ports, ...recordedPorts(ports, openHistory(path, name)) };
};
