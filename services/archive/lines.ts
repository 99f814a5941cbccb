/**
 * Lines: what an archive's lines say, read as far as they can be.
 *
 * AL1 Each line ends with the sum of what stands before it: a byte that no turn's hash covers, such as a time of the
 *     server's or the manifest's own, is covered by that. A file without sums was written before there were any.
 * AL2 A line that cannot be read leaves a hole in its place, so that what follows is still told by its turn.
 * AL3 A file that cannot be unpacked to its end is read up to there.
 */
import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";
import { z } from "zod";
import { chainHash, shortHash } from "../../protocol/digest.ts";
import {
  ArchivedBlob,
  ArchivedMessage,
  ArchiveManifest,
  BundleIndex,
} from "../../protocol/documents/archive.ts";
import { describeError } from "../../protocol/errors.ts";
import type { StoredMessage } from "../wire/ports.ts";

/** What is wrong, and at which turn of the saga; 0 where it is of none. */
export interface Fault {
  readonly turn: number;
  readonly what: string;
  /** Something is missing or cannot be read, rather than changed. */
  readonly isGap: boolean;
}

/** A saga of the file. */
export interface Section {
  readonly manifest: ArchiveManifest | undefined;
  readonly messages: readonly (StoredMessage | undefined)[];
  readonly faults: readonly Fault[];
}

export interface Examined {
  readonly sections: readonly Section[];
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/** A piece of a file, in bytes. */
export interface Range {
  readonly at: number;
  readonly length: number;
}

/** A value as a line, with its sum (AL1). */
export function lineOf(value: ArchiveManifest | ArchivedMessage | ArchivedBlob | BundleIndex): string {
  const text = JSON.stringify(value).slice(0, -1);
  return `${text},"sum":"${shortHash(text, sumChars)}"}\n`;
}

const sumChars = 22;
const sumAtEnd = /,"sum":"([\w-]{22})"\}$/;

/**
 * Reads a file, or a bundle's block, as far as it can be read (AL2, AL3). Memory: its unpacked size. Throws nothing.
 */
export async function examineFile(path: string, range?: Range): Promise<Examined> {
  const { bytes, fault } = await unpack(path, range);
  const examined = examineLines(linesIn(bytes, fault !== undefined), range === undefined);
  if (fault === undefined) return examined;
  const [first, ...others] = examined.sections;
  const readable = first?.messages.filter((message) => message !== undefined).length ?? 0;
  const what = `${fault}; of it ${readable} turn${readable === 1 ? "" : "s"} could be read`;
  const { manifest, messages = [], faults = [] } = first ?? {};
  return {
    ...examined,
    sections: [{ manifest, messages, faults: [{ turn: 0, what, isGap: true }, ...faults] }, ...others],
  };
}

async function unpack(path: string, range?: Range): Promise<{ bytes: Buffer; fault?: string }> {
  const parts: Buffer[] = [];
  const part = range === undefined ? {} : { start: range.at, end: range.at + range.length - 1 };
  const file = createReadStream(path, part);
  const unzipped = createGunzip();
  file.on("error", (error) => unzipped.destroy(error));
  try {
    for await (const part of file.pipe(unzipped)) parts.push(part as Buffer);
    return { bytes: Buffer.concat(parts) };
  } catch (error) {
    return { bytes: Buffer.concat(parts), fault: describeError(error) };
  } finally {
    file.destroy();
  }
}

/** Not by a reader of lines: to most of those U+2028 in a text ends one. Half a line at a break is none. */
function linesIn(text: Buffer, isBroken: boolean): string[] {
  const lines: string[] = [];
  for (let from = 0, to = 0; from < text.length; from = to + 1) {
    to = text.indexOf(0x0a, from);
    if (to < 0 && isBroken) break;
    if (to < 0) to = text.length;
    lines.push(text.toString("utf8", from, to));
  }
  return lines;
}

interface Draft {
  manifest: ArchiveManifest | undefined;
  messages: (StoredMessage | undefined)[];
  faults: Fault[];
}

function examineLines(lines: readonly string[], isAll: boolean): Examined {
  const blobs = new Map<string, Uint8Array>();
  const sections: Draft[] = [];
  let hasIndex = false;
  const hasSums = lines.some((line) => sumAtEnd.test(line));
  for (const [index, line] of lines.entries()) {
    const read = readLine(line);
    let section = sections.at(-1);
    if (section === undefined || "manifest" in read)
      sections.push((section = { manifest: undefined, messages: [], faults: [] }));
    const isTurns = "message" in read || ("what" in read && isShort(section) && index > 0);
    const turn = isTurns ? section.messages.length + 1 : 0;
    const say = (what: string, isGap: boolean) =>
      section.faults.push({ turn, what: `line ${index + 1}: ${what}`, isGap });
    if ("manifest" in read) section.manifest = read.manifest;
    else if ("index" in read) hasIndex = true;
    else if ("blob" in read) blobs.set(read.blob, read.bytes);
    else if ("message" in read) section.messages.push(read.message);
    else if (isTurns) section.messages.push(undefined);
    if ("what" in read) say(read.what, true);
    else if (hasSums && !isSummed(line)) say("it is not as it was written", false);
  }
  for (const section of sections) for (const fault of faultsOf(section)) section.faults.push(fault);
  const [first] = sections;
  if (
    isAll &&
    !hasIndex &&
    first !== undefined &&
    sections.some(({ manifest }) => manifest?.bundled === true)
  )
    first.faults.push({ turn: 0, what: "the bundle was cut: its index is missing", isGap: true });
  return { sections, blobs };
}

const isShort = ({ manifest, messages }: Draft): boolean =>
  manifest === undefined || messages.length < manifest.turns;

/** Whether a line is as it was written (AL1). */
export function isSummed(line: string): boolean {
  const sum = sumAtEnd.exec(line);
  return sum !== null && shortHash(line.slice(0, sum.index), sumChars) === sum[1];
}

/** A saga's lines against its manifest. */
function faultsOf({ manifest, messages }: Draft): Fault[] {
  if (manifest === undefined) return [];
  const { turns, head } = manifest;
  if (messages.length !== turns)
    return [
      {
        turn: Math.min(messages.length, turns) + 1,
        what: `it holds ${messages.length} of ${turns} turns`,
        isGap: true,
      },
    ];
  const last = messages.at(-1);
  if (last === undefined) return [];
  const hash = chainHash(last.data);
  if (last.seq === head.seq && hash === head.hash) return [];
  const what = `its last turn is not the one it names: expected ${head.hash} at ${head.seq}, got ${hash} at ${last.seq}`;
  return [{ turn: turns, what, isGap: true }];
}

type Line =
  | { readonly manifest: ArchiveManifest }
  | { readonly index: BundleIndex }
  | { readonly message: StoredMessage }
  | { readonly blob: string; readonly bytes: Uint8Array }
  | { readonly what: string };

function readLine(line: string): Line {
  try {
    const value = JSON.parse(line) as unknown;
    if (typeof value !== "object" || value === null) return { what: "it is no line of an archive" };
    if ("format" in value && value.format === "sagamesh.index") return { index: BundleIndex.parse(value) };
    if ("format" in value) return { manifest: ArchiveManifest.parse(value) };
    if ("blob" in value) {
      const { blob, base64 } = ArchivedBlob.parse(value);
      return { blob, bytes: Buffer.from(base64, "base64") };
    }
    return { message: toMessage(ArchivedMessage.parse(value)) };
  } catch (error) {
    return { what: error instanceof z.ZodError ? z.prettifyError(error) : describeError(error) };
  }
}

const toMessage = ({ subject, seq, storedAt, headers, body, base64 }: ArchivedMessage): StoredMessage => ({
  subject,
  seq,
  storedAt,
  headers,
  data: body === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(body),
});
