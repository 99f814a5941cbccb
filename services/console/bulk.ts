/**
 * Bulk: what is done to all sagas that a filter means, as commands do it (services/bulk): a look that changes nothing, then a few at a
 * time what the page names of what it was shown.
 */
import { MeshError } from "../../protocol/errors.ts";
import { parseIntentId, parseSagaId } from "../../protocol/ids.ts";
import { toValue } from "../../protocol/value.ts";
import type { BulkAct, BulkItem, BulkRow } from "../bulk/act.ts";
import { archiving, type Archiving } from "../bulk/archive.ts";
import { cancelling } from "../bulk/cancel.ts";
import { retrying } from "../bulk/retry.ts";
import { settling } from "../bulk/settle.ts";
import { readFinding } from "../client/finding.ts";
import type { ClientDeps } from "../client/send.ts";
import { voterIn } from "./acts.ts";
import { membersOf, nameMax, reasonMax, textIn } from "./body.ts";
import type { BulkDocument, BulkKind } from "./documents.ts";
import type { Who } from "./guard.ts";
import type { Asking } from "./questions.ts";

/** Where sagas are archived to, and by what their tombstones are signed. */
export type ArchivePlace = Pick<Archiving, "folder"> & {
  /** Throws SIGNER_REFUSED. */
  readonly signer: () => Archiving["signer"];
};

interface Parts {
  readonly deps: ClientDeps;
  readonly asking: Asking;
  readonly archives: ArchivePlace;
}

/** Done by one request: whoever does more hears in between how far it is. */
const itemsMax = 100;
const dayMs = 86_400_000;

/** What would be done to the sagas that the filter means, and what not and why. Throws USAGE, UNAVAILABLE. */
export async function lookAtMany(
  { deps, asking, archives }: Parts,
  kind: BulkKind,
  query: URLSearchParams,
): Promise<BulkDocument> {
  const { meant, isCut } = await asking.meant(query.get("filter") ?? "");
  const days = query.get("days");
  const act = actOf(kind, { deps, archives, isDry: true }, days === null ? {} : { days: Number(days) });
  return { rows: await act.look(meant), isCut, ...(kind === "archive" ? { folder: archives.folder } : {}) };
}

/** Does it to what the body names. Throws USAGE, BAD_ID, ACT_REFUSED, UNAVAILABLE. */
export async function doToMany(
  { deps, archives }: Parts,
  kind: BulkKind,
  { who, said }: { readonly who: Who; readonly said: unknown },
): Promise<BulkDocument> {
  const body = membersOf(said);
  const items = itemsIn(body["items"]);
  const rows: BulkRow[] = [];
  const act = actOf(kind, { deps, archives, isDry: false, who }, body);
  await act.perform(items, (row) => rows.push(row));
  return { rows, isCut: false };
}

interface Making {
  readonly deps: ClientDeps;
  readonly archives: ArchivePlace;
  readonly isDry: boolean;
  readonly who?: Who;
}

function actOf(
  kind: BulkKind,
  { deps, archives, isDry, who }: Making,
  body: Readonly<Record<string, unknown>>,
): BulkAct {
  switch (kind) {
    case "cancel": {
      const [reason, id] = [textIn(body, "reason", reasonMax), textIn(body, "id", nameMax)];
      return cancelling(deps, { reason, id: id === undefined ? undefined : `console-${id}` });
    }
    case "settle": {
      const finding = isDry ? undefined : readFinding(toValue(body["finding"] ?? null));
      if (!isDry && finding === undefined) throw new MeshError("USAGE", "a finding says whether it happened");
      return settling(deps, { finding, who: who === undefined ? {} : voterIn(who, body) });
    }
    case "retry":
      return retrying(deps);
    case "archive": {
      const days = body["days"] ?? 30;
      if (typeof days !== "number" || !Number.isInteger(days) || days < 0 || days > 36_500)
        throw new MeshError("USAGE", "days is how long ago they must have ended");
      const signer = isDry ? undefined : archives.signer();
      return archiving(deps, { folder: archives.folder, signer, afterMs: days * dayMs });
    }
  }
}

function itemsIn(said: unknown): BulkItem[] {
  const wrong = new MeshError("USAGE", `items is a list of 1 to ${itemsMax} that were shown`);
  if (!Array.isArray(said) || said.length === 0 || said.length > itemsMax) throw wrong;
  return said.map((one: unknown): BulkItem => {
    const { saga, intent, letter } = membersOf(one);
    if (typeof saga !== "string") throw wrong;
    if (letter !== undefined && !(typeof letter === "number" && Number.isSafeInteger(letter) && letter > 0))
      throw wrong;
    return {
      saga: parseSagaId(saga),
      ...(typeof intent === "string" ? { intent: parseIntentId(intent) } : {}),
      ...(letter === undefined ? {} : { letter }),
    };
  });
}
