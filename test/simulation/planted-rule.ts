/** A rule that is planted broken in the product's own source, for a run to find. */
import type { Profile } from "./profile.ts";

export interface Plant {
  readonly name: string;
  /** The seed that found it last: the search begins there, and costs seconds instead of half a minute. 1 unless given. */
  readonly from?: number;
  /** Runs in which it can show, where the seed's own cannot. */
  readonly profile?: Partial<Profile>;
  /** What the broken rule says. */
  readonly rule: string;
  /** It is found by what comes weeks late (late.ts), or by who looks at the listing (listing.ts). */
  readonly world?: "late" | "listing";
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
}
