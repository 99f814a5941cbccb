/** All faults of the lab, in the order of the table. */
import type { Fault } from "./fault.ts";
import { deletions } from "./faults/deletions.ts";
import { listing } from "./faults/listing.ts";
import { processes } from "./faults/processes.ts";
import { stores } from "./faults/stores.ts";

export const faults: readonly Fault[] = [...deletions, ...listing, ...stores, ...processes];
