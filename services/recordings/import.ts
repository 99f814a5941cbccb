/**
 * Import: recorded conversations to bundles, on which everything that reads a ledger works.
 *
 * IM1 All of them are read and told before the first is written, and each file has its name only once it is whole: bad
 *     input leaves nothing behind.
 * IM2 The same recording gives the same saga: its id is made of what was said, and so are its times where it has none.
 */
import { access, mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import { encodeJson, offload } from "../../protocol/codec.ts";
import { chainHash, digestOf } from "../../protocol/digest.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { describeFault, faultOfValue, ownLimits } from "../../protocol/value.ts";
import type {
  ImportDocument,
  RecordedAgent,
  RecordedFrom,
  RecordingFormat,
} from "../../protocol/documents/recording.ts";
import { subjects } from "../../protocol/subjects.ts";
import { ledgerVersion, toStored } from "../../protocol/turn.ts";
import { writeBundle } from "../archive/export.ts";
import { archiveName, type ArchiveSection, blobsOf, onDisk } from "../archive/file.ts";
import { manifestOf } from "../archive/manifest.ts";
import { readRegistered } from "../client/registry.ts";
import { definitionDocument, toolDocuments } from "../app/definition-document.ts";
import type { Chance, StoredMessage } from "../wire/ports.ts";
import { traceIdOf, turnHeaders } from "../wire/turn-headers.ts";
import { agentOf, toolName, toolsOf } from "./agent.ts";
import type { Conversation } from "./conversation.ts";
import { readRecording } from "./parse.ts";
import { importer, tell, type ToldTurn } from "./tell.ts";

export interface ImportOptions {
  readonly chance: Pick<Chance, "nonce">;
  /** Where the bundles are written. */
  readonly folder: string;
  /** Of all the files; told by their content unless given. */
  readonly format: RecordingFormat | undefined;
  /** Of the agent; a file's own unless given. */
  readonly name: string | undefined;
  /** A bundle that is there already is written anew. */
  readonly isForced: boolean;
}

interface Imported {
  readonly document: ImportDocument;
  readonly section?: ArchiveSection;
}

/**
 * Imports every conversation of the files and tells of each. Throws RECORDING_INVALID with file, line or message;
 * USAGE where a bundle is there already; ARCHIVE_UNWRITABLE.
 */
export async function importFiles(
  files: readonly string[],
  options: ImportOptions,
): Promise<ImportDocument[]> {
  const imported: Imported[] = [];
  for (const file of files) for (const one of await readFiles(file, options)) imported.push(one);
  const documents = imported.map(({ document }) => document);
  const seen = new Set<string>();
  const twice = documents.find(({ saga }) => saga !== undefined && seen.size === seen.add(saga).size);
  if (twice !== undefined)
    throw new MeshError(
      "RECORDING_INVALID",
      `${twice.recording.file}, conversation ${twice.recording.conversation}: it is recorded twice (${twice.saga ?? ""})`,
    );
  for (const { bundle } of documents)
    if (bundle !== undefined) await assertFree(join(options.folder, bundle), options);
  await onDisk(options.folder, () => mkdir(options.folder, { recursive: true }));
  for (const { document, section } of imported)
    if (section !== undefined)
      await writeBundle(options, join(options.folder, document.bundle ?? ""), [section]);
  return documents;
}

async function assertFree(path: string, { isForced }: ImportOptions): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere && !isForced)
    throw new MeshError("USAGE", `${path} is there already; nothing was written`, {
      remedy: "Use --force to write it anew, or another folder with --out.",
    });
}

async function readFiles(file: string, options: ImportOptions): Promise<Imported[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new MeshError("FILE_UNREADABLE", `${file}: ${describeError(error)}`, { cause: error });
  });
  const conversations = readRecording(basename(file), text, options.format);
  const name = toolName(options.name ?? basename(file).replace(/\.[^.]*$/, "")).slice(0, 40);
  const imported: Imported[] = [];
  for (const conversation of conversations) {
    const { from, entries } = conversation;
    const isEmpty = !entries.some(({ type }) => type === "reply");
    if (isEmpty)
      imported.push({
        document: { reason: "it holds no reply of a model", recording: { ...from, notes: [] } },
      });
    else imported.push(await importOne(name, conversation, conversations));
  }
  return imported;
}

async function importOne(
  name: string,
  conversation: Conversation,
  all: readonly Conversation[],
): Promise<Imported> {
  const { agent, notes } = agentIn(name, conversation, all);
  const definition = agentOf(agent);
  if (definition.definition.faults.length > 0)
    throw new MeshError(
      "RECORDING_INVALID",
      `${conversation.from.file}, conversation ${conversation.from.conversation}: ${definition.definition.faults.join("; ")}`,
    );
  const saga = sagaOf(name, conversation);
  const told = tell(saga, definition.definition, conversation);
  for (const { steps } of told.turns) assertReadable(steps as unknown as Json, conversation); // Proof: events and intents.
  const recording: RecordedFrom = { ...conversation.from, notes: [...told.notes, ...notes] };
  const section = await sectionOf(saga, definition, told.turns, { agent, recording });
  const { status, definition: ref, turns } = section.manifest;
  return {
    document: { saga, bundle: archiveName(saga), definition: ref, status, turns, recording },
    section,
  };
}

/** A ledger is written of what can be read again, or none is (VX1 of protocol/value.ts). */
function assertReadable(steps: Json, { from }: Conversation): void {
  const fault = faultOfValue(steps, { ...ownLimits, depthMax: limits.toldDepthMax });
  if (fault !== undefined)
    throw new MeshError(
      "RECORDING_INVALID",
      `${from.file}, conversation ${from.conversation}: what it holds cannot be recorded: ${describeFault(fault)}`,
    );
}

/** Conversations of one file that have the same instructions, model and tools have one agent. */
function agentIn(
  name: string,
  own: Conversation,
  all: readonly Conversation[],
): { agent: RecordedAgent; notes: string[] } {
  const { model, instructions } = own;
  const named = JSON.stringify(own.tools);
  const kin = all.filter(
    (one) => one.model === model && one.instructions === instructions && JSON.stringify(one.tools) === named,
  );
  const { tools, inferred, unchecked } = toolsOf(kin);
  const renamed = inferred
    .concat((own.tools ?? []).map((tool) => tool.name))
    .filter((one) => toolName(one) !== one);
  const list = (names: readonly string[]) => names.join(", ");
  return {
    agent: { v: 1, name, model, instructions, tools },
    notes: [
      "no recording says what a tool's effect is: each counts as once",
      "models are shown sagamesh's own rules behind the instructions, and its calls beside the tools",
      ...(inferred.length === 0 ? [] : [`inferred from their calls: ${list(inferred)}`]),
      ...(unchecked.length === 0
        ? []
        : [`called with what does not fit the recorded schema, so not checked: ${list(unchecked)}`]),
      ...(renamed.length === 0
        ? []
        : [`under another name, because the recorded one cannot be had here: ${list(renamed)}`]),
    ],
  };
}

/** IM2. The file's name is no part of what was said, nor is the conversation's place in it. */
const sagaOf = (name: string, { model, instructions, entries, from }: Conversation): SagaId =>
  `${name.toLowerCase()}-${digestOf([model, instructions, entries, from.about ?? null]).slice(0, 16)}` as SagaId;

async function sectionOf(
  saga: SagaId,
  definition: SagaDefinition,
  turns: readonly ToldTurn[],
  more: { readonly agent: RecordedAgent; readonly recording: RecordedFrom },
): Promise<ArchiveSection> {
  const stored = new Map<string, Uint8Array>();
  const messages: StoredMessage[] = [];
  let prev = "";
  for (const { turn, at, steps } of turns) {
    const whole = {
      v: ledgerVersion as typeof ledgerVersion,
      saga,
      turn,
      at,
      host: importer,
      prev,
      steps: [...steps],
    };
    let data = encodeJson(toStored(whole));
    if (data.length > limits.inlineBytesMax) {
      const smaller = offload(toStored(whole));
      for (const { digest, bytes } of smaller.blobs) stored.set(digest, bytes);
      data = encodeJson(smaller.value);
    }
    prev = chainHash(data);
    const headers = turnHeaders(whole, prev, { definition: definition.definition, traceId: traceIdOf(saga) });
    messages.push({ subject: subjects.ledger(saga), seq: turn, storedAt: at, headers, data });
  }
  const blobs = blobsOf(stored);
  const registered = readRegistered(
    [definitionDocument(definition.definition)],
    toolDocuments(definition.definition),
  );
  const manifest = await manifestOf({ blobs }, saga, messages, { at: turns.at(-1)?.at ?? 0, registered });
  return { manifest: { ...manifest, ...more }, messages, blobs };
}
