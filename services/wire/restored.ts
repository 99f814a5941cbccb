/**
 * Restored: what a person has said of a mesh whose store, claims included, was put back from a copy. It stands in the
 * metadata of LEDGER and of the claims (services/nats/identity.ts).
 */

/** Times are milliseconds since the epoch, by the server's clock. */
export interface RestoreMark {
  /** When it was said: what was claimed since is known. */
  readonly at: number;
  /** Sagas that began before this may have done what the store has forgotten, and so may what descends of them. */
  readonly until: number;
}

/** As it is stored. */
export const markText = ({ at, until }: RestoreMark): string => `${at} ${until}`;

/** As it was stored; undefined for anything else. */
export function readMark(text: string | undefined): RestoreMark | undefined {
  const [, at, until] = /^(\d{1,15}) (\d{1,15})$/.exec(text ?? "") ?? [];
  return at === undefined || until === undefined ? undefined : { at: Number(at), until: Number(until) };
}
