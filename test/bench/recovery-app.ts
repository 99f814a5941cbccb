/** What the hosts of recovery.ts serve: steps whose effect takes a tenth of a second. */
import { noopApp } from "./noop-saga.ts";

export const toolMs = 100;

export default noopApp({ effect: "read", toolMs });
