/** Served: which living hosts serve what, as their entries say. */
import { decodeHostEntry, type HostEntry } from "../../protocol/host-entry.ts";
import type { MembershipPort } from "../wire/ports.ts";

/** A living host, by its entry. */
export interface LivingHost extends HostEntry {
  readonly host: string;
}

/** The hosts that live now. One whose entry cannot be read is left out: it is of another version. Throws UNAVAILABLE. */
export const livingHosts = async (membership: MembershipPort): Promise<LivingHost[]> =>
  (await membership.hosts()).flatMap(({ host, data }) => {
    const entry = decodeHostEntry(data);
    return entry === undefined ? [] : [{ host, ...entry }];
  });
