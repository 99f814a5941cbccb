import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { CheckDocument, MachineCheck } from "../../../protocol/documents/check.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { type Json, toJson } from "../../../protocol/json.ts";
import { defineCommand } from "../frame/command.ts";
import { writeTextFile } from "../frame/file.ts";
import { parseJson } from "../frame/json.ts";
import { describeCheck } from "../telling/check-text.ts";

/** What a machine of plain XState needs to be a saga. */
export const check = defineCommand({
  name: "check",
  summary: "say what a machine of plain XState needs to be a saga, and write its application file",
  details:
    "Nothing that the machine does is done, and no actor of the file is started. What functions read is found by their text.\n" +
    "Exit code 0: the machine is ready, or needs a word about each effect (--write); 1: its own file must be changed.",
  positionals: { file: { paths: "files", help: "TypeScript or JavaScript that exports a machine" } },
  options: {
    export: { type: "string", hint: "NAME", help: "only the machine that the file exports under this name" },
    write: { type: "string", hint: "FILE", help: "write the application file there; it imports the machine" },
    run: { type: "boolean", help: "play the machine in memory with invented results, and show its states" },
    events: {
      type: "string",
      hint: "A,B,C",
      help: "--run: send these signals in this order, time for the next timer; else it finds its ways",
    },
    input: {
      type: "string",
      hint: "JSON",
      json: "whole",
      help: "--run: the input; what the file gives unless given",
    },
    with: {
      type: "string",
      hint: "NAME=JSON",
      multiple: true,
      json: "pair",
      help: "--run: a signal's data (what the file sends unless given), or what an effect gives ({})",
    },
  },
  without: ["server", "data"],
  examples: [
    "sagamesh check machine.ts",
    "sagamesh check machine.ts --write app.ts",
    `sagamesh check machine.ts --run --with 'checkStock={"left":3}' --events order,pay`,
  ],
  run: async ({ file, export: only, write, run, events, input, with: pairs }, { output }) => {
    const played = events !== undefined || input !== undefined || pairs !== undefined;
    if (!run && played) throw new MeshError("USAGE", "--events, --input and --with are for --run");
    const target = write === undefined ? undefined : resolve(write);
    if (target !== undefined && existsSync(target))
      throw new MeshError("USAGE", `--write ${target}: the file is there already`, {
        remedy: "Name a new file.",
      });
    const given = pairsOf(pairs ?? []);
    const start = input === undefined ? {} : { input: parseJson(input, "--input") };
    const { checkFile } = await import("../../check/check.ts");
    const { changes, machines } = await checkFile(file, only);
    const checks: MachineCheck[] = [];
    for (const { machine, needs, own } of machines) {
      if (!run) checks.push(needs.check);
      else {
        const { play } = await import("../../check/play.ts");
        const sent = Object.fromEntries(own?.sent.map(({ type, ...data }) => [type, data]) ?? []);
        const begun = own?.input === undefined ? {} : { input: toJson(own.input) };
        const invented = {
          ...begun,
          ...start,
          named: { ...(toJson(sent) as Record<string, Json>), ...given },
        };
        const path = events?.split(",").filter((event) => event !== "");
        checks.push({ ...needs.check, ...(await play(machine, needs.check, invented, path)) });
      }
    }
    if (target !== undefined) {
      const { skeletonOf } = await import("../../check/skeleton.ts");
      const needs = machines.map((machine) => machine.needs);
      writeTextFile(target, skeletonOf(resolve(file), target, needs), { isNew: true });
    }
    const document: CheckDocument = {
      ...{ file, changes, machines: checks },
      ...(target === undefined ? {} : { written: target }),
    };
    output.print(document, () => describeCheck(document));
    const isRight =
      changes.length === 0 && checks.every((one) => one.verdict !== "change" && one.stopped === undefined);
    return isRight ? 0 : 1;
  },
});

function pairsOf(pairs: readonly string[]): Record<string, Json> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new MeshError("USAGE", `--with ${pair}: NAME=JSON is expected`);
      return [pair.slice(0, at), parseJson(pair.slice(at + 1), `--with ${pair.slice(0, at)}`)];
    }),
  );
}
