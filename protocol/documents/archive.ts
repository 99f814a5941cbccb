/**
 * Archive documents: the lines of an archive, and what `archive` and `export` print.
 */
import { z } from "zod";
import { DefinitionRef, ParentRef } from "../event.ts";
import { SagaId } from "../ids.ts";
import { RecordedAgent, RecordedFrom } from "./recording.ts";
import { DefinitionDocument, ToolDocument } from "./registry.ts";
import { SagaStatus } from "./saga.ts";

/** `archive`: one line per saga. */
export const ArchiveDocument = z.object({
  saga: SagaId,
  /**
   * `archived`: its turns are in the file and purged. `due`: would be archived (--dry-run). `kept`: not due, for
   * the reason. `already`: it was archived before. `forgotten`: its tombstone is gone too (--forget-after). `failed`: nothing was
   * purged, for the reason.
   */
  outcome: z.enum(["archived", "due", "kept", "already", "forgotten", "failed"]),
  file: z.string().optional(),
  turns: z.int().optional(),
  /** Of its lines in the file, before they are packed. */
  bytes: z.int().optional(),
  reason: z.string().optional(),
});
export type ArchiveDocument = z.infer<typeof ArchiveDocument>;

/** `export`. */
export const ExportDocument = z.object({
  saga: SagaId,
  file: z.string(),
  status: SagaStatus,
  /** In the file, the saga itself among them. */
  sagas: z.int(),
  turns: z.int(),
  /** Of the file. */
  bytes: z.int(),
  /** Children that could not be had. */
  missing: z.array(z.object({ saga: SagaId, reason: z.string() })),
});
export type ExportDocument = z.infer<typeof ExportDocument>;

/** The hash of the rest of the line, which it ends: it covers what no turn's hash does. */
const sum = z.string().optional();

/** The first line of an archive, and in a bundle that of each saga. The other lines: the turns in order, then the blobs they name. */
export const ArchiveManifest = z.object({
  format: z.literal("sagamesh.archive"),
  v: z.literal(1),
  saga: SagaId,
  definition: DefinitionRef,
  parent: ParentRef.optional(),
  status: SagaStatus,
  turns: z.int().positive(),
  /** Of the last turn: its sequence, and the hash of its bytes. */
  head: z.object({ seq: z.int(), hash: z.string() }),
  startedAt: z.number(),
  /** When its last turn was decided; of a saga that still runs that is no end. */
  endedAt: z.number(),
  /** When the file was written. */
  archivedAt: z.number(),
  /** Contracts of the tools it called, as hosts had registered them. */
  tools: z.array(ToolDocument),
  /** Its definition, as hosts had registered it. */
  definitions: z.array(DefinitionDocument).optional(),
  /** Where it was imported from, and its agent as data, so that a reader needs no application. */
  recording: RecordedFrom.optional(),
  agent: RecordedAgent.optional(),
  /** The file is a bundle and ends with an index. */
  bundled: z.literal(true).optional(),
  sum,
});
export type ArchiveManifest = z.infer<typeof ArchiveManifest>;

/** A turn's message in an archive, exactly as it was stored: `body` where its bytes are text, else `base64`. */
export const ArchivedMessage = z.object({
  turn: z.int().positive(),
  subject: z.string(),
  seq: z.int().positive(),
  storedAt: z.number(),
  headers: z.record(z.string(), z.string()),
  body: z.string().optional(),
  base64: z.base64().optional(),
  sum,
});
export type ArchivedMessage = z.infer<typeof ArchivedMessage>;

/** A blob in an archive, under the SHA-256 of its bytes. */
export const ArchivedBlob = z.object({ blob: z.string(), base64: z.base64(), sum });
export type ArchivedBlob = z.infer<typeof ArchivedBlob>;

/** The last line of a bundle of archived sagas: in which of its gzip members each is. */
export const BundleIndex = z.object({
  format: z.literal("sagamesh.index"),
  v: z.literal(1),
  /** In the order of the file: where a member begins, its bytes, and the sagas in it. */
  blocks: z.array(z.object({ at: z.int(), length: z.int().positive(), sagas: z.array(SagaId) })),
  sum,
});
export type BundleIndex = z.infer<typeof BundleIndex>;
