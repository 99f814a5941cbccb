/**
 * Parts: what a definition's hash is made of, each with a digest of its own.
 *
 * PT1 The hash is made of the parts and of nothing else but kind, name and version: two definitions that differ in the
 *     hash differ in a part that can be named.
 */
import type { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import type { DefinitionParts, SignalSchemas } from "./definition.ts";
import { jsonSchema } from "../values/schema.ts";
import { contractOf } from "./tool-contract.ts";
import type { Tool } from "./tool.ts";

/** What the parts are made of. */
export interface PartsOf {
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  readonly signals: SignalSchemas;
  readonly tools: Iterable<Tool>;
  /** What of its kind decides, by the words that name it. */
  readonly identity: Readonly<Record<string, unknown>>;
}

/** The parts of a definition. What is undefined is none: an option that is not used changes no hash. */
export function partsOf({ input, output, signals, tools, identity }: PartsOf): DefinitionParts {
  const all: [string, unknown][] = [
    ["input", jsonSchema(input)],
    ["output", jsonSchema(output)],
    ...Object.entries(signals).map(([name, schema]): [string, unknown] => [
      `signal ${name}`,
      jsonSchema(schema),
    ]),
    ...[...tools].flatMap((tool) => {
      const { contract: _follows, ...declared } = contractOf(tool); // From the others.
      return Object.entries(declared).map(([member, value]): [string, unknown] => [
        `tool ${tool.name}: ${member}`,
        value,
      ]);
    }),
    ...Object.entries(identity),
  ];
  return Object.fromEntries(
    all
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, digestOf(value).slice(0, 16)]),
  );
}

/** What differs between two definitions, by the names of parts, sorted; empty where their hashes are made of the same. */
export const changedParts = (before: DefinitionParts, now: DefinitionParts): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((part) => before[part] !== now[part])
    .sort();

/** What every definition is shown as having by a tool's contract: its own name tells that the tool is there. */
const presence = /^tool (.+): name$/;
const ofTool = /^tool (.+): (.+)$/;

/**
 * The same in words: `its instructions and budget; tool book: input, output; tool mail is new`. What follows from another
 * change (an agent's frame holds its tools' schemas) is told only where nothing else is.
 */
export function changeInWords(before: DefinitionParts, now: DefinitionParts): string {
  const changed = changedParts(before, now);
  const come = new Map<string, string>();
  for (const part of changed) {
    const tool = presence.exec(part)?.[1];
    if (tool !== undefined) come.set(tool, part in now ? "is new" : "is gone");
  }
  const inTools = new Map<string, string[]>();
  const own: string[] = [];
  for (const part of changed) {
    const [, tool, member = ""] = ofTool.exec(part) ?? [];
    if (tool === undefined) own.push(ownInWords(part, before, now));
    else if (!come.has(tool)) inTools.set(tool, [...(inTools.get(tool) ?? []), member]);
  }
  const said = [
    ...own.filter((words) => words !== "frame"),
    ...[...inTools].map(([tool, members]) => `tool ${tool}: ${members.join(", ")}`),
    ...[...come].map(([tool, how]) => `tool ${tool} ${how}`),
  ];
  return said.length > 0
    ? said.join("; ")
    : own.length > 0
      ? "the order or the words of what its model is told"
      : "nothing that is told";
}

function ownInWords(part: string, before: DefinitionParts, now: DefinitionParts): string {
  if (!part.startsWith("signal ")) return part;
  return part in before && part in now ? part : `${part} ${part in now ? "is new" : "is gone"}`;
}
