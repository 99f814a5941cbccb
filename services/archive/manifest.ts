/**
 * Manifest: what the first line of a file says of the saga in it, from its ledger.
 */
import { chainHash } from "../../protocol/digest.ts";
import type { ArchiveManifest } from "../../protocol/documents/archive.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Registered, viewingBy } from "../client/registry.ts";
import { readLedger, type SagaView, viewOf } from "../views/view.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { ledgerOf } from "./file.ts";

export interface ManifestOptions {
  /** When the file is written, in milliseconds since the epoch. */
  readonly at: number;
  /** What hosts have registered. */
  readonly registered: Registered;
}

/** The manifest of a ledger, read from its messages. Throws LEDGER_BROKEN. */
export async function manifestOf(
  { blobs }: Pick<LedgerSource, "blobs">,
  saga: SagaId,
  messages: readonly StoredMessage[],
  options: ManifestOptions,
): Promise<ArchiveManifest> {
  const turns = await readLedger({ ledger: ledgerOf(saga, messages), blobs }, saga);
  const view = viewOf(
    turns.map(({ turn }) => turn),
    viewingBy(options.registered),
  );
  return manifestOfView(saga, messages, view, options);
}

/** The same of a ledger that was read. */
export function manifestOfView(
  saga: SagaId,
  messages: readonly StoredMessage[],
  view: SagaView,
  { at, registered }: ManifestOptions,
): ArchiveManifest {
  const { definition, parent, startedAt, updatedAt, status } = view;
  const last = messages.at(-1);
  if (last === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
  const called = new Set(view.intents.flatMap(({ intent }) => (intent.kind === "tool" ? [intent.name] : [])));
  const definitions = registered.definitions.filter(
    ({ name, hash }) => name === definition.name && hash === definition.hash,
  );
  return {
    format: "sagamesh.archive",
    v: 1,
    saga,
    definition,
    ...(parent === undefined ? {} : { parent }),
    status,
    turns: messages.length,
    head: { seq: last.seq, hash: chainHash(last.data) },
    startedAt,
    endedAt: updatedAt,
    archivedAt: at,
    tools: registered.tools.filter(({ name }) => called.has(name)),
    ...(definitions.length === 0 ? {} : { definitions }),
  };
}
