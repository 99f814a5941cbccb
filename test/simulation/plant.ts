/**
 * Plant: runs a process with one of the product's rules broken, by changing its source as it is loaded.
 *
 * So the product holds no switches. A plant names the words it replaces; layout does not count, so that
 * formatting moves nothing. Words that do not occur exactly once are refused: the plant would break nothing,
 * or something else.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type { Plant } from "./planted-rule.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Breaks the rule in every module that this process loads from now on. */
export function plantFault(plant: Plant): void {
  const changes = new Map(plant.edits.map(({ file }) => [file, plantedSource(plant, file)]));
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      const source = url.startsWith("file:") ? changes.get(fileURLToPath(url).slice(root.length)) : undefined;
      return source === undefined ? loaded : { ...loaded, source };
    },
  });
}

/** A file's source with the plant's edits in it. Throws where an edit's words are not there exactly once. */
export function plantedSource(plant: Plant, file: string): string {
  let source = readFileSync(`${root}${file}`, "utf8");
  for (const edit of plant.edits) {
    if (edit.file !== file) continue;
    const pattern = patternOf(edit.find);
    const found = source.match(new RegExp(pattern, "g"))?.length ?? 0;
    if (found !== 1)
      throw new Error(
        `plant "${plant.name}": its words occur ${found} times in ${file}, not once:\n${edit.find}`,
      );
    source = source.replace(new RegExp(pattern), () => edit.replace);
  }
  return source;
}

/** Words as they stand, with any white space between them. */
const patternOf = (words: string): string =>
  words
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("\\s+");
