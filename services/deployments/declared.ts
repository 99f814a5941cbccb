/**
 * Declared: what people declared of which definition new sagas begin with, as one document that changes by
 * compare-and-set.
 *
 * DQ1 What cannot be read is as if it was not declared, name by name, and is told. It is never fatal: sagas go on, and
 *    it can be declared anew.
 * DQ2 A change rests on what was read: of two at once the second is made of what the first left.
 */
import { z } from "zod";
import { encodeJson } from "../../protocol/codec.ts";
import { Declaration, deploymentsKey } from "../../protocol/deployments.ts";
import { isRivalry, patiently } from "../wire/patience.ts";
import type { Clock, RegistryPort } from "../wire/ports.ts";

/** What is declared, and of which revision that is. */
export interface Declared {
  /** 0: nothing was ever declared. */
  readonly revision: number;
  readonly names: ReadonlyMap<string, Declaration>;
  /** What of the document cannot be read, and why (DQ1). */
  readonly faults: readonly string[];
}

/** As long as nothing was declared. */
export const nothingDeclared: Declared = { revision: 0, names: new Map(), faults: [] };

/** Reads what is declared now. Throws UNAVAILABLE. */
export const readDeclared = async (registry: Pick<RegistryPort, "read">): Promise<Declared> =>
  declaredOf(await readDocument(registry));

/**
 * Declares something else of one name: `change` is given what is declared of it, and called again if another process was
 * first; undefined takes the declaration away, and the same again writes nothing. Returns what is declared since then.
 * Throws what `change` throws; UNAVAILABLE when the server stays silent: then it may or may not be declared, and may be
 * asked for again.
 */
export async function declare(
  { registry, clock }: { readonly registry: RegistryPort; readonly clock: Clock },
  name: string,
  change: (present: Declaration | undefined) => Declaration | undefined,
): Promise<Declared> {
  for (;;) {
    const document = await patiently(clock, () => readDocument(registry));
    const before = declaredOf(document);
    const present = before.names.get(name);
    const next = change(present);
    if (next === present) return before;
    const { [name]: _, ...others } = document.entries; // What of these cannot be read stays as it is.
    const entries = next === undefined ? others : { ...others, [name]: next };
    try {
      const revision = await registry.write(deploymentsKey, encodeJson(entries), document.revision);
      return declaredOf({ revision, entries });
    } catch (error) {
      // A write whose answer was lost may have happened: it is read next, and the same change is then made again.
      if (!isRivalry(error)) throw error;
    }
    await clock.sleep(rivalryMs);
  }
}

const rivalryMs = 20;

/** The document, its names not read yet. */
interface Document {
  readonly revision: number;
  readonly entries: Readonly<Record<string, unknown>>;
  readonly fault?: string;
}

async function readDocument(registry: Pick<RegistryPort, "read">): Promise<Document> {
  const entry = await registry.read(deploymentsKey);
  if (entry === undefined) return { revision: 0, entries: {} };
  const { revision, data } = entry;
  try {
    return { revision, entries: z.record(z.string(), z.unknown()).parse(JSON.parse(text.decode(data))) };
  } catch (error) {
    const fault = `the declared deployments cannot be read: ${error instanceof Error ? error.message : ""}`;
    return { revision, entries: {}, fault };
  }
}

const text = new TextDecoder();

function declaredOf({ revision, entries, fault }: Document): Declared {
  const names = new Map<string, Declaration>();
  const faults = fault === undefined ? [] : [fault];
  for (const [name, value] of Object.entries(entries)) {
    const read = Declaration.safeParse(value);
    if (read.success) names.set(name, read.data);
    else faults.push(`what is declared of ${name} cannot be read: ${z.prettifyError(read.error)}`);
  }
  return { revision, names, faults };
}
