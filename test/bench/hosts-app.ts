/** What the hosts of hosts.ts serve: sagas whose tool waits, as a model does, and computes nothing. */
import { defineApp } from "sagamesh";
import { noopSaga } from "./noop-saga.ts";

export default defineApp({ sagas: [noopSaga("host", { effect: "read", toolMs: 250 })] });
