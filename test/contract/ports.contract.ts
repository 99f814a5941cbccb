/**
 * The contract of every port, held by the memory implementation and by the one on JetStream alike.
 *
 * Goal: what one does, the other does, so what is proved on memory in virtual time holds on a server. Method:
 * one suite with a factory; each test opens a new mesh. What only a real server can show (its configuration,
 * its errors, its death) is tested beside its adapter.
 */
import { afterEach, beforeEach, describe } from "vitest";
import { hopContract } from "./hop.contract.ts";
import { inboxContract } from "./inbox.contract.ts";
import { ledgerContract } from "./ledger.contract.ts";
import { listingContract } from "./listing.contract.ts";
import { liveContract } from "./live.contract.ts";
import { type MeshUnderTest, type Opened, prepareMesh } from "./mesh-under-test.ts";
import { storesContract } from "./stores.contract.ts";
import { suspectsContract } from "./suspects.contract.ts";
import { throttlesContract } from "./throttles.contract.ts";
import { timersContract } from "./timers.contract.ts";
import { workContract } from "./work.contract.ts";

const all = [
  ledgerContract,
  inboxContract,
  hopContract,
  timersContract,
  workContract,
  storesContract,
  throttlesContract,
  suspectsContract,
  listingContract,
  liveContract,
];

/** Declares the suite, or these parts of it. `open` gives a new, empty mesh each time. */
export const portsContract = (name: string, open: () => Promise<Opened>, contracts = all): void => {
  describe(name, { timeout: 20_000 }, () => {
    let mesh: MeshUnderTest;
    beforeEach(async () => {
      mesh = prepareMesh(await open());
    });
    afterEach(async () => {
      await mesh.close();
    });
    for (const contract of contracts) contract(() => mesh);
  });
};
