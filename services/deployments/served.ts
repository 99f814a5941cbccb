/** Served: which living hosts serve what, as their entries say. */
import { decodeHostEntry, type HostEntry } from "../../protocol/host-entry.ts";
import type { MembershipPort } from "../wire/ports.ts";

/** A living host, by its entry. */
export interface LivingHost extends HostEntry {
  readonly host: string;
}

/** Those that can be read. An entry that cannot is left out: it is of another version. */
export const livingAmong = (
  entries: readonly { readonly host: string; readonly data: Uint8Array }[],
): LivingHost[] =>
  entries.flatMap(({ host, data }) => {
    const entry = decodeHostEntry(data);
    return entry === undefined ? [] : [{ host, ...entry }];
  });

/** The hosts that live now. One that is killed still counts until its entry expires. Throws UNAVAILABLE. */
export const livingHosts = async (membership: Pick<MembershipPort, "hosts">): Promise<LivingHost[]> =>
  livingAmong(await membership.hosts());

/** Those of them that take sagas: they do not drain. */
export const takingHosts = async (membership: MembershipPort): Promise<LivingHost[]> =>
  (await livingHosts(membership)).filter(({ draining }) => !draining);
