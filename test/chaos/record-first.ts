/**
 * Loaded before a host or a worker of a run: has its ports write down a history, and its event loop beat, in files of
 * the folder that CHAOS_HISTORY names. The product holds no switch for it: the word that opens the ports is another's.
 */
import { join } from "node:path";
import { plantFault } from "../simulation/plant.ts";
import { historyVariable, nameVariable } from "./door.ts";
import { startBeating } from "./beats.ts";

plantFault({
  name: "recorded",
  rule: "none: what is done through the ports is written down",
  edits: [
    {
      file: "services/runtime/mesh.ts",
      find: 'import { openNatsPorts } from "../nats/open.ts";',
      replace: 'import { openRecordedPorts as openNatsPorts } from "../../test/chaos/recorded-ports.ts";',
    },
  ],
});

const name = `${process.env[nameVariable] ?? "somebody"}-${process.pid}`;
startBeating(join(process.env[historyVariable] ?? ".", `beats-${name}.jsonl`));
