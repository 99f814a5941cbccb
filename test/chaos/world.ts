/** World: the outside world's process, as the run sees it. */
import { join } from "node:path";
import type { Act, Asked } from "../simulation/world.ts";
import { readLines } from "./lines.ts";
import { type Child, startChild } from "./child.ts";

/** A line of the account: what was asked, and what was done about it; nothing where the key was known. */
export interface WorldLine {
  readonly asked: Asked;
  readonly acts: readonly Act[];
}

export type FromWorld =
  { readonly type: "ready"; readonly url: string } | { readonly type: "quiet"; readonly quiet: boolean };

export type FromRun =
  { readonly type: "is it quiet" } | { readonly type: "calm" } | { readonly type: "read again" };

export interface WorldProcess {
  readonly url: string;
  /** Whether everybody outside has said what they had to say. */
  isQuiet(): Promise<boolean>;
  /** Nothing is stopped or cut off any more. */
  calm(): void;
  /** People read every ledger from its beginning, as who looks at their tasks after an accident, and vote once more. */
  readAgain(): void;
  readonly child: Child;
}

export interface WorldOptions {
  readonly folder: string;
  readonly seed: number;
  readonly natsUrl: string;
  readonly onEnd: (how: string) => void;
  /** A ledger that cannot be followed does not end it: `readAgain` comes. */
  readonly isPatient?: boolean;
}

export async function startWorld({
  folder,
  seed,
  natsUrl,
  onEnd,
  isPatient = false,
}: WorldOptions): Promise<WorldProcess> {
  const child = startChild({
    name: "outside",
    folder,
    script: "test/chaos/world-process.ts",
    arguments: [folder, String(seed), ...(isPatient ? ["patient"] : [])],
    environment: { NATS_URL: natsUrl },
    onEnd,
  });
  const ready = await new Promise<FromWorld>((resolve, reject) => {
    child.process.once("message", resolve);
    child.process.once("exit", () => reject(new Error(`the outside world did not start: see ${child.log}`)));
  });
  if (ready.type !== "ready") throw new Error("the outside world's first word is where it is");
  const write = (letter: FromRun) => child.process.send(letter);
  return {
    url: ready.url,
    calm: () => void write({ type: "calm" }),
    readAgain: () => void write({ type: "read again" }),
    child,
    isQuiet: () =>
      new Promise((resolve) => {
        child.process.once("message", (said: FromWorld) => resolve(said.type === "quiet" && said.quiet));
        write({ type: "is it quiet" });
      }),
  };
}

/** The account as it stands on the disk. */
export function readAccount(folder: string): { acts: Act[]; asked: Asked[] } {
  const lines = readLines<WorldLine>(join(folder, "account.jsonl"));
  return { acts: lines.flatMap(({ acts }) => acts), asked: lines.map(({ asked }) => asked) };
}
