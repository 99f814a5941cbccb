/**
 * Trace place: the file that says up to where spans were exported, of one mesh to one receiver.
 *
 * YQ1 It is replaced whole: after any crash it is the one of before or the one of after.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { PlaceStore } from "./follow-traces.ts";

/** `places`: the last sequence of each shard of the ledger. */
const Place = z.object({ v: z.literal(1), places: z.array(z.int().nonnegative()) });

/** The place in a file. Reading throws FILE_UNREADABLE for a file that holds none; writing what the system says. */
export function placeInFile(path: string): PlaceStore {
  return {
    read: async () => {
      const text = await readFile(path, "utf8").catch((error: unknown) => {
        if ((error as { code?: unknown }).code === "ENOENT") return undefined;
        throw unreadable(path, describeError(error));
      });
      return text === undefined ? undefined : placesIn(path, text);
    },
    write: async (places) => {
      await mkdir(dirname(path), { recursive: true });
      const fresh = `${path}.${process.pid}`;
      await writeFile(
        fresh,
        `${JSON.stringify({ v: 1, places: [...places] } satisfies z.infer<typeof Place>)}\n`,
      );
      await rename(fresh, path); // YQ1
    },
  };
}

function placesIn(path: string, text: string): readonly number[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const place = Place.safeParse(value).data;
  if (place === undefined) throw unreadable(path, "it holds no place of an exporter");
  return place.places;
}

const unreadable = (path: string, why: string): MeshError =>
  new MeshError("FILE_UNREADABLE", `${path}: ${why}`, {
    remedy: "Name another file with --place; without one the export begins with what ends from now on.",
  });
