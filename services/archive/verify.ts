/**
 * Verify a file: its lines as they were written, and each ledger in it by all that must hold of any.
 */
import { basename } from "node:path";
import type { ArchiveManifest } from "../../protocol/documents/archive.ts";
import type { VerifyDocument } from "../../protocol/documents/verify.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { SagaId } from "../../protocol/ids.ts";
import type { App } from "../app/app.ts";
import { processLoop } from "../wire/loop.ts";
import { verifyMessages, type VerifyOptions } from "../views/verify.ts";
import { archiveSuffix, blobsOf } from "./file.ts";
import { type Archives, partsOf } from "./folder.ts";
import { type Examined, examineFile, type Section } from "./lines.ts";

export interface BundleOptions extends VerifyOptions {
  /** What a saga's own manifest says it is folded with, before `app`. */
  readonly appOf?: (manifest: ArchiveManifest) => App | undefined;
}

/**
 * Checks every saga of a file, a part of a bundle at a time, and names what is wrong by the turn. A file that is none has one
 * document, with a finding at turn 0. Throws VERSION_UNSERVED.
 */
export async function verifyArchive(path: string, options: BundleOptions): Promise<VerifyDocument[]> {
  const documents: VerifyDocument[] = [];
  try {
    for await (const { part, sagas = [] } of partsOf(path)) {
      const found = await verifyPart(path, part, options);
      documents.push(...found);
      for (const saga of sagas)
        if (!found.some((one) => one.saga === saga))
          documents.push(unfound(path, saga, "its index has it here"));
    }
  } catch (error) {
    if (!isMeshError(error, "ARCHIVE_BROKEN")) throw error;
    const own = { turn: 0, code: error.code, what: error.message.replace(/^\[\w+\] /, "") };
    const [first, ...others] = await verifyPart(path, await examineFile(path), options);
    return first === undefined
      ? []
      : [{ ...first, ok: false, findings: [own, ...first.findings] }, ...others];
  }
  return documents;
}

/** Checks one saga of a file. `buried` is the hash of the last turn as the saga's tombstone has it. Throws as `verifyArchive`. */
export async function verifySaga(
  archives: Archives,
  path: string,
  saga: SagaId,
  options: BundleOptions & { readonly buried?: string | undefined },
): Promise<VerifyDocument> {
  const { sections, blobs } = await archives.examine(path, saga);
  const own = sections.filter(({ manifest }) => manifest?.saga === saga);
  const meant = { sections: own.length === 0 ? sections.slice(0, 1) : own, blobs };
  const [document = unfound(path, saga, "it does not hold the saga")] = await verifyPart(
    path,
    meant,
    options,
  );
  return document;
}

const unfound = (path: string, saga: SagaId, what: string): VerifyDocument => ({
  ...{ saga, ok: false, turns: 0, folded: false, file: basename(path) },
  findings: [{ turn: 0, code: "ARCHIVE_BROKEN", what }],
});

async function verifyPart(
  path: string,
  { sections, blobs }: Examined,
  { buried, ...options }: BundleOptions & { readonly buried?: string | undefined },
): Promise<VerifyDocument[]> {
  const documents: VerifyDocument[] = [];
  const none: Section = {
    manifest: undefined,
    messages: [],
    faults: [{ turn: 0, what: "it is empty", isGap: true }],
  };
  for (const { manifest, messages, faults } of sections.length === 0 ? [none] : sections) {
    const saga = manifest?.saga ?? sagaNamed(path);
    const checked = await verifyMessages({ blobs: blobsOf(blobs), loop: processLoop }, saga, messages, {
      ...options,
      app: (manifest && options.appOf?.(manifest)) ?? options.app,
    });
    const own = faults.map(({ turn, what }) => ({ turn, code: "ARCHIVE_BROKEN", what }));
    if (buried !== undefined && documents.length === 0 && manifest?.head.hash !== buried)
      own.push({
        turn: messages.length,
        code: "ARCHIVE_BROKEN",
        what: "it is not the turn that was archived last",
      });
    const findings = [...own, ...checked.findings].sort((a, b) => a.turn - b.turn);
    documents.push({ ...checked, file: basename(path), ok: findings.length === 0, findings });
  }
  return documents;
}

/** Of a file whose first line cannot be read, or of a saga's id: what the name says. */
export function sagaNamed(path: string): SagaId {
  const named = SagaId.safeParse(basename(path, archiveSuffix));
  return named.success ? named.data : SagaId.parse("unknown");
}
