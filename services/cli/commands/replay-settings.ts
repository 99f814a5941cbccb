/**
 * Replay settings: what the words of `replay` ask for, read and checked before anything is asked.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { MeshError } from "../../../protocol/errors.ts";
import type { OnMiss, StandIns } from "../../replay/answers.ts";
import type { Variation } from "../../replay/variation.ts";
import { loadApp } from "../../runtime/load-app.ts";
import { readTextFile } from "../frame/file.ts";

/** Throws FILE_UNREADABLE, APP_INVALID where it is no application. */
export async function readVariation(
  prompt: string | undefined,
  other: string | undefined,
): Promise<Variation> {
  return {
    ...(prompt === undefined ? {} : { prompt: { file: prompt, text: await readText("prompt", prompt) } }),
    ...(other === undefined ? {} : { with: { file: other, app: await loadApp(other) } }),
  };
}

const readText = async (flag: string, file: string): Promise<string> =>
  (await readTextFile(file, `--${flag}`)).trimEnd();

/** What a call may be answered with that the record does not hold. */
export const misses: readonly OnMiss[] = ["stop", "sample", "stand-in"];

/** Throws USAGE. A file of stand-ins alone means that they are to be used. */
export async function readMisses(
  word: string | undefined,
  file: string | undefined,
): Promise<{ onMiss: OnMiss; standIns?: StandIns }> {
  const onMiss = misses.find((one) => one === (word ?? (file === undefined ? "stop" : "stand-in")));
  if (onMiss === undefined)
    throw new MeshError("USAGE", `--on-miss: expected stop, sample or stand-in, got "${word ?? ""}"`, {
      remedy:
        "stop ends the run, sample makes a value of the output's schema, stand-in takes what --stand-ins holds.",
    });
  if ((onMiss === "stand-in") !== (file !== undefined))
    throw new MeshError("USAGE", "--on-miss stand-in and --stand-ins FILE belong together", {
      remedy:
        'Give a JSON file such as {"find_order": {"order": "o-1"}}, or a module whose default export holds values or functions of the input.',
    });
  return { onMiss, ...(file === undefined ? {} : { standIns: await readStandIns(file) }) };
}

async function readStandIns(file: string): Promise<StandIns> {
  const read = file.endsWith(".json")
    ? (JSON.parse(await readText("stand-ins", file)) as unknown)
    : ((await import(pathToFileURL(resolve(file)).href)) as { default?: unknown }).default;
  if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as StandIns; // By name; each value is checked when it is used.
  throw new MeshError("USAGE", `--stand-ins: ${file} holds no object by the names of tools`, {
    remedy: 'For example {"find_order": {"order": "o-1"}}.',
  });
}

/** A whole number of an option, from 1. Throws USAGE. */
export function countOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new MeshError("USAGE", `--${flag}: expected a whole number from 1, got "${text}"`);
}

/** An amount of money. Throws USAGE. */
export function amountOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new MeshError("USAGE", `--${flag}: expected an amount such as 2.50, got "${text}"`);
}
