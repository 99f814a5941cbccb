/**
 * Listing: a row for each saga, by which those of a kind are found without a look at any other. Hosts write the rows beside the
 * ledgers. A row may be thrown away and decides nothing; what is shown of a saga that goes on is its ledger's.
 *
 * LJ1 A row's key says all that sagas are looked for by, so a server picks them by their subjects and sends no other.
 * LJ2 The row of a saga that has ended says what its ledger does, so that need not be read.
 */
import { z } from "zod";
import { SagaId } from "../ids.ts";
import { SagaRow, SagaStatus } from "./saga.ts";

/** How a saga stands by its row. `unreadable`: its ledger could not be read when it was taken in. */
export const ListedStatus = z.enum([...SagaStatus.options, "unreadable"]);
export type ListedStatus = z.infer<typeof ListedStatus>;

/** What a row's key says (LJ1). */
export interface RowKey {
  readonly status: ListedStatus;
  /** A task of it waits for a person. */
  readonly asks: boolean;
  /** Of its definition; `_` where that is not known. */
  readonly name: string;
  readonly saga: SagaId;
}

const words = { asks: "asks", rests: "rests" } as const;
const wordOf = (asks: boolean): string => (asks ? words.asks : words.rests);

/** The key of a row: `<status>.<asks or rests>.<definition>.<saga>`. */
export const rowKey = ({ status, asks, name, saga }: RowKey): string =>
  `${status}.${wordOf(asks)}.${name}.${saga}`;

/** Keys as a pattern of subjects: what is not named may be anything. */
export const rowPattern = ({ status, asks, name, saga }: Partial<RowKey>): string =>
  [status ?? "*", asks === undefined ? "*" : wordOf(asks), name ?? "*", saga ?? "*"].join(".");

/** Reads a key; undefined for what is none. */
export function parseRowKey(key: string): RowKey | undefined {
  const [status, word, name = "", saga, ...more] = key.split(".");
  const known = ListedStatus.safeParse(status);
  const id = SagaId.safeParse(saga);
  const isOne = more.length === 0 && name !== "" && (word === words.asks || word === words.rests);
  if (!isOne || !known.success || !id.success) return undefined;
  return { status: known.data, asks: word === words.asks, name, saga: id.data };
}

/** The key of a saga whose ledger could not be read. */
export const unreadableKey = (saga: SagaId): RowKey => ({
  status: "unreadable",
  asks: false,
  name: "_",
  saga,
});

/** All other keys under which a row of the saga may stand that was written earlier: a process may die between two writes. */
export function otherKeys(key: RowKey): readonly string[] {
  const all = SagaStatus.options.flatMap((status) => [true, false].map((asks) => ({ ...key, status, asks })));
  return [...all, unreadableKey(key.saga)].map(rowKey).filter((one) => one !== rowKey(key));
}

/** A row. */
export const ListedRow = z.object({
  /** The turn it was written after. */
  turn: z.int().nonnegative(),
  /** When that was decided, milliseconds since the epoch; of a row that was taken in, when the saga's last was. */
  at: z.number(),
  /** Of a saga that has ended (LJ2). */
  ended: SagaRow.optional(),
});
export type ListedRow = z.infer<typeof ListedRow>;

/** The row as it is stored: JSON. */
export const encodeRow = (row: ListedRow): Uint8Array => new TextEncoder().encode(JSON.stringify(row));

/** Reads a row; undefined of what is none. */
export const decodeRow = (data: Uint8Array): ListedRow | undefined => parsedBy(ListedRow, data);

/** What the registry says of the listing: up to where in the ledgers its rows are whole, and who sees to that. */
export const ListingMark = z.object({
  /** When the bucket of the rows was made, as its server says: in another's place it holds for nothing. */
  made: z.string(),
  /**
   * Where in the bucket its pin stood: of one that was emptied or put back from a copy since it holds for nothing either. Absent in
   * a mark of a former version.
   */
  pin: z.int().positive().optional(),
  /** The last place in each shard of the ledgers of which the rows know. */
  through: z.array(z.int().nonnegative()),
  /** The host that sees to it; whole beyond `through` only while that one lives. Empty where none does. */
  keeper: z.string(),
});
export type ListingMark = z.infer<typeof ListingMark>;

/** The mark's key in the registry. */
export const listingMarkKey = "listing.mark";

/** The mark as it is stored: JSON. */
export const encodeListingMark = (mark: ListingMark): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(mark));

/** Reads the mark; undefined of what is none. */
export const decodeListingMark = (data: Uint8Array): ListingMark | undefined => parsedBy(ListingMark, data);

function parsedBy<T>(schema: z.ZodType<T>, data: Uint8Array): T | undefined {
  try {
    return schema.safeParse(JSON.parse(new TextDecoder().decode(data))).data;
  } catch {
    return undefined; // Of another hand, or another version: it is written anew.
  }
}
